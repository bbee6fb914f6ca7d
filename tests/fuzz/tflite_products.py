"""Steps of random TFLite graphs: convolutions, matrix products, pools."""

from __future__ import annotations

import numpy as np

from tests.fuzz.tflite_graph import LARGEST, Graph, Shape

SAME, VALID = 0, 1
ACTIVATIONS = (0, 0, 0, 1, 2, 3)
"""None three times in six, ReLU, -1 to 1, 0 to 6."""


def _window(g: Graph, x: str, dilated: bool) -> tuple[dict[str, int], list[int], list[int]] | None:
    """Options, kernel and output size; None if no window fits."""
    d, sizes = g.draw, g.shape(x)[1:3]
    kernel, strides = [d.whole(1, 4), d.whole(1, 4)], [d.whole(1, 5), d.whole(1, 5)]
    dilations = [d.whole(1, 3), d.whole(1, 3)] if dilated and d.chance(0.3) else [1, 1]
    padding = d.one((SAME, VALID))
    out = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        span = (k - 1) * dilation + 1
        out.append(-(-size // stride) if padding == SAME else (size - span) // stride + 1)
        if padding == VALID and size < span:
            return None
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    if dilated:
        options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    return options, kernel, out


def conv_2d(g: Graph, x: str) -> str | None:
    if len(g.shape(x)) != 4:
        return None
    d, (batch, *_, channels) = g.draw, g.shape(x)
    found = _window(g, x, dilated=True)
    groups = d.one([n for n in (1, 1, 1, 2, 3, 5) if channels % n == 0])
    out = groups * d.whole(1, 3) if groups > 1 else d.channels()
    if found is None or batch * out * int(np.prod(found[2])) > LARGEST:
        return None
    options, kernel, size = found
    shape = (out, *kernel, channels // groups)
    weights = g.fixed(shape, int(np.prod(shape[1:])), axis=0)
    inputs = [x, weights, g.bias(x, weights, out)]
    y = g.tensor((batch, *size, out), g.spread(x))
    return g.op("CONV_2D", inputs, y, "Conv2D", FusedActivationFunction=d.one(ACTIVATIONS), **options)


def depthwise_conv_2d(g: Graph, x: str) -> str | None:
    if len(g.shape(x)) != 4:
        return None
    d, (batch, *_, channels) = g.draw, g.shape(x)
    found, multiplier = _window(g, x, dilated=True), d.one((1, 1, 2, 3))
    out = channels * multiplier
    if found is None or batch * out * int(np.prod(found[2])) > LARGEST:
        return None
    options, kernel, size = found
    weights = g.fixed((1, *kernel, out), int(np.prod(kernel)), axis=3)
    inputs = [x, weights, g.bias(x, weights, out)]
    y = g.tensor((batch, *size, out), g.spread(x))
    options |= {"DepthMultiplier": multiplier, "FusedActivationFunction": d.one(ACTIVATIONS)}
    return g.op("DEPTHWISE_CONV_2D", inputs, y, "DepthwiseConv2D", **options)


def transpose_conv(g: Graph, x: str) -> str | None:
    if len(g.shape(x)) != 4:
        return None
    d, (batch, *sizes, channels) = g.draw, g.shape(x)
    kernel, strides, out = [d.whole(1, 3), d.whole(1, 3)], [d.whole(1, 3), d.whole(1, 3)], d.channels()
    padding = d.one((SAME, VALID))
    size = [
        n * s if padding == SAME else (n - 1) * s + max(k, s)
        for n, s, k in zip(sizes, strides, kernel, strict=True)
    ]
    shape: Shape = (batch, *size, out)
    if int(np.prod(shape)) > LARGEST:
        return None
    weights = g.fixed((out, *kernel, channels), channels, axis=0)
    y = g.tensor(shape, g.spread(x))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    return g.op("TRANSPOSE_CONV", [g.ints(shape), weights, x], y, "TransposeConv", **options)


def fully_connected(g: Graph, x: str) -> str | None:
    d, shape = g.draw, g.shape(x)
    keep = len(shape) in (2, 3) and d.chance(0.5)
    depth = shape[-1] if keep or len(shape) == 2 else int(np.prod(shape[1:]))
    rows: Shape = shape[:-1] if keep else (int(np.prod(shape)) // depth,)
    units = d.channels()
    weights = g.fixed((units, depth), depth, axis=0 if d.chance(0.3) else None)
    inputs = [x, weights, g.bias(x, weights, units, optional=True)]
    y = g.tensor((*rows, units), g.spread(x))
    options = {"KeepNumDims": keep, "FusedActivationFunction": d.one(ACTIVATIONS)}
    return g.op("FULLY_CONNECTED", inputs, y, "FullyConnected", **options)


def batch_matmul(g: Graph, x: str) -> str | None:
    """Of two activations: with the own transpose, or with another tensor that fits."""
    shape = g.shape(x)
    if len(shape) < 2 or shape[-2] ** 2 * int(np.prod(shape[:-2])) > LARGEST:
        return None
    y = g.tensor((*shape[:-1], shape[-2]), g.spread(x) ** 2 * np.sqrt(shape[-1]))
    return g.op("BATCH_MATMUL", [x, x], y, "BatchMatMul", AdjY=True)


def pool_2d(g: Graph, x: str) -> str | None:
    if len(g.shape(x)) != 4:
        return None
    d, (batch, *_, channels), found = g.draw, g.shape(x), _window(g, x, dilated=False)
    if found is None:
        return None
    options, kernel, size = found
    options |= {
        "FilterHeight": kernel[0],
        "FilterWidth": kernel[1],
        "FusedActivationFunction": d.one(ACTIVATIONS),
    }
    y = g.like(x, (batch, *size, channels))
    return g.op(d.one(("AVERAGE_POOL_2D", "MAX_POOL_2D")), [x], y, "Pool2D", **options)
