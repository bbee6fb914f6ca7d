"""Integer softmax by a table of exponentials."""

from __future__ import annotations

import math

import numpy as np

from ..layers import Array, Driver
from ..quantized_layers import DOUBLE, QSoftmax
from .float32 import literal
from .q_common import flip, full, limits, quantize_multiplier

RUNTIME = ("tvm_softmax_s8.c",)

INTEGER_BITS = 5
"""Bits before the point of the differences, as in TensorFlow Lite; larger ones give 0."""

MOST_COLUMNS = 4095
"""More would overflow the sum in fixed point."""

ONE = 2**31 - 1


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
    powers = [_exponential(_multiply_high(d << shift, q)) if d >= least else 0 for d in range(-255, 1)]
    return np.array(powers, np.int32)


def _multiply_high(a: int, b: int) -> int:
    return min((a * b + 2**30) >> 31, ONE)


def _divide_by_power(value: int, shift: int) -> int:
    return (value + (1 << (shift - 1)) - (1 if value < 0 else 0)) >> shift


def _exponential(x: int) -> int:
    """The ``exp_on_negative_values`` of gemmlowp; `x` has 5 bits before the point, the result none."""
    if x == 0:
        return ONE
    fraction_bits = 31 - INTEGER_BITS
    quarter = 1 << (fraction_bits - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _near_minus_one_eighth(rest << INTEGER_BITS)
    factors = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)  # exp(-2^k), k = -2 to 4
    for power, factor in enumerate(factors, start=-2):
        if (rest - x) & (1 << (fraction_bits + power)):
            result = _multiply_high(result, factor)
    return result


def _near_minus_one_eighth(a: int) -> int:
    """exp(a) for -1/4 <= a < 0, by its series around -1/8."""
    x = a + (1 << 28)
    x2 = _multiply_high(x, x)
    x3, x4 = _multiply_high(x2, x), _multiply_high(x2, x2)
    third = 715827883
    tail = _divide_by_power(_multiply_high(_divide_by_power(x4, 2) + x3, third) + x2, 1)
    constant = 1895147668  # exp(-1/8)
    return min(constant + _multiply_high(constant, x + tail), ONE)
