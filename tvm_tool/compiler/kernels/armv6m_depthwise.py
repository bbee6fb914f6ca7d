"""Depthwise convolutions for Cortex-M0 and M0+."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from .armv6m_gemm import EXACT, WORD, block_text, declaration, longest_runs, pack_parameters, pointer, word_of
from .armv6m_scaling import scaling_of
from .declined import DeclinedError
from .dsp_packing import check_types, int32
from .q_common import window_of

STEP = 3
"""Columns that a block takes at a time."""

PLANE = 16
"""Words between the weights and the inputs of a channel."""

MOST_SCRATCH = 6144
"""Bytes within which the inputs of a band of rows stay if they can."""

MOST_STEPS = 24
"""So that a branch reaches over two blocks of them."""

BLOCK = (
    "const struct tvm_depthwise_armv6m *depthwise, const uint32_t *inputs, uint32_t *taps, uint8_t *output"
)
ARGUMENTS = "depthwise, inputs, taps, output"


def depthwise(layer: QLayer, _need: Need) -> Driver:
    """One output for each channel; columns without dilation."""
    if not isinstance(layer, QConv2D) or not layer.groups == layer.input[2] == layer.output[2]:
        raise DeclinedError("not one output for each channel")
    layer = _upright(layer)
    if layer.dilations[1] != 1:
        raise DeclinedError("columns are dilated")
    check_types(layer)
    scaling = scaling_of(layer)
    channels, height, width, _ = layer.weights.shape
    columns = (layer.output[1] - 1) * layer.strides[1] + width
    flat = columns == 1 and layer.dilations[0] == 1
    rows, across = (1, height) if flat else (height, width)
    steps = -(-across // STEP)
    if rows * steps > MOST_STEPS:
        raise DeclinedError("a large window")
    matrix = np.zeros((channels, rows, steps * STEP), np.int64)
    matrix[:, :, :across] = layer.weights.reshape(channels, rows, across)
    matrix = (matrix * scaling.moving[:, None, None]).reshape(channels, -1)
    runs = longest_runs(matrix, (STEP, STEP - 1), STEP)
    words = pack_parameters(scaling, scaling.bias, runs)
    name = f"depthwise{rows}x{steps * STEP}_{word_of(scaling)}"
    block = block_text(
        name, BLOCK, "tvm_depthwise_rows_armv6m", f"{ARGUMENTS}, {rows}, {steps}, {scaling.form}"
    )
    band = _band(layer, columns)
    pitch = steps * STEP if flat else columns * layer.dilations[0]
    move = layer.strides[0] if flat else layer.strides[1]
    fields = [name, "@weights@", "@parameters@", matrix.shape[1], words.shape[1], band]
    fields += ["true" if flat else "false", pitch, move, pointer(scaling)]
    call = f"tvm_depthwise_armv6m(&window, &depthwise, {layer.x.zero_point}, input, output, scratch);"
    return Driver(
        kernel="depthwise_armv6m",
        body="\n".join(
            [
                window_of(layer),
                *declaration(scaling),
                f"static const struct tvm_depthwise_armv6m depthwise = {{{', '.join(map(str, fields))}}};",
                call,
            ]
        ),
        constants={
            "weights": matrix.astype(np.int8).ravel(),
            "parameters": int32(words),
            **({} if scaling.how is None else scaling.how.constants),
        },
        scratch=(matrix.shape[1] + PLANE + _inputs(layer, columns, band) + 2) * WORD,
        in_place=band == layer.output[0] and layer.input == layer.output,
        runtime=("tvm_depthwise_armv6m.c", EXACT),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_depthwise_armv6m.h", "tvm_kernels_armv6m.h"),
        blocks=block,
    )


def _upright(layer: QConv2D) -> QConv2D:
    """`layer` itself, or with rows and columns exchanged if it is one row."""
    if layer.input[0] != 1 or layer.output[0] != 1 or layer.weights.shape[1] != 1:
        return layer
    (_, width, channels), (top, left, bottom, right) = layer.input, layer.pads
    if top or bottom:
        return layer
    weights: Array = layer.weights.transpose(0, 2, 1, 3)
    return dataclasses.replace(
        layer,
        input=(width, 1, channels),
        output=(layer.output[1], 1, channels),
        weights=weights,
        strides=layer.strides[::-1],
        dilations=layer.dilations[::-1],
        pads=(left, top, right, bottom),
    )


def _inputs(layer: QConv2D, columns: int, rows: int) -> int:
    """Words for the inputs of a band of `rows` rows of the output."""
    under = (layer.weights.shape[1] - 1) * layer.dilations[0] + 1
    return int(((rows + 1) // 2 - 1) * layer.strides[0] + under) * columns


def _band(layer: QConv2D, columns: int) -> int:
    """Rows of the output that are computed together."""
    rows = layer.output[0]
    while rows > 2 and _inputs(layer, columns, rows) * WORD > MOST_SCRATCH:
        rows -= 1 if rows % 2 else 2
    return rows
