"""Operators outside ONNX that exporters write, as ONNX functions: they are replaced by their bodies.

A function says what its operator means in standard operators that are the same in every opset.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnx import FunctionProto, parser

_MICROSOFT = (
    """
    Gelu (X) => (Y) {
        root = Constant <value_float = 1.41421356237> ()
        one = Constant <value_float = 1.0> ()
        half = Constant <value_float = 0.5> ()
        scaled = Div (X, root)
        erf = Erf (scaled)
        weight = Add (erf, one)
        product = Mul (X, weight)
        Y = Mul (product, half)
    }
    """,
    """
    BiasGelu (A, B) => (Y) {
        X = Add (A, B)
        root = Constant <value_float = 1.41421356237> ()
        one = Constant <value_float = 1.0> ()
        half = Constant <value_float = 0.5> ()
        scaled = Div (X, root)
        erf = Erf (scaled)
        weight = Add (erf, one)
        product = Mul (X, weight)
        Y = Mul (product, half)
    }
    """,
    """
    QuickGelu <alpha: float = 1.702> (X) => (Y) {
        factor = Constant <value_float: float = @alpha> ()
        scaled = Mul (X, factor)
        gate = Sigmoid (scaled)
        Y = Mul (X, gate)
    }
    """,
)


def _parse(domain: str, bodies: tuple[str, ...]) -> Mapping[str, FunctionProto]:
    head = f'<domain: "{domain}", opset_import: ["": 13]>'
    functions = [parser.parse_function(head + body) for body in bodies]
    return MappingProxyType({f.name: f for f in functions})


FUNCTIONS: Mapping[str, Mapping[str, FunctionProto]] = MappingProxyType(
    {"com.microsoft": _parse("com.microsoft", _MICROSOFT)}
)
"""Functions by domain and operator."""
