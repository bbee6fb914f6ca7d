"""Convolutions of one group and dense layers for Cortex-M0 and M0+."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QDense, QLayer
from .armv6m_scaling import SPLIT, Scaling, scaling_of
from .declined import DeclinedError
from .dsp_packing import check_types, int32
from .q_common import window_of
from .q_conv2d import as_conv2d, as_dense

PASS = 8
"""Inputs that a pass of the products takes, and channels whose weights stand side by side."""

RUNS = (8, 4, 3, 2)
"""Inputs whose products are added up before the sums of two positions are taken apart."""

UNSIGNED = 128
"""What the weights for one position are more than they are."""

WORD = 4
FOUR = 80
"""Bytes that say where four positions are."""

FIELD = 1 << 15

GEMM = "const struct tvm_gemm_armv6m *gemm, const uint32_t *columns, uint8_t *output, const int32_t *places"
GEMV = "const struct tvm_gemv_armv6m *gemv, int32_t depth, const int8_t *input, void *output, void *scratch"
EXACT = "tvm_rescale_s8.c"


def dense(layer: QLayer, _need: Need) -> Driver:
    """Dense layers of one row, and convolutions that are one."""
    product = _product(layer)
    if product is None or product.rows != 1:
        raise DeclinedError("not one row")
    check_types(product)
    scaling = scaling_of(product)
    channels, depth = product.weights.shape
    length = -(-depth // PASS) * PASS
    matrix = np.zeros((-(-channels // 4) * 4, length), np.int64)
    matrix[:channels, :depth] = product.weights * scaling.moving[:, None]
    bias = np.zeros(matrix.shape[0], np.int64)
    bias[:channels] = scaling.bias
    weights = (matrix + UNSIGNED).reshape(-1, 4, length).transpose(0, 2, 1)
    words = pack_parameters(scaling, np.zeros(channels, np.int64), np.full(channels, RUNS[-1]))
    block = block_text(
        f"gemv4_{word_of(scaling)}",
        GEMV,
        "tvm_gemv_4_armv6m",
        f"gemv, depth, input, output, scratch, {scaling.form}",
    )
    step = 0 if scaling.alike else words.shape[1]
    fields = f"@weights@, @bias@, @parameters@, {step}, {length}, {channels}, {pointer(scaling)}"
    return Driver(
        kernel="dense_armv6m",
        body="\n".join(
            [
                *declaration(scaling),
                f"static const struct tvm_gemv_armv6m gemv = {{{fields}}};",
                f"{next(iter(block))}(&gemv, {depth}, input, output, scratch);",
            ]
        ),
        constants={
            "weights": weights.astype(np.uint8).view(np.int8).ravel(),
            "bias": int32(bias),
            "parameters": int32(words[:1] if scaling.alike else words),
            **({} if scaling.how is None else scaling.how.constants),
        },
        scratch=length * WORD,
        runtime=(EXACT,),
        macs=product.weights.size,
        headers=("tvm_gemv_armv6m.h",),
        blocks=block,
    )


def conv2d(layer: QLayer, need: Need) -> Driver:
    """Every convolution of one group, and dense layers of several rows."""
    if isinstance(layer, QDense):
        layer = as_conv2d(layer)
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    check_types(layer)
    scaling = scaling_of(layer)
    channels, height, width, depth = layer.weights.shape
    length = -(-layer.weights[0].size // PASS) * PASS
    matrix = np.zeros((channels, length), np.int64)
    matrix[:, : layer.weights[0].size] = layer.weights.reshape(channels, -1) * scaling.moving[:, None]
    long = need.optimize == "speed" and scaling.how is None
    runs = longest_runs(matrix, RUNS if long else RUNS[-1:], PASS)
    long = bool((runs != RUNS[-1]).any())
    words = pack_parameters(scaling, scaling.bias, runs)
    name = f"gemm4{'' if long else '_short'}_{word_of(scaling)}"
    numbers = f"{scaling.form}, {'true' if long else 'false'}"
    block = block_text(name, GEMM, "tvm_gemm_4_armv6m", f"gemm, columns, output, places, {numbers}")
    slots = _slots(layer)
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    fields = f"{name}, @weights@, @parameters@, {length}, {channels}, {pointer(scaling)}"
    arguments = f"&window, &gemm, {slots}, {layer.x.zero_point}, input, output, scratch"
    return Driver(
        kernel="conv2d_armv6m",
        body="\n".join(
            [
                window_of(layer),
                *declaration(scaling),
                f"static const struct tvm_gemm_armv6m gemm = {{{fields}}};",
                f"tvm_conv2d_armv6m({arguments});",
            ]
        ),
        constants={
            "weights": _side_by_side(matrix),
            "parameters": int32(words),
            **({} if scaling.how is None else scaling.how.constants),
        },
        scratch=FOUR + 2 * WORD * length + slots * columns * depth,
        in_place=as_dense(layer) is not None and channels == depth and height == width == 1,
        runtime=("tvm_conv2d_armv6m.c", EXACT),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_gemm_armv6m.h", "tvm_kernels_armv6m.h"),
        blocks=block,
    )


def _product(layer: QLayer) -> QDense | None:
    return layer if isinstance(layer, QDense) else as_dense(layer) if isinstance(layer, QConv2D) else None


def _slots(layer: QConv2D) -> int:
    """Rows of the padded image under the windows of four positions; 0 without padding."""
    if not any(layer.pads):
        return 0
    under = (layer.weights.shape[1] - 1) * layer.dilations[0] + 1
    return int(under + -(-3 // layer.output[1]) * layer.strides[0])


def longest_runs(matrix: Array, choices: tuple[int, ...], length: int) -> Array:
    """By channel, the longest of `choices` whose sums stay within 16 bits; every `length` weights anew."""
    most = np.where(matrix > 0, matrix * 127, matrix * -128)
    least = np.where(matrix > 0, matrix * -128, matrix * 127)
    found = np.zeros(len(matrix), np.int64)
    for run in choices:
        edges = [start + i for start in range(0, matrix.shape[1], length) for i in range(0, length, run)]
        fits = (np.add.reduceat(most, edges, axis=1) < FIELD) & (
            np.add.reduceat(least, edges, axis=1) > -FIELD
        )
        found = np.where((found == 0) & fits.all(axis=1), run, found)
    if not found.all():
        raise DeclinedError("weights of -128 side by side")
    return found


def pack_parameters(scaling: Scaling, bias: Array, runs: Array) -> Array:
    """What follows the sums of a channel, as tvm_gemm_armv6m has it: int64 [channels, words]."""
    rest, limit, high = scaling.words.T[:3]
    codes = np.searchsorted(RUNS[::-1], runs)
    words: Array = np.stack(
        [bias, (limit << SPLIT) + rest, (high << 2) + codes, *scaling.words.T[3:]], axis=1
    )
    return words


def _side_by_side(matrix: Array) -> Array:
    """Bytes [channels / 8][length][8] of weights [channels, length]."""
    channels, length = matrix.shape
    padded = np.zeros((-(-channels // PASS) * PASS, length), np.int8)
    padded[:channels] = matrix
    bytes_: Array = padded.reshape(-1, PASS, length).transpose(0, 2, 1).ravel()
    return bytes_


def word_of(scaling: Scaling) -> str:
    """What the names of blocks say of `scaling`."""
    return scaling.form.removeprefix("TVM_").lower()


def declaration(scaling: Scaling) -> list[str]:
    """The C declaration of ``how``, if it is needed."""
    return [] if scaling.how is None else [scaling.how.text]


def pointer(scaling: Scaling) -> str:
    """C expression of a pointer to ``how``."""
    return "NULL" if scaling.how is None else "&how"


def block_text(name: str, parameters: str, function: str, arguments: str) -> Mapping[str, str]:
    """A block called `name`: `function` with known numbers among its arguments."""
    return {name: f"TVM_BLOCK_ARMV6M void {name}({parameters})\n{{\n    {function}({arguments});\n}}\n"}
