"""Integer layers that look at one place at a time: requantise, two inputs, concatenate, tables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from tvm import relax

from ..layers import Array
from ..quantized_layers import DOUBLE, QBinary, QTable, Quantization
from ..relax_graph import Expr, constant, is_var, op_name, shape_of
from .look_back import Clamp, Leaf, LookBack, Shape
from .tables import function_of_one, numbers, quantized_table, real_numbers
from .tables_fixed import concatenated, fixed_table, is_number, requantized

BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "maximum": "max",
    "minimum": "min",
}
"""Operators of two inputs, and what their layers are called."""


def requantised(
    look: LookBack, data: Expr, x: Quantization, y: Quantization, clamp: Clamp, is_activation: bool = False
) -> Expr:
    """Numbers of `x` as numbers of `y`, by an activation even if `clamp` leaves all of them."""
    info = np.iinfo(y.dtype)
    if x == y and clamp == (info.min, info.max):
        return data
    table = _requantising_table(look, x, y, clamp, is_activation)
    return look.call(QTable(x.dtype, table, math.prod(shape_of(data))), [data], shape_of(data))


def _requantising_table(
    look: LookBack, x: Quantization, y: Quantization, clamp: Clamp, is_activation: bool
) -> Array:
    if look.rounding == DOUBLE:
        return requantized(x, y, clamp, look.profile if is_activation else "tflm")
    return np.clip(quantized_table(real_numbers(x), y), *clamp).astype(y.dtype)


def binary(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """An operator of two quantised values; the second may be a constant."""
    found = _operands(look, call)
    if found is None:
        return None
    kind, left, right, b_shape = found
    if look.leaf(left) is None and kind not in ("sub", "prelu"):
        left, right, b_shape = right, left, shape_of(left)
    a, b = look.operand(left), look.operand(right)
    if a is not None and b is None:
        if kind == "sub":
            return _with_reals(look, "add", a, left, right, y, clamp, shape, sign=-1)
        return _with_reals(look, kind, a, left, right, y, clamp, shape)
    if a is None and b is not None and kind == "sub":
        return _with_reals(look, kind, b, right, left, y, clamp, shape)
    if a is None or b is None or (constant(a[0]) is not None and constant(b[0]) is not None):
        return None
    a_shape, b_shape = _ranked(shape_of(left), len(shape)), _ranked(b_shape, len(shape))
    (data, a_q), (other, b_q) = a, b
    fixed = constant(other)
    if kind in ("max", "min"):  # quantising is monotone: it may come first
        data = _bound(look, requantised(look, data, a_q, y, clamp))
        if fixed is None:
            other = _bound(look, requantised(look, other, b_q, y, clamp))
        else:
            table = _requantising_table(look, b_q, y, clamp, is_activation=False)
            fixed = table[fixed.astype(np.int64) - np.iinfo(b_q.dtype).min]
        a_q = b_q = y
    layer = QBinary(kind, a_q, b_q, y, a_shape, b_shape, shape, clamp, look.rounding)
    if fixed is None:
        return look.call(layer, [data, other], shape)
    return look.call(replace(layer, constant=fixed.reshape(b_shape)), [data], shape)


def _with_reals(
    look: LookBack,
    kind: str,
    a: Leaf,
    left: Expr,
    right: Expr,
    y: Quantization,
    clamp: Clamp,
    shape: Shape,
    sign: int = 1,
) -> Expr | None:
    """An operator of a quantised value and several constant real numbers; one number makes a table."""
    reals = constant(look.value(right))
    is_fit = look.rounding != DOUBLE and kind in ("add", "sub", "mul") and constant(a[0]) is None
    if not is_fit or reals is None or reals.size == 1 or reals.dtype != np.float32:
        return None
    if not np.isfinite(reals).all():
        return None
    a_shape, b_shape = _ranked(shape_of(left), len(shape)), _ranked(reals.shape, len(shape))
    data, x = a
    layer = QBinary(
        kind, x, None, y, a_shape, b_shape, shape, clamp, look.rounding, sign * reals.reshape(b_shape)
    )
    return look.call(layer, [data], shape)


def _operands(look: LookBack, call: Expr) -> tuple[str, Expr, Expr, Shape] | None:
    """Which layer `call` may be, what it works on, and the shape of the second operand."""
    name = op_name(call)
    if name in BINARY:
        left, right = call.args
        difference = look.value(left)
        if name == "multiply" and left.same_as(right):
            if op_name(difference) != "subtract":
                return None
            left, right = difference.args
            return "squared_difference", left, right, shape_of(right)
        return BINARY[name], left, right, shape_of(right)
    if name == "nn.prelu":
        slopes, rank = call.args[1], len(shape_of(call))
        behind = rank - int(call.attrs.axis) % rank - 1
        return "prelu", call.args[0], slopes, (*shape_of(slopes), *(1,) * behind)
    if name == "where":  # x < 0 ? x * slopes : x
        test, scaled, x = (look.value(call.args[0]), look.value(call.args[1]), call.args[2])
        is_test = op_name(test) == "less" and test.args[0].same_as(x) and is_number(test.args[1], 0.0)
        if is_test and op_name(scaled) == "multiply" and scaled.args[0].same_as(x):
            return "prelu", x, scaled.args[1], shape_of(scaled.args[1])
    return None


def _bound(look: LookBack, expr: Expr) -> Expr:
    return expr if is_var(expr) else look.emit(expr)


def concat(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """Concatenation of values that are first quantised as the result is."""
    if op_name(call) != "concat" or not isinstance(call.args[0], relax.Tuple):
        return None
    parts = []
    for part in call.args[0].fields:
        operand = look.operand(part)
        if operand is None:
            return None
        data, x = operand
        fixed = constant(data)
        if look.rounding == DOUBLE and x != y:
            table = concatenated(x, y, clamp)
        else:
            table = _requantising_table(look, x, y, clamp, is_activation=True)
        if fixed is not None:
            data = relax.const(table[fixed.astype(np.int64) - np.iinfo(x.dtype).min])
        elif x != y or (table != numbers(y.dtype)).any():
            layer = QTable(x.dtype, table, math.prod(shape_of(data)))
            data = look.emit(look.call(layer, [data], shape_of(data)))
        parts.append(data)
    return relax.op.concat(parts, int(call.attrs.axis))


def table(look: LookBack, expr: Expr, y: Quantization, clamp: Clamp, shape: Shape) -> Expr | None:
    """Any function of one quantised value; `clamp` limits its results."""
    found = fixed_table(look, expr, y) if look.rounding == DOUBLE else None
    if found is not None:
        data, x, table = found
    else:
        function = function_of_one(expr, look.value, look.leaf)
        if function is None:
            return None
        data, x = function.data, function.quantization
        table = quantized_table(function.values, y, half_away=look.rounding == DOUBLE)
    if shape_of(data) != shape:
        return None
    layer = QTable(x.dtype, np.clip(table, *clamp).astype(y.dtype), math.prod(shape))
    return look.call(layer, [data], shape)


def _ranked(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape
