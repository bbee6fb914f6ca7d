"""Depthwise convolutions for Helium."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from . import mve_blocks as blocks
from .declined import DeclinedError
from .dsp_packing import check_types, finish_of, int32
from .mve_packing import LANES, SUM_BITS, words_of
from .q_common import window_of

FOUR = 4
"""Rows of a band, words of a vector, outputs that are computed together."""

SPARE = 16 + 64
"""Bytes of scratch before the bands, and behind them, where packing may write."""


@dataclass(frozen=True)
class Shape:
    """How outputs share inputs.

    Attributes:
        kind: C enumerator of what four outputs have in common.
        together: rows that are computed together.
        bands: bands under them.
        words: of a window: band and column of each.
    """

    kind: str
    together: int
    bands: int
    words: tuple[tuple[int, int], ...]

    @property
    def vectors(self) -> int:
        return -(-len(self.words) // FOUR)


def depthwise(layer: QLayer, _need: Need) -> Driver:
    """One output for each channel."""
    if not isinstance(layer, QConv2D) or not layer.groups == layer.input[2] == layer.output[2]:
        raise DeclinedError("not one output for each channel")
    check_types(layer)
    finish = finish_of(layer, SUM_BITS)
    if finish.how is not None:
        raise DeclinedError("outputs need the scalar function")
    channels, _, width, _ = layer.weights.shape
    shape = _shape(layer)
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    block = blocks.rows(shape.kind, shape.vectors, finish)
    fields = [next(iter(block)), "@weights@", "@parameters@", "@offsets@", shape.together, shape.bands]
    fields += [columns, layer.output[1], layer.strides[1], channels, shape.kind, finish.low, finish.high]
    declaration = f"static const struct tvm_depthwise_mve depthwise = {{{', '.join(map(str, fields))}}};"
    call = f"tvm_depthwise_s8_mve(&window, &depthwise, {layer.x.zero_point}, input, output, scratch);"
    in_place = layer.input == layer.output and layer.strides == (1, 1)
    rows = 1 + layer.pads[0] if in_place else 1
    moving = finish.moving[:, None, None].astype(np.int8)
    return Driver(
        kernel="depthwise_mve",
        body="\n".join([window_of(layer), declaration, call]),
        constants={
            "weights": _packed(layer.weights[..., 0] * moving, shape),
            "parameters": int32(words_of(finish)),
            "offsets": _offsets(layer, shape, columns),
        },
        scratch=FOUR * shape.bands * columns * channels + SPARE + rows * layer.input[1] * channels,
        in_place=in_place,
        runtime=("tvm_depthwise_mve.c",),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_kernels_mve.h",),
        blocks=block,
    )


def _shape(layer: QConv2D) -> Shape:
    _, height, width, _ = layer.weights.shape
    dense_rows = layer.strides[0] == layer.dilations[0] == 1
    if dense_rows and layer.strides[1] == layer.dilations[1] == 1 and height < FOUR and width < FOUR:
        return Shape("TVM_PATCH_MVE", 2, 1, tuple((0, x) for x in range(width)))
    if dense_rows and width == 1 and height + 3 <= LANES and layer.output[0] > 1:
        bands = -(-(height + 3) // FOUR)
        return Shape("TVM_TALL_MVE", FOUR, bands, tuple((band, 0) for band in range(bands)))
    bands = -(-height // FOUR)
    return Shape("TVM_FLAT_MVE", 1, bands, tuple((band, x) for band in range(bands) for x in range(width)))


def _packed(weights: Array, shape: Shape) -> Array:
    """Weights [channels, height, width] by channel as the words of its window, zeros behind."""
    channels, height, width = weights.shape
    padded = np.zeros((channels, shape.bands * FOUR, width), np.int8)
    padded[:, :height] = weights
    words = np.zeros((channels, shape.vectors * FOUR, FOUR), np.int8)
    for place, (band, x) in enumerate(shape.words):
        words[:, place] = padded[:, FOUR * band : FOUR * (band + 1), x]
    return words.ravel()


def _offsets(layer: QConv2D, shape: Shape, columns: int) -> Array:
    """Bytes from the first word of a window to each; 0 for words that do not count."""
    word = FOUR * layer.input[2]
    offsets = np.zeros(shape.vectors * FOUR, np.int64)
    for place, (band, x) in enumerate(shape.words):
        offsets[place] = band * columns * word + x * layer.dilations[1] * word
    if shape.kind == "TVM_PATCH_MVE" and layer.output[1] > 1:
        # The second column of outputs has one word more.
        offsets[len(shape.words)] = len(shape.words) * word
    return int32(offsets)
