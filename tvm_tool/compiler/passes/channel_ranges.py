"""The least and the largest number that each channel can take, whatever the model is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.rescaled import rescaling_of
from ..layers import Array
from ..quantized_layers import QConv2D, QDense, QLayer, QPool2D, QTable
from ..relax_graph import Var, dtype_of, shape_of
from .channel_graph import ChannelGraph, Step, is_depthwise


@dataclass(frozen=True, eq=False)
class Range:
    """Bounds by channel, int64, in the numbers of the tensor."""

    low: Array
    high: Array


def channel_ranges(graph: ChannelGraph) -> dict[Var, Range]:
    """Bounds of every 8-bit tensor of `graph`; exact intervals, so never too narrow."""
    ranges = {var: _any_number(var) for var in graph.group if _is_byte(var)}
    for step in graph.steps:
        data = [ranges[var] for var in step.inputs]
        if step.layer is not None:
            ranges[step.var] = _bounds(step, step.layer, data[0])
        elif step.var in ranges:
            times = shape_of(step.var)[-1] // shape_of(step.inputs[0])[-1]
            ranges[step.var] = Range(np.tile(data[0].low, times), np.tile(data[0].high, times))
    return ranges


def centred_weights(layer: QConv2D | QDense) -> Array:
    """Weights minus their zero points, int64, in the layout of the layer."""
    zeros = layer.weight_zeros.reshape(-1, *(1,) * (layer.weights.ndim - 1))
    return np.asarray(layer.weights.astype(np.int64) - zeros)


def _is_byte(var: Var) -> bool:
    return hasattr(var.ty, "shape") and bool(shape_of(var)) and dtype_of(var) in ("int8", "uint8")


def _any_number(var: Var) -> Range:
    info, channels = np.iinfo(dtype_of(var)), shape_of(var)[-1]
    return Range(np.full(channels, info.min, np.int64), np.full(channels, info.max, np.int64))


def _bounds(step: Step, layer: QLayer, x: Range) -> Range:
    if isinstance(layer, (QConv2D, QDense)):
        return _weighted(layer, x)
    if isinstance(layer, QTable):
        return _looked_up(layer, x)
    if isinstance(layer, QPool2D) and layer.x == layer.y:
        # Maxima and averages lie between their elements.
        return Range(np.clip(x.low, *layer.clamp), np.clip(x.high, *layer.clamp))
    return _any_number(step.var)


def _weighted(layer: QConv2D | QDense, x: Range) -> Range:
    low, high = x.low - layer.x.zero_point, x.high - layer.x.zero_point
    if isinstance(layer, QConv2D) and any(layer.pads):
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    weights = centred_weights(layer)
    if is_depthwise(layer):
        low, high = (bound.reshape(-1, 1, 1, 1) for bound in (low, high))
    rows = (weights.shape[0], -1)
    least = np.minimum(weights * low, weights * high).reshape(rows).sum(axis=1) + layer.bias
    most = np.maximum(weights * low, weights * high).reshape(rows).sum(axis=1) + layer.bias
    exact = rescaling_of(layer)
    return Range(exact.outputs(least), exact.outputs(most))


def _looked_up(layer: QTable, x: Range) -> Range:
    first = np.iinfo(layer.x_dtype).min
    table = layer.table.astype(np.int64)
    low, high = np.empty_like(x.low), np.empty_like(x.high)
    for channel, (least, most) in enumerate(zip(x.low - first, x.high - first, strict=True)):
        reachable = table[least : most + 1]
        low[channel], high[channel] = reachable.min(), reachable.max()
    return Range(low, high)
