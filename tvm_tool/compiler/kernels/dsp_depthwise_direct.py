"""Depthwise convolutions of every kind for the DSP extension: four channels of one position at a time.

Weights have 16 bits, their zero points taken off. So zero points, uint8 inputs, several outputs for a channel
and dilated rows need nothing more.
"""

from __future__ import annotations

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QLayer
from . import dsp_blocks as blocks
from .declined import DeclinedError
from .dsp_conv2d import pointer_bytes
from .dsp_packing import DEPTHWISE_SUM_BITS, Finish, int32
from .dsp_signed import finish_any, lift, signed_weights
from .q_common import window_of

GROUP = 4
"""Channels that are computed together."""


def depthwise_direct(layer: QLayer, _need: Need) -> Driver:
    """Every convolution of each channel by itself."""
    if not isinstance(layer, QConv2D) or not layer.groups == layer.input[2] > 1:
        raise DeclinedError("not each channel by itself")
    finish = finish_any(layer, DEPTHWISE_SUM_BITS)
    channels = layer.groups
    each = layer.output[2] // channels
    _, height, width, _ = layer.weights.shape
    block = blocks.position(height * width, each, "0x80808080" if lift(layer.x) else "0", finish)
    fields = [next(iter(block)), "@parameters@", height * width, channels, layer.x.zero_point]
    fields += [finish.low, finish.high, finish.pointer]
    declaration = f"static const struct tvm_direct_dsp direct = {{{', '.join(map(str, fields))}}};"
    call = "tvm_depthwise_any_s8_dsp(&window, &direct, input, output, scratch);"
    return Driver(
        kernel="depthwise_direct_dsp",
        body="\n".join([window_of(layer), *finish.declaration, declaration, call]),
        constants={"parameters": _parameters(layer, finish, each), **finish.constants},
        scratch=pointer_bytes(height * width) + channels,
        runtime=("tvm_depthwise_direct_dsp.c", "tvm_finish_dsp.c", "tvm_rescale_s8.c"),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_depthwise_direct_dsp.h", "tvm_kernels_dsp.h"),
        blocks=block,
    )


def _parameters(layer: QConv2D, finish: Finish, each: int) -> Array:
    """By four channels and by outputs of each: weights, biases, what the form needs."""
    weights, zeros = signed_weights(layer)
    taps = (weights.reshape(weights.shape[0], -1) - zeros[:, None]) * finish.moving[:, None]
    rows = np.concatenate([taps, finish.bias[:, None], finish.words], axis=1)
    rows = rows.reshape(-1, each, rows.shape[1])
    rows = np.pad(rows, ((0, -rows.shape[0] % GROUP), (0, 0), (0, 0)))
    four = rows.reshape(-1, GROUP, each, rows.shape[2]).transpose(0, 2, 1, 3)
    count = taps.shape[1]
    upper, lower = four[:, :, :2, :count], four[:, :, 2:, :count]
    words = ((lower & 0xFFFF) | ((upper & 0xFFFF) << 16)).transpose(0, 1, 3, 2)
    parts = [words, four[..., count], four[..., count + 1 :]]
    return int32(np.concatenate([part.reshape(*four.shape[:2], -1) for part in parts], axis=2))
