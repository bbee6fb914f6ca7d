"""Integer layers that look at one place at a time: requantise, add, multiply, concatenate, tables."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from ..quantized_layers import DOUBLE, QBinary, QTable, Quantization
from ..relax_graph import Expr, is_var, op_name, shape_of
from .look_back import Clamp, LookBack, Shape
from .tables import function_of_one, numbers, quantized_table


def same(
    look: LookBack, core: Expr, _call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """A value that is only moved, or quantised again."""
    leaf = look.leaf(core)
    if leaf is None:
        return None
    data, x = leaf
    info = np.iinfo(y.dtype)
    if x == y and clamp == (info.min, info.max):
        return data
    values = (numbers(x.dtype) - x.zero_point) * np.float64(np.float32(x.scale))
    table = np.clip(quantized_table(values, y, look.rounding == DOUBLE), *clamp).astype(y.dtype)
    return look.call(QTable(x.dtype, table, math.prod(shape_of(data))), [data], shape_of(data))


def binary(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, shape: Shape
) -> Expr | None:
    """Addition, subtraction or product of two quantised values; the second may be a constant."""
    kind = {"add": "add", "subtract": "sub", "multiply": "mul"}.get(op_name(call))
    if kind is None:
        return None
    left, right = call.args
    if look.leaf(left) is None and kind != "sub":
        left, right = right, left
    a, b, fixed = look.leaf(left), look.leaf(right), look.constant(right)
    if a is None or (b is None and fixed is None):
        return None
    a_shape = _ranked(shape_of(left), len(shape))
    b_shape = _ranked(shape_of(right), len(shape))
    if b is not None:
        layer = QBinary(kind, a[1], b[1], y, a_shape, b_shape, shape, clamp, look.rounding)
        return look.call(layer, [a[0], b[0]], shape)
    assert fixed is not None
    if len(set(fixed.scales.reshape(-1))) != 1 or fixed.values.dtype not in (np.int8, np.uint8):
        return None
    q = Quantization(str(fixed.values.dtype), float(fixed.scales.flat[0]), int(fixed.zeros.flat[0]))
    layer = QBinary(kind, a[1], q, y, a_shape, b_shape, shape, clamp, look.rounding, fixed.values)
    return look.call(layer, [a[0]], shape)


def concat(
    look: LookBack, _core: Expr, call: Expr, y: Quantization, clamp: Clamp, _shape: Shape | None
) -> Expr | None:
    """Concatenation of values that are first quantised as the result is."""
    if op_name(call) != "concat" or not isinstance(call.args[0], relax.Tuple):
        return None
    parts = []
    for part in call.args[0].fields:
        number = same(look, part, look.value(part), y, clamp, None)
        if number is None:
            return None
        parts.append(number if is_var(number) else look.emit(number))
    return relax.op.concat(parts, int(call.attrs.axis))


def table(look: LookBack, expr: Expr, y: Quantization, shape: tuple[int, ...]) -> Expr | None:
    """Any function of one quantised value."""
    found = function_of_one(expr, look.value, look.leaf)
    if found is None or shape_of(found.data) != shape:
        return None
    table = quantized_table(found.values, y, look.rounding == DOUBLE)
    return look.call(QTable(found.quantization.dtype, table, math.prod(shape)), [found.data], shape)


def _ranked(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape
