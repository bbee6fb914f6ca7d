"""Operators on the bits of numbers, which Relax lacks: calls of functions of the runtime."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tvm
from tvm import relax, te, tirx

BITS_FILE = "tvm_bits_f32.c"
BITS_FUNCTIONS = {
    "f32_from_f16": "float32",
    "f16_from_f32": "uint16",
    "f32_from_bf16": "float32",
    "bf16_from_f32": "uint16",
    "bits_from_f32": "uint32",
    "f32_from_bits": "float32",
    "bits_from_f64": "uint64",
    "f64_from_bits": "float64",
}
"""Functions of `BITS_FILE` without their ``tvm_``, and what they return."""


def call_bits(builder: Any, function: str, value: Any) -> Any:
    """Apply a function of `BITS_FUNCTIONS` to each element of `value`."""
    _register()
    array = value.value.numpy() if isinstance(value, tvm.ir.GenericConst) else None
    if array is not None:
        # TVM would fold it by calling the function, which it has not got.
        return relax.const(_on_host(function, array), BITS_FUNCTIONS[function])

    def compute(data: Any) -> Any:
        return te.compute(
            data.shape,
            lambda *at: tirx.call_intrin(BITS_FUNCTIONS[function], f"tirx.tvm_{function}", data(*at)),
            name=function,
        )

    return builder.emit_te(compute, value, primfunc_name_hint=f"{function}_cast")


@functools.cache
def _register() -> None:
    """Make our functions intrinsics that have a meaning in C only.

    TVM computes what is constant by compiling it for this machine. It crashes if a function that it calls
    is missing, but leaves alone what it cannot compile. It refuses a second entry: hence the cache.
    """
    for function, dtype in BITS_FUNCTIONS.items():
        name = f"tirx.tvm_{function}"
        tvm.ir._ffi_api.RegisterOp(name, "a function of the runtime")
        tvm.ir.register_op_attr(name, "TCallEffectKind", tirx.CallEffectKind.Pure.value)
        tirx.register_intrin_lowering(
            name, target="c", f=functools.partial(_in_c, f"tvm_{function}", dtype), level=99
        )


def _in_c(function: str, dtype: str, op: Any) -> Any:
    return tirx.call_pure_extern(dtype, function, *op.args)


def _on_host(function: str, array: Any) -> Any:
    """What a function of `BITS_FUNCTIONS` makes of a constant."""
    target, _, source = function.partition("_from_")
    if target == "bits" or source == "bits":
        return array.view(BITS_FUNCTIONS[function])
    half = np.dtype("float16") if "f16" in (target, source) else np.dtype(ml_dtypes.bfloat16)
    with np.errstate(over="ignore"):
        if source == "f32":
            return array.astype(half).view(np.uint16)
        return array.view(half).astype(np.float32)


def bit_cast(builder: Any, value: Any, dtype: str) -> Any:
    """The bits of `value` read as numbers of another type of the same width."""
    before = str(value.ty.dtype)
    if before == dtype:
        return value
    if before.startswith("float"):
        width = before.removeprefix("float")
        value, before = call_bits(builder, f"bits_from_f{width}", value), f"uint{width}"
    if dtype.startswith("float"):
        width = dtype.removeprefix("float")
        return call_bits(builder, f"f{width}_from_bits", _astype(builder, value, f"uint{width}"))
    return _astype(builder, value, dtype)


def _astype(builder: Any, value: Any, dtype: str) -> Any:
    return value if str(value.ty.dtype) == dtype else builder.emit(relax.op.astype(value, dtype))
