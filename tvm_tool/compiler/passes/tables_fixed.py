"""Tables of functions that TensorFlow Lite computes in integers, by its formulas.

Its other functions of one number are tables there too: filled in single precision, as `tables` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..kernels.fixed_point import divide_by_power, logistic, tanh
from ..kernels.q_common import quantize_multiplier
from ..layers import Array
from ..quantized_layers import Quantization
from ..relax_graph import Expr, constant, op_name
from .look_back import Clamp, LookBack
from .tables import numbers

INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
HALF_ROOT_OF_TWO = 1518500250
"""In units of 2^-31."""

Ratio = Callable[[Quantization, Quantization, float], float]
"""The scale of one, times a factor, over the scale of the other."""

Formula = Callable[[Array, Quantization, Quantization, Ratio], Array]
"""Numbers less their zero point, how they and the results are quantised, how scales are divided: results
less their zero point."""


def fixed_table(look: LookBack, expr: Expr, y: Quantization) -> tuple[Expr, Quantization, Array] | None:
    """The integers that `expr` is a function of, how they are quantised, and its table."""
    for find in (_absolute, _leaky_relu, _hard_swish, _roots, _sigmoids):
        found = find(look, expr)
        if found is None or (found[1] in USUAL and not _is_usual(look, found[1], y)):
            continue
        leaf = look.leaf(found[0])
        if leaf is not None:
            data, x = leaf
            info = np.iinfo(y.dtype)
            values = found[1](numbers(x.dtype) - x.zero_point, x, y, _ratio_of(look.profile)) + y.zero_point
            return data, x, np.clip(values, info.min, info.max).astype(y.dtype)
    return None


def requantized(x: Quantization, y: Quantization, clamp: Clamp, profile: str = "tflm") -> Array:
    """The table from numbers of `x` to those of `y`; scales are divided as in activations of `profile`."""
    values = _scaled(numbers(x.dtype) - x.zero_point, _ratio_of(profile)(x, y, 1.0))
    return np.asarray(np.clip(values + y.zero_point, *clamp).astype(y.dtype))


def concatenated(x: Quantization, y: Quantization, clamp: Clamp) -> Array:
    """The table from numbers of `x` to those of `y` as concatenation makes it, in single precision."""
    scale = np.float32(x.scale) * (np.float32(1) / np.float32(y.scale))
    values = numbers(x.dtype).astype(np.float32) * scale + np.float32(-x.zero_point) * scale
    rounded = np.sign(values) * np.floor(np.abs(values) + np.float32(0.5))
    return np.asarray(np.clip(rounded.astype(np.int64) + y.zero_point, *clamp).astype(y.dtype))


def _ratio_of(profile: str) -> Ratio:
    """LiteRT divides in single precision, TensorFlow Lite Micro in double."""
    return _single if profile == "litert" else _double


def _single(x: Quantization, y: Quantization, factor: float) -> float:
    return float(np.float32(x.scale) * np.float32(factor) / np.float32(y.scale))


def _double(x: Quantization, y: Quantization, factor: float) -> float:
    return float(np.float32(x.scale)) * float(np.float32(factor)) / float(np.float32(y.scale))


# ---------------------------------------------------------------- which function


def _absolute(look: LookBack, expr: Expr) -> tuple[Expr, Formula] | None:
    call = look.value(expr)
    return (call.args[0], _absolute_value) if op_name(call) == "abs" else None


def _leaky_relu(look: LookBack, expr: Expr) -> tuple[Expr, Formula] | None:
    call = look.value(expr)
    if op_name(call) != "nn.leakyrelu":
        return None
    alpha = float(call.attrs.alpha)

    def formula(values: Array, x: Quantization, y: Quantization, ratio: Ratio) -> Array:
        scales = ratio(x, y, 1.0), ratio(x, y, alpha)
        return np.where(values >= 0, *(_scaled(values, scale) for scale in scales))

    return call.args[0], formula


def _hard_swish(look: LookBack, expr: Expr) -> tuple[Expr, Formula] | None:
    """``x * (clip(x + 3, 0, 6) / 6)``."""
    call = look.value(expr)
    if op_name(call) != "multiply":
        return None
    x, gate = call.args[0], look.value(call.args[1])
    if op_name(gate) != "divide" or not is_number(gate.args[1], 6.0):
        return None
    limited = look.value(gate.args[0])
    if op_name(limited) != "clip" or [float(a.value) for a in limited.args[1:3]] != [0.0, 6.0]:
        return None
    moved = look.value(limited.args[0])
    if op_name(moved) != "add" or not is_number(moved.args[1], 3.0) or not moved.args[0].same_as(x):
        return None
    return x, _hard_swish_formula


def _roots(look: LookBack, expr: Expr) -> tuple[Expr, Formula] | None:
    """A square root, or one divided by it."""
    call = look.value(expr)
    if op_name(call) == "sqrt":
        return call.args[0], _square_root
    if op_name(call) == "divide" and is_number(call.args[0], 1.0):
        root = look.value(call.args[1])
        return (root.args[0], _reciprocal_root) if op_name(root) == "sqrt" else None
    return None


def _is_usual(look: LookBack, formula: Formula, y: Quantization) -> bool:
    return look.profile == "tflm" and USUAL[formula] == (y.dtype, float(np.float32(y.scale)), y.zero_point)


def _sigmoids(look: LookBack, expr: Expr) -> tuple[Expr, Formula] | None:
    """LOGISTIC and TANH, which TensorFlow Lite Micro computes in fixed point and LiteRT looks up."""
    call = look.value(expr)
    formula = {"sigmoid": _logistic, "tanh": _tanh}.get(op_name(call) or "")
    return (call.args[0], formula) if formula else None


def is_number(expr: Expr, value: float) -> bool:
    """Whether `expr` is a constant of one element, `value`."""
    array = constant(expr)
    return array is not None and array.size == 1 and float(array.reshape(())) == value


# ---------------------------------------------------------------- formulas


def _absolute_value(values: Array, x: Quantization, y: Quantization, ratio: Ratio) -> Array:
    return _scaled(np.abs(values), ratio(x, y, 1.0))


def _hard_swish_formula(values: Array, x: Quantization, y: Quantization, _ratio: Ratio) -> Array:
    fine = np.float32(1 / 128) * np.float32(x.scale)
    q, exponent = _multiplier_16(float(fine / np.float32(y.scale)))
    gate_q, gate_exponent = _multiplier_16(float(fine / np.float32(3 / 32768)))
    wide = values * 128
    gate = wide
    if gate_exponent > 0:
        gate = np.clip(gate << (gate_exponent - 1), INT16_MIN, INT16_MAX)
    gate = _high_half(gate, gate_q, 16)
    if gate_exponent > 0:
        gate = np.clip(gate << 1, INT16_MIN, INT16_MAX)
    gate = _divided(gate, max(-gate_exponent, 0))
    product = np.trunc(((gate + 2**15) >> 1) * _high_half(wide, q, 16) / 2**15).astype(np.int64)
    return _divided(product, max(-exponent, 0))


def _logistic(values: Array, x: Quantization, _y: Quantization, _ratio: Ratio) -> Array:
    return _fixed(values, x, logistic, 8)


def _tanh(values: Array, x: Quantization, _y: Quantization, _ratio: Ratio) -> Array:
    return _fixed(values, x, tanh, 7)


def _fixed(values: Array, x: Quantization, function: Callable[[int], int], bits: int) -> Array:
    """A function of numbers with 4 bits before the point, as numbers with `bits` bits behind it."""
    q, shift = quantize_multiplier(float(np.float32(x.scale)) * 2.0**27)
    radius = math.floor(15 * 2.0**27 / 2.0**shift)
    inside = _rescaled(values, q, shift)
    return np.array(
        [
            divide_by_power(function(int(number)), 31 - bits)
            if abs(value) < radius
            else np.sign(value) * 2**bits
            for value, number in zip(values.tolist(), inside.tolist(), strict=True)
        ],
        np.int64,
    )


USUAL: Mapping[Formula, tuple[str, float, int]] = {
    _logistic: ("int8", 2.0**-8, -128),
    _tanh: ("int8", 2.0**-7, 0),
}
"""How results are quantised that TensorFlow Lite Micro computes in fixed point."""


def _square_root(values: Array, x: Quantization, y: Quantization, _ratio: Ratio) -> Array:
    """Rounded down."""
    roots = np.sqrt(np.maximum(values, 0).astype(np.float32) * np.float32(x.scale))
    return np.asarray(np.floor(roots / np.float32(y.scale)).astype(np.int64))


def _reciprocal_root(values: Array, x: Quantization, y: Quantization, _ratio: Ratio) -> Array:
    """With 20 bits behind the point; zero gives the largest number."""
    q, shift = quantize_multiplier(1.0 / (math.sqrt(x.scale) * y.scale))
    results = []
    for value in values.tolist():
        if value <= 0:
            results.append(INT32_MAX >> 8)
            continue
        root_q, root_shift = _inverse_square_root(value)
        wide = _rescaled(np.array([1]), root_q, root_shift + 20)
        results.append(int(_rescaled(wide, q, shift - 20)[0]))
    return np.array(results, np.int64)


def _inverse_square_root(value: int) -> tuple[int, int]:
    """``1 / sqrt(value)`` as a multiplier and a shift, by Newton's method."""
    if value <= 1:
        return INT32_MAX, 0
    shift = 11
    while value >= 1 << 29:
        value //= 4
        shift += 1
    pairs = (31 - value.bit_length()) // 2 - 1
    shift -= pairs
    value <<= 2 * pairs
    # Three bits before the point; a product of two numbers has six.
    half, half_three, x = ((value >> 1) + 1) >> 1, (1 << 28) + (1 << 27), 1 << 28
    for _ in range(5):
        cube = _shifted_left(_high(_high(x, x), x), 6)
        x = _shifted_left(_high(half_three, x) - _high(half, cube), 3)
    q = _high(x, HALF_ROOT_OF_TWO)
    return (q << -shift, 0) if shift < 0 else (q, -shift)


