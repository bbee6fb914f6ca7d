"""Where layers and fused TIR functions come from in the model."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import tvm
from tvm import relax

from .relax_graph import Builder, Expr, Var, bindings, rewrite
from .tvm_internals import node_of


@dataclass(frozen=True)
class Origin:
    """Where a fused function comes from: its first ONNX node, if that is certain, and its operators."""

    node: int | None
    operators: tuple[str, ...]


def plain_operator(symbol: str) -> str:
    """Name of an operator without what TVM puts around it: ``tir_sigmoid1`` is ``sigmoid``."""
    return re.sub(r"(?<=[a-z])\d+$", "", symbol.removeprefix("tir_"))


def name_steps(module: tvm.IRModule) -> tvm.IRModule:
    """Name what the importer computes on the way to a node's result after that node as well."""
    nodes: dict[Var, int] = {}
    following: int | None = None
    for var, _ in reversed(list(bindings(module["main"]))):
        node = node_of(var.name)
        following = following if node is None else node
        if node is None and following is not None:
            nodes[var] = following

    def visit(builder: Builder, var: Var, value: Expr) -> Expr | None:
        is_step = var in nodes and isinstance(value, relax.Call)
        return builder.emit(value, name_hint=f"n{nodes[var]}_") if is_step else None

    return rewrite(module, visit)


def find_origins(module: tvm.IRModule) -> dict[str, Origin]:
    """Where each fused function comes from, by its name."""
    calls = Counter(
        value.op.name_hint
        for _, value in bindings(module["main"])
        if isinstance(value, relax.Call) and hasattr(value.op, "name_hint")
    )
    origins = {}
    for symbol, function in module.functions.items():
        if function.attrs and function.attrs.get("Primitive"):
            inside = list(bindings(function))
            known = [i for i in (node_of(var.name) for var, _ in inside) if i is not None]
            # Equal groups share a function, which then has no single place in the model.
            node = known[0] if known and calls[symbol.name_hint] == 1 else None
            calls_inside = [value for _, value in inside if isinstance(value, relax.Call)]
            operators = [plain_operator(value.args[0].name_hint) for value in calls_inside]
            origins[str(symbol.name_hint)] = Origin(node, tuple(operators))
    return origins
