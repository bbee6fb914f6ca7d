"""Sums of products in integers: convolutions and matrix products, with their bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..layers import Array
from ..quantized_layers import QConv2D, QDense, QMatMul, Quantization, rounding_of
from ..relax_graph import Expr, constant, ints, op_name, shape_of
from .look_back import Clamp, LookBack, Shape
from .match_layers import pair
from .quantized_constants import QuantizedConstant, along


def product(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Convolution or matrix product, with or without bias."""
    bias: Expr | None = None
    if op_name(call) == "add":
        for base, other in (call.args, reversed(call.args)):
            if op_name(look.value(base)) in ("nn.conv2d", "matmul"):
                call, bias = look.value(base), other
                break
    if op_name(call) == "nn.conv2d":
        return _conv2d(look, call, bias, y, clamp)
    if op_name(call) == "matmul":
        return _matmul(look, call, bias, y, clamp, shape)
    return None


@dataclass(frozen=True, eq=False)
class _Channels:
    """Parameters by output channel: scales and zero points of the weights, bias of the accumulator."""

    scales: Array
    zeros: Array
    bias: Array


def _channels(
    look: LookBack, x: Quantization, weights: QuantizedConstant, axis: int, bias: Expr | None
) -> _Channels | None:
    """None where the weights are quantised along another axis, or a sum may exceed 32 bits."""
    scales, zeros = along(weights.scales, axis), along(weights.zeros, axis)
    if scales is None or zeros is None:
        return None
    real: Array | None = np.zeros(1)
    if bias is not None:
        found = look.constant(bias)
        real = constant(look.value(bias)) if found is None else found.real
    if real is None or real.size not in (1, scales.size):
        return None
    numbers = np.rint(real.reshape(-1) / (scales * x.scale))
    others = tuple(i for i in range(weights.values.ndim) if i != axis)
    largest = np.abs(weights.values.astype(np.int64) - weights.zeros).sum(axis=others) * 255
    if (largest + np.abs(numbers) >= 2**31).any():
        return None
    return _Channels(scales, zeros.astype(np.int32), numbers.astype(np.int32))


def _conv2d(look: LookBack, call: Expr, bias: Expr | None, y: Quantization, clamp: Clamp) -> Expr | None:
    leaf, weights = look.leaf(call.args[0]), look.constant(call.args[1])
    attrs = call.attrs
    if leaf is None or weights is None or str(attrs.data_layout) != "NCHW":
        return None
    data, x = leaf
    by_channel = _channels(look, x, weights, 0, bias)
    if by_channel is None:
        return None
    batch, channels, height, width = shape_of(call.args[0])
    _, out_channels, out_height, out_width = shape_of(call)
    top, left, bottom, right = ints(attrs.padding)
    layer = QConv2D(
        x=x,
        y=y,
        input=(height, width, channels),
        output=(out_height, out_width, out_channels),
        weights=np.ascontiguousarray(weights.values.transpose(0, 2, 3, 1)),
        weight_scales=by_channel.scales,
        weight_zeros=by_channel.zeros,
        bias=by_channel.bias,
        clamp=clamp,
        rounding=look.rounding,
        strides=pair(attrs.strides),
        dilations=pair(attrs.dilation),
        pads=(top, left, bottom, right),
        groups=int(attrs.groups),
        batch=batch,
    )
    return look.nhwc(layer, data, (batch, *layer.output))


def _matmul(
    look: LookBack, call: Expr, bias: Expr | None, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    left = look.leaf(call.args[0])
    if left is None:
        return None
    data, x = left
    weights = look.constant(call.args[1])
    if weights is not None and weights.values.ndim == 2:
        by_channel = _channels(look, x, weights, 1, bias)
        if by_channel is None:
            return None
        layer = QDense(
            x=x,
            y=y,
            rows=math.prod(shape_of(call.args[0])[:-1]),
            weights=np.ascontiguousarray(weights.values.T),
            weight_scales=by_channel.scales,
            weight_zeros=by_channel.zeros,
            bias=by_channel.bias,
            clamp=clamp,
            rounding=rounding_of(look.profile, dense=True),
        )
        return look.call(layer, [data], shape)
    right = look.leaf(call.args[1])
    a, b = shape_of(call.args[0]), shape_of(call.args[1])
    whole = (np.iinfo(y.dtype).min, np.iinfo(y.dtype).max)
    if right is None or bias is not None or a[:-2] != b[:-2] or clamp != whole:
        return None
    product = QMatMul(x, right[1], y, math.prod(a[:-2]), a[-2], a[-1], b[-1], look.rounding)
    return look.call(product, [data, right[0]], shape)
