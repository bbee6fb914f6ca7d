"""Integer layers that look at a window, a row or an axis: pooling, reductions, resizing, softmax."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..quantized_layers import DOUBLE, QPool2D, QReduce, QResize, QSoftmax, Quantization
from ..relax_graph import Expr, ints, op_name, shape_of
from .integer_elementwise import requantised
from .integer_products import LAYOUTS, on_pictures, picture_shape, window_attributes
from .look_back import Clamp, Leaf, LookBack, Shape
from .match_layers import TO_NHWC

POOLS = {
    "nn.max_pool1d": "max",
    "nn.max_pool2d": "max",
    "nn.avg_pool1d": "average",
    "nn.avg_pool2d": "average",
}
REDUCTIONS = ("max", "min", "mean", "sum")


def pool(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """Pooling; where rounding is not TensorFlow Lite's also the mean over a picture."""
    name = op_name(call)
    kind = "average" if name == "mean" and look.rounding != DOUBLE else POOLS.get(name)
    leaf = look.leaf(call.args[0]) if kind else None
    if kind is None or leaf is None or (name == "mean" and not _is_over_pictures(call)):
        return None
    return _pool(look, call, kind, leaf, y, clamp)


def pool_of_numbers(look: LookBack, call: Expr) -> Expr | None:
    """The maximum of numbers that nothing dequantises: whatever they mean, they go on meaning it."""
    dtype = str(getattr(call.ty, "dtype", ""))
    if POOLS.get(op_name(call)) != "max" or dtype not in ("int8", "uint8"):
        return None
    numbers, info = Quantization(dtype, 1.0, 0), np.iinfo(dtype)
    return _pool(look, call, "max", (call.args[0], numbers), numbers, (int(info.min), int(info.max)))


def _pool(look: LookBack, call: Expr, kind: str, leaf: Leaf, y: Quantization, clamp: Clamp) -> Expr | None:
    data, x = leaf
    batch, channels, height, width = picture_shape(shape_of(data))
    if op_name(call) == "mean":
        kernel, strides, pads = (height, width), (1, 1), (0, 0, 0, 0)
        out_height, out_width = 1, 1
    else:
        attrs = call.attrs
        strides, dilations, pads = window_attributes(call)
        if str(attrs.layout) not in LAYOUTS or dilations != (1, 1):
            return None
        if kind == "average" and bool(attrs.count_include_pad) and any(pads):
            data, pads = look.emit(_padded(data, x, pads)), (0, 0, 0, 0)
            height, width = picture_shape(shape_of(data))[2:]
        sizes = ints(attrs.pool_size)
        kernel = (sizes[0], sizes[1]) if len(sizes) == 2 else (1, sizes[0])
        out_height, out_width = picture_shape(shape_of(call))[2:]
    layer = QPool2D(
        kind=kind,
        x=x,
        y=y,
        input=(height, width, channels),
        output=(out_height, out_width, channels),
        kernel=kernel,
        strides=strides,
        clamp=clamp,
        rounding=look.rounding,
        pads=pads,
        batch=batch,
    )
    return on_pictures(look, layer, data, shape_of(call))


def _padded(data: Expr, x: Quantization, pads: tuple[int, int, int, int]) -> Expr:
    """`data`, NCHW or NCW, with zeros around it."""
    top, left, bottom, right = pads
    spatial = [top, bottom, left, right] if len(shape_of(data)) == 4 else [left, right]
    return relax.op.nn.pad(data, [0, 0, 0, 0, *spatial], pad_value=x.zero_point)


def _is_over_pictures(call: Expr) -> bool:
    return len(shape_of(call.args[0])) == 4 and _axes(call) == [2, 3]


def _axes(call: Expr) -> list[int]:
    rank = len(shape_of(call.args[0]))
    return list(range(rank)) if call.attrs.axis is None else sorted(a % rank for a in ints(call.attrs.axis))


def reduction(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Maximum, minimum, mean or sum along any axes."""
    kind = op_name(call)
    leaf = look.leaf(call.args[0]) if kind in REDUCTIONS else None
    if leaf is None:
        return None
    data, x = leaf
    axes = _axes(call)
    if _is_over_pictures(call):  # pictures come as NHWC
        data, axes = look.emit(relax.op.permute_dims(data, TO_NHWC)), [1, 2]
    kept = [axis for axis in range(len(shape_of(data))) if axis not in axes]
    if axes != list(range(axes[0], axes[-1] + 1)):
        data = look.emit(relax.op.permute_dims(data, [*kept, *axes]))
        axes = list(range(len(kept), len(kept) + len(axes)))
    sizes = shape_of(data)
    outer, inner = math.prod(sizes[: axes[0]]), math.prod(sizes[axes[-1] + 1 :])
    count = math.prod(sizes[axes[0] : axes[-1] + 1])
    if kind in ("max", "min"):
        info = np.iinfo(x.dtype)
        layer = QReduce(kind, x, x, outer, count, inner, (int(info.min), int(info.max)), look.rounding)
        return requantised(look, look.emit(look.call(layer, [data], shape)), x, y, clamp)
    return look.call(QReduce(kind, x, y, outer, count, inner, clamp, look.rounding), [data], shape)


def resize(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """Bilinear resizing by TensorFlow Lite's formula."""
    if op_name(call) != "image.resize2d" or look.rounding != DOUBLE:
        return None
    attrs = call.attrs
    leaf = look.leaf(call.args[0])
    mode = str(attrs.coordinate_transformation_mode)
    modes = ("align_corners", "half_pixel", "asymmetric")
    if leaf is None or str(attrs.method) != "linear" or str(attrs.layout) != "NCHW" or mode not in modes:
        return None
    data, x = leaf
    batch, channels, height, width = shape_of(data)
    out_height, out_width = shape_of(call)[2:]
    sizes = (height, width, channels), (out_height, out_width)
    layer = QResize(x, *sizes, mode == "align_corners", mode == "half_pixel", batch)
    resized = look.emit(look.nhwc(layer, data, (batch, out_height, out_width, channels)))
    return requantised(look, resized, x, y, clamp)


def softmax(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Softmax over any axis: it comes last while it is computed."""
    if op_name(call) != "nn.softmax":
        return None
    leaf = look.leaf(call.args[0])
    axis = int(call.attrs.axis) % len(shape)
    whole = (np.iinfo(y.dtype).min, np.iinfo(y.dtype).max)
    if leaf is None or clamp != whole:
        return None
    data, x = leaf
    layer = QSoftmax(x, y, math.prod(shape) // shape[axis], shape[axis], look.rounding)
    if math.prod(shape[axis + 1 :]) == 1:
        return look.call(layer, [data], shape)
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    moved = look.emit(relax.op.permute_dims(data, order))
    result = look.emit(look.call(layer, [moved], shape_of(moved)))
    return relax.op.permute_dims(result, [int(a) for a in np.argsort(order)])
