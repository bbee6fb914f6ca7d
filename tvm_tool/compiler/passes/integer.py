"""Quantised parts of the graph become layers in integers.

Each ``quantize`` is looked at together with what computes its input: where that is a known operator
on dequantised values, a layer of `quantized_layers` takes its place and the floats between vanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax

from ..quantized_layers import DOUBLE, Quantization
from ..relax_graph import Builder, Expr, Var, constant, is_var, op_name, rewrite, shape_of
from .float_reasons import reason_for_float
from .integer_elementwise import binary, concat, requantised, table
from .integer_products import product
from .integer_windows import pool, pool_of_numbers, reduction, resize, softmax
from .look_back import Clamp, LookBack, Shape
from .match_layers import LayerTable
from .quantized_constants import scalar_quantization

Match = Callable[[LookBack, Expr, Expr, Quantization, Clamp, Shape], Expr | None]

MATCHES: tuple[Match, ...] = (product, pool, reduction, resize, softmax, binary, concat)
"""Each takes what is quantised (as it stands, and its value), how, within which limits, and the shape."""


@dataclass(frozen=True)
class LeftInFloat:
    """A quantised variable that is computed in float, and why."""

    variable: str
    reason: str


def lower_integers(
    module: tvm.IRModule, layers: LayerTable, profile: str
) -> tuple[tvm.IRModule, list[LeftInFloat]]:
    """Replace quantised operators by integer layers.

    Args:
        profile: rounding profile, one of `quantized_layers.PROFILES`.

    Returns:
        The new module, and what stays in float.
    """
    look = LookBack(layers, profile)
    left: list[LeftInFloat] = []

    def visit(builder: Builder, var: Var, value: Expr) -> Expr | None:
        if not isinstance(value, (relax.Call, relax.TupleGetItem)):
            return None
        look.builder, look.name = builder, var.name
        new = _quantized(look, value) if op_name(value) == "quantize" else pool_of_numbers(look, value)
        if new is None:
            if op_name(value) == "quantize" and not look.is_given(value.args[0]):
                left.append(LeftInFloat(var.name, reason_for_float(look, value)))
            new = value
        return new if is_var(new) else look.emit(new)

    return rewrite(module, visit), left


def _quantized(look: LookBack, value: Expr) -> Expr | None:
    y = scalar_quantization(value)
    if y is None:
        return None
    info = np.iinfo(y.dtype)
    return _numbers(look, value.args[0], y, (int(info.min), int(info.max)))


def _numbers(
    look: LookBack, expr: Expr, y: Quantization, limits: Clamp, is_activation: bool = False
) -> Expr | None:
    """`expr` quantised as `y` and limited, by an activation if `is_activation`."""
    core, clamp = _peel_clamps(look, expr, y, limits)
    is_activation |= not core.same_as(expr)
    leaf = look.leaf(core)
    if leaf is not None:
        return requantised(look, *leaf, y, clamp, is_activation)
    call, shape = look.value(core), shape_of(expr)
    for match in MATCHES:
        new = match(look, core, call, y, clamp, shape)
        if new is not None:
            return new
    found = table(look, expr, y, limits, shape)
    if found is None and look.is_move(call) and op_name(call) != "nn.pad":
        # Numbers are moved as well as the reals that they stand for.
        found = _numbers(look, call.args[0], y, clamp, is_activation)
        if found is not None:
            inner = found if is_var(found) else look.emit(found)
            return relax.Call(call.op, [inner, *call.args[1:]], call.attrs, call.ty_args)
    return found


def _peel_clamps(look: LookBack, expr: Expr, y: Quantization, limits: Clamp) -> tuple[Expr, Clamp]:
    """Activations in front of a quantize are limits of its numbers, because quantising is monotone."""
    info = np.iinfo(y.dtype)
    low, high = limits

    def number(real: float) -> int:
        if math.isinf(real):
            return int(info.max if real > 0 else info.min)
        scaled = np.float32(real) / np.float32(y.scale)
        if look.rounding == DOUBLE:
            scaled = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
        return int(np.clip(np.rint(scaled) + y.zero_point, info.min, info.max))

    while True:
        call = look.value(expr)
        name = op_name(call)
        if name == "nn.relu":
            bounds = (0.0, math.inf)
        elif name == "clip":
            bounds = (_number(call.args[1]), _number(call.args[2]))
        else:
            return expr, (low, high)
        low = min(max(low, number(bounds[0])), number(bounds[1]))
        high = max(min(high, number(bounds[1])), number(bounds[0]))
        expr = call.args[0]


def _number(expr: Expr) -> float:
    array = constant(expr)
    return float(array.reshape(())) if array is not None else float(expr.value)
