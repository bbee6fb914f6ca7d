"""Random choices that depend on the seed and the step alone: leaving out a step changes no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tests.support.host import Array

Choice = TypeVar("Choice")

CHANNELS = (1, 2, 3, 4, 5, 8, 13)

MOST_STEPS = 8
"""Steps that a model is made of; some append nothing."""

SAMPLES = 4
"""Inputs of each model."""

QUANTISE, INPUTS = 1001, 1002
"""Numbers of draws that are no steps."""


class Draw:
    """The choices of one step."""

    def __init__(self, seed: int, step: int) -> None:
        self.rng = np.random.default_rng([seed, step])

    def one(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self.rng.integers(len(choices)))]

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def channels(self) -> int:
        return self.one(CHANNELS)

    def normal(self, shape: Sequence[int], scale: float = 1.0) -> Array:
        return np.asarray(self.rng.standard_normal(shape) * scale).astype(np.float32)


def noise(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """An input: floats loud or quiet, integers of the whole range, sometimes its ends alone."""
    if dtype == "float32":
        return np.asarray(rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(shape)).astype(np.float32)
    info = np.iinfo(dtype)
    if rng.random() < 0.25:
        return rng.choice([info.min, info.max], shape).astype(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)
