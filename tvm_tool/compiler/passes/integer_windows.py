"""Integer layers that look at a window or a row: pooling, mean, softmax."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..quantized_layers import QPool2D, QSoftmax, Quantization
from ..relax_graph import Expr, ints, op_name, shape_of
from .look_back import Clamp, LookBack, Shape
from .match_layers import pair


def pool(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """Pooling, and the mean over a picture."""
    kinds = {"nn.max_pool2d": "max", "nn.avg_pool2d": "average", "mean": "average"}
    kind = kinds.get(op_name(call))
    leaf = look.leaf(call.args[0]) if kind else None
    if kind is None or leaf is None or len(shape_of(call.args[0])) != 4:
        return None
    data, x = leaf
    attrs = call.attrs
    batch, channels, height, width = shape_of(call.args[0])
    if op_name(call) == "mean":
        if attrs.axis is None or sorted(a % 4 for a in ints(attrs.axis)) != [2, 3]:
            return None
        kernel, strides, pads = (height, width), (1, 1), (0, 0, 0, 0)
        out_height, out_width = 1, 1
    else:
        if str(attrs.layout) != "NCHW" or set(ints(attrs.dilation)) != {1}:
            return None
        if kind == "average" and bool(attrs.count_include_pad) and any(ints(attrs.padding)):
            return None
        top, left, bottom, right = ints(attrs.padding)
        kernel, strides, pads = pair(attrs.pool_size), pair(attrs.strides), (top, left, bottom, right)
        out_height, out_width = shape_of(call)[2:]
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
    pooled = look.nhwc(layer, data, (batch, *layer.output))
    return pooled if len(shape_of(call)) == 4 else relax.op.reshape(look.emit(pooled), shape_of(call))


def softmax(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Softmax over the last axis, or one that is followed by axes of length 1."""
    if op_name(call) != "nn.softmax":
        return None
    leaf = look.leaf(call.args[0])
    axis = int(call.attrs.axis) % len(shape)
    whole = (np.iinfo(y.dtype).min, np.iinfo(y.dtype).max)
    if leaf is None or math.prod(shape[axis + 1 :]) != 1 or clamp != whole:
        return None
    data, x = leaf
    layer = QSoftmax(x, y, math.prod(shape) // shape[axis], shape[axis], look.rounding)
    return look.call(layer, [data], shape)
