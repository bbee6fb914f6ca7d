"""One walk over the graph that finds every type and computes everything that is constant.

Shapes are static, so that shape arithmetic (Shape, Gather, Concat, ...) dissolves on the way, with it
``If`` whose condition depends on shapes only.
"""

from __future__ import annotations

import warnings
from collections import deque

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.reference import ReferenceEvaluator

from ...errors import UnsupportedError
from .onnx_blocks import expand_blocks
from .onnx_expand import expand, has_body
from .onnx_graph import Array, Graph, Type, array_of, attributes, label, type_of
from .onnx_infer import infer, require_static
from .onnx_quantized import expand_quantized
from .onnx_unroll import renamed, unroll

GROWTH_LIMIT = 16 * 1024
"""Bytes by which a computed constant may exceed the constants it is computed from. Expand, Tile or
ConstantOfShape beyond it stay in the graph: flash is not spent on repetition."""

FOLDED = frozenset(
    """
    Abs Add And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip
    Compress Concat ConstantOfShape Cos CumSum DepthToSpace Div Equal Erf Exp Expand EyeLike Flatten Floor
    Gather GatherElements GatherND Gemm Greater GreaterOrEqual Identity IsNaN Less LessOrEqual Log MatMul
    Max Mean MelWeightMatrix Min Mod Mul Neg NonZero Not OneHot Or Pad Pow QuantizeLinear Range Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare Relu Reshape Round ScatterElements ScatterND Sigmoid Sign Sin Slice SpaceToDepth Split
    Sqrt Squeeze Sub Sum Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor
    """.split()
)
"""Operators whose evaluation by the onnx package is exact in every opset. DequantizeLinear is none of
them on purpose: integer weights stay integer. Random operators are none of them either."""


def infer_and_fold(graph: Graph) -> None:
    """Fill in `graph.types`, replace constant nodes by constants and constant ``If`` by its branch.

    Raises:
        UnsupportedError: control flow that depends on values, or a shape that does.
    """
    pending = deque(graph.nodes)
    kept: list[NodeProto] = []
    while pending:
        node = pending.popleft()
        if node.op_type == "If":
            pending.extendleft(reversed(_branch(graph, node)))
            continue
        if node.domain and has_body(node, graph.opset):
            pending.extendleft(reversed(expand(graph, node)))
            continue
        if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
            pending.extendleft(reversed(unroll(graph, node)))
            continue
        numbers = expand_blocks(graph, node) or expand_quantized(graph, node)
        if numbers is not None:
            pending.extendleft(reversed(numbers))
            continue
        if node.op_type == "Constant" and not node.domain:
            graph.constants[node.output[0]] = array = _constant(node)
            graph.types[node.output[0]] = type_of(array)
            continue
        if node.op_type == "Range" and not node.domain:
            _use_scalars(graph, node)
        types = infer(graph, node)
        values = _constant_values(graph, node, types)
        if values is None:
            require_static(node, types)
            kept.append(node)
        else:
            graph.constants.update(values)
        graph.types.update(types)
    graph.nodes = kept


def _constant_values(graph: Graph, node: NodeProto, types: dict[str, Type]) -> dict[str, Array] | None:
    """The outputs of a node that is constant, None if it is not or is too large.

    `types` are the inferred types of the outputs; those that depend on values are completed.
    """
    if node.domain:
        return None
    if node.op_type in ("Shape", "Size"):
        return {node.output[0]: _shape(graph, node)}
    inputs = [name for name in node.input if name]
    if node.op_type not in FOLDED or not all(name in graph.constants for name in inputs):
        return None
    if node.op_type in ("Cast", "CastLike") and types[node.output[0]].elem == TensorProto.FLOAT16:
        return None  # see `onnx_halves`: that is how a constant would be stored, and it is not
    room = GROWTH_LIMIT + sum(graph.constants[name].nbytes for name in inputs)
    if sum(type_.bytes for type_ in types.values()) > room:
        return None
    values = _evaluate(graph, node)
    if values is None or sum(array.nbytes for array in values.values()) > room:
        return None
    found = {name: type_of(array) for name, array in values.items()}
    if any(types.get(name, type_) != type_ for name, type_ in found.items()):
        return None  # The two halves of the onnx package disagree: better not to touch it.
    types.update(found)
    return values


def _constant(node: NodeProto) -> Array:
    """What a Constant node holds."""
    name, value = next(iter(attributes(node).items()), ("", None))
    if name == "value" and value is not None:
        return array_of(value)
    if name in ("value_float", "value_floats"):
        return np.array(value, np.float32)
    if name in ("value_int", "value_ints"):
        return np.array(value, np.int64)
    raise UnsupportedError(
        "it holds no numbers", where=label(node), expected="a tensor, not text and not a sparse tensor"
    )


def _use_scalars(graph: Graph, node: NodeProto) -> None:
    """Constants of one element become scalars: runtimes take them, the inference does not."""
    for index, name in enumerate(node.input):
        array = graph.constants.get(name)
        if array is not None and array.size == 1 and array.ndim:
            node.input[index] = graph.add_constant(f"{name}/scalar", array.reshape(()))


def _shape(graph: Graph, node: NodeProto) -> Array:
    shape = np.array(graph.shape(node.input[0]), np.int64)
    if node.op_type == "Size":
        return np.array(shape.prod(), np.int64)
    values = attributes(node)
    return shape[values.get("start", 0) : values.get("end", len(shape))]


def _evaluate(graph: Graph, node: NodeProto) -> dict[str, Array] | None:
    """Run one node on constants; None if the onnx package cannot."""
    inputs = {name: graph.constants[name] for name in node.input if name}
    outputs = [name for name in node.output if name]
    proto = helper.make_graph(
        [node], "node", [ValueInfoProto(name=n) for n in inputs], [ValueInfoProto(name=n) for n in outputs]
    )
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(proto, opsets={"": graph.opset}).run(None, inputs)
        return {name: np.asarray(value) for name, value in zip(outputs, results, strict=True)}
    except Exception:  # noqa: BLE001 - whatever an operator raises: it stays a node
        return None


def _branch(graph: Graph, node: NodeProto) -> list[NodeProto]:
    """The nodes of the branch of an ``If`` that is always taken."""
    condition = graph.constants.get(node.input[0])
    if condition is None or condition.size != 1:
        raise UnsupportedError(
            "its condition is known only at run time",
            where=label(node),
            expected="a condition that follows from the shapes",
            remedy="export the network without conditional parts",
        )
    branch: GraphProto = attributes(node)["then_branch" if condition.item() else "else_branch"]
    names: dict[str, str] = {}
    for value, output in zip(branch.output, node.output, strict=False):
        names.setdefault(value.name, output)
    inside = [o for inner in branch.node for o in inner.output if o]
    inside += [t.name for t in branch.initializer]
    names = {name: names.get(name) or graph.fresh(name) for name in inside}
    for tensor in branch.initializer:
        graph.constants[names[tensor.name]] = array = array_of(tensor)
        graph.types[names[tensor.name]] = type_of(array)
    body = [renamed(inner, names) for inner in branch.node]
    for index, (value, output) in enumerate(zip(branch.output, node.output, strict=False)):
        source = names.get(value.name, value.name)
        if source != output:  # taken from outside the branch, or an output for the second time
            body.append(helper.make_node("Identity", [source], [output], f"{node.name}/output_{index}"))
    return body
