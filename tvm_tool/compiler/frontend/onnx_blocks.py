"""QuantizeLinear and DequantizeLinear in blocks: one scale and zero point for some elements of an axis."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto

from .onnx_emit import Emitter
from .onnx_graph import Graph, attributes, numpy_dtype


def expand_blocks(graph: Graph, node: NodeProto) -> list[NodeProto] | None:
    """The nodes that compute a Q/DQ node with `block_size` element by element, None for any other node."""
    if node.domain or node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
        return None
    values = attributes(node)
    block = values.get("block_size", 0)
    if not block:
        return None
    emit = Emitter(graph, node)
    shape = graph.shape(node.input[0])
    axis = values.get("axis", 1) % len(shape)

    def spread(name: str) -> str:
        return emit("Gather", name, emit.constant(np.arange(shape[axis]) // block), axis=axis)

    scale = spread(node.input[1])
    zero = spread(node.input[2]) if emit.input(2) else ""
    if node.op_type == "DequantizeLinear":
        number = emit("Cast", node.input[0], to=TensorProto.INT32)
        if zero:
            number = emit("Sub", number, emit("Cast", zero, to=TensorProto.INT32))
        real = emit("Cast", number, to=graph.types[node.input[1]].elem)
        emit("Mul", real, scale, output=node.output[0])
        return emit.nodes
    target = graph.types[node.input[2]].elem if zero else values.get("output_dtype") or TensorProto.UINT8
    limits = np.iinfo(numpy_dtype(target))
    kind = graph.types[node.input[0]].elem
    number = emit("Round", emit("Div", node.input[0], scale))
    if zero:
        number = emit("Add", number, emit("Cast", zero, to=kind))
    bounds = [emit.constant(limit, emit.dtype(node.input[0])) for limit in (limits.min, limits.max)]
    emit("Cast", emit("Clip", number, *bounds), output=node.output[0], to=target)
    return emit.nodes
