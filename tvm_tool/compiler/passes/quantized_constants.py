"""Quantised values in Relax: what stands between a dequantize and its uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..layers import Array
from ..quantized_layers import Quantization
from ..relax_graph import Expr, constant, ints, op_name, shape_of

Lookup = Callable[[Expr], Expr]
MOVES = frozenset({"reshape", "permute_dims", "squeeze", "expand_dims", "flatten"})
"""Operators that move numbers without looking at them."""
SELECTIONS = frozenset({"strided_slice", "take", "broadcast_to", "tile", "repeat", "flip", "gather_elements"})
"""Operators that repeat numbers or leave some out."""


@dataclass(frozen=True, eq=False)
class QuantizedConstant:
    """A constant in numbers; `scales` and `zeros` are as large as `values`."""

    values: Array
    scales: Array
    zeros: Array

    @property
    def real(self) -> Array:
        """The real values, float64."""
        return np.asarray((self.values.astype(np.int64) - self.zeros) * self.scales)

    def moved(self, move: Callable[[Array], Array]) -> QuantizedConstant:
        """The same constant with its numbers moved."""
        return QuantizedConstant(move(self.values), move(self.scales), move(self.zeros))


def scalar_quantization(call: Expr) -> Quantization | None:
    """Parameters of a quantize or dequantize that has one scale for the whole tensor."""
    scale, zero = constant(call.args[1]), constant(call.args[2])
    if scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    number = call.args[0] if op_name(call) == "dequantize" else call
    dtype = str(number.ty.dtype)
    if dtype not in ("int8", "uint8"):
        return None
    return Quantization(dtype, float(scale.reshape(())), int(zero.reshape(())))


def quantized_constant(expr: Expr, lookup: Lookup) -> QuantizedConstant | None:
    """The constant behind `expr`, a dequantize of a constant with moves after it."""
    call = lookup(expr)
    name = op_name(call)
    if name == "dequantize":
        values, scale, zero = (constant(lookup(a)) for a in call.args[:3])
        if values is None or scale is None or zero is None:
            return None
        axis = int(call.attrs.axis)
        return QuantizedConstant(
            values,
            _spread(scale, values, axis).astype(np.float64),
            _spread(zero, values, axis).astype(np.int64),
        )
    if name in MOVES:
        inner = quantized_constant(call.args[0], lookup)
        if inner is None:
            return None
        if name == "permute_dims":
            axes: Any = call.attrs.axes
            return inner.moved(lambda a: a.transpose(ints(axes) if axes else None))
        shape = shape_of(call)
        return inner.moved(lambda a: a.reshape(shape))
    return None


def _spread(parameter: Array, values: Array, axis: int) -> Array:
    """`parameter` as large as `values`: one number for all, or one for each index of `axis`."""
    if parameter.size == 1:
        return np.broadcast_to(parameter.reshape(()), values.shape)
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.broadcast_to(parameter.reshape(shape), values.shape)


def along(array: Array, axis: int) -> Array | None:
    """`array` as a vector along `axis`, if it is the same along every other axis."""
    vector = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    return vector[:, 0] if (vector == vector[:, :1]).all() else None
