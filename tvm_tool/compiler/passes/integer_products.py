"""Sums of products in integers: convolutions and matrix products, with their bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from tvm import relax

from ..layers import Array
from ..quantized_layers import (
    DOUBLE,
    QConv2D,
    QConvTranspose2D,
    QDense,
    QMatMul,
    QPool2D,
    Quantization,
    rounding_of,
)
from ..relax_graph import Expr, constant, ints, op_name, shape_of
from .look_back import Clamp, LookBack, Shape
from .quantized_constants import QuantizedConstant, along

SAME = 2.0**-22
"""How far, relatively, the scale of a bias may be from the product of the two others and mean the same."""

FLOAT32 = 2.0**-23
"""How finely, relatively, float32 holds a bias."""

CONVOLUTIONS = frozenset(
    {"nn.conv1d", "nn.conv2d", "nn.conv1d_transpose", "nn.conv2d_transpose"},
)
LAYOUTS = ("NCHW", "NCW")


def product(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Convolution or matrix product, with or without bias."""
    bias: Expr | None = None
    if op_name(call) == "add":
        for base, other in (call.args, reversed(call.args)):
            if op_name(look.value(base)) in (*CONVOLUTIONS, "matmul"):
                call, bias = look.value(base), other
                break
    if op_name(call) in CONVOLUTIONS:
        return _convolution(look, call, bias, y, clamp)
    if op_name(call) == "matmul":
        return _matmul(look, call, bias, y, clamp, shape)
    return None


@dataclass(frozen=True, eq=False)
class _Bias:
    """Whole units of the accumulator (float64), and the fraction of a unit that is left, None for none."""

    numbers: Array
    fraction: Array | None = None

    def spread(self, channels: int) -> _Bias:
        """One for each channel."""
        fraction = None if self.fraction is None else np.broadcast_to(self.fraction, channels)
        return _Bias(np.broadcast_to(self.numbers, channels), fraction)


@dataclass(frozen=True, eq=False)
class _Channels:
    """Parameters by output channel: scales and zero points of the weights, bias of the accumulator."""

    scales: Array
    zeros: Array
    bias: Array
    fraction: Array | None


def _channels(
    look: LookBack,
    x: Quantization,
    weights: QuantizedConstant,
    axis: int,
    bias: Expr | None,
    from_right: int = 1,
) -> _Channels | None:
    """None where the weights are quantised along another axis, or a sum may exceed 32 bits."""
    scales, zeros = along(weights.scales, axis), along(weights.zeros, axis)
    if scales is None or zeros is None:
        return None
    found = _bias(look, bias, scales * x.scale, from_right)
    if found is None:
        return None
    spread = found.spread(scales.size)
    others = tuple(i for i in range(weights.values.ndim) if i != axis)
    largest = np.abs(weights.values.astype(np.int64) - weights.zeros).sum(axis=others) * 255
    if (largest + np.abs(spread.numbers) >= 2**31).any():
        return None
    return _Channels(scales, zeros.astype(np.int32), spread.numbers.astype(np.int32), spread.fraction)


def _bias(look: LookBack, bias: Expr | None, scales: Array, from_right: int = 1) -> _Bias | None:
    """The bias in units of `scales`, by channel or one for all; None if it is no constant along channels.

    Args:
        from_right: which axis of the sums the channels are, the last one being 1.
    """
    if bias is None:
        return _Bias(np.zeros(1))
    found = look.constant(bias)
    real = constant(look.value(bias)) if found is None else found.real
    if real is None or (real.size > 1 and not _lies_along(real.shape, scales.size, from_right)):
        return None
    if found is not None and np.allclose(found.scales.ravel(), scales, rtol=SAME, atol=0):
        return _Bias((found.values.astype(np.float64) - found.zeros).ravel())
    exact = real.astype(np.float64).ravel() / scales
    numbers = np.rint(exact)
    fraction = np.where(np.abs(exact - numbers) > np.abs(exact) * FLOAT32, exact - numbers, 0)
    return _Bias(numbers, fraction if fraction.any() else None)


def _lies_along(shape: Shape, size: int, from_right: int) -> bool:
    """Whether `shape` has `size` elements along one axis and no other."""
    others = [length for place, length in enumerate(reversed(shape), 1) if place != from_right]
    return len(shape) >= from_right and shape[-from_right] == size and set(others) <= {1}


def _kept(fraction: Array | None, rounding: str) -> Array | None:
    """TensorFlow Lite's rounding knows whole units only."""
    return None if rounding == DOUBLE else fraction


# ---------------------------------------------------------------- convolutions


