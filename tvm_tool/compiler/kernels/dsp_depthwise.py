"""Depthwise convolutions for the DSP extension."""

from __future__ import annotations

import math

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from . import dsp_blocks as blocks
from .declined import DeclinedError
from .dsp_packing import DEPTHWISE_SUM_BITS, check_types, fast_finish_of, int32
from .q_common import window_of

GROUP = 4
"""Channels that are packed together."""

WORD = 4
SHAPE = ("depthwise->columns", "depthwise->width", "depthwise->channels")
"""What a block for any shape knows only when it runs."""

MOST_SCRATCH = 6144
"""Bytes within which a band of rows stays if it can."""


def depthwise(layer: QLayer, need: Need) -> Driver:
    """One output for each channel; rows without dilation."""
    if not isinstance(layer, QConv2D) or not layer.groups == layer.input[2] == layer.output[2]:
        raise DeclinedError("not one output for each channel")
    if layer.dilations[0] != 1:
        raise DeclinedError("rows are dilated")
    check_types(layer)
    finish = fast_finish_of(layer, DEPTHWISE_SUM_BITS)
    channels, height, width, _ = layer.weights.shape
    weights = layer.weights * finish.moving[:, None, None, None].astype(np.int8)
    speed = need.optimize == "speed"
    square = (height, width) == (3, 3) and layer.strides in ((1, 1), (2, 2)) and layer.dilations[1] == 1
    taps = 2 if square else height // 2 + 1
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    rows = _band(layer, taps, columns)
    shape = (columns, layer.output[1], channels) if speed else SHAPE
    if square:
        suffix = "" if layer.strides == (1, 1) else "_stride_2"
        name, function = f"depthwise3x3{suffix.replace('_', '')}", f"tvm_depthwise_3x3{suffix}_dsp"
        numbers: tuple[int | str, ...] = shape
        words = _three(weights)
    else:
        rest = (*layer.strides, layer.dilations[1], taps, width)
        name, function = "depthwise_" + "_".join(map(str, rest)), "tvm_depthwise_any_dsp"
        numbers = (*shape, *rest)
        words = _any(weights, taps)
    name += f"_{layer.output[1]}x{channels}" if speed else ""
    block = blocks.plane(name, function, ", ".join(map(str, numbers)), finish)
    parameters = np.concatenate([words, finish.bias[:, None], finish.words], axis=1)
    fields = [next(iter(block)), "@parameters@", parameters.shape[1], columns, layer.output[1], channels]
    fields += [rows, taps, finish.low, finish.high]
    declaration = f"static const struct tvm_depthwise_dsp depthwise = {{{', '.join(map(str, fields))}}};"
    call = f"tvm_depthwise_s8_dsp(&window, &depthwise, {layer.x.zero_point}, input, output, scratch);"
    return Driver(
        kernel="depthwise_3x3_dsp" if square else "depthwise_dsp",
        body="\n".join([window_of(layer), declaration, call]),
        constants={"parameters": int32(parameters)},
        scratch=_pairs(layer, taps, rows) * columns * GROUP * WORD,
        in_place=rows == layer.output[0] and math.prod(layer.output) <= math.prod(layer.input),
        runtime=("tvm_depthwise_dsp.c",),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_depthwise_dsp.h", "tvm_kernels_dsp.h"),
        blocks=block,
    )


def _pairs(layer: QConv2D, taps: int, rows: int) -> int:
    """Pairs of input rows for `rows` rows of the output."""
    return (rows - 1) * layer.strides[0] // 2 + taps


def _band(layer: QConv2D, taps: int, columns: int) -> int:
    """Rows of the output that are computed together."""
    rows = layer.output[0]
    while rows > 2 and _pairs(layer, taps, rows) * columns * GROUP * WORD > MOST_SCRATCH:
        rows -= 1 if rows % 2 else 2
    return rows


def _three(weights: Array) -> Array:
    """For each column of 3x3 weights the bytes w0, w1, w1, w2: [channels, 3]."""
    columns = weights[..., 0][:, (0, 1, 1, 2)].transpose(0, 2, 1)
    return _words(np.ascontiguousarray(columns))


def _any(weights: Array, taps: int) -> Array:
    """For each pair of rows and each column the bytes w[2i - 1], w[2i], w[2i], w[2i + 1]: [channels, n]."""
    channels, height, width, _ = weights.shape
    rows = np.zeros((channels, 2 * taps + 1, width), np.int8)
    rows[:, 1 : 1 + height] = weights[..., 0]
    before, here, behind = rows[:, 0:-1:2], rows[:, 1::2], rows[:, 2::2]
    return _words(np.stack([before, here, here, behind], axis=-1)).reshape(channels, -1)


def _words(four: Array) -> Array:
    """Four bytes of the last axis as one number."""
    words: Array = four.view(np.uint8).astype(np.int64) @ (1 << np.arange(0, 32, 8))
    return words
