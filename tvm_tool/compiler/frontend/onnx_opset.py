"""Old operator sets: models of opset 7 to 12 are rewritten to opset 17.

ONNX's own version converter does most of it. Operators that it cannot convert, or converts to other
results than onnxruntime's, are moved to a domain of our own while it works (it leaves foreign domains
alone) and then written in opset 17 by the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import NodeProto, defs, helper, version_converter

from ...errors import UnsupportedError
from .onnx_graph import Graph, Type, attributes, copy_of, elements, label, set_attributes, short

OLDEST_KEPT = 13
TARGET = 17

SHIELD = "tvm_tool.early"
"""Domain of operators that the version converter must not see: they are in the words of `TARGET`."""

EARLY_OPERATORS: Mapping[str, int] = MappingProxyType({"LayerNormalization": 17})
"""Operators that exporters write before they entered ONNX, and the opset in which they did."""


def schema(node: NodeProto, opset: int) -> defs.OpSchema:
    """What ONNX says about the operator of a node in an opset."""
    if node.domain == SHIELD:
        opset = max(opset, TARGET)
    return defs.get_schema(node.op_type, opset, "")


def needs_upgrade(graph: Graph) -> bool:
    return graph.opset < OLDEST_KEPT or any(n.domain == SHIELD for n in graph.nodes)


def upgrade(graph: Graph) -> Graph:
    """The same network in opset 17. All types must be known."""
    for node in graph.nodes:
        if _is_rewritten(node, graph):
            node.domain = SHIELD
    domains = {SHIELD: 1} if any(n.domain == SHIELD for n in graph.nodes) else {}
    try:
        proto = version_converter.convert_version(graph.to_proto(domains=domains), TARGET)
    except Exception as error:  # noqa: BLE001 - the C++ converter has kinds of its own
        raise UnsupportedError(
            f"it uses opset {graph.opset} and cannot be converted to opset {TARGET}: {short(error)}",
            remedy=f"export the network with opset {TARGET}",
        ) from None
    new = Graph.from_proto(proto)
    new.types = {**graph.types, **new.types}

    def modernise(node: NodeProto) -> list[NodeProto] | None:
        if node.domain != SHIELD:
            return None
        node.domain = ""
        write = _REWRITES.get(node.op_type)
        return write(node, new) if write else [node]

    new.rewrite(modernise)
    return new


def _is_rewritten(node: NodeProto, graph: Graph) -> bool:
    """Whether the operator of an old opset is written anew here and not by the converter."""
    if node.domain:
        return False
    if node.op_type == "Resize":
        return graph.opset < 11
    if node.op_type == "Hardmax":
        return graph.opset < 13
    if node.op_type == "BatchNormalization":
        return bool(attributes(node).get("spatial", 1) == 0)
    return node.op_type == "Upsample"


def _resize(node: NodeProto, graph: Graph) -> list[NodeProto]:
    """Upsample, and Resize of opset 10: pixel corners stand at the origin; scales are exact.

    Nearest neighbours are rounded down where an axis grows and up where it shrinks; axes are
    independent, so that a mixture takes two nodes.
    """
    mode = attributes(node).get("mode", "nearest")
    scales = attributes(node).get("scales")
    if scales is None:
        scales = graph.constants.get(node.input[1])
    if scales is None:
        raise UnsupportedError("its scales are computed at run time", where=label(node))
    factors = np.asarray(scales, np.float32)
    grow, shrink = np.maximum(factors, 1), np.minimum(factors, 1)
    if mode != "nearest" or (shrink == 1).all():
        return [_resize_node(node, graph, node.input[0], node.output[0], factors, "floor")]
    if (grow == 1).all():
        return [_resize_node(node, graph, node.input[0], node.output[0], factors, "ceil")]
    before, after = graph.types[node.input[0]], graph.types[node.output[0]]
    middle_shape = tuple(
        a if f > 1 else b for b, a, f in zip(before.shape, after.shape, factors, strict=True)
    )
    middle = graph.add_value(f"{node.output[0]}/grown", Type(before.elem, middle_shape))
    return [
        _resize_node(node, graph, node.input[0], middle, grow, "floor"),
        _resize_node(node, graph, middle, node.output[0], shrink, "ceil"),
    ]


def _resize_node(
    node: NodeProto, graph: Graph, source: str, target: str, scales: np.ndarray, rounding: str
) -> NodeProto:
    name = graph.add_constant(f"{target}/scales", scales)
    new = copy_of(node, op_type="Resize", input=[source, "", name], output=[target])
    set_attributes(new, scales=None, coordinate_transformation_mode="asymmetric", nearest_mode=rounding)
    return new


def _hardmax(node: NodeProto, graph: Graph) -> list[NodeProto]:
    """Before opset 13 the axes from `axis` on were one."""
    data = graph.types[node.input[0]]
    axis = attributes(node).get("axis", 1) % len(data.shape)
    flat = (elements(data.shape[:axis]), elements(data.shape[axis:]))
    before = graph.add_value(f"{node.output[0]}/flat", Type(data.elem, flat))
    after = graph.add_value(f"{node.output[0]}/hard", Type(data.elem, flat))
    new = copy_of(node, input=[before], output=[after])
    set_attributes(new, axis=-1)
    return [
        graph.reshape(f"{node.name}/flatten", node.input[0], before),
        new,
        graph.reshape(f"{node.name}/shape", after, node.output[0]),
    ]


def _elementwise_batch_norm(node: NodeProto, graph: Graph) -> list[NodeProto]:
    """BatchNormalization with ``spatial=0``: one scale and offset an element, not a channel."""
    parameters = [graph.constant(node, index) for index in range(1, 5)]
    if any(p is None for p in parameters):
        raise UnsupportedError("its parameters are computed at run time", where=label(node))
    scale, offset, mean, variance = (np.asarray(p, np.float64) for p in parameters)
    factor = scale / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
    data = graph.types[node.input[0]]
    dtype = helper.tensor_dtype_to_np_dtype(data.elem)
    output = node.output[0]
    scaled = graph.add_value(f"{output}/scaled", data)
    by = graph.add_constant(f"{output}/factor", factor.astype(dtype))
    plus = graph.add_constant(f"{output}/offset", (offset - mean * factor).astype(dtype))
    return [
        helper.make_node("Mul", [node.input[0], by], [scaled], f"{node.name}/scale"),
        helper.make_node("Add", [scaled, plus], [output], node.name),
    ]


_REWRITES: Mapping[str, Callable[[NodeProto, Graph], list[NodeProto]]] = MappingProxyType(
    {
        "Upsample": _resize,
        "Resize": _resize,
        "Hardmax": _hardmax,
        "BatchNormalization": _elementwise_batch_norm,
    }
)
