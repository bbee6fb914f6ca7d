"""Convolutions with two products for each three, for the DSP extension: Winograd's F(2, 3) along rows.

Two neighbouring outputs need three products of weights g with each of four inputs d; instead,

    M0 = (d0 - d2) * 2 g0                M1 = (d1 + d2) * (g0 + g1 + g2)
    M2 = (d2 - d1) * (g0 - g1 + g2)      M3 = (d1 - d3) * -2 g2

give M0 + M1 + M2 and M1 - M2 + M3, twice the outputs. All of it is in integers and so exact: transformed
inputs are within 2^8 and transformed weights within 384 for all numbers of 8 bits, and sums may wrap until
they are complete.
"""

from __future__ import annotations

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from . import dsp_blocks as blocks
from .declined import DeclinedError
from .dsp_conv2d import ALIGN, WORD, gemm_of, macs_of, stays_behind
from .dsp_packing import Finish, check_types, fast_finish_of, fours, in_order, int32
from .q_common import window_of

KERNEL = "conv2d_winograd_dsp"

TWICE_SUM_BITS = 30
"""Twice a sum has to fit 32 bits."""

POSITIONS = 4
"""Outputs that are computed together."""

TOO_NARROW = (1, 2, 3, 5, 6)
"""Widths of outputs at which computing four at a time, the last ones again, saves next to nothing."""

PLANES = 4


def conv2d_winograd(layer: QLayer, need: Need) -> Driver:
    """Convolutions that are three wide, if flash may be spent on them."""
    if not need.winograd:
        raise DeclinedError("transformed weights are not wanted")
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    channels, height, width, depth = layer.weights.shape
    if width != 3 or layer.strides != (1, 1) or layer.dilations != (1, 1):
        raise DeclinedError("not three neighbours at each position")
    if depth % 4 or layer.output[1] in TOO_NARROW:
        raise DeclinedError("rows cannot be transformed")
    if need.optimize != "speed":
        raise DeclinedError("columns take less code")
    check_types(layer)
    finish = fast_finish_of(layer, TWICE_SUM_BITS)
    groups = -(-layer.output[1] // POSITIONS)
    block = blocks.winograd(depth // 2, channels, finish)
    call = f"tvm_conv2d_winograd_dsp(&window, &gemm, {layer.x.zero_point}, input, output, scratch);"
    return Driver(
        kernel=KERNEL,
        body="\n".join(
            [window_of(layer), gemm_of(finish, next(iter(block)), height, 2 * depth, channels), call]
        ),
        constants={
            "weights": _weights(layer.weights * finish.moving[:, None, None, None].astype(np.int8)),
            "parameters": _parameters(finish),
            **finish.constants,
        },
        scratch=-(-depth // ALIGN) * ALIGN + height * groups * PLANES * depth * WORD,
        in_place=stays_behind(layer, height),
        runtime=("tvm_conv2d_winograd_dsp.c",),
        macs=macs_of(layer),
        headers=("tvm_winograd_dsp.h", "tvm_kernels_dsp.h"),
        blocks=block,
    )


def _weights(weights: Array) -> Array:
    """Weights [channels, height, 3, depth], transformed: words [channels / 4, planes, height, depth / 2, 4].

    The planes stand in the order in which the block adds them up: M1, M2, M0, M3.
    """
    g0, g1, g2 = np.moveaxis(weights.astype(np.int64), 2, 0)
    planes = np.stack([g0 + g1 + g2, g0 - g1 + g2, 2 * g0, -2 * g2], axis=1)
    numbers = _by_four(in_order(planes.reshape(-1, planes.shape[-1])).reshape(planes.shape))
    words = (numbers[..., 0::2] & 0xFFFF) | ((numbers[..., 1::2] & 0xFFFF) << 16)
    return int32(np.moveaxis(words, 1, -1))


def _parameters(finish: Finish) -> Array:
    """Twice the biases of four channels and what follows them, by four channels."""
    biases, words = _by_four(2 * finish.bias), _by_four(finish.words)
    return int32(np.concatenate([biases, words.reshape(len(words), -1)], axis=1))


def _by_four(values: Array) -> Array:
    """Values of channels [channels, ...] as [channels / 4, 4, ...], zeros behind."""
    padded = np.zeros((fours(len(values)), *values.shape[1:]), np.int64)
    padded[: len(values)] = values
    return padded.reshape(-1, 4, *values.shape[1:])
