"""Which operators of a model can be compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

import onnx

from ...errors import UnsupportedError

ALTERNATIVES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Celu": ("Elu",),
        "GRU": ("Conv", "MatMul", "Sigmoid", "Tanh"),
        "GridSample": ("Resize",),
        "Hardmax": ("ArgMax",),
        "LSTM": ("Conv", "MatMul", "Sigmoid", "Tanh"),
        "LpNormalization": ("ReduceL2", "Div"),
        "MaxUnpool": ("Resize", "ConvTranspose"),
        "RNN": ("Conv", "MatMul", "Tanh"),
        "ReverseSequence": ("Slice",),
        "Swish": ("Sigmoid", "Mul"),
    }
)
"""Operators that a network can use instead."""

LISTED = 12
"""At most so many nodes are listed in a message."""


def check_operators(model: onnx.ModelProto, supported: Collection[str]) -> None:
    """Refuse a model with operators that are not `supported`. Raises `UnsupportedError` naming each node."""
    nodes = [n for n in model.graph.node if n.op_type not in supported]
    if not nodes:
        return
    operators = sorted({node.op_type for node in nodes})
    shown = [f"'{node.name}' ({node.op_type})" for node in nodes[:LISTED]]
    if len(nodes) > LISTED:
        shown.append(f"and {len(nodes) - LISTED} more")
    plural = "s" if len(operators) > 1 else ""
    raise UnsupportedError(
        f"operator{plural} {', '.join(operators)} cannot be compiled",
        where=f"node{'s' if len(nodes) > 1 else ''} {', '.join(shown)}",
        remedy=_remedy(operators, supported),
    )


def _remedy(operators: list[str], supported: Collection[str]) -> str:
    advice = []
    for operator in operators:
        instead = [name for name in ALTERNATIVES.get(operator, ()) if name in supported]
        if instead:
            advice.append(f"{operator} by {', '.join(instead)}")
    if advice:
        return "replace " + "; ".join(advice)
    return "replace them in the network by supported operators"
