"""What the kernels for cores that only multiply 32-bit numbers have in common: runs, parameters, names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..layers import Array
from ..quantized_layers import QConv2D, QDense
from .dsp_packing import Finish, check_types, finish_of

SUM_BITS = 30
"""Sums stay below 2^30."""

LENGTH = 8
"""Inputs that a pass of the products takes."""

FIELD = 1 << 15
FORMS = {"TVM_DOUBLE": "TVM_DOUBLE_PAIR", "TVM_ANY": "TVM_ANY_PAIR"}
RUNTIME = ("tvm_rescale_s8.c",)


def finish_rounded_down(layer: QConv2D | QDense) -> Finish:
    """How the sums of `layer` become outputs where products are rounded down; declines other types."""
    check_types(layer)
    return finish_of(layer, SUM_BITS, rounding=0)


def literals(finish: Finish) -> str:
    """The last two arguments of a block."""
    return f"{FORMS.get(finish.form, finish.form)}, {'true' if finish.limited else 'false'}"


def longest_runs(matrix: Array, choices: tuple[int, ...], length: int) -> Array:
    """By channel, the longest of `choices` whose sums stay within 16 bits for every input.

    Args:
        matrix: weights [channels, n]; runs start anew every `length` of them. A run of one always fits.
    """
    most = np.where(matrix > 0, matrix * 127, matrix * -128)
    least = np.where(matrix > 0, matrix * -128, matrix * 127)
    found = np.ones(len(matrix), np.int64)
    for run in choices:
        edges = [start + i for start in range(0, matrix.shape[1], length) for i in range(0, length, run)]
        highest, lowest = (np.add.reduceat(sums, edges, axis=1) for sums in (most, least))
        fits = ((highest < FIELD) & (lowest >= -FIELD)).all(axis=1)
        found = np.where((found == 1) & fits, run, found)
    return found


def starts(bias: Array, runs: Array) -> Array:
    """The bias, and what the total of all runs begins with: int64 [channels, 2]."""
    return np.stack([bias, 65537 * bias - FIELD * runs], axis=1)


def block_text(name: str, parameters: str, function: str, arguments: str) -> Mapping[str, str]:
    """A block called `name`: `function` with known numbers among its arguments."""
    return {name: f"TVM_BLOCK_PAIR void {name}({parameters})\n{{\n    {function}({arguments});\n}}\n"}
