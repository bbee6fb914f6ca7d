"""Loops with a known number of steps, written out step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper

from ...errors import UnsupportedError
from .onnx_emit import Emitter
from .onnx_graph import Graph, array_of, attributes, copy_of, label, type_of

MOST_NODES = 4096
"""A loop may become at most so many nodes: each of them becomes code."""


def unroll(graph: Graph, node: NodeProto) -> list[NodeProto]:
    """The nodes of all steps of a `Loop` or `Scan`.

    Raises:
        UnsupportedError: the number of steps is not known, or too large.
    """
    if node.op_type == "Loop":
        return _unroll_loop(graph, node)
    if node.op_type == "Scan" and graph.opset >= 9:
        return _unroll_scan(graph, node)
    raise _refusal(node, f"operator '{node.op_type}' is not supported")


def renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A copy with other names of values, in the graphs inside it as well."""
    new = copy_of(
        node,
        input=[names.get(name, name) for name in node.input],
        output=[names.get(name, name) for name in node.output],
    )
    for attribute in new.attribute:
        for graph in (attribute.g,) if attribute.type == AttributeProto.GRAPH else attribute.graphs:
            inner = [renamed(n, names) for n in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
            for value in graph.output:
                value.name = names.get(value.name, value.name)
    return new


def _refusal(node: NodeProto, problem: str) -> UnsupportedError:
    return UnsupportedError(
        problem,
        where=label(node),
        expected="a number of steps that is known when the model is compiled",
        remedy="export the network with the loop unrolled",
    )


def _unroll_loop(graph: Graph, node: NodeProto) -> list[NodeProto]:
    body: GraphProto = attributes(node)["body"]
    count, condition = graph.constant(node, 0), graph.constant(node, 1)
    has_condition = len(node.input) > 1 and bool(node.input[1])
    if count is None or (has_condition and (condition is None or not condition.all())):
        raise _refusal(node, "its number of steps is known only at run time")
    if not _always_goes_on(body):
        raise _refusal(node, "it may end before its last step")
    _check_size(node, body, int(count.item()))
    emit = Emitter(graph, node)
    state = list(node.input[2:])
    carried = len(state)
    stacks: list[list[str]] = [[] for _ in body.output[1 + carried :]]
    for step in range(int(count.item())):
        given = [emit.constant(step), emit.constant(True, np.bool_), *state]
        found = _inline(emit, body, given)
        state = found[1 : 1 + carried]
        for stack, name in zip(stacks, found[1 + carried :], strict=True):
            stack.append(name)
    _finish(emit, state, stacks, [0] * len(stacks))
    return emit.nodes


def _unroll_scan(graph: Graph, node: NodeProto) -> list[NodeProto]:
    values = attributes(node)
    body: GraphProto = values["body"]
    scanned = values["num_scan_inputs"]
    carried = len(node.input) - scanned
    state, sources = list(node.input[:carried]), list(node.input[carried:])
    shapes = [graph.shape(name) for name in sources]
    axes = values.get("scan_input_axes") or [0] * scanned
    axes = [axis % len(shape) for axis, shape in zip(axes, shapes, strict=True)]
    backwards = values.get("scan_input_directions") or [0] * scanned
    count = shapes[0][axes[0]]
    _check_size(node, body, count)
    emit = Emitter(graph, node)
    stacks: list[list[str]] = [[] for _ in body.output[carried:]]
    for step in range(count):
        slices = [
            emit("Gather", source, emit.constant(count - 1 - step if back else step), axis=axis)
            for source, axis, back in zip(sources, axes, backwards, strict=True)
        ]
        found = _inline(emit, body, [*state, *slices])
        state = found[:carried]
        for stack, name in zip(stacks, found[carried:], strict=True):
            stack.append(name)
    for stack, back in zip(stacks, values.get("scan_output_directions") or [0] * len(stacks), strict=True):
        if back:
            stack.reverse()
    _finish(emit, state, stacks, values.get("scan_output_axes") or [0] * len(stacks))
    return emit.nodes


def _always_goes_on(body: GraphProto) -> bool:
    """Whether the condition that a step computes is the one it was given, or a constant that is true."""
    makers = {output: inner for inner in body.node for output in inner.output}
    constants = {tensor.name: array_of(tensor) for tensor in body.initializer}
    name = body.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name in makers and makers[name].op_type == "Constant":
        value = attributes(makers[name]).get("value")
        return value is not None and bool(array_of(value).all())
    return name == body.input[1].name or (name in constants and bool(constants[name].all()))


def _check_size(node: NodeProto, body: GraphProto, count: int) -> None:
    if count * max(1, len(body.node)) > MOST_NODES:
        raise _refusal(node, f"its {count} steps of {len(body.node)} nodes are too many to be written out")


def _inline(emit: Emitter, body: GraphProto, given: list[str]) -> list[str]:
    """Emit one step; returns its outputs."""
    graph = emit.graph
    names = {value.name: name for value, name in zip(body.input, given, strict=True)}
    for tensor in body.initializer:
        names[tensor.name] = name = graph.fresh(f"{emit.node.name}/{tensor.name}")
        graph.constants[name] = array = array_of(tensor)
        graph.types[name] = type_of(array)
    for inner in body.node:
        for output in inner.output:
            if output:
                names[output] = graph.fresh(f"{emit.node.name}/{output}")
    for inner in body.node:
        new = renamed(inner, names)
        new.name = f"{emit.node.name}/{inner.name or inner.op_type}"
        emit.nodes.append(new)
    return [names.get(value.name, value.name) for value in body.output]


def _finish(emit: Emitter, state: list[str], stacks: list[list[str]], axes: list[int]) -> None:
    """Emit the outputs of the loop."""
    outputs = list(emit.node.output)
    for name, output in zip(state, outputs, strict=False):
        if output:
            emit("Identity", name, output=output)
    for stack, axis, output in zip(stacks, axes, outputs[len(state) :], strict=False):
        if output and not stack:
            raise _refusal(emit.node, "it makes no step")
        if output:
            rows = [_row(emit, name, axis) for name in stack]
            emit.nodes.append(helper.make_node("Concat", rows, [output], emit.node.name, axis=axis))


def _row(emit: Emitter, name: str, axis: int) -> str:
    if emit.graph.opset < 13:
        return emit("Unsqueeze", name, axes=[axis])
    return emit("Unsqueeze", name, emit.constant([axis]))