def _shifted_left(value: int, bits: int) -> int:
    return min(max(value << bits, INT32_MIN), INT32_MAX)


def _high(a: int, b: int) -> int:
    return int(_high_half(np.array([a]), b, 32)[0])


# ---------------------------------------------------------------- fixed point


def _scaled(values: Array, factor: float) -> Array:
    return _rescaled(values, *quantize_multiplier(factor))


def _rescaled(values: Array, q: int, shift: int) -> Array:
    """``values * q * 2**(shift - 31)``, rounded twice."""
    shifted = np.clip(values.astype(np.int64) << max(shift, 0), INT32_MIN, INT32_MAX)
    return _divided((shifted * q + 2**30) >> 31, max(-shift, 0))


def _divided(values: Array, shift: int) -> Array:
    """``values / 2**shift``, half away from zero."""
    half = (1 << shift) >> 1
    return np.asarray(np.sign(values) * ((np.abs(values) + half) >> shift))


def _high_half(values: Array, q: int, bits: int) -> Array:
    """The high half of twice the product, half away from zero."""
    product = values.astype(np.int64) * q
    half = 1 << (bits - 2)
    return np.asarray(np.sign(product) * ((np.abs(product) + half) >> (bits - 1)))


def _multiplier_16(value: float) -> tuple[int, int]:
    q, exponent = quantize_multiplier(value)
    return min((q + 2**15) >> 16, INT16_MAX), exponent
