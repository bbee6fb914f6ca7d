"""Reading and rewriting Relax functions that are one straight line of bindings.

Only public Relax API is used here. Passes are written as a `visit` function for `rewrite`, which
copies the function binding by binding; nothing is changed in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
from tvm import relax

from .layers import Array

Expr = Any
Var = Any
Builder = Any
Visit = Callable[[Builder, Var, Expr], Expr | None]


def bindings(function: Any) -> Iterator[tuple[Var, Expr]]:
    """The variables of `function` with their values, in order."""
    for block in function.body.blocks:
        for binding in block.bindings:
            yield binding.var, binding.value


def op_name(expr: Expr) -> str:
    """Name of a call's operator without the ``relax.`` in front; empty for anything else."""
    if not isinstance(expr, relax.Call):
        return ""
    name = getattr(expr.op, "name", "")
    return str(name).removeprefix("relax.")


def shape_of(expr: Expr) -> tuple[int, ...]:
    """Static shape of a tensor expression."""
    return tuple(int(d) for d in expr.ty.shape)


def dtype_of(expr: Expr) -> str:
    """Element type of a tensor expression, as numpy spells it."""
    return str(expr.ty.dtype)


def constant(expr: Expr) -> Array | None:
    """The array of a constant, None for anything else."""
    if isinstance(expr, tvm.ir.GenericConst):
        return np.asarray(expr.value.numpy())
    return None


def is_var(expr: Expr) -> bool:
    return isinstance(expr, tvm.ir.Var)


def fields(expr: Expr) -> list[Expr]:
    """The members of a tuple expression, or the expression itself."""
    return list(expr.fields) if isinstance(expr, relax.Tuple) else [expr]


def ints(values: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def use_counts(function: Any) -> Counter[Var]:
    """How many bindings, or the result, read each variable."""
    counts: Counter[Var] = Counter()

    def count(expr: Expr) -> None:
        if is_var(expr):
            counts[expr] += 1
        elif isinstance(expr, relax.Tuple):
            for part in expr.fields:
                count(part)
        elif isinstance(expr, relax.TupleGetItem):
            count(expr.tuple_value)
        elif isinstance(expr, relax.Call):
            for part in expr.args:
                count(part)

    for _, value in bindings(function):
        count(value)
    count(function.body.body)
    return counts


def substitute(expr: Expr, known: dict[Var, Expr]) -> Expr:
    """`expr` with its variables replaced by what they stand for in `known`."""
    if is_var(expr):
        return known.get(expr, expr)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([substitute(part, known) for part in expr.fields])
    if isinstance(expr, relax.TupleGetItem):
        return relax.TupleGetItem(substitute(expr.tuple_value, known), expr.index)
    if isinstance(expr, relax.Call):
        args = [substitute(part, known) for part in expr.args]
        return relax.Call(expr.op, args, expr.attrs, expr.ty_args)
    return expr


def rewrite(module: tvm.IRModule, visit: Visit, typed: bool = True) -> tvm.IRModule:
    """Copy ``main`` of `module`, letting `visit` replace bindings.

    `visit` gets the builder, the old variable and its value with variables already replaced; it
    returns the new expression, or None to keep the value as it is. Without `typed` it gets values
    whose types are not yet known: what a pass needs that changes shapes.
    """
    main = module["main"]
    rest = tvm.IRModule(
        {var: function for var, function in module.functions.items() if var.name_hint != "main"},
        attrs=module.attrs,
    )
    builder = relax.BlockBuilder(rest)
    known: dict[Var, Expr] = {}
    with builder.function("main", params=list(main.params)):
        with builder.dataflow():
            for var, value in bindings(main):
                # A rebuilt call has no type until the builder has seen it.
                value = substitute(value, known)
                value = builder.normalize(value) if typed else value
                new = visit(builder, var, value)
                new = value if new is None else new
                if isinstance(new, relax.Tuple) or is_var(new) or constant(new) is not None:
                    known[var] = new
                else:
                    known[var] = builder.emit(new, name_hint=var.name)
            result = substitute(main.body.body, known)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return tidy(builder.get())


def tidy(module: tvm.IRModule) -> tvm.IRModule:
    """Drop what nothing reads."""
    return relax.transform.DeadCodeElimination()(module)
