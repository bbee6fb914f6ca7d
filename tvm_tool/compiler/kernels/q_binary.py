"""Operators of two quantised tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..layers import Driver
from ..quantized_layers import DOUBLE, QBinary, Quantization
from .float32 import literal
from .q_common import flip, limits, offset, quantize_multiplier

RUNTIME = {
    "add": "tvm_binary_s8.c",
    "sub": "tvm_binary_s8.c",
    "mul": "tvm_binary_s8.c",
    "squared_difference": "tvm_difference_s8.c",
    "prelu": "tvm_choose_s8.c",
    "max": "tvm_choose_s8.c",
    "min": "tvm_choose_s8.c",
}
"""The file of each kind."""

WORDS = {"add": "add", "sub": "add", "mul": "multiply", "prelu": "slope"}
"""What the functions are called, where not after the kind."""

EXTRA_BITS = {"add": 20, "sub": 20, "squared_difference": 7}
"""By how many bits the operands of a sum are shifted to the left, as in TensorFlow Lite."""


def binary(layer: QBinary) -> Driver:
    """Every operator of two inputs; the second may be a constant."""
    fixed = layer.rounding == DOUBLE
    names = ("input", "@constant@") if layer.constant is not None else ("input0", "input1")
    if layer.kind in ("max", "min"):
        function = "tvm_larger_s8"
        fields = _choice_fields(layer)
    elif layer.b is None:
        function = f"tvm_{WORDS[layer.kind]}_real_s8"
        fields = {
            "a": _float_operand(layer.a, -1.0 if layer.kind == "sub" else 1.0),
            "scale": literal(layer.y.scale),
        }
    else:
        word = WORDS.get(layer.kind, layer.kind)
        function = f"tvm_{word}_{'fixed' if fixed else 'float'}_s8"
        fields = _fixed_fields(layer) if fixed else _float_fields(layer)
    low, high = limits(layer.y, layer.clamp)
    rows = [*fields.items(), ("zero", layer.y.zero_point), ("low", low), ("high", high)]
    initial = "\n".join(f"    .{name} = {value}," for name, value in rows)
    return Driver(
        kernel=function.removeprefix("tvm_"),
        body=f"static const struct tvm_binary_s8 how = {{\n{initial}\n}};\n{loops(layer, function, names)}",
        constants={} if layer.constant is None else {"constant": layer.constant.ravel()},
        in_place=layer.a_shape == layer.y_shape,
        runtime=(RUNTIME[layer.kind],),
    )


def _operand(x: Quantization, rest: str) -> str:
    return f"{{.flip = 0x{flip(x.dtype):02x}, .offset = {offset(x)}, {rest}}}"


def _choice_fields(layer: QBinary) -> Mapping[str, str | int]:
    mask = flip(layer.y.dtype) ^ (0xFF if layer.kind == "min" else 0)
    return {"a": f"{{.flip = 0x{mask:02x}}}"}


def _fixed_fields(layer: QBinary) -> Mapping[str, str | int]:
    assert layer.b is not None
    a, b, y = (float(np.float32(x.scale)) for x in (layer.a, layer.b, layer.y))
    if layer.kind == "mul":
        q, shift = quantize_multiplier(a * b / y)
        operands = [_operand(x, ".multiplier = 0") for x in (layer.a, layer.b)]
    elif layer.kind == "prelu":
        # TensorFlow Lite computes these factors in single precision.
        single = np.float32(a) * np.float32(b) / np.float32(y)
        q, shift = quantize_multiplier(float(single))
        own_q, own_shift = quantize_multiplier(float(np.float32(a) / np.float32(y)))
        operands = [
            _operand(layer.a, f".multiplier = {own_q}, .shift = {own_shift}"),
            _operand(layer.b, ".multiplier = 0"),
        ]
    else:
        twice = 2.0 * max(a, b)
        power = 2 if layer.kind == "squared_difference" else 1
        q, shift = quantize_multiplier((twice / 2.0 ** EXTRA_BITS[layer.kind]) ** power / y)
        pairs = [quantize_multiplier(scale / twice) for scale in (a, b)]
        operands = [
            _operand(x, f".multiplier = {m}, .shift = {s}")
            for x, (m, s) in zip((layer.a, layer.b), pairs, strict=True)
        ]
    sign = -1 if layer.kind == "sub" else 1
    return {"a": operands[0], "b": operands[1], "sign": sign, "multiplier": q, "shift": shift}


def _float_fields(layer: QBinary) -> Mapping[str, str | int]:
    assert layer.b is not None
    b = _float_operand(layer.b, -1.0 if layer.kind == "sub" else 1.0)
    return {"a": _float_operand(layer.a), "b": b, "scale": literal(layer.y.scale)}


def _float_operand(x: Quantization, sign: float = 1.0) -> str:
    return _operand(x, f".scale = {literal(sign * x.scale)}")


def loops(layer: QBinary, function: str, names: tuple[str, str]) -> str:
    """Calls of `function` for all elements: one, inside of loops over axes that do not become one run."""
    *outer, (count, a_step, b_step) = runs(layer)
    terms = {"a": [names[0]], "b": [names[1]], "y": ["output"]}
    sizes = {"a": count if a_step else 1, "b": count if b_step else 1, "y": count}
    lines = []
    for axis in range(len(outer) - 1, -1, -1):
        length, a_moves, b_moves = outer[axis]
        for key, moves in (("a", a_moves), ("b", b_moves), ("y", 1)):
            if moves:
                terms[key].insert(1, f"i{axis}" if sizes[key] == 1 else f"i{axis} * {sizes[key]}")
                sizes[key] *= length
    for axis, (length, _, _) in enumerate(outer):
        lines.append(f"{'    ' * axis}for (int32_t i{axis} = 0; i{axis} < {length}; i{axis}++) {{")
    a, b, y = (" + ".join(terms[key]) for key in "aby")
    lines.append(f"{'    ' * len(outer)}{function}(&how, {count}, {a}, {a_step}, {b}, {b_step}, {y});")
    lines += ["    " * axis + "}" for axis in range(len(outer) - 1, -1, -1)]
    return "\n".join(lines)


def runs(layer: QBinary) -> list[tuple[int, int, int]]:
    """Axes of the output, neighbours joined: length, and whether a and b move along (1 or 0)."""
    joined: list[tuple[int, int, int]] = []
    for length, a, b in zip(layer.y_shape, layer.a_shape, layer.b_shape, strict=True):
        if length == 1:
            continue
        moves = (int(a != 1), int(b != 1))
        if joined and joined[-1][1:] == moves:
            joined[-1] = (joined[-1][0] * length, *moves)
        else:
            joined.append((length, *moves))
    return joined or [(math.prod(layer.y_shape), 1, 1)]
