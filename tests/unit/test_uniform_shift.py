"""The search for requantisation with a common shift: what it finds is right for every sum, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tvm_tool.compiler.kernels.q_common import fixed_point, multiplied
from tvm_tool.compiler.kernels.rescaled import Rescaling
from tvm_tool.compiler.kernels.uniform_shift import uniform
from tvm_tool.compiler.layers import Array
from tvm_tool.compiler.quantized_layers import DOUBLE, FLOAT, SINGLE

CHANNELS = 6


def random_layer(rng: np.random.Generator, rounding: str, zero: int) -> tuple[Rescaling, Array, Array]:
    """How sums become outputs, and the least and the greatest sum of each channel."""
    scales = np.exp(rng.uniform(-6, -3, CHANNELS))
    multipliers, shifts = fixed_point(scales.tolist())
    if rounding == FLOAT:
        multipliers, shifts = scales.astype(np.float32), np.zeros(CHANNELS, np.int8)
    else:
        multipliers = multipliers.astype(np.int64)
    reach = rng.integers(1, 200, CHANNELS) / scales
    centre = rng.integers(-60, 60, CHANNELS) / scales
    low, high = (centre - reach).astype(np.int64), (centre + reach).astype(np.int64)
    fractions = multiplied(rng.uniform(-0.5, 0.5, CHANNELS) * (rounding != DOUBLE), multipliers)
    return Rescaling(rounding, multipliers, shifts.astype(np.int64), fractions, zero, -128, 127), low, high


@pytest.mark.parametrize(
    ("rounding", "zero", "least"),
    [(DOUBLE, -128, 6), (DOUBLE, 5, 0), (SINGLE, -128, 6), (SINGLE, 5, 6), (FLOAT, 5, 0)],
)
def test_every_sum_gets_its_output(rounding: str, zero: int, least: int) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(12):
        rescaling, low, high = random_layer(rng, rounding, zero)
        form = uniform(rescaling, low, high, rescaling.outputs(low), rescaling.outputs(high))
        if form is None:
            continue
        found += 1
        steps = np.arange(int((high - low).max()) + 1)
        sums = np.minimum(low[:, None] + steps, high[:, None])
        scaled = (sums + form.corrections[:, None]) * form.multipliers[:, None] + (1 << 31)
        fast = np.clip(((scaled >> 32) + form.addends[:, None]) >> form.shift, -128, 127)
        assert np.array_equal(fast, rescaling.outputs(sums))
        assert form.multipliers.max() < 1 << 31
    assert found >= least


def test_channels_that_never_move_keep_their_output() -> None:
    rescaling = Rescaling(DOUBLE, np.full(2, 1 << 30), np.full(2, -5), np.zeros(2, np.int64), 0, -128, 127)
    first = np.array([-7, 99])
    form = uniform(rescaling, np.zeros(2, np.int64), np.zeros(2, np.int64), first, first)
    assert form is not None
    assert (form.addends >> form.shift).tolist() == [-7, 99]
    assert not form.multipliers.any()


def test_no_form_is_better_than_a_wrong_one() -> None:
    # An output that rises by two at every sum has no threshold between them: still exact or refused.
    rescaling = Rescaling(SINGLE, np.array([1 << 30]), np.array([2]), np.array([0]), 0, -128, 127)
    low, high = np.array([-70]), np.array([70])
    form = uniform(rescaling, low, high, rescaling.outputs(low), rescaling.outputs(high))
    assert form is None
