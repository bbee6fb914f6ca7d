"""A random model, and how its comparison ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.support.host import Array

PASSED, REFUSED, TIED, WRONG, CRASHED = "passed", "refused", "tied", "wrong", "crashed"
OUTSIDE = "outside"
"""The reference does not compute this model."""


class OutsideError(Exception):
    """Why the reference does not compute a model."""


@dataclass(frozen=True)
class Case:
    """A model file, inputs, and how it is compiled.

    Attributes:
        definition: the same in QuantizeLinear and DequantizeLinear, if the model has other operators for it.
    """

    path: Path
    samples: list[dict[str, Array]]
    options: dict[str, Any] = field(default_factory=dict)
    definition: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        reason: empty if it passed.
        samples: number of inputs compared.
        tied: inputs whose result the reference decided by a rounding error of its floats.
    """

    kind: str
    seed: int
    status: str
    reason: str = ""
    samples: int = 0
    tied: int = 0

    def record(self) -> dict[str, Any]:
        return asdict(self)
