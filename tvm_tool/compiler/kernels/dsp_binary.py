"""Operators of two inputs and tables for the DSP extension, broadcasting included.

What the fast forms give is compared with the scalar kernels for every pair of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import DOUBLE, SINGLE, QBinary, QTable
from .declined import DeclinedError
from .dsp_packing import INT8, MOST_RIGHT_SHIFT, int32
from .exact_binary import BYTES, numbers, outputs
from .float32 import literal
from .q_binary import loops
from .q_common import flip, full, limits, quantize_multiplier
from .rescaled import Rescaling, rescaled_twice
from .uniform_shift import uniform

MOST_BITS = 20
"""Bits behind the point of a sum of tables."""

ROUNDS = 30


def binary(layer: QBinary, need: Need) -> Driver:
    """Sums that `add` does not take, products, maxima and minima."""
    if layer.b is None:
        raise DeclinedError("one operand is real numbers")
    if layer.kind in ("max", "min"):
        return _larger(layer)
    if layer.kind == "mul":
        try:
            return _multiply(layer)
        except DeclinedError:
            if layer.rounding == DOUBLE or not need.fpu or need.optimize != "speed":
                raise
            return _multiply_float(layer)
    if layer.kind in ("add", "sub"):
        return _sum(layer, need)
    raise DeclinedError(f"no fast kernel for {layer.kind}")


def _larger(layer: QBinary) -> Driver:
    mask = flip(layer.y.dtype) ^ flip("int8") ^ (0xFF if layer.kind == "min" else 0)
    declaration = f"static const int32_t how = 0x{mask:02x};"
    return _driver(layer, "larger_dsp", "tvm_larger_s8_dsp", declaration, {}, "tvm_larger_dsp.c")


def _multiply(layer: QBinary) -> Driver:
    if {layer.a.dtype, layer.second.dtype, layer.y.dtype} != {"int8"}:
        raise DeclinedError("uint8")
    exact = outputs(layer)
    products = numbers(layer.a)[:, None] * numbers(layer.second)
    low, high = max(layer.clamp[0], INT8[0]), min(layer.clamp[1], INT8[1])
    for form in (_shifted(layer, products, exact), _twice(layer)):
        if form is not None and (_products(products, form, low, high) == exact).all():
            break
    else:
        raise DeclinedError("no form is exact for every product")
    correction, multiplier, addend, shift, twice = form
    limited = twice or (low, high) != INT8
    flags = f"{'true' if twice else 'false'}, {'true' if limited else 'false'}"
    fields = f"{correction}, {multiplier}, {addend}, {shift}, {flags}, {low}, {high}"
    zeros = f"{layer.a.zero_point}, {layer.second.zero_point}"
    declaration = f"static const struct tvm_multiply_dsp how = {{{zeros}, {fields}}};"
    return _driver(layer, "multiply_dsp", "tvm_multiply_s8_dsp", declaration, {}, "tvm_multiply_dsp.c")


def _multiply_float(layer: QBinary) -> Driver:
    """Operation by operation, as the scalar kernel does it, with dequantised numbers in tables."""
    low, high = limits(layer.y, layer.clamp)
    fields = f"@a_table@, @b_table@, {literal(layer.y.scale)}, {layer.y.zero_point}, {low}, {high}"
    declaration = f"static const struct tvm_multiply_float_dsp how = {{{fields}}};"
    tables = {
        f"{name}_table": numbers(x).astype(np.float32) * np.float32(x.scale)
        for name, x in (("a", layer.a), ("b", layer.second))
    }
    file = "tvm_multiply_float_dsp.c"
    return _driver(layer, "multiply_float_dsp", "tvm_multiply_float_dsp", declaration, tables, file)


Form = tuple[int, int, int, int, bool]
"""Correction, multiplier, addend, shift; and whether it rounds twice."""


def _twice(layer: QBinary) -> Form | None:
    scales = [float(np.float32(x.scale)) for x in (layer.a, layer.second, layer.y)]
    q, shift = quantize_multiplier(scales[0] * scales[1] / scales[2])
    if layer.rounding != DOUBLE or not 1 <= -shift <= MOST_RIGHT_SHIFT:
        return None
    return 0, q, (1 << (-shift - 1)) + (layer.y.zero_point << -shift), -shift, True


@dataclass(frozen=True, eq=False)
class _Known(Rescaling):
    """Outputs that are looked up: `known` by the sum, from `first` on."""

    known: Array
    first: int

    def outputs(self, sums: Array) -> Array:
        result: Array = self.known[np.clip(sums - self.first, 0, self.known.size - 1)]
        return result


def _shifted(layer: QBinary, products: Array, exact: Array) -> Form | None:
    """A form with one shift for products whose outputs are `exact`."""
    first = int(products.min())
    known = np.full(int(products.max()) - first + 1, exact.min())
    known[products - first] = exact
    # Numbers that are no product lie between; where equal products differ, no form will be exact.
    known = np.maximum.accumulate(known)
    scale = np.float32(layer.a.scale) * np.float32(layer.second.scale) / np.float32(layer.y.scale)
    q, shift = quantize_multiplier(float(scale))
    rescaling = _Known(
        layer.rounding if layer.rounding == DOUBLE else SINGLE,
        np.array([q]),
        np.array([shift]),
        np.array([0]),
        layer.y.zero_point,
        *layer.clamp,
        known=known,
        first=first,
    )
    low, high = np.array([first]), np.array([int(products.max())])
    found = uniform(rescaling, low, high, known[:1], known[-1:])
    if found is None:
        return None
    correction, multiplier, addend = (
        int(x[0]) for x in (found.corrections, found.multipliers, found.addends)
    )
    return correction, multiplier, addend, found.shift, False


def _products(products: Array, form: Form, low: int, high: int) -> Array:
    """What `form` gives for `products`."""
    correction, multiplier, addend, shift, twice = form
    if twice:
        zero = (addend - (1 << (shift - 1))) >> shift
        values = rescaled_twice(products, multiplier, -shift) + zero
    else:
        values = (((products + correction) * multiplier + (1 << 31) >> 32) + addend) >> shift
    result: Array = np.clip(values, low, high)
    return result


def _sum(layer: QBinary, need: Need) -> Driver:
    if need.optimize != "speed":
        raise DeclinedError("tables take 2 KB")
    exact = outputs(layer)
    lift = flip("int8") - flip(layer.y.dtype)
    low, high = (max(min(x - lift, INT8[1]), INT8[0]) for x in layer.clamp)
    shift, pair = _tables(layer, exact - lift, low, high)
    limited = "false" if layer.clamp == full(layer.y) else "true"
    fields = f"@a_table@, @b_table@, {shift}, 0x{lift:02x}, {limited}, {low}, {high}"
    declaration = f"static const struct tvm_tables_dsp how = {{{fields}}};"
    constants = {"a_table": int32(pair[0]), "b_table": int32(pair[1])}
    return _driver(layer, "tables_dsp", "tvm_tables_s8_dsp", declaration, constants, "tvm_tables_dsp.c")


def _tables(layer: QBinary, exact: Array, low: int, high: int) -> tuple[int, tuple[Array, Array]]:
    """A shift and two tables whose sums give `exact`, which is limited to [low, high], for every pair."""
    sign = -1 if layer.kind == "sub" else 1
    real_a = numbers(layer.a) * (layer.a.scale / layer.y.scale)
    real_b = numbers(layer.second) * (sign * layer.second.scale / layer.y.scale)
    reach = float(np.abs(real_a).max() + np.abs(real_b).max()) + 512
    shift = min(MOST_BITS, 30 - int(np.ceil(np.log2(reach))))
    if shift < 1:
        raise DeclinedError("the sum is scaled up")
    zero = layer.y.zero_point - (flip("int8") - flip(layer.y.dtype))
    a = np.rint(real_a * 2.0**shift).astype(np.int64)
    b = np.rint((real_b + zero + 0.5) * 2.0**shift).astype(np.int64)
    far = np.int64(1) << 40
    least = np.where(exact <= low, -far, exact << shift)
    most = np.where(exact >= high, far, ((exact + 1) << shift) - 1)
    for _ in range(ROUNDS):
        # What lies between two numbers moves to where it has to be, by as little as that takes.
        a = np.clip(a, (least - b).max(axis=1), (most - b).min(axis=1))
        b = np.clip(b, (least - a[:, None]).max(axis=0), (most - a[:, None]).min(axis=0))
        sums = a[:, None] + b
        if ((least <= sums) & (sums <= most)).all() and np.abs(sums).max() < 1 << 31:
            return shift, (a, b)
    raise DeclinedError("no tables are exact for every pair")


def _driver(
    layer: QBinary,
    kernel: str,
    function: str,
    declaration: str,
    constants: dict[str, Array],
    file: str,
) -> Driver:
    names = ("input", "@constant@") if layer.constant is not None else ("input0", "input1")
    if layer.constant is not None:
        constants = {**constants, "constant": layer.constant.ravel()}
    return Driver(
        kernel=kernel,
        body=f"{declaration}\n{loops(layer, function, names)}",
        constants=constants,
        in_place=layer.a_shape == layer.y_shape,
        runtime=(file,),
        headers=("tvm_kernels_dsp.h",),
    )


def table(layer: QTable, _need: Need) -> Driver:
    """Tables of bytes."""
    if layer.table.itemsize != 1:
        raise DeclinedError("outputs wider than a byte")
    by_byte = layer.table[BYTES ^ flip(layer.x_dtype)]
    call = f"tvm_table_s8_dsp({layer.elements}, @table@, input, output);"
    return Driver(
        kernel="table_dsp",
        body=call,
        constants={"table": by_byte},
        in_place=True,
        runtime=("tvm_table_dsp.c",),
        headers=("tvm_kernels_dsp.h",),
    )
