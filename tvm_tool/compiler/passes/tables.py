"""Functions of one quantised value, as tables of its 256 numbers.

They are evaluated operator by operator in single precision, as the network would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..layers import Array
from ..quantized_layers import Quantization
from ..relax_graph import Expr, constant, op_name

_ERF = np.vectorize(math.erf, otypes=[np.float64])

UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": _ERF,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "negative": np.negative,
    "nn.gelu": lambda x: 0.5 * x * (1 + _ERF(x / math.sqrt(2))),
    "nn.relu": lambda x: np.maximum(x, 0),
    "nn.silu": lambda x: x / (1 + np.exp(-x)),
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    # Each step in single precision: a number between two results may depend on it.
    "sigmoid": lambda x: np.float32(1) / (np.float32(1) + np.exp(-x).astype(np.float32)),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "power": np.power,
    "subtract": np.subtract,
}


@dataclass(frozen=True, eq=False)
class OneInput:
    """A function of one quantised tensor.

    Attributes:
        data: the integers that it is a function of.
        values: its real value for each number, from the least number to the largest.
    """

    data: Expr
    quantization: Quantization
    values: Array


def numbers(dtype: str) -> Array:
    """All 256 numbers of `dtype` in order."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1)


def real_numbers(x: Quantization) -> Array:
    """What the numbers of `x` stand for, float32."""
    return np.asarray((numbers(x.dtype) - x.zero_point).astype(np.float32) * np.float32(x.scale))


def function_of_one(
    expr: Expr, lookup: Callable[[Expr], Expr], leaf: Callable[[Expr], tuple[Expr, Quantization] | None]
) -> OneInput | None:
    """`expr` as a function of one quantised tensor, None if it is none or of more than one."""
    found = _evaluate(expr, lookup, leaf)
    return found if isinstance(found, OneInput) else None


def _evaluate(expr: Expr, lookup: Any, leaf: Any) -> OneInput | float | None:
    here = leaf(expr)
    if here is not None:
        data, q = here
        return OneInput(data, q, real_numbers(q))
    call = lookup(expr)
    array = constant(call)
    if array is not None:
        return float(array.reshape(())) if array.size == 1 else None
    name = op_name(call)
    if name in UNARY or name in ("clip", "nn.leakyrelu"):
        inner = _evaluate(call.args[0], lookup, leaf)
        if not isinstance(inner, OneInput):
            return None
        values = _unary(name, call, _values(inner)).astype(np.float32)
        return OneInput(inner.data, inner.quantization, values)
    if name in BINARY:
        a, b = (_evaluate(arg, lookup, leaf) for arg in call.args)
        inputs = [side for side in (a, b) if isinstance(side, OneInput)]
        if a is None or b is None or not inputs:
            return None
        if len(inputs) == 2 and not inputs[0].data.same_as(inputs[1].data):
            return None
        with np.errstate(all="ignore"):
            values = BINARY[name](_values(a), _values(b)).astype(np.float32)
        return OneInput(inputs[0].data, inputs[0].quantization, values)
    return None


def _values(side: OneInput | float) -> Array:
    return (side.values if isinstance(side, OneInput) else np.asarray(side)).astype(np.float64)


def _unary(name: str, call: Expr, values: Array) -> Array:
    with np.errstate(all="ignore"):
        if name == "clip":
            return np.clip(values, _number(call.args[1]), _number(call.args[2]))
        if name == "nn.leakyrelu":
            return np.where(values < 0, values * float(call.attrs.alpha), values)
        return UNARY[name](values)


def _number(expr: Expr) -> float:
    array = constant(expr)
    return float(array.reshape(())) if array is not None else float(expr.value)


def quantized_table(values: Array, y: Quantization, half_away: bool = False) -> Array:
    """Real values as numbers of `y`, saturating; NaN becomes the least number.

    Halves go to the even number, or away from zero after a multiplication by the inverse scale: the first
    is what ONNX says, the second what TensorFlow Lite does.
    Kernels look a number up by its byte, int8 by ``x + 128``: the order is that of `numbers`.
    """
    info = np.iinfo(y.dtype)
    real, scale = values.astype(np.float32), np.float32(y.scale)
    with np.errstate(all="ignore"):
        scaled = real * (np.float32(1) / scale) if half_away else real / scale
    scaled = np.nan_to_num(scaled.astype(np.float64), nan=-1e9, posinf=1e9, neginf=-1e9)
    rounded = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5) if half_away else np.rint(scaled)
    return np.asarray(np.clip(rounded + y.zero_point, info.min, info.max).astype(y.dtype))