def _convolution(look: LookBack, call: Expr, bias: Expr | None, y: Quantization, clamp: Clamp) -> Expr | None:
    """Convolutions of pictures, transposed or not; lines are pictures of one row."""
    attrs, is_transposed = call.attrs, op_name(call).endswith("transpose")
    leaf, weights = look.leaf(call.args[0]), look.constant(call.args[1])
    if leaf is None or weights is None or str(attrs.data_layout) not in LAYOUTS:
        return None
    data, x = leaf
    weights = weights.moved(_as_picture)
    groups = int(attrs.groups)
    if is_transposed:
        weights = weights.moved(lambda array: _by_output(array, groups))
    by_channel = _channels(look, x, weights, 0, bias, len(shape_of(call)) - 1)
    if by_channel is None:
        return None
    batch, channels, height, width = picture_shape(shape_of(data))
    _, out_channels, out_height, out_width = picture_shape(shape_of(call))
    strides, dilations, pads = window_attributes(call)
    layer = (QConvTranspose2D if is_transposed else QConv2D)(
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
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
        batch=batch,
        fraction=_kept(by_channel.fraction, look.rounding),
    )
    return on_pictures(look, layer, data, shape_of(call))


def _as_picture(array: Array) -> Array:
    return array if array.ndim == 4 else array[:, :, None]


def _by_output(array: Array, groups: int) -> Array:
    """Weights [in, out / groups, h, w] of a transposed convolution as [out, in / groups, h, w]."""
    depth, each, *kernel = array.shape
    split = array.reshape(groups, depth // groups, each, *kernel)
    return split.transpose(0, 2, 1, 3, 4).reshape(groups * each, depth // groups, *kernel)


def picture_shape(shape: Shape) -> Shape:
    """`shape` of a picture or a line, NCHW: a line has one row."""
    return shape if len(shape) == 4 else (*shape[:2], 1, shape[2])


def window_attributes(call: Expr) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Strides, dilations and pads of a window over pictures or lines."""
    strides, dilations, pads = (
        ints(a) for a in (call.attrs.strides, call.attrs.dilation, call.attrs.padding)
    )
    if len(strides) == 1:
        return (1, strides[0]), (1, dilations[0]), (0, pads[0], 0, pads[1])
    top, left, bottom, right = pads
    return (strides[0], strides[1]), (dilations[0], dilations[1]), (top, left, bottom, right)


def on_pictures(
    look: LookBack, layer: QConv2D | QConvTranspose2D | QPool2D, data: Expr, shape: Shape
) -> Expr:
    """`layer` on NCHW data, or on lines; the result has `shape`."""
    pictures = look.reshape(data, picture_shape(shape_of(data)))
    result = look.nhwc(layer, pictures, (layer.batch, *layer.output))
    return result if len(shape) == 4 else relax.op.reshape(look.emit(result), shape)


# ---------------------------------------------------------------- matrix products


def _matmul(
    look: LookBack, call: Expr, bias: Expr | None, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    left = look.operand(call.args[0])
    if left is None:
        return None
    weights = look.constant(call.args[1])
    is_given = constant(left[0]) is not None
    if weights is not None and weights.values.ndim == 2 and not is_given:
        return _dense(look, call, left, weights, bias, y, clamp, shape)
    right = look.operand(call.args[1])
    a, b = shape_of(call.args[0]), shape_of(call.args[1])
    if right is None or (weights is not None and is_given) or min(len(a), len(b)) < 2:
        return None
    scale = left[1].scale * right[1].scale
    numbers: Array | None = None
    if bias is not None:
        found = _bias(look, bias, np.full(b[-1], scale))
        if found is None or _kept(found.fraction, look.rounding) is not None:
            return None
        numbers = np.broadcast_to(found.numbers, b[-1])
    if ((0 if numbers is None else np.abs(numbers)) + np.float64(a[-1] * 255 * 255) >= 2**31).any():
        return None
    outer = shape[:-2]
    sides = [left[0], right[0]]
    if math.prod(b[:-2]) == 1:  # one matrix for all: the batches are more rows
        batch, rows = 1, math.prod(a[:-1])
    else:
        batch, rows = math.prod(outer), a[-2]
        for index, side in enumerate((a, b)):
            if side[:-2] != outer:
                sides[index] = look.emit(relax.op.broadcast_to(sides[index], (*outer, *side[-2:])))
    layer = QMatMul(left[1], right[1], y, batch, rows, a[-1], b[-1], look.rounding, clamp, numbers)
    return look.call(layer, sides, shape)


def _dense(
    look: LookBack,
    call: Expr,
    left: tuple[Expr, Quantization],
    weights: QuantizedConstant,
    bias: Expr | None,
    y: Quantization,
    clamp: Clamp,
    shape: Shape,
) -> Expr | None:
    data, x = left
    by_channel = _channels(look, x, weights, 1, bias)
    if by_channel is None:
        return None
    # TFLite's fully connected layers have their weights transposed, its matrix products have not.
    is_layer = op_name(look.value(call.args[1])) == "permute_dims"
    rounding = rounding_of(look.profile, dense=is_layer)
    layer = QDense(
        x=x,
        y=y,
        rows=math.prod(shape_of(call.args[0])[:-1]),
        weights=np.ascontiguousarray(weights.values.T),
        weight_scales=by_channel.scales,
        weight_zeros=by_channel.zeros,
        bias=by_channel.bias,
        clamp=clamp,
        rounding=rounding,
        fraction=_kept(by_channel.fraction, rounding),
    )
    return look.call(layer, [data], shape)
