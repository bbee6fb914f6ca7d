"""Opsets 1 to 6, written as opset 7: the first in which shapes broadcast as they do today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, defs

from ...errors import UnsupportedError
from .onnx_emit import Emitter
from .onnx_fold import infer_and_fold
from .onnx_graph import Graph, attributes, copy_of, elements, label, set_attributes

FIRST_MODERN = 7

Rewrite = Callable[[NodeProto, Graph], list[NodeProto]]


def modernise(graph: Graph) -> None:
    """Rewrite a graph of an opset before 7 in opset 7.

    Raises:
        UnsupportedError: an operator whose old meaning is not known here, or that is in training mode.
        ModelError: the types of a node's inputs do not suit its operator.
    """
    if graph.opset >= FIRST_MODERN:
        return
    old, graph.opset = graph.opset, FIRST_MODERN
    pending, kept = graph.nodes, []
    for node in pending:
        graph.nodes = _modern(node, graph, old)
        infer_and_fold(graph)  # the shapes so far decide how the next node broadcasts
        kept += graph.nodes
    graph.nodes = kept


def _modern(node: NodeProto, graph: Graph, old: int) -> list[NodeProto]:
    if node.domain:
        return [node]
    if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
        raise UnsupportedError(f"control flow of opset {old} is not supported", where=label(node))
    try:
        before, after = (
            defs.get_schema(node.op_type, old, ""),
            defs.get_schema(node.op_type, FIRST_MODERN, ""),
        )
    except defs.SchemaError:
        raise UnsupportedError(f"it is an experiment of opset {old}", where=label(node)) from None
    if before.since_version == after.since_version:
        return [node]
    new = copy_of(node)
    set_attributes(new, consumed_inputs=None)  # which inputs might be overwritten: a hint only
    write = _REWRITES.get(node.op_type)
    return write(new, graph) if write else [new]


def _binary(node: NodeProto, graph: Graph) -> list[NodeProto]:
    """The second input was broadcast on request only, and its first axis could be anywhere."""
    values = attributes(node)
    first, second = (graph.shape(name) for name in node.input)
    set_attributes(node, axis=None, broadcast=None)
    axis = values.get("axis")
    if not values.get("broadcast", 0):
        if first != second:
            raise UnsupportedError(f"shapes {list(first)} and {list(second)} differ", where=label(node))
        return [node]
    if axis is None or elements(second) == 1:
        return [node]
    behind = len(first) - axis % len(first) - len(second)
    if behind <= 0:
        return [node]
    emit = Emitter(graph, node)
    node.input[1] = emit.reshape(node.input[1], [*second, *[1] * behind])
    return [*emit.nodes, node]


def _inference_only(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    if not attributes(node).get("is_test", 0):
        raise UnsupportedError(
            "it is in training mode (`is_test` is 0)",
            where=label(node),
            remedy="export the network for inference",
        )
    set_attributes(node, is_test=None)
    return [node]


def _cast(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    to = attributes(node)["to"]
    set_attributes(node, to=TensorProto.DataType.Value(to) if isinstance(to, str) else to)
    return [node]


def _concat(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    set_attributes(node, axis=attributes(node).get("axis", 1))
    return [node]


def _gemm(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    set_attributes(node, broadcast=None)
    return [node]


def _whole_power(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    power = attributes(node).get("p", 2.0)
    if power != int(power):
        raise UnsupportedError(f"its p is {power}", where=label(node), expected="a whole number")
    set_attributes(node, p=int(power))
    return [node]


def _pad(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    values = attributes(node)
    set_attributes(node, paddings=None, pads=values.get("pads") or values.get("paddings"))
    return [node]


def _recurrent(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    # Outputs that nothing names were not computed; the attribute said the same once more.
    set_attributes(node, output_sequence=None)
    return [node]


def _reshape(node: NodeProto, graph: Graph) -> list[NodeProto]:
    shape = attributes(node).get("shape")
    if shape is not None:
        set_attributes(node, shape=None)
        node.input.append(graph.add_constant(f"{node.output[0]}/shape", np.array(shape, np.int64)))
    return [node]


def _selu(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    values = attributes(node)
    set_attributes(node, alpha=values.get("alpha", 1.6732), gamma=values.get("gamma", 1.0507))
    return [node]


def _split(node: NodeProto, graph: Graph) -> list[NodeProto]:
    sizes = graph.constant(node, 1)
    if len(node.input) > 1:
        if sizes is None:
            raise UnsupportedError("its sizes are computed at run time", where=label(node))
        set_attributes(node, split=[int(size) for size in sizes])
        del node.input[1:]
    return [node]


def _tile(node: NodeProto, graph: Graph) -> list[NodeProto]:
    if len(node.input) == 2:
        return [node]
    tiles, axis = graph.constant(node, 1), graph.constant(node, 2)
    if tiles is None or axis is None:
        raise UnsupportedError("its repeats are computed at run time", where=label(node))
    repeats = np.ones(len(graph.shape(node.input[0])), np.int64)
    repeats[int(axis.item())] = int(tiles.item())
    del node.input[1:]
    node.input.append(graph.add_constant(f"{node.output[0]}/repeats", repeats))
    return [node]


def _upsample(node: NodeProto, _graph: Graph) -> list[NodeProto]:
    values = attributes(node)
    scales = [1.0, 1.0, values["height_scale"], values["width_scale"]]
    set_attributes(node, height_scale=None, width_scale=None, scales=scales)
    return [node]


_REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {
        **dict.fromkeys("Add And Div Equal Greater Less Mul Or Pow Sub Xor".split(), _binary),
        **dict.fromkeys(("BatchNormalization", "Dropout"), _inference_only),
        **dict.fromkeys(("GlobalLpPool", "LpPool"), _whole_power),
        **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
        "Cast": _cast,
        "Concat": _concat,
        "Gemm": _gemm,
        "Pad": _pad,
        "Reshape": _reshape,
        "Selu": _selu,
        "Split": _split,
        "Tile": _tile,
        "Upsample": _upsample,
    }
)
"""Operators that lost more than a hint. An operator that changed otherwise only gained."""
