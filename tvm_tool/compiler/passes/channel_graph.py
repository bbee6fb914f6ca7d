"""Which channels of which tensors belong together, in a graph of integer layers.

A tensor's channels are its last axis. Layers that work on each channel by itself (depthwise, pooling,
elementwise) tie the channels of their inputs to those of their output: such tensors form one group.
Convolutions and dense layers lie between groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..quantized_layers import QBinary, QConv2D, QDense, QLayer, QPool2D, QTable
from ..relax_graph import Expr, Var, bindings, dtype_of, is_var, op_name, shape_of
from .match_layers import LayerTable


@dataclass(frozen=True)
class Step:
    """One binding: `layer` is None for a reshape that keeps whole channels together."""

    var: Var
    value: Expr
    inputs: tuple[Var, ...]
    index: int | None
    layer: QLayer | None


@dataclass(eq=False)
class Group:
    """Tensors with the same channels; `fixed` where something else reads or writes one of them."""

    channels: int
    fixed: bool = False


@dataclass(eq=False)
class ChannelGraph:
    """`group` by tensor; a tensor of ``repeat * group.channels`` channels repeats those of its group."""

    steps: list[Step] = field(default_factory=list)
    group: dict[Var, Group] = field(default_factory=dict)

    def repeat(self, var: Var) -> int:
        return shape_of(var)[-1] // self.group[var].channels


def channel_graph(main: Any, table: LayerTable) -> ChannelGraph:
    """The groups of `main`."""
    graph = ChannelGraph()
    for param in main.params:
        _enter(graph, param).fixed = True
    for var, value in bindings(main):
        step = _step(var, value, table)
        if step is None:
            for read in _reads(value):
                _enter(graph, read).fixed = True
            _enter(graph, var).fixed = True
            continue
        graph.steps.append(step)
        if isinstance(step.layer, (QConv2D, QDense)) and not is_depthwise(step.layer):
            _enter(graph, var)
            continue
        source = graph.group[step.inputs[0]]
        for other in step.inputs[1:]:
            _merge(graph, source, graph.group[other])
        graph.group[var] = source
    for read in _reads(main.body.body):
        graph.group[read].fixed = True
    return graph


def is_depthwise(layer: QLayer | None) -> bool:
    """Whether each output channel of a convolution is made of the input channel of the same number."""
    return isinstance(layer, QConv2D) and layer.groups == layer.input[2] == layer.output[2] > 1


def _enter(graph: ChannelGraph, var: Var) -> Group:
    shape = shape_of(var) if hasattr(var.ty, "shape") else ()
    return graph.group.setdefault(var, Group(shape[-1] if shape else 1))


def _merge(graph: ChannelGraph, into: Group, other: Group) -> None:
    if into is other:
        return
    into.fixed |= other.fixed
    for var, group in graph.group.items():
        if group is other:
            graph.group[var] = into


def _step(var: Var, value: Expr, table: LayerTable) -> Step | None:
    """`value` as a step whose channels are understood, None if they are not."""
    index = table.index_of(value)
    if index is not None:
        layer, inputs = table.layers[index], tuple(value.args[1].fields)
        if isinstance(layer, (QConv2D, QDense, QPool2D, QTable, QBinary)) and _is_plain(layer, inputs):
            return Step(var, value, inputs, index, layer)
        return None
    if op_name(value) == "reshape" and is_var(value.args[0]) and dtype_of(value) in ("int8", "uint8"):
        before, after = shape_of(value.args[0]), shape_of(value)
        if before and after and after[-1] % before[-1] == 0:
            return Step(var, value, (value.args[0],), None, None)
    return None


def _is_plain(layer: QLayer, inputs: tuple[Expr, ...]) -> bool:
    if not all(is_var(data) and shape_of(data) for data in inputs):  # a scalar has no channels
        return False
    if isinstance(layer, QConv2D):
        return layer.groups == 1 or is_depthwise(layer)
    if isinstance(layer, QBinary):
        return layer.constant is None and layer.a_shape == layer.b_shape == layer.y_shape
    return True


def _reads(value: Expr) -> Iterator[Var]:
    if is_var(value):
        yield value
    for name in ("args", "fields"):
        for part in getattr(value, name, ()):
            yield from _reads(part)
    if hasattr(value, "tuple_value"):
        yield from _reads(value.tuple_value)
