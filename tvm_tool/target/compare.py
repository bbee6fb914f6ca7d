"""How far an output is from the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOAT_LIMIT = 1e-5
"""The largest error of a float output: max |got - want| / max(1, max |want|)."""


@dataclass(frozen=True)
class Difference:
    """The largest difference of one output in one run.

    Attributes:
        error: relative for floats, absolute for integers; infinite if only one of the two is finite.
        index: where it is.
        got: the value on the target.
        want: the value of the reference.
        limit: what is allowed.
    """

    error: float
    index: tuple[int, ...]
    got: float
    want: float
    limit: float

    @property
    def wrong(self) -> bool:
        return self.error > self.limit


def difference(got: Array, want: Array) -> Difference:
    """Compare two arrays of one shape; integers must be equal, NaN and infinity too."""
    floating = "float" in got.dtype.name
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(b)
    scale = max(1.0, float(np.abs(b[finite]).max(initial=0.0))) if floating else 1.0
    with np.errstate(invalid="ignore"):
        errors = np.where(same, 0.0, np.abs(a - b) / scale)
    errors = np.where(np.isnan(errors), np.inf, errors)
    place = np.unravel_index(int(errors.argmax()), errors.shape)
    index = tuple(int(i) for i in place)
    # Half precision is coarser than the limit.
    limit = max(FLOAT_LIMIT, 2 * _step(got.dtype)) if floating else 0.0
    return Difference(float(errors[index]), index, float(a[index]), float(b[index]), limit)


def _step(dtype: np.dtype[Any]) -> float:
    """The difference between 1 and the next number of a floating type; numpy knows no bfloat16."""
    return 2.0**-7 if dtype.name == "bfloat16" else float(np.finfo(dtype).eps)


def best(values: Array) -> int | None:
    """The class that an output names: the index of its largest value; None if it has only one."""
    return int(values.argmax()) if values.size > 1 else None
