"""Sums that lie half way between two outputs, which ONNX rounds to the even one.

One rounding shift rounds them up. Trained scales hardly ever produce them, powers of two often do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..layers import Array
from ..quantized_layers import FLOAT, SINGLE, QConv2D, QConvTranspose2D, QDense, QLayer, QMatMul

SIGNIFICANT = 9
"""Bits. A sum times m / 2**k, m odd, is half of an odd number if it is an odd multiple of 2**(k - 1): then
the result is a multiple of m / 2. With more bits than these in m it is none of the 256 outputs."""


def with_even_halves(layer: QLayer) -> QLayer:
    """`layer`; rounded in floats, which are exact then, if its outputs may lie half way."""
    if not isinstance(layer, (QConv2D, QConvTranspose2D, QDense, QMatMul)) or layer.rounding != SINGLE:
        return layer
    return replace(layer, rounding=FLOAT) if _has_halves(_factors(layer)) else layer


def _factors(layer: QConv2D | QConvTranspose2D | QDense | QMatMul) -> Array:
    """What sums are multiplied by."""
    if isinstance(layer, QMatMul):
        return np.array(np.float64(layer.a.scale) * layer.b.scale / layer.y.scale)
    return np.asarray(np.float64(layer.x.scale) * layer.weight_scales / layer.y.scale)


def _has_halves(factors: Array) -> bool:
    mantissas = np.frexp(factors)[0] * 2.0**SIGNIFICANT
    return bool((mantissas == np.rint(mantissas)).any())
