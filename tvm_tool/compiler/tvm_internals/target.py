"""TVM's C target, and what its intrinsics become in C."""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import tirx

OWN_MATH = {name: f"tvm_{name}_f32" for name in ("exp", "tanh", "sigmoid", "erf", "sqrt")}
"""Functions of the runtime by intrinsic: single precision, without libm."""


def target() -> Any:
    """TVM's plain C target."""
    return tvm.target.Target("c")


@functools.cache
def register_lowerings() -> None:
    """Teach TVM our functions, and ``fabs``, which it has no lowering for.

    TVM keeps one table a process and refuses a second entry: hence the cache.
    """
    level = 99
    tirx.register_intrin_lowering("tirx.fabs", target="c", f=_fabs, level=level)
    for name in OWN_MATH:
        tirx.register_intrin_lowering(
            f"tirx.{name}", target="c", f=functools.partial(_own, name), level=level
        )


def _fabs(op: Any) -> Any:
    # A builtin is never a call, not even under -fno-builtin.
    return _extern(op, "__builtin_fabs" if str(op.ty.dtype) == "float64" else "__builtin_fabsf")


def _own(name: str, op: Any) -> Any:
    if str(op.ty.dtype) == "float32":
        return _extern(op, OWN_MATH[name])
    if name != "sigmoid":
        return _extern(op, name)
    one = tirx.const(1.0, "float64")
    return one / (one + tirx.call_pure_extern("float64", "exp", -op.args[0]))


def _extern(op: Any, function: str) -> Any:
    return tirx.call_pure_extern(str(op.ty.dtype), function, *op.args)
