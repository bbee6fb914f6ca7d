"""Depthwise convolutions for Cortex-M3 and RV32IM."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from .declined import DeclinedError
from .dsp_packing import int32
from .pair_packing import block_text, finish_rounded_down, literals, longest_runs, starts
from .q_common import window_of

WORD = 4
MOST_SCRATCH = 6144
"""Bytes within which the inputs of a band of rows stay if they can."""

MOST_TAPS = 32
"""Weights of a channel whose loops become none."""

RUNS = (8, 4, 3, 2)
PLANE = (
    "const struct tvm_depthwise_pair *depthwise, const uint32_t *inputs, int32_t channel, int32_t rows, "
    "int32_t below, int8_t *output"
)
ARGUMENTS = "depthwise, inputs, channel, rows, below, output"


def depthwise(layer: QLayer, _need: Need) -> Driver:
    """One output for each channel."""
    if not isinstance(layer, QConv2D) or not layer.groups == layer.input[2] == layer.output[2]:
        raise DeclinedError("not one output for each channel")
    layer = _upright(layer)
    finish = finish_rounded_down(layer)
    if finish.form == "TVM_ANY":
        raise DeclinedError("its outputs have no fast form")
    channels, height, width, _ = layer.weights.shape
    if height * width > MOST_TAPS:
        raise DeclinedError("a large window")
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    # One column of weights is read as if it were a row.
    lines, taps = (1, height) if width == 1 else (height, width)
    line_step = layer.dilations[0] * columns
    tap_step = line_step if width == 1 else layer.dilations[1]
    matrix = (layer.weights.reshape(channels, -1) * finish.moving[:, None]).astype(np.int64)
    run = int(longest_runs(matrix, tuple(min(run, taps) for run in RUNS), taps).min())
    count = np.full(channels, lines * -(-taps // run))
    numbers = (lines, line_step, taps, tap_step, run, layer.strides[1], layer.strides[0] * columns)
    known = ", ".join(map(str, (*numbers, layer.output[1])))
    name = f"depthwise_{'_'.join(map(str, (*numbers, layer.output[1])))}_{finish.name}"
    block = block_text(name, PLANE, "tvm_depthwise_rows_pair", f"{ARGUMENTS}, {known}, {literals(finish)}")
    parameters = np.concatenate([starts(finish.bias, count), finish.words], axis=1)
    rows = _band(layer, columns)
    fields = [name, "@weights@", "@parameters@", parameters.shape[1], rows, columns, channels]
    fields += [finish.low, finish.high]
    call = f"tvm_depthwise_s8_pair(&window, &depthwise, {layer.x.zero_point}, input, output, scratch);"
    return Driver(
        kernel="depthwise_pair",
        body="\n".join(
            [
                window_of(layer),
                f"static const struct tvm_depthwise_pair depthwise = {{{', '.join(map(str, fields))}}};",
                call,
            ]
        ),
        constants={
            "weights": matrix.astype(np.int8).ravel(),
            "parameters": int32(parameters),
        },
        scratch=_rows_under(layer, rows) * columns * WORD,
        in_place=rows == layer.output[0] and layer.input == layer.output,
        runtime=("tvm_depthwise_pair.c",),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_depthwise_pair.h", "tvm_kernels_pair.h"),
        blocks=block,
    )


def _upright(layer: QConv2D) -> QConv2D:
    """`layer` itself, or with rows and columns exchanged if it is one row."""
    (height, width, channels), (top, left, bottom, right) = layer.input, layer.pads
    if height != 1 or layer.output[0] != 1 or layer.weights.shape[1] != 1 or top or bottom:
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


def _rows_under(layer: QConv2D, rows: int) -> int:
    """Rows of the padded image under half of `rows` rows of the output."""
    under = (layer.weights.shape[1] - 1) * layer.dilations[0] + 1
    return int(((rows + 1) // 2 - 1) * layer.strides[0] + under)


def _band(layer: QConv2D, columns: int) -> int:
    """Rows of the output that are computed together."""
    rows = layer.output[0]
    while rows > 2 and _rows_under(layer, rows) * columns * WORD > MOST_SCRATCH:
        rows -= 1 if rows % 2 else 2
    return rows
