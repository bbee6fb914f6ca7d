"""Drop the channels of integer layers that are the same for every input, or that nothing reads.

Trained networks hold channels whose output is stuck at a clamp whatever comes in. Interval arithmetic
over the exact integers finds them; what reads one takes its value into the bias. The outputs of the
model stay what they were, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import tvm
from tvm import relax

from ..layers import Array
from ..quantized_layers import QBinary, QConv2D, QDense, QLayer, QPool2D, QTable
from ..relax_graph import Builder, Expr, Var, rewrite, shape_of
from .channel_graph import ChannelGraph, Group, Step, channel_graph, is_depthwise
from .channel_ranges import Range, centred_weights, channel_ranges
from .match_layers import LayerTable

BLOCK = 4
"""Kernels work on this many channels at a time: fewer than a block are not worth dropping."""


def drop_constant_channels(module: tvm.IRModule, table: LayerTable) -> tvm.IRModule:
    """The same model with fewer channels; layers of `table` are replaced by smaller ones."""
    graph = channel_graph(module["main"], table)
    ranges = channel_ranges(graph)
    kept = _kept(graph, ranges)
    if all(mask.all() for mask in kept.values()):
        return module
    cut = _Cut(graph, ranges, kept)
    steps = {step.var: step for step in graph.steps}

    def visit(_builder: Builder, var: Var, value: Expr) -> Expr | None:
        step = steps.get(var)
        if step is None:
            return None
        shape = cut.shape(var)
        if step.index is None or step.layer is None:
            return relax.op.reshape(value.args[0], shape)
        table.layers[step.index] = cut.layer(step, step.layer)
        out = relax.TensorType(shape, str(var.ty.dtype))
        data = list(value.args[1].fields)
        return relax.op.call_dps_packed(str(value.args[0].global_symbol), data, out_ty=out)

    return rewrite(module, visit, typed=False)


def _kept(graph: ChannelGraph, ranges: Mapping[Var, Range]) -> dict[Group, Array]:
    """Which channels of each group stay, as booleans."""
    groups = list(dict.fromkeys(graph.group.values()))
    kept = {group: np.ones(group.channels, bool) for group in groups}
    while True:
        needed = _needed(graph, ranges, kept)
        if all(np.array_equal(needed[g], kept[g]) for g in groups):
            break
        kept = needed
    # Whole blocks: what comes back may need inputs of its own.
    while True:
        whole = {group: _whole_blocks(mask) for group, mask in kept.items()}
        needed = _needed(graph, ranges, whole)
        grown = {group: whole[group] | needed[group] for group in groups}
        if all(np.array_equal(grown[g], kept[g]) for g in groups):
            return kept
        kept = grown


def _needed(
    graph: ChannelGraph, ranges: Mapping[Var, Range], kept: Mapping[Group, Array]
) -> dict[Group, Array]:
    """The channels of each group that some layer reads, if it computes what is `kept` of its own."""
    needed = {group: np.full(group.channels, group.fixed) for group in kept}
    for step in graph.steps:
        if not isinstance(step.layer, (QConv2D, QDense)) or is_depthwise(step.layer):
            continue
        data = step.inputs[0]
        outputs = np.tile(kept[graph.group[step.var]], graph.repeat(step.var))
        weights = centred_weights(step.layer)[outputs]
        read = (weights != 0).reshape(-1, weights.shape[-1]).any(axis=0)
        read &= ~_foldable(step.layer, ranges[data])
        group = graph.group[data]
        needed[group] |= read.reshape(-1, group.channels).any(axis=0)
    for mask in needed.values():
        mask[0] |= not mask.any()
    return needed


def _foldable(layer: QConv2D | QDense, data: Range) -> Array:
    """Input channels that add the same to every sum: constant, and not cut short by padding."""
    constant = data.low == data.high
    if isinstance(layer, QConv2D) and any(layer.pads):
        constant &= data.low == layer.x.zero_point
    return np.asarray(constant)


def _whole_blocks(mask: Array) -> Array:
    dropped = np.flatnonzero(~mask)
    back = dropped[: -int(mask.sum()) % BLOCK]
    result = mask.copy()
    result[back] = True
    return result


@dataclass(frozen=True, eq=False)
class _Cut:
    """The layers and shapes of what is kept."""

    graph: ChannelGraph
    ranges: Mapping[Var, Range]
    kept: Mapping[Group, Array]

    def mask(self, var: Var) -> Array:
        return np.asarray(np.tile(self.kept[self.graph.group[var]], self.graph.repeat(var)))

    def shape(self, var: Var) -> tuple[int, ...]:
        return (*shape_of(var)[:-1], int(self.mask(var).sum()))

    def layer(self, step: Step, layer: QLayer) -> QLayer:
        data, out = self.mask(step.inputs[0]), self.mask(step.var)
        if isinstance(layer, (QConv2D, QDense)):
            return self._weighted(step, layer, data, out)
        shape = self.shape(step.var)
        if isinstance(layer, QPool2D):
            channels = int(out.sum())
            return replace(layer, input=(*layer.input[:2], channels), output=(*layer.output[:2], channels))
        if isinstance(layer, QTable):
            return replace(layer, elements=int(np.prod(shape)))
        assert isinstance(layer, QBinary)
        # A layer may work on the shape without leading ones.
        cut = (*layer.y_shape[:-1], shape[-1])
        return replace(layer, a_shape=cut, b_shape=cut, y_shape=cut)

    def _weighted(self, step: Step, layer: QConv2D | QDense, data: Array, out: Array) -> QLayer:
        if is_depthwise(layer):
            weights, bias = layer.weights[out], layer.bias[out]
        else:
            x = self.ranges[step.inputs[0]]
            folded = np.where(~data & _foldable(layer, x), x.low - layer.x.zero_point, 0)
            sums = centred_weights(layer).reshape(out.size, -1, data.size).sum(axis=1)
            bias = (layer.bias + sums @ folded)[out]
            weights = layer.weights[out][..., data]
        changed = replace(
            layer,
            weights=np.ascontiguousarray(weights),
            weight_scales=layer.weight_scales[out],
            weight_zeros=layer.weight_zeros[out],
            bias=bias.astype(np.int32),
            fraction=None if layer.fraction is None else layer.fraction[out],
        )
        if isinstance(changed, QDense):
            return changed
        return replace(
            changed,
            input=(*changed.input[:2], int(data.sum())),
            output=(*changed.output[:2], int(out.sum())),
            groups=int(out.sum()) if is_depthwise(layer) else 1,
        )
