"""Replacing a node by the body of the function that defines its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
from onnx import AttributeProto, NodeProto, defs, helper, inliner

from ...errors import UnsupportedError
from .onnx_contrib import FUNCTIONS
from .onnx_graph import Graph, label, short
from .onnx_unroll import renamed

PREVIEW = "ai.onnx.preview"
"""Domain of operators that ONNX defines, by other ones, before they enter its own."""

BODY_DOMAIN = "tvm_tool.body"
"""Domain of the functions that are built for one call only."""


def has_body(node: NodeProto, opset: int) -> bool:
    """Whether ONNX, or `onnx_contrib`, defines this operator by other operators."""
    if node.domain in FUNCTIONS:
        return node.op_type in FUNCTIONS[node.domain]
    if node.domain not in ("", PREVIEW) or not defs.has(node.op_type, domain=node.domain):
        return False
    schema = _schema(node, opset)
    # The stubs of onnx do not know these two.
    return bool(schema.has_function or schema.has_context_dependent_function)  # type: ignore[attr-defined]


def _schema(node: NodeProto, opset: int) -> defs.OpSchema:
    return defs.get_schema(node.op_type, 1 if node.domain else opset, node.domain)


def expand(graph: Graph, node: NodeProto) -> list[NodeProto]:
    """The nodes that compute what `node` does. Names inside start with the node's own name."""
    try:
        model = _model_of(graph, node)
        call = model.graph.node[0]
        model = inliner.inline_selected_functions(
            model, [(call.domain, call.op_type)], inline_schema_functions=True
        )
    except Exception as error:  # noqa: BLE001 - the C++ inliner has kinds of its own
        raise UnsupportedError(
            f"operator '{node.op_type}' cannot be replaced by its definition: {short(error)}",
            where=label(node),
        ) from None
    outside = {*node.input, *node.output}
    names: dict[str, str] = {}
    body = []
    for inner in model.graph.node:
        for name in inner.output:
            if name and name not in outside:
                names[name] = graph.fresh(f"{node.name}/{name.partition('__')[0]}")
        new = renamed(inner, names)
        new.name = f"{node.name}/{inner.op_type}"
        body.append(new)
    return body


def add_defaults(node: NodeProto, defaults: Iterable[AttributeProto]) -> None:
    """Write out the attributes that a node leaves at their default: the inliner does not know defaults."""
    given = {a.name for a in node.attribute}
    node.attribute.extend(d for d in defaults if d.name and d.name not in given)


def _model_of(graph: Graph, node: NodeProto) -> onnx.ModelProto:
    """A model of this one node, its inputs typed: the body of some functions depends on the types."""
    inputs = [
        helper.make_tensor_value_info(name, graph.types[name].elem, graph.types[name].shape)
        for name in dict.fromkeys(node.input)
        if name
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    model = helper.make_model(
        helper.make_graph([node], "node", inputs, outputs),
        opset_imports=[helper.make_opsetid("", graph.opset)],
    )
    call = model.graph.node[0]
    if node.domain in FUNCTIONS:
        function = model.functions.add()
        function.CopyFrom(FUNCTIONS[node.domain][node.op_type])
        function.opset_import[0].version = graph.opset
        model.opset_import.add(domain=node.domain, version=1)
        add_defaults(call, function.attribute_proto)
    else:
        schema = _schema(node, graph.opset)
        add_defaults(call, (a.default_value for a in schema.attributes.values()))
        model.functions.append(_body(graph, call, schema))
        model.opset_import.add(domain=BODY_DOMAIN, version=1)
        call.domain = BODY_DOMAIN
    return model


def _body(graph: Graph, call: NodeProto, schema: Any) -> onnx.FunctionProto:
    """The function that defines `call`, given the types of its inputs (those left out have none)."""
    if schema.has_context_dependent_function:
        types = [graph.types[name].proto() if name else onnx.TypeProto() for name in call.input]
        data = schema.get_context_dependent_function_with_opset_version(
            _version(schema.context_dependent_function_opset_versions, graph.opset),
            call.SerializeToString(),
            [t.SerializeToString() for t in types],
        )
    else:
        data = schema.get_function_with_opset_version(_version(schema.function_opset_versions, graph.opset))
    function: onnx.FunctionProto = onnx.FunctionProto.FromString(data)
    function.domain = BODY_DOMAIN
    for opset in function.opset_import:
        opset.version = (
            graph.opset if not opset.domain else opset.version
        )  # ONNX gives a new body where operators in it have changed
    return function


def _version(known: list[int], opset: int) -> int:
    """The newest of the `known` versions of a body that is not newer than `opset`, else the oldest."""
    return max((version for version in known if version <= opset), default=min(known))
