"""From sums to outputs with numpy, as the scalar kernels do it: what faster forms are proved against."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ..layers import Array
from ..quantized_layers import DOUBLE, FLOAT, QConv2D, QDense
from .q_common import fixed_point, limits, multiplied

HALF = np.int64(1) << 30
MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Rescaling:
    """How the sums of a layer become outputs.

    Attributes:
        multipliers: by channel; int64, or float32 under ``float``.
        shifts: int64 by channel, as of `fixed_point`; all zeros under ``float``.
        fractions: what is added to the products, of the multipliers' type.
        zero: zero point of the output.
        low, high: least and largest output.
    """

    rounding: str
    multipliers: Array
    shifts: Array
    fractions: Array
    zero: int
    low: int
    high: int

    @property
    def alike(self) -> bool:
        """Whether all channels are rescaled alike."""
        parts = (self.multipliers, self.shifts, self.fractions)
        return all(bool((part == part[0]).all()) for part in parts)

    @property
    def first(self) -> Rescaling:
        """That of the first channel alone."""
        parts = {name: getattr(self, name)[:1] for name in ("multipliers", "shifts", "fractions")}
        return dataclasses.replace(self, **parts)

    @property
    def slopes(self) -> Array:
        """Outputs by unit of the sum, float64 by channel."""
        scale = 0 if self.rounding == FLOAT else -31
        slopes: Array = np.ldexp(self.multipliers.astype(np.float64), self.shifts + scale)
        return slopes

    def outputs(self, sums: Array) -> Array:
        """Outputs (int64) of int64 sums below 2^31: [channels] or [channels, n]."""
        along = (slice(None),) + (None,) * (sums.ndim - 1)
        m, shift, fractions = self.multipliers[along], self.shifts[along], self.fractions[along]
        if self.rounding == FLOAT:
            product = sums.astype(np.float32) * m + fractions
            values = np.rint(np.clip(product, self.low - self.zero, self.high - self.zero)).astype(np.int64)
        elif self.rounding == DOUBLE:
            values = rescaled_twice(sums, m, shift)
        else:
            values = (sums * m + fractions + (np.int64(1) << (30 - shift))) >> (31 - shift)
        result: Array = np.clip(values + self.zero, self.low, self.high)
        return result


def rescaling_of(layer: QConv2D | QDense) -> Rescaling:
    """How the sums of `layer` become outputs."""
    low, high = limits(layer.y, layer.clamp)
    zero = layer.y.zero_point
    rest = (zero, low + zero, high + zero)
    channels = layer.bias.size
    fraction = np.zeros(channels) if layer.fraction is None else layer.fraction
    scales = np.asarray(layer.weight_scales).ravel()
    if layer.rounding == FLOAT:
        floats = np.float32(layer.x.scale) * scales.astype(np.float32) / np.float32(layer.y.scale)
        floats = np.resize(floats, channels)
        shifts = np.zeros(channels, np.int64)
        return Rescaling(layer.rounding, floats, shifts, multiplied(fraction, floats), *rest)
    doubles = np.float64(layer.x.scale) * scales.astype(np.float64) / np.float64(layer.y.scale)
    found, exponents = fixed_point(np.resize(doubles, channels).tolist())
    multipliers, shifts = found.astype(np.int64), exponents.astype(np.int64)
    return Rescaling(layer.rounding, multipliers, shifts, multiplied(fraction, multipliers), *rest)


def rescaled_twice(sums: Array, multipliers: Array | int, shifts: Array | int) -> Array:
    """int64 `sums` times ``multipliers * 2**(shifts - 31)``: rounded half up, then half away from zero."""
    left = np.clip(sums << np.maximum(shifts, 0), -MOST - 1, MOST)
    return _divide((left * multipliers + HALF) >> 31, np.maximum(-np.asarray(shifts, np.int64), 0))


def _divide(values: Array, shift: Array) -> Array:
    """Half away from zero."""
    mask = (np.int64(1) << shift) - 1
    rest = values & mask
    result: Array = (values >> shift) + (rest > (mask >> 1) + (values < 0))
    return result
