"""Numbers inside of a graph become signed.

A uint8 number minus 128 is an int8 number that stands for the same real value if the zero point is less by
128 too. So only inputs and outputs stay unsigned, and fast kernels need to know int8 alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import tvm
from tvm import relax

from ..relax_graph import Builder, Expr, Var, bindings, constant, dtype_of, is_var, op_name, rewrite
from .quantized_constants import MOVES, SELECTIONS

KEEP_ORDER = MOVES | SELECTIONS | {"nn.max_pool2d"}
"""Operators that give the same for numbers that are all less by 128."""


def sign_numbers(module: tvm.IRModule) -> tvm.IRModule:
    """`module` with int8 for uint8 where numbers are made and read by the graph itself, and in constants."""
    inner = _inner(module["main"])

    def visit(_builder: Builder, var: Var, value: Expr) -> Expr | None:
        name = op_name(value)
        if name == "quantize" and var in inner:
            return relax.op.quantize(
                *value.args[:2], _signed(value.args[2]), axis=int(value.attrs.axis), out_dtype="int8"
            )
        if name != "dequantize" or not _is_unsigned(value.args[2]):
            return None
        data, scale, zero = value.args
        if constant(data) is not None:
            data = _signed(data)
        elif dtype_of(data) != "int8":
            return None
        axis, out = int(value.attrs.axis), str(value.attrs.out_dtype)
        return relax.op.dequantize(data, scale, _signed(zero), axis=axis, out_dtype=out)

    return rewrite(module, visit, typed=False)


def _inner(function: Expr) -> set[Var]:
    """Variables that may hold signed numbers: quantised, and read by nothing but dequantize and moves."""
    values = dict(bindings(function))
    readers: defaultdict[Var, list[Expr | None]] = defaultdict(list)
    for var, value in values.items():
        is_call = isinstance(value, relax.Call)
        first, *others = value.args if is_call else (None, value)
        if is_var(first):
            readers[first].append(var)
        for read in _variables(others if is_var(first) else [first, *others]):
            readers[read].append(None)
    for read in _variables([function.body.body]):
        readers[read].append(None)
    inner: set[Var] = set()
    may: set[Var] = set()
    for var in reversed(list(values)):
        if all(reader is not None and _reads(values[reader], reader in may) for reader in readers[var]):
            may.add(var)
            if op_name(values[var]) == "quantize" and _is_unsigned(values[var].args[2]):
                inner.add(var)
    return inner


def _variables(exprs: Iterable[Expr]) -> Iterator[Var]:
    """The variables in `exprs`, those of tuples included."""
    for expr in exprs:
        if is_var(expr):
            yield expr
        elif isinstance(expr, relax.Tuple):
            yield from _variables(expr.fields)
        elif isinstance(expr, relax.TupleGetItem):
            yield from _variables([expr.tuple_value])


def _reads(value: Expr, onward: bool) -> bool:
    """Whether `value` reads numbers in a way that allows for signed ones; `onward`: so do its readers."""
    name = op_name(value)
    return _is_unsigned(value.args[2]) if name == "dequantize" else name in KEEP_ORDER and onward


def _is_unsigned(zero: Expr) -> bool:
    array = constant(zero)
    return array is not None and array.dtype == np.uint8


def _signed(numbers: Expr) -> Expr:
    return relax.const((np.asarray(constant(numbers)) ^ 0x80).view(np.int8))
