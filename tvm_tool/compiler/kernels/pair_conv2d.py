"""Convolutions of one group and dense layers for Cortex-M3 and RV32IM."""

from __future__ import annotations

import numpy as np

from ..layers import Driver, Need
from ..quantized_layers import QConv2D, QDense, QLayer
from .declined import DeclinedError
from .dsp_packing import int32
from .pair_packing import (
    LENGTH,
    RUNTIME,
    block_text,
    finish_rounded_down,
    literals,
    longest_runs,
    starts,
)
from .q_common import window_of
from .q_conv2d import as_conv2d, as_dense

RUNS = (8, 4, 3, 2)
SHORT_RUNS = (2,)
FOUR = 80
"""Bytes that say where four positions are."""

WORD = 4
PRODUCTS = (
    "const uint32_t *columns, const uint32_t *end, const int8_t *weights, const int32_t *parameters, "
    "int32_t *sums"
)
FINISH = "const struct tvm_gemm_pair *gemm, const uint32_t *columns, int8_t *output, const int32_t *places"
CHANNELS = "const int8_t *from, const int8_t *end, const int8_t *weights, const int32_t *bias, int32_t *sums"
GEMV = "const struct tvm_gemv_pair *gemv, const int8_t *input, void *output"


def dense(layer: QLayer, need: Need) -> Driver:
    """Dense layers of one row, and convolutions that are one."""
    product = layer if isinstance(layer, QDense) else as_dense(layer) if isinstance(layer, QConv2D) else None
    if product is None or product.rows != 1:
        raise DeclinedError("not one row")
    finish = finish_rounded_down(product)
    channels, depth = product.weights.shape
    speed = need.optimize == "speed"
    together = 16 if speed and need.isa == "rv32" and channels % 16 == 0 else 8
    padded = np.zeros((-(-channels // together) * together, depth), np.int8)
    padded[:channels] = product.weights * finish.moving[:, None].astype(np.int8)
    count = next(n for n in (8, 4, 2, 1) if depth % n == 0 and (speed or n < 4))
    bias = np.zeros(len(padded), np.int64)
    bias[:channels] = finish.bias
    products = block_text(
        f"products1x{together}_by{count}",
        CHANNELS,
        f"tvm_sum_{together}_channels_pair",
        f"from, end, weights, bias, sums, {count}",
    )
    alike = "true" if finish.alike else "false"
    block = block_text(
        f"finish1x{together}_{'alike_' if finish.alike else ''}{finish.name}",
        GEMV,
        "tvm_gemv_any_pair",
        f"gemv, input, output, {together}, {alike}, {literals(finish)}",
    )
    words = finish.words[:1] if finish.alike else finish.words
    parameters = "@parameters@" if words.size else "NULL"
    fields = f"{next(iter(products))}, @weights@, @bias@, {parameters}, {depth}, {channels}"
    limits = f"{finish.low}, {finish.high}, {finish.pointer}"
    return Driver(
        kernel="dense_pair",
        body="\n".join(
            [
                *finish.declaration,
                f"static const struct tvm_gemv_pair gemv = {{{fields}, {limits}}};",
                f"{next(iter(block))}(&gemv, input, output);",
            ]
        ),
        constants={
            "weights": padded.reshape(-1, together, depth).transpose(0, 2, 1).ravel(),
            "bias": int32(bias),
            **({"parameters": int32(words)} if words.size else {}),
            **finish.constants,
        },
        runtime=RUNTIME,
        macs=product.weights.size,
        headers=("tvm_gemv_pair.h",),
        blocks={**products, **block},
    )


def conv2d(layer: QLayer, need: Need) -> Driver:
    """Every convolution of one group, and dense layers of several rows."""
    if isinstance(layer, QDense):
        layer = as_conv2d(layer)
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    finish = finish_rounded_down(layer)
    channels, _, width, depth = layer.weights.shape
    length = -(-layer.weights[0].size // LENGTH) * LENGTH
    matrix = np.zeros((channels, length), np.int64)
    matrix[:, : layer.weights[0].size] = layer.weights.reshape(channels, -1) * finish.moving[:, None]
    choices = RUNS if need.optimize == "speed" else SHORT_RUNS
    runs = longest_runs(matrix, choices, LENGTH)
    words = [runs[:, None], starts(finish.bias, length // LENGTH * -(-LENGTH // runs)), finish.words]
    mask = sum(1 << run for run in choices)
    products = block_text(
        f"products4_{mask}",
        PRODUCTS,
        "tvm_sum_channel_pair",
        f"columns, end, weights, parameters, sums, {mask}",
    )
    four = block_text(
        f"finish4_{finish.name}",
        FINISH,
        "tvm_finish_four_pair",
        f"gemm, columns, output, places, {literals(finish)}",
    )
    slots = _slots(layer)
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    fields = f"{next(iter(four))}, {next(iter(products))}, @weights@, @parameters@, {length}, {channels}"
    limits = f"{finish.low}, {finish.high}, {finish.pointer}"
    arguments = f"&window, &gemm, {slots}, {layer.x.zero_point}, input, output, scratch"
    return Driver(
        kernel="conv2d_pair",
        body="\n".join(
            [
                window_of(layer),
                *finish.declaration,
                f"static const struct tvm_gemm_pair gemm = {{{fields}, {limits}}};",
                f"tvm_conv2d_pair({arguments});",
            ]
        ),
        constants={
            "weights": matrix.astype(np.int8).ravel(),
            "parameters": int32(np.concatenate(words, axis=1)),
            **finish.constants,
        },
        scratch=FOUR + 2 * WORD * length + slots * columns * depth,
        in_place=_pointwise(layer) and channels == depth,
        runtime=("tvm_conv2d_pair.c", *RUNTIME),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_gemm_pair.h", "tvm_kernels_pair.h"),
        blocks={**products, **four},
    )


def _pointwise(layer: QConv2D) -> bool:
    """Whether each output needs the inputs of its own position alone."""
    return as_dense(layer) is not None and layer.weights.shape[1:3] == (1, 1)


def _slots(layer: QConv2D) -> int:
    """Rows of the padded image under the windows of four positions; 0 without padding."""
    if not any(layer.pads):
        return 0
    under = (layer.weights.shape[1] - 1) * layer.dilations[0] + 1
    return int(under + -(-3 // layer.output[1]) * layer.strides[0])
