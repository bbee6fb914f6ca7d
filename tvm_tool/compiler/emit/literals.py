"""Arrays as exact C text."""

from __future__ import annotations

import numpy as np

from ..layers import Array
from ..tvm_internals import float_literal

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
