"""Sums and differences of two tensors for Cortex-M0 and M0+.

An output is (table[a] + b * M) / 2^20, rounded down. For each `a` its entry is bounded from both sides by the
256 outputs that it has to give, so the form is proved for every pair of numbers.
"""

from __future__ import annotations

import math

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import DOUBLE, QBinary, Quantization
from .declined import DeclinedError
from .dsp_packing import int32
from .q_binary import EXTRA_BITS
from .q_common import limits, quantize_multiplier
from .rescaled import rescaled_twice

SHIFT = 20
MOST = 1 << 31
NUMBERS = np.arange(-128, 128, dtype=np.int64)
BY_BYTE = np.roll(NUMBERS, 128)
NEAR = (0, 1, -1, 2, -2)
"""Multipliers tried around the one of the right slope."""


def add(layer: QBinary, _need: Need) -> Driver:
    """Sums of int8 tensors of one shape, rounded twice."""
    if layer.kind not in ("add", "sub") or layer.rounding != DOUBLE:
        raise DeclinedError("only sums that are rounded twice")
    if (
        layer.b is None
        or layer.constant is not None
        or len({layer.a_shape, layer.b_shape, layer.y_shape}) != 1
    ):
        raise DeclinedError("operands of different shapes")
    if {layer.a.dtype, layer.second.dtype} != {"int8"}:
        raise DeclinedError("uint8")
    least, most = limits(layer.y, layer.clamp)
    zero = layer.y.zero_point
    outputs = np.clip(_sums(layer), least, most) - least
    signs = (1, -1 if layer.kind == "sub" else 1)
    for tabled, exact in ((0, outputs), (1, outputs.T)):
        other = (layer.second, layer.a)[tabled]
        slope = signs[1 - tabled] * float(np.float32(other.scale)) / float(np.float32(layer.y.scale))
        found = _table(exact, most - least, round(slope * (1 << SHIFT)))
        if found is not None:
            break
    else:
        raise DeclinedError("no table gives these sums")
    table, multiplier = found
    names = ("input0", "input1")
    fields = f"@table@, {multiplier}, {most - least}, {least + zero}"
    operands = f"{names[tabled]}, {names[1 - tabled]}"
    return Driver(
        kernel="add_armv6m",
        body=f"static const struct tvm_add_armv6m add = {{{fields}}};\n"
        f"tvm_add_s8_armv6m(&add, {math.prod(layer.y_shape)}, {operands}, output);",
        constants={"table": int32(np.roll(table, 128))},
        in_place=True,
        runtime=("tvm_add_armv6m.c",),
        headers=("tvm_kernels_armv6m.h",),
    )


def _sums(layer: QBinary) -> Array:
    """For each `a` and each `b` the output as in TensorFlow Lite, less the zero point and not limited."""
    bits = EXTRA_BITS[layer.kind]
    a, b, y = (float(np.float32(x.scale)) for x in (layer.a, layer.second, layer.y))
    twice = 2.0 * max(a, b)

    def scaled(x: Quantization, scale: float) -> Array:
        return rescaled_twice((NUMBERS - x.zero_point) << bits, *quantize_multiplier(scale / twice))

    sign = -1 if layer.kind == "sub" else 1
    sums = scaled(layer.a, a)[:, None] + sign * scaled(layer.second, b)
    return rescaled_twice(sums, *quantize_multiplier(twice / 2.0**bits / y))


def _table(outputs: Array, most: int, slope: int) -> tuple[Array, int] | None:
    """Entries by number, and the multiplier of the other operand; None if there are none.

    Args:
        outputs: from 0 to `most`, by the number that is looked up and the one that is multiplied.
    """
    for near in NEAR:
        multiplier = slope + near
        products = NUMBERS * multiplier
        low = np.where(outputs > 0, (outputs << SHIFT) - products, -MOST).max(axis=1)
        high = np.where(outputs < most, ((outputs + 1) << SHIFT) - products, MOST).min(axis=1)
        entries = np.where(low > -MOST, np.minimum(low + ((high - low) >> 1), low + (1 << SHIFT)), high - 1)
        reach = np.abs(entries).max() + np.abs(products).max()
        if (low < high).all() and reach < MOST:
            return entries, multiplier
    return None
