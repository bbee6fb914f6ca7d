"""Blocks of the kernels for Helium: functions that are compiled for known numbers, by name.

All layers of a model that need the same numbers share a block.
"""

from __future__ import annotations

from collections.abc import Mapping

from .dsp_packing import Finish
from .mve_packing import form_of

GEMM = (
    "const struct tvm_gemm_mve *gemm, const int8_t *input0, const int8_t *input1, int8_t *output0, "
    "int8_t *output1"
)
GEMM_ARGUMENTS = "gemm, input0, input1, output0, output1"
GEMV = "const struct tvm_gemm_mve *gemm, int32_t depth, const int8_t *input, void *output, void *scratch"
ROWS = (
    "const struct tvm_depthwise_mve *depthwise, const int32_t *places, const int8_t *bands, int32_t rows, "
    "int8_t *output"
)
ROWS_ARGUMENTS = "depthwise, places, bands, rows, output"
GATHER = "const int8_t *const *rows, int32_t x, int8_t *to"

MOST_STEPS = {"speed": 8, "size": 2}
"""By what is optimised: steps up to which there is no loop."""

MOST_UNROLLED = {"speed": 9, "size": 1}
"""Steps of a pass of the loop."""

STEP, PASS = 8, 1
"""Instructions of a step of the products, and of what a pass of their loop adds."""


def gemm(depth: int, finish: Finish) -> Mapping[str, str]:
    """Products of `depth` inputs; negative: of any number, by so many steps at a time."""
    whole = finish.bias.size % 4 == 0
    name = f"gemm2x4_{f'{depth}' if depth > 0 else f'by{-depth}'}_mve_{finish.name}{'' if whole else '_tail'}"
    numbers = f"{depth}, {'true' if whole else 'false'}, {form_of(finish)}"
    call = f"tvm_gemm_2x4_mve({GEMM_ARGUMENTS}, {numbers});"
    return {name: _text(name, GEMM, call)}


def gemv(unroll: int, finish: Finish) -> Mapping[str, str]:
    """Products for one position."""
    name = f"gemv1x4_by{unroll}_mve{'_alike' if finish.alike else ''}_{finish.name}"
    numbers = f"{unroll}, {'true' if finish.alike else 'false'}, {form_of(finish)}"
    call = f"tvm_gemv_1x4_mve(gemm, depth, input, output, scratch, {numbers});"
    return {name: _text(name, GEMV, call)}


def gather(rows: int, pieces: int, step: int, length: int) -> Mapping[str, str]:
    """The inputs of a position: pieces of `length` bytes, `step` bytes apart, in each of some rows."""
    name = f"gather{rows}x{f'{pieces}by{step}x' if pieces > 1 else ''}{length}_mve"
    call = f"tvm_gather_pieces_mve(rows, x, to, {rows}, {pieces}, {step}, {length});"
    return {name: _text(name, GATHER, call)}


def rows(kind: str, vectors: int, finish: Finish) -> Mapping[str, str]:
    """Rows of a depthwise convolution; `kind` is the C name of what four outputs have in common."""
    word = kind.removeprefix("TVM_").lower()
    name = f"depthwise_{word}{f'_{vectors}' if vectors > 1 else ''}_{finish.name}"
    call = f"tvm_depthwise_four_mve({ROWS_ARGUMENTS}, {kind}, {vectors}, {form_of(finish)});"
    return {name: _text(name, ROWS, call)}


def unrolled(steps: int, optimize: str, pad: bool) -> tuple[int, int]:
    """Steps, rounded up if `pad` allows it, and how many of them a pass of the loop takes."""
    choices = []
    for unroll in range(MOST_UNROLLED[optimize], 0, -1):
        passes = -(-steps // unroll)
        if pad or passes * unroll == steps:
            choices.append((passes * unroll * STEP + passes * PASS, passes * unroll, unroll))
    _, padded, unroll = min(choices, key=lambda c: c[0])
    return padded, unroll


def _text(name: str, parameters: str, call: str) -> str:
    return f"TVM_BLOCK_MVE void {name}({parameters})\n{{\n    {call}\n}}\n"
