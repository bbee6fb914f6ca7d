"""Operators that TVM's importer lacks or gets wrong, written in operators that it gets right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import NodeProto

from . import (
    onnx_rewrites_index,
    onnx_rewrites_numbers,
    onnx_rewrites_pad,
    onnx_rewrites_recurrent,
    onnx_rewrites_signal,
    onnx_rewrites_windows,
)
from .onnx_emit import Emitter
from .onnx_expand import expand, has_body
from .onnx_fold import infer_and_fold
from .onnx_graph import Graph, attributes, copy_of, elements, numpy_dtype, set_attributes
from .onnx_rewrites_ngrams import tf_idf

Rewrite = Callable[[Emitter], bool]
"""Emits what replaces the emitter's node. False, and nothing emitted, if the node may stay."""

TABLES: tuple[Mapping[str, Rewrite], ...] = (
    onnx_rewrites_numbers.REWRITES,
    onnx_rewrites_index.REWRITES,
    onnx_rewrites_pad.REWRITES,
    onnx_rewrites_recurrent.REWRITES,
    onnx_rewrites_signal.REWRITES,
    onnx_rewrites_windows.REWRITES,
    {"TfIdfVectorizer": tf_idf},
)
"""No operator is in two of them."""

REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {name: rule for table in TABLES for name, rule in table.items()}
)

BODIES = frozenset({"Attention", "RMSNormalization"})
"""Operators whose definition by other operators is compiled although the importer knows them."""


def rewrite(graph: Graph) -> None:
    """Rewrite every node that needs it. All types must be known, and are afterwards."""
    _drop_empty(graph)
    while any(_needs_body(node, graph) for node in graph.nodes):
        graph.rewrite(lambda node: expand(graph, node) if _needs_body(node, graph) else None)
        infer_and_fold(graph)
        _drop_empty(graph)
    before = graph.nodes
    graph.rewrite(lambda node: _rewritten(node, graph))
    if graph.nodes != before:
        infer_and_fold(graph)


def _drop_empty(graph: Graph) -> None:
    """What has no elements is a constant, and adds nothing to a concatenation."""

    def is_empty(name: str) -> bool:
        return name in graph.types and not elements(graph.shape(name))

    def rule(node: NodeProto) -> list[NodeProto] | None:
        outputs = [name for name in node.output if name]
        if outputs and all(is_empty(name) for name in outputs):
            for name in outputs:
                graph.constants[name] = np.zeros(graph.shape(name), numpy_dtype(graph.types[name].elem))
            return []
        if node.op_type == "Concat" and not node.domain and any(is_empty(name) for name in node.input):
            return [copy_of(node, input=[name for name in node.input if not is_empty(name)])]
        if node.op_type == "Split" and not node.domain and any(is_empty(name) for name in outputs):
            return [_smaller_split(node, graph)]
        return None

    graph.rewrite(rule)


def _smaller_split(node: NodeProto, graph: Graph) -> NodeProto:
    """A Split without the outputs that have no elements; they become constants."""
    axis = attributes(node).get("axis", 0)
    sizes = {name: graph.shape(name)[axis] for name in node.output}
    for name, size in sizes.items():
        if not size:
            graph.constants[name] = np.zeros(graph.shape(name), numpy_dtype(graph.types[name].elem))
    kept = [name for name, size in sizes.items() if size]
    split = graph.add_constant(f"{node.name}/split", np.array([sizes[name] for name in kept], np.int64))
    new = copy_of(node, input=[node.input[0], split], output=kept)
    set_attributes(new, num_outputs=None)
    return new


def _needs_body(node: NodeProto, graph: Graph) -> bool:
    if node.domain or not has_body(node, graph.opset):
        return False
    # The importer forgets the mean and the deviation.
    return node.op_type in BODIES or (node.op_type == "LayerNormalization" and len(node.output) > 1)


def _rewritten(node: NodeProto, graph: Graph) -> list[NodeProto] | None:
    write = None if node.domain else REWRITES.get(node.op_type)
    if write is None:
        return None
    emit = Emitter(graph, node)
    return emit.nodes if write(emit) else None
