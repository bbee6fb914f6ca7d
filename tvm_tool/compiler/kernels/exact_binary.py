"""Sums and products of two inputs with numpy, as the scalar kernels do them, for every pair of numbers."""

from __future__ import annotations

import numpy as np

from ..layers import Array
from ..quantized_layers import DOUBLE, QBinary, Quantization
from .q_binary import EXTRA_BITS
from .q_common import limits, quantize_multiplier
from .rescaled import rescaled_twice

BYTES = np.arange(256)


def numbers(x: Quantization) -> Array:
    """The numbers of all bytes minus the zero point, int64 [256]."""
    return np.where((x.dtype == "int8") & (BYTES > 127), BYTES - 256, BYTES) - x.zero_point


def outputs(layer: QBinary) -> Array:
    """Outputs of a sum, a difference or a product by the bytes of both inputs, int64 [256, 256]."""
    a, b = numbers(layer.a)[:, None], numbers(layer.second)
    values = _fixed(layer, a, b) if layer.rounding == DOUBLE else _float(layer, a, b)
    low, high = limits(layer.y, layer.clamp)
    result: Array = np.clip(values, low, high) + layer.y.zero_point
    return result


def _fixed(layer: QBinary, a: Array, b: Array) -> Array:
    scales = [float(np.float32(x.scale)) for x in (layer.a, layer.second, layer.y)]
    if layer.kind == "mul":
        return rescaled_twice(a * b, *quantize_multiplier(scales[0] * scales[1] / scales[2]))
    bits = EXTRA_BITS[layer.kind]
    twice = 2.0 * max(scales[:2])
    terms = [
        rescaled_twice(x << bits, *quantize_multiplier(scale / twice))
        for x, scale in zip((a, b), scales[:2], strict=True)
    ]
    total = terms[0] + (-terms[1] if layer.kind == "sub" else terms[1])
    return rescaled_twice(total, *quantize_multiplier(twice / 2.0**bits / scales[2]))


def _float(layer: QBinary, a: Array, b: Array) -> Array:
    sign = -1.0 if layer.kind == "sub" else 1.0
    real_a = a.astype(np.float32) * np.float32(layer.a.scale)
    real_b = b.astype(np.float32) * np.float32(sign * layer.second.scale)
    real = real_a * real_b if layer.kind == "mul" else real_a + real_b
    rounded: Array = np.rint(np.clip(real / np.float32(layer.y.scale), -512, 512)).astype(np.int64)
    return rounded
