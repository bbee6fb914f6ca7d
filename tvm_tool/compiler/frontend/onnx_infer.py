"""Types of values, node by node. Since every input is static, every value must come out static."""

from __future__ import annotations

import onnx
from onnx import NodeProto, helper, numpy_helper, shape_inference

from ...errors import ModelError, UnsupportedError
from .onnx_graph import Graph, Type, label, short
from .onnx_opset import schema

DATA_LIMIT = 1024
"""Constants of at most this many elements take part in shape inference by value."""

TENSOR_LIMIT = 2**31 - 1
"""Bytes of one computed value; more cannot be addressed by the generated code."""

KEEPS_TYPE = ("MeanVarianceNormalization", "GroupNormalization")
"""Operators that ONNX forgot to give a shape inference; the output is like the input."""


def infer(graph: Graph, node: NodeProto) -> dict[str, Type]:
    """Types of the outputs of `node`, by name, as far as they are static.

    Raises:
        ModelError: the types of its inputs do not suit the operator.
        UnsupportedError: an output is not a tensor.
    """
    if node.op_type in KEEPS_TYPE and not node.domain:
        return {node.output[0]: graph.types[node.input[0]]}
    names = [n for n in dict.fromkeys(node.input) if n]
    data = {
        n: numpy_helper.from_array(graph.constants[n], n)
        for n in names
        if n in graph.constants and graph.constants[n].size <= DATA_LIMIT
    }
    try:
        found = shape_inference.infer_node_outputs(
            schema(node, graph.opset),
            node,
            {n: graph.types[n].proto() for n in names},
            data,
            opset_imports=[helper.make_opsetid("", graph.opset)],
        )
    except Exception as error:  # noqa: BLE001 - the C++ code has kinds of its own
        raise ModelError(f"its inputs do not fit together: {short(error)}", where=label(node)) from None
    types = {name: _static(node, name, proto) for name, proto in found.items() if name}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def require_static(node: NodeProto, types: dict[str, Type]) -> None:
    """Refuse a node whose output shapes are known only at run time."""
    for name in node.output:
        if not name:
            continue
        if name not in types:
            raise UnsupportedError(
                f"the shape of its output '{name}' depends on values that are known only at run time",
                where=label(node),
                expected="shapes that follow from the shapes of the inputs",
            )
        if types[name].bytes > TENSOR_LIMIT:
            raise UnsupportedError(
                f"its output '{name}' of shape {list(types[name].shape)} takes {types[name].bytes:,} bytes",
                where=label(node),
            )


def _static(node: NodeProto, name: str, proto: onnx.TypeProto) -> Type | None:
    kind = proto.WhichOneof("value")
    if kind not in (None, "tensor_type"):
        raise UnsupportedError(
            f"its output '{name}' is a {kind.removesuffix('_type').replace('_', ' ')}",
            where=label(node),
            expected="operators that compute tensors",
        )
    tensor = proto.tensor_type
    dimensions = tensor.shape.dim
    if not tensor.elem_type or not tensor.HasField("shape"):
        return None
    if not all(d.HasField("dim_value") for d in dimensions):
        return None
    return Type(tensor.elem_type, tuple(d.dim_value for d in dimensions))
