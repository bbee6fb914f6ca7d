"""Integer softmax by a table of exponentials."""

from __future__ import annotations

import math

import numpy as np

from ..layers import Array, Driver
from ..quantized_layers import DOUBLE, QSoftmax
from .fixed_point import ONE, exponential, multiply_high
from .float32 import literal
from .q_common import flip, full, limits, quantize_multiplier

RUNTIME = ("tvm_softmax_s8.c",)

INTEGER_BITS = 5
"""Bits before the point of the differences, as in TensorFlow Lite; larger ones give 0."""

MOST_COLUMNS = 4095
"""More would overflow the sum in fixed point."""


def softmax(layer: QSoftmax) -> Driver:
    """Every softmax: in fixed point where the output is the usual one, else in float."""
    if layer.rounding == DOUBLE and _fits(layer):
        arguments = f"{layer.rows}, {layer.columns}, 0x{flip(layer.x.dtype):02x}, 0x{flip(layer.y.dtype):02x}"
        return Driver(
            kernel="softmax_fixed_s8",
            body=f"tvm_softmax_fixed_s8({arguments}, @exponentials@, input, output);",
            constants={"exponentials": fixed_exponentials(layer.x.scale)},
            in_place=True,
            runtime=RUNTIME,
        )
    low, high = limits(layer.y, full(layer.y))
    fields = f"0x{flip(layer.x.dtype):02x}, {literal(layer.y.scale)}, {layer.y.zero_point}, {low}, {high}"
    distances = np.arange(-255, 1, dtype=np.float64)
    return Driver(
        kernel="softmax_float_s8",
        body=f"static const struct tvm_softmax_s8 how = {{{fields}}};\n"
        f"tvm_softmax_float_s8({layer.rows}, {layer.columns}, &how, @exponentials@, input, output);",
        constants={"exponentials": np.exp(distances * layer.x.scale).astype(np.float32)},
        in_place=True,
        runtime=RUNTIME,
    )


def _fits(layer: QSoftmax) -> bool:
    """Whether fixed point is made for `layer`."""
    usual = layer.y.zero_point == full(layer.y)[0] and np.float32(layer.y.scale) == 2.0**-8
    return usual and layer.columns <= MOST_COLUMNS and layer.x.scale >= 2.0 ** (INTEGER_BITS - 31)


def fixed_exponentials(scale: float) -> Array:
    """``exp(-d * scale)`` in units of 2^-31 for d from 255 to 0, in the fixed point of gemmlowp."""
    fraction_bits = 31 - INTEGER_BITS
    q, shift = quantize_multiplier(min(scale * 2.0**fraction_bits, float(ONE)))
    least = -math.floor((2**INTEGER_BITS - 1) * 2.0**fraction_bits / 2.0**shift)
    powers = [
        exponential(multiply_high(d << shift, q), INTEGER_BITS) if d >= least else 0 for d in range(-255, 1)
    ]
    return np.array(powers, np.int32)
