"""Types of values, node by node. Since every input is static, every value must come out static."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper, shape_inference

from ...errors import ModelError, UnsupportedError
from .onnx_graph import Graph, Type, attributes, elements, kind_of, label, short
from .onnx_opset import schema

DATA_LIMIT = 1024
"""Constants of at most this many elements take part in shape inference by value."""

TENSOR_LIMIT = 2**31 - 1
"""Bytes of one computed value; more cannot be addressed by the generated code."""

KEEPS_TYPE = ("MeanVarianceNormalization", "GroupNormalization")
"""Operators that ONNX forgot to give a shape inference; the output is like the input."""


ANY_INTEGERS = ("ConvInteger", "MatMulInteger")
"""Operators that may read integers of any width here, see `onnx_quantized_integer`; ONNX has bytes only."""

CORRECTED: Mapping[str, int] = MappingProxyType(
    {"MaxPool": 22, "AveragePool": 22, "LpPool": 22, "Concat": 11}
)
"""Operators whose shape inference does what runtimes do since this opset. Before, a pooling window could
start in the padding at the end (with `ceil_mode`), and Concat knew no negative axis."""


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
    types = {n: graph.types[n] for n in names}
    if node.op_type in ANY_INTEGERS:
        types = {n: Type(TensorProto.INT8, type_.shape) for n, type_ in types.items()}
    try:
        found = shape_inference.infer_node_outputs(
            schema(node, max(graph.opset, CORRECTED.get(node.op_type, 0))),
            node,
            {n: type_.proto() for n, type_ in types.items()},
            data,
            opset_imports=[helper.make_opsetid("", graph.opset)],
        )
    except Exception as error:  # noqa: BLE001 - the C++ code has kinds of its own
        raise ModelError(f"its inputs do not fit together: {short(error)}", where=label(node)) from None
    static = {name: _static(node, name, proto) for name, proto in found.items() if name}
    types = {name: type_ for name, type_ in static.items() if type_ is not None}
    if node.op_type == "Dropout" and len(node.output) > 1:  # before opset 10 the mask had no inference
        types.setdefault(node.output[1], graph.types[node.input[0]])
    if node.op_type in ("Reshape", "ConvTranspose") and node.output[0] in types:
        _check_shapes(node, graph.types[node.input[0]], types[node.output[0]])
    if node.op_type in ("Resize", "Upsample") and not (len(node.input) > 3 and node.input[3]):
        types.update(_scaled(node, graph))
    return types


def _scaled(node: NodeProto, graph: Graph) -> dict[str, Type]:
    """The type of what scales resize: multiplied in float32, as onnxruntime does; ONNX infers in float64."""
    values = attributes(node)
    scales = values.get("scales", graph.constant(node, 1 if graph.opset < 11 else 2))
    if scales is None or node.domain:
        return {}
    before = graph.types[node.input[0]]
    shape = list(before.shape)
    for axis, scale in zip(values.get("axes") or range(len(shape)), scales, strict=True):
        shape[axis] = int(np.floor(np.float32(shape[axis]) * np.float32(scale)))
    return {node.output[0]: Type(before.elem, tuple(shape))}


def _check_shapes(node: NodeProto, before: Type, after: Type) -> None:
    """What ONNX's inference leaves unsaid."""
    if node.op_type == "ConvTranspose" and len(before.shape) != len(after.shape):
        raise UnsupportedError("its `output_shape` is smaller than its input", where=label(node))
    if node.op_type == "Reshape" and elements(before.shape) != elements(after.shape):
        raise ModelError(
            f"shape {list(before.shape)} cannot become {list(after.shape)}",
            where=label(node),
            remedy="if the model was exported for a fixed batch size, `shapes` must not change it",
        )


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
    kind = kind_of(proto) if proto.WhichOneof("value") else None
    if kind is not None:
        raise UnsupportedError(
            f"its output '{name}' is {kind}", where=label(node), expected="operators that compute tensors"
        )
    tensor = proto.tensor_type
    dimensions = tensor.shape.dim
    if not tensor.elem_type or not tensor.HasField("shape"):
        return None
    if not all(d.HasField("dim_value") for d in dimensions):
        return None
    return Type(tensor.elem_type, tuple(d.dim_value for d in dimensions))
