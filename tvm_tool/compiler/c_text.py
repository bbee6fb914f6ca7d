"""Types, numbers and arrays as C text."""

from __future__ import annotations

import re
import struct

import numpy as np

from ..errors import UnsupportedError
from .layers import Array

_C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}


def c_type(dtype: str) -> str:
    """C type of a numpy dtype name. Raises `UnsupportedError` where plain C has none."""
    if dtype not in _C_TYPES:
        raise UnsupportedError(
            f"the model computes in {dtype}", expected="a type that C has", remedy="export it in float32"
        )
    return _C_TYPES[dtype]


def float_literal(value: float, single: bool) -> str:
    """Exact C99 text of a float: short decimal where that is exact, else hexadecimal."""
    f = "f" if single else ""
    if value != value:
        return f'__builtin_nan{f}("")'
    if value in (float("inf"), float("-inf")):
        return f"__builtin_inf{f}()" if value > 0 else f"(-__builtin_inf{f}())"
    short = f"{value:.1f}"
    exact = float(short) == value and len(short) < 12 and not _minus_zero(value)
    text = short if exact else re.sub(r"\.?0+p", "p", value.hex())
    text += f
    return f"({text})" if text.startswith("-") else text


def _minus_zero(value: float) -> bool:
    return value == 0.0 and struct.pack(">d", value)[0] != 0


PER_LINE = {1: 16, 2: 12, 4: 5, 8: 4}
"""Elements to a line by size in bytes, so that no line is too long."""


def array_text(array: Array) -> str:
    """The elements of `array` as the body of a C initialiser, some to a line."""
    words = [_literal(value, array.dtype) for value in array.reshape(-1)]
    per_line = PER_LINE[array.dtype.itemsize]
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return ",\n".join("    " + line for line in lines)


def _literal(value: np.generic, dtype: np.dtype[np.generic]) -> str:
    if dtype.kind == "f":
        return float_literal(float(value), dtype.itemsize == 4)
    if dtype.kind == "b":
        return "1" if value else "0"
    number = int(value)
    if dtype.kind == "i" and dtype.itemsize >= 4 and number == -(1 << (8 * dtype.itemsize - 1)):
        # The least integer has no literal: its digits without the sign are already too many.
        return f"(-{-(number + 1)}{'LL' if dtype.itemsize == 8 else ''} - 1)"
    suffix = {("i", 8): "LL", ("u", 8): "ULL", ("u", 4): "u"}.get((dtype.kind, dtype.itemsize), "")
    return f"{number}{suffix}"
