"""Integer maximum, minimum, mean and sum along an axis."""

from __future__ import annotations

import numpy as np

from ..layers import Array, Driver
from ..quantized_layers import DOUBLE, QReduce
from .float32 import literal
from .q_common import flip, limits, offset, quantize_multiplier
from .q_pool2d import divided

RUNTIME = ("tvm_reduce_s8.c",)


def reduce(layer: QReduce) -> Driver:
    """Every reduction."""
    axis = f"static const struct tvm_axis_s8 axis = {{{layer.outer}, {layer.count}, {layer.inner}}};"
    if layer.kind in ("max", "min"):
        mask = flip(layer.x.dtype) ^ (0xFF if layer.kind == "min" else 0)
        call = f"tvm_most_s8(&axis, 0x{mask:02x}, input, output);"
        return Driver("most_s8", f"{axis}\n{call}", runtime=RUNTIME)
    low, high = limits(layer.y, layer.clamp)
    divisor = layer.count if layer.kind == "mean" else 1
    fixed = layer.rounding == DOUBLE
    rows: list[tuple[str, str | int]] = [
        ("finish", "tvm_pool_rescaled_s8" if fixed else "tvm_pool_float_s8"),
        ("flip", f"0x{flip(layer.x.dtype):02x}"),
        ("offset", offset(layer.x)),
        ("zero", layer.y.zero_point),
        ("low", low),
        ("high", high),
    ]
    constants: dict[str, Array] = {}
    if fixed:
        scale = float(np.float64(np.float32(layer.x.scale)) / np.float64(np.float32(layer.y.scale)))
        q, shift = divided(*quantize_multiplier(scale), divisor)
        rows += [("multipliers", "@multipliers@"), ("shifts", "@shifts@"), ("first", divisor)]
        constants = {"multipliers": np.array([q], np.int32), "shifts": np.array([shift], np.int8)}
    else:
        rows += [("input_scale", literal(layer.x.scale)), ("output_scale", literal(layer.y.scale))]
    how = "\n".join(f"    .{name} = {value}," for name, value in rows)
    return Driver(
        kernel="sum_s8",
        body=f"{axis}\nstatic const struct tvm_pool_s8 how = {{\n{how}\n}};\n"
        f"tvm_sum_s8(&axis, &how, {divisor}, input, output);",
        constants=constants,
        runtime=(*RUNTIME, "tvm_pool2d_s8.c") if fixed else (*RUNTIME, "tvm_pool2d_float_s8.c"),
    )
