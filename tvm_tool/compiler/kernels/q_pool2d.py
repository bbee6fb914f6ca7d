"""Integer maximum and average of a window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..layers import Array, Driver
from ..quantized_layers import DOUBLE, QPool2D
from .float32 import literal
from .q_common import CText, fixed_point, flip, limits, offset, quantize_multiplier, window_of

RUNTIME = ("tvm_pool2d_s8.c",)
FLOAT_RUNTIME = ("tvm_pool2d_float_s8.c",)


def pool2d(layer: QPool2D) -> Driver:
    """Every pool."""
    function = _finish(layer)
    how = _declaration(layer, function)
    as_float = function == "float"
    kernel = "average_pool_float_s8" if as_float and layer.kind == "average" else f"{layer.kind}_pool_s8"
    return Driver(
        kernel=kernel,
        body=f"{window_of(layer)}\n{how.text}\ntvm_{kernel}(&window, &how, input, output);",
        constants=how.constants,
        runtime=(*RUNTIME, *FLOAT_RUNTIME) if as_float else RUNTIME,
    )


def _finish(layer: QPool2D) -> str:
    """How sums become outputs; maxima and averages of numbers that keep their meaning stay numbers."""
    if layer.x == layer.y and (layer.kind == "max" or layer.rounding == DOUBLE):
        return "same"
    return "rescaled" if layer.rounding == DOUBLE else "float"


def _declaration(layer: QPool2D, function: str) -> CText:
    """A C declaration of ``how``."""
    low, high = limits(layer.y, layer.clamp)
    zero, base = layer.y.zero_point, offset(layer.x)
    constants: Mapping[str, Array] = {}
    rest: list[tuple[str, str | int]] = []
    if function == "same":
        low, high, zero, base = low + zero, high + zero, 0, flip(layer.x.dtype)
    elif function == "rescaled":
        first, multipliers, shifts = by_count(layer)
        rest = [("multipliers", "@multipliers@"), ("shifts", "@shifts@"), ("first", first)]
        constants = {"multipliers": multipliers, "shifts": shifts}
    else:
        rest = [("input_scale", literal(layer.x.scale)), ("output_scale", literal(layer.y.scale))]
    rows = [
        ("finish", f"tvm_pool_{function}_s8"),
        ("flip", f"0x{flip(layer.x.dtype):02x}"),
        ("offset", base),
        ("zero", zero),
        ("low", low),
        ("high", high),
        *rest,
    ]
    text = "\n".join(f"    .{name} = {value}," for name, value in rows)
    return CText(f"static const struct tvm_pool_s8 how = {{\n{text}\n}};", constants)


def by_count(layer: QPool2D) -> tuple[int, Array, Array]:
    """Least number of elements under a window; multipliers and shifts for it and each larger one."""
    scale = float(np.float64(layer.x.scale) / np.float64(layer.y.scale))
    if layer.kind == "max":
        return 1, *fixed_point([scale])
    q, shift = quantize_multiplier(scale)
    counts = range(_least_count(layer), layer.kernel[0] * layer.kernel[1] + 1)
    pairs = [divided(q, shift, count) for count in counts]
    multipliers, shifts = zip(*pairs, strict=True)
    return counts[0], np.array(multipliers, np.int32), np.array(shifts, np.int8)


def divided(q: int, shift: int, count: int) -> tuple[int, int]:
    """A multiplier divided by `count`, with as many more bits as the count has, as in TensorFlow Lite."""
    bits = min(count.bit_length() - 1, 31 + shift)
    return (q << bits) // count, shift - bits


def _least_count(layer: QPool2D) -> int:
    """Elements under the window that lies farthest outside."""
    along = []
    for axis in (0, 1):
        starts = np.arange(layer.output[axis]) * layer.strides[axis] - layer.pads[axis]
        ends = np.minimum(starts + layer.kernel[axis], layer.input[axis])
        along.append(int((ends - np.maximum(starts, 0)).min()))
    return along[0] * along[1]
