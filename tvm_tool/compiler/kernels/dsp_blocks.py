"""Blocks of the kernels for the DSP extension: functions that are compiled for known numbers, by name.

All layers of a model that need the same numbers share a block.
"""

from __future__ import annotations

from collections.abc import Mapping

from .dsp_packing import Finish

GEMM = (
    "const struct tvm_gemm_dsp *gemm, const int32_t *const *segments, int32_t start, "
    "int8_t *output0, int8_t *output1"
)
GEMM_ARGUMENTS = "gemm, segments, start, output0, output1"
GEMV = "const struct tvm_gemm_dsp *gemm, const int8_t *input, int8_t *output"
GEMV_EXPANDED = (
    "const struct tvm_gemm_dsp *gemm, int32_t depth, const int8_t *input, int8_t *output, void *scratch"
)
GATHER = "const int8_t *const *rows, int32_t x, int32_t piece_step, int32_t *to"
PLANE = (
    "const struct tvm_depthwise_dsp *depthwise, const int32_t *pairs, const int32_t *parameters, "
    "int32_t rows, int8_t *output"
)
POSITION = "const struct tvm_direct_dsp *direct, const int8_t *const *taps, int8_t *output"
PLANE_ARGUMENTS = "depthwise, pairs, parameters, rows, output"

STEP, PASS = 14, 5
"""Instructions of a step of the products, and of what a pass of their loop adds."""


def gemm(distance: int, steps: int, unroll: int, channels: int, finish: Finish) -> Mapping[str, str]:
    """Products for two positions that are `distance` words apart; `steps` words of inputs in a segment."""
    once, whole = distance == 1 and steps == unroll, channels % 4 == 0
    name = "gemm2x4"
    name += f"_apart{distance}" if distance != 1 else ""
    name += f"_{'only' if once else 'by'}{unroll}_{finish.name}{'' if whole else '_tail'}"
    flags = ", ".join("true" if flag else "false" for flag in (once, whole))
    call = f"tvm_gemm_2x4_dsp({GEMM_ARGUMENTS}, {distance}, {unroll}, {flags}, {finish.literals});"
    return {name: _text(name, GEMM, call)}


def winograd(steps: int, channels: int, finish: Finish) -> Mapping[str, str]:
    """Products for four positions with transformed weights; `steps` words of inputs in a row of a plane."""
    unroll = max(n for n in range(1, 17) if steps % n == 0)
    whole = channels % 4 == 0
    name = f"winograd2x4_by{unroll}_{finish.name}{'' if whole else '_tail'}"
    numbers = f"{unroll}, {'true' if whole else 'false'}, {finish.literals}"
    return {name: _text(name, GEMM, f"tvm_winograd_2x4_dsp({GEMM_ARGUMENTS}, {numbers});")}


def gemv(kind: str, unroll: int, channels: int, finish: Finish) -> Mapping[str, str]:
    """Products for one position; `kind` says how its inputs come: ``words``, ``bytes`` or ``loose_bytes``."""
    whole = channels % 4 == 0
    name = (
        f"gemv1x4_{kind}_by{unroll}{'_alike' if finish.alike else ''}_{finish.name}{'' if whole else '_tail'}"
    )
    flags = ", ".join("true" if flag else "false" for flag in (whole, finish.alike))
    numbers = f"{unroll}, {flags}, {finish.literals}"
    if kind == "words":
        call = f"tvm_gemv_1x4_expanded_dsp(gemm, depth, input, output, scratch, {numbers});"
        return {name: _text(name, GEMV_EXPANDED, call)}
    return {name: _text(name, GEMV, f"tvm_gemv_1x4_dsp(gemm, input, output, TVM_{kind.upper()}, {numbers});")}


def gemm_wide(pair: bool, finish: Finish) -> Mapping[str, str]:
    """Products of sums of more than 24 bits, for two neighbouring positions or for one."""
    name = f"gemm{2 if pair else 1}x2_wide_{finish.name}"
    call = f"tvm_gemm_wide_dsp({GEMM_ARGUMENTS}, {'true' if pair else 'false'}, {finish.literals});"
    return {name: _text(name, GEMM, call)}


def gather(rows: int, pieces: int, length: int, unsigned: bool = False) -> Mapping[str, str]:
    """The inputs of a position: pieces of `length` bytes in each of some rows."""
    name = f"gather{rows}x{f'{pieces}x' if pieces > 1 else ''}{length}{'_u8' if unsigned else ''}"
    numbers = f"{rows}, {pieces}, {length}, {'0x80808080' if unsigned else 0}"
    return {name: _text(name, GATHER, f"tvm_gather(rows, x, piece_step, to, {numbers});")}


def plane(name: str, function: str, numbers: str, finish: Finish) -> Mapping[str, str]:
    """One channel of a depthwise convolution; `numbers` are the arguments that are known."""
    name = f"{name}_{finish.name}"
    call = f"{function}({PLANE_ARGUMENTS}, {numbers}, {finish.literals});"
    return {name: _text(name, PLANE, call)}


def position(taps: int, each: int, flip: str, finish: Finish) -> Mapping[str, str]:
    """All channels of one position of a depthwise convolution with `each` outputs for a channel."""
    suffix = f"{f'x{each}' if each > 1 else ''}{'_u8' if flip != '0' else ''}"
    name = f"depthwise_direct_{taps}{suffix}_{finish.name}"
    call = f"tvm_depthwise_direct_dsp(direct, taps, output, {taps}, {each}, {flip}, {finish.literals});"
    return {name: _text(name, POSITION, call)}


def unrolled(steps: int, pad: bool) -> tuple[int, int]:
    """Steps, rounded up if `pad` allows it, and how many of them a pass of the loop takes."""
    choices = []
    for unroll in range(8, 0, -1):
        passes = -(-steps // unroll)
        if pad or passes * unroll == steps:
            choices.append((passes * unroll * STEP + passes * PASS, passes * unroll, unroll))
    _, padded, unroll = min(choices, key=lambda c: c[0])
    return padded, unroll


def _text(name: str, parameters: str, call: str) -> str:
    return f"TVM_BLOCK_DSP void {name}({parameters})\n{{\n    {call}\n}}\n"
