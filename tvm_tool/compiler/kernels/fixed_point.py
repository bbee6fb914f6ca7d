"""Exponential, logistic function and hyperbolic tangent in the 32-bit fixed point of gemmlowp.

TensorFlow Lite Micro computes int8 softmax, LOGISTIC and TANH so. A number with n bits before the point is
in units of 2^(n - 31).
"""

from __future__ import annotations

ONE = 2**31 - 1
"""The number without bits before the point that is next to one."""

_EXPONENTIALS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2^k) for k from -2 to 4."""


def multiply_high(a: int, b: int) -> int:
    """The high half of twice the product, rounded and saturating."""
    return min((a * b + 2**30) >> 31, ONE)


def divide_by_power(value: int, shift: int) -> int:
    """``value / 2**shift``, half away from zero; `shift` is at least 1."""
    return (value + (1 << (shift - 1)) - (1 if value < 0 else 0)) >> shift


def exponential(x: int, integer_bits: int) -> int:
    """exp(x) for x <= 0 with `integer_bits` bits before the point, at most 5; the result has none."""
    if x == 0:
        return ONE
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _near_minus_one_eighth(rest << integer_bits)
    for power in range(-2, integer_bits):
        if (rest - x) & (1 << (fraction_bits + power)):
            result = multiply_high(result, _EXPONENTIALS[power + 2])
    return result


def logistic(x: int) -> int:
    """1 / (1 + exp(-x)) for x with 4 bits before the point; the result has none."""
    if x == 0:
        return 1 << 30
    positive = _saturated(_inverse_of_half(_half_denominator(-abs(x), 4)) << 1)
    return positive if x > 0 else ONE - positive


def tanh(x: int) -> int:
    """The hyperbolic tangent of x with 4 bits before the point; the result has none."""
    # Of twice the number: the same word with another bit before the point.
    inverse = _inverse_of_half(_half_denominator(-abs(x), 5))
    size = _saturated((inverse - (1 << 29)) << 2) if x else 0
    return size if x > 0 else -size


def _half_denominator(x: int, integer_bits: int) -> int:
    """(1 + exp(x)) / 2 for x <= 0."""
    return (exponential(x, integer_bits) + ONE + 1) // 2


def _inverse_of_half(denominator: int) -> int:
    """1 / `denominator`, which is between 1/2 and 1, by Newton's method; 2 bits before the point."""
    x = 1515870810 + multiply_high(denominator, -1010580540)  # 48/17 - 32/17 d
    for _ in range(3):
        rest = (1 << 29) - multiply_high(denominator, x)
        x += _saturated(multiply_high(x, rest) << 2)
    return x


def _saturated(value: int) -> int:
    return max(-(2**31), min(value, ONE))


def _near_minus_one_eighth(a: int) -> int:
    """exp(a) for -1/4 <= a < 0, by its series around -1/8."""
    x = a + (1 << 28)
    x2 = multiply_high(x, x)
    x3, x4 = multiply_high(x2, x), multiply_high(x2, x2)
    third = 715827883
    tail = divide_by_power(multiply_high(divide_by_power(x4, 2) + x3, third) + x2, 1)
    constant = 1895147668  # exp(-1/8)
    return min(constant + multiply_high(constant, x + tail), ONE)
