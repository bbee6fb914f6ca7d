"""Half precision as a storage type: float16 and bfloat16 tensors are computed in float32.

Plain C has no half. Afterwards halves stand only at the inputs and outputs of the model, between a Cast
that narrows a value and one that widens it again, and where the model does nothing else with them.

ONNX rounds what each operator computes. For float16 the roundings that are left out are small, and so
are those of casts, unless rounding is all that a cast is for. A bfloat16 has 8 bits, and a value that
was rounded once too seldom is another value: what is computed in bfloat16 may only be moved and given out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from ...errors import UnsupportedError
from .onnx_expand import has_body
from .onnx_fold import infer_and_fold
from .onnx_graph import Array, Graph, Type, copy_of, label

HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "precision", "softmax_precision", "stash_type")
"""Attributes that name an element type."""

_MOVEMENT = frozenset(
    "Cast CastLike Concat Expand Flatten Gather Identity Pad Reshape Slice Split Squeeze Transpose Unsqueeze "
    "Where".split()
)
"""Operators that round nothing."""


def compute_in_single(graph: Graph) -> None:
    """Compute everything in float32 that the model computes in half precision.

    All types must be known, and are afterwards.

    Raises:
        UnsupportedError: an operator reads or makes the bits of halves, or computes with what was
            computed in bfloat16.
    """
    halves = {name: type_.elem for name, type_ in graph.types.items() if type_.elem in HALVES}
    if all(_stores_only(node, graph, halves) for node in graph.nodes):
        return
    _check_roundings(graph)
    wide = {name: graph.fresh(f"{name}/wide") for name in halves}
    for name in halves:
        if name in graph.constants:
            graph.constants[wide[name]] = array = _single(graph.constants.pop(name))
            graph.types[wide[name]] = Type(TensorProto.FLOAT, array.shape)
    readers = graph.consumers()
    nodes = [_cast(name, wide[name], TensorProto.FLOAT) for name in graph.inputs if name in halves]
    for node in graph.nodes:
        if node.op_type == "BitCast" and any(n in halves for n in (*node.input, *node.output)):
            raise UnsupportedError("it works on the bits of half precision numbers", where=label(node))
        nodes.append(_widened(node, wide))
        if node.op_type == "Cast" and _rounds(node, graph, readers):
            output, single, rounded = node.output[0], *(graph.fresh(f"{node.output[0]}/cast") for _ in "ab")
            nodes[-1].output[0] = single
            nodes.append(_cast(single, rounded, halves[output]))
            nodes.append(_cast(rounded, wide[output], TensorProto.FLOAT))
    given = [name for name in dict.fromkeys(graph.outputs) if name in halves and name not in graph.inputs]
    graph.nodes = [*nodes, *(_cast(wide[name], name, halves[name]) for name in given)]
    for name in halves:
        if name not in graph.inputs and name not in graph.outputs:
            del graph.types[name]
    infer_and_fold(graph)


def _check_roundings(graph: Graph) -> None:
    """Refuse a model in which bfloat16 values are computed from computed ones."""
    computed: set[str] = set()
    for node in graph.nodes:
        brain = [n for n in node.output if n and graph.types[n].elem == TensorProto.BFLOAT16]
        reads = any(name in computed for name in node.input)
        if node.op_type in _MOVEMENT and brain:
            computed.update(brain if reads else ())
            continue
        # The definition of an operator that has one rounds inside.
        if reads or (brain and has_body(node, graph.opset)):
            raise UnsupportedError(
                "it computes with intermediate values in bfloat16",
                where=label(node),
                expected="bfloat16 to store what one operator reads or makes",
                remedy="export the network in float32 or float16",
            )
        computed.update(brain)


def _stores_only(node: NodeProto, graph: Graph, halves: dict[str, int]) -> bool:
    """Whether a node computes nothing in half precision."""
    values = [name for name in (*node.input, *node.output) if name]
    if node.op_type == "Identity" or not any(name in halves for name in values):
        return True
    return node.op_type == "Cast" and any(graph.types[name].elem == TensorProto.FLOAT for name in values)


def _rounds(node: NodeProto, graph: Graph, readers: Mapping[str, Sequence[NodeProto]]) -> bool:
    """Whether a Cast has to narrow its value and not only to call it half precision."""
    kind = graph.types[node.output[0]].elem
    if kind != TensorProto.FLOAT16:
        return kind == TensorProto.BFLOAT16
    after = readers.get(node.output[0], ())
    return bool(after) and all(reader.op_type == "Cast" for reader in after)


def _widened(node: NodeProto, wide: Mapping[str, str]) -> NodeProto:
    new = copy_of(
        node,
        input=[wide.get(name, name) for name in node.input],
        output=[wide.get(name, name) for name in node.output],
    )
    for attribute in new.attribute:
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i in HALVES:
            attribute.i = TensorProto.FLOAT
        elif attribute.type == AttributeProto.TENSOR and attribute.t.data_type in HALVES:
            single = numpy_helper.from_array(_single(numpy_helper.to_array(attribute.t)))
            attribute.t.CopyFrom(single)
    return new


def _cast(source: str, target: str, to: int) -> NodeProto:
    return helper.make_node("Cast", [source], [target], f"Cast_{target}", to=to)


def _single(array: Array) -> Array:
    return array.astype(np.float32)
