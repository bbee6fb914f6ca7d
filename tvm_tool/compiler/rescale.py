"""From exact sums to outputs, with numpy: what the C kernels compute, in the same three roundings."""

from __future__ import annotations

import numpy as np

from .kernels.q_common import fixed_point
from .layers import Array
from .quantized_layers import DOUBLE, FLOAT, QConv2D, QDense


def rescaled(layer: QConv2D | QDense, sums: Array) -> Array:
    """Outputs of `layer` for `sums`.

    Args:
        sums: int64 [..., output channels], bias included.

    Returns:
        int64 of the same shape, in the output's numbers. Monotone in each sum.
    """
    if layer.rounding == FLOAT:
        scales = np.float32(layer.x.scale) * layer.weight_scales.astype(np.float32)
        values = np.rint(sums.astype(np.float32) * (scales / np.float32(layer.y.scale))).astype(np.int64)
    else:
        doubles = np.float64(layer.x.scale) * layer.weight_scales.astype(np.float64)
        multipliers, shifts = fixed_point((doubles / np.float64(layer.y.scale)).ravel().tolist())
        by = _twice if layer.rounding == DOUBLE else _once
        values = by(sums, multipliers.astype(np.int64), shifts.astype(np.int64))
    return np.asarray(np.clip(values + layer.y.zero_point, *layer.clamp))


def _twice(sums: Array, multipliers: Array, shifts: Array) -> Array:
    """A rounding doubling high multiplication, then a rounding shift, half away from zero."""
    widened = np.clip(sums << np.maximum(shifts, 0), -(2**31), 2**31 - 1)
    high = (widened * multipliers + 2**30) >> 31
    right = np.maximum(-shifts, 0)
    half = (np.int64(1) << right) >> 1
    return np.asarray((high + half - ((high < 0) & (right > 0))) >> right)


def _once(sums: Array, multipliers: Array, shifts: Array) -> Array:
    """One multiplication and one rounding shift, half up."""
    return np.asarray((sums * multipliers + (np.int64(1) << (30 - shifts))) >> (31 - shifts))
