"""Sums and differences of two tensors for the DSP extension."""

from __future__ import annotations

import math

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import DOUBLE, QBinary, Quantization
from .declined import DeclinedError
from .dsp_packing import INT8, int32
from .q_binary import EXTRA_BITS
from .q_common import limits, quantize_multiplier
from .rescaled import rescaled_twice

HALF = (2**30, 0)
"""Multiplier and shift of the operand with the larger scale: a shift by one."""

NUMBERS = np.arange(-128, 128, dtype=np.int64)
BY_BYTE = np.roll(NUMBERS, 128)
MOST_SHIFT = 22


def add(layer: QBinary, _need: Need) -> Driver:
    """Sums of int8 tensors of one shape, rounded twice."""
    if layer.kind not in ("add", "sub") or layer.rounding != DOUBLE:
        raise DeclinedError("only sums that are rounded twice")
    if (
        layer.constant is not None
        or layer.b is None
        or len({layer.a_shape, layer.b_shape, layer.y_shape}) != 1
    ):
        raise DeclinedError("operands of different shapes")
    if {layer.a.dtype, layer.b.dtype, layer.y.dtype} != {"int8"}:
        raise DeclinedError("uint8")
    scales = [float(np.float32(x.scale)) for x in (layer.a, layer.b)]
    twice = 2.0 * max(scales)
    q, shift = quantize_multiplier(twice / 2.0 ** EXTRA_BITS[layer.kind] / float(np.float32(layer.y.scale)))
    factors = [quantize_multiplier(scale / twice) for scale in scales]
    sign = -1 if layer.kind == "sub" else 1
    if factors[0] == HALF:
        operands, shifted, other, other_sign = ("input0", "input1"), layer.a, layer.b, sign
    elif sign == 1:
        operands, shifted, other, other_sign = ("input1", "input0"), layer.b, layer.a, 1
    else:
        raise DeclinedError("a difference whose second operand has the larger scale")
    if not 1 <= -shift <= MOST_SHIFT:
        raise DeclinedError("the sum is scaled up")
    table = _table(other, factors[1] if shifted is layer.a else factors[0], other_sign, shifted.zero_point)
    low, high = limits(layer.y, layer.clamp)
    zero = layer.y.zero_point
    low, high = low + zero, high + zero
    addend = (1 << (-shift - 1)) + (zero << -shift)
    plain = (low, high) == INT8 and _is_plain(table, q, -shift, addend, zero)
    fields = f"@table@, {q}, {addend}, {-shift}, {'true' if plain else 'false'}, {low}, {high}"
    return Driver(
        kernel="add_dsp",
        body=f"static const struct tvm_add_dsp add = {{{fields}}};\n"
        f"tvm_add_s8_dsp(&add, {math.prod(layer.y_shape)}, {', '.join(operands)}, output);",
        constants={"table": int32(table)},
        in_place=True,
        runtime=("tvm_add_dsp.c",),
        headers=("tvm_kernels_dsp.h",),
    )


def _table(x: Quantization, factor: tuple[int, int], sign: int, other_zero: int) -> Array:
    """By byte, twice the scaled operand, less what the zero point of the shifted operand adds."""
    scaled = rescaled_twice((BY_BYTE - x.zero_point) << 20, *factor)
    table: Array = 2 * (sign * scaled - (other_zero << 19))
    return table


def _is_plain(table: Array, q: int, shift: int, addend: int, zero: int) -> bool:
    """Whether half up gives what half away from zero gives for every pair of numbers."""
    sums = table[:, None] + (NUMBERS << 20)
    exact = np.clip(rescaled_twice(sums >> 1, q, -shift) + zero, *INT8)
    fast = np.clip(((sums * q + (1 << 31) >> 32) + addend) >> shift, *INT8)
    return bool((exact == fast).all())
