"""What a pass over quantised graphs looks at: the values behind the one that it is asked about."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ..quantized_layers import QLayer, Quantization, rounding_of
from ..relax_graph import Builder, Expr, Var, constant, ints, is_var, op_name, shape_of
from .even_halves import with_even_halves
from .match_layers import TO_NCHW, TO_NHWC, LayerTable
from .quantized_constants import (
    MOVES,
    SELECTIONS,
    QuantizedConstant,
    quantized_constant,
    scalar_quantization,
)

Leaf = tuple[Expr, Quantization]
Clamp = tuple[int, int]
Shape = tuple[int, ...]


def representation(real: float, q: Quantization) -> int | None:
    """The number that stands for exactly `real`, None if there is none."""
    number = round(real / q.scale) + q.zero_point
    info = np.iinfo(q.dtype)
    is_exact = np.float32(number - q.zero_point) * np.float32(q.scale) == np.float32(real)
    return number if is_exact and info.min <= number <= info.max else None


class LookBack:
    """The bindings emitted so far.

    Attributes:
        builder: the builder of the function that is rewritten.
        name: name of the variable that is looked at: what is emitted for it is called the same.
        profile: the rounding profile of `quantized_layers`.
        rounding: how layers other than dense ones round under it.
    """

    builder: Builder
    name: str

    def __init__(self, table: LayerTable, profile: str) -> None:
        self.table, self.profile = table, profile
        self.rounding = rounding_of(profile)
        self._values: dict[Var, Expr] = {}
        self._leaves: dict[Var, Leaf | None] = {}

    def emit(self, expr: Expr) -> Var:
        """Bind `expr` to a variable that can be looked up later."""
        var = self.builder.emit(expr, name_hint=self.name)
        self._values[var] = expr
        return var

    def value(self, expr: Expr) -> Expr:
        """What the variable `expr` is bound to; anything else is itself."""
        return self._values.get(expr, expr) if is_var(expr) else expr

    def is_given(self, expr: Expr) -> bool:
        """Whether `expr` is an input of the model or a constant, perhaps moved."""
        call = self.value(expr)
        if op_name(call) in MOVES:
            return self.is_given(call.args[0])
        return is_var(call) or constant(call) is not None

    def leaf(self, expr: Expr) -> Leaf | None:
        """The integers behind a dequantised value; moves between are made on the integers."""
        if not is_var(expr):
            return self._leaf(expr)
        if expr not in self._leaves:
            self._leaves[expr] = self._leaf(expr)
        return self._leaves[expr]

    def _leaf(self, expr: Expr) -> Leaf | None:
        call = self.value(expr)
        if op_name(call) == "dequantize":
            q = scalar_quantization(call)
            fixed = constant(self.value(call.args[0])) is not None
            return None if q is None or fixed else (call.args[0], q)
        if isinstance(call, relax.TupleGetItem):
            return self._part(self.value(call.tuple_value), int(call.index))
        inner = self.leaf(call.args[0]) if self.is_move(call) else None
        return None if inner is None else self._moved(inner, call)

    def is_move(self, call: Expr) -> bool:
        """Whether `call` takes its numbers from its first operand as they are."""
        name = op_name(call)
        if name == "image.resize2d":
            return str(call.attrs.method) == "nearest_neighbor"
        return name in MOVES or name in SELECTIONS or name == "nn.pad"

    def _part(self, split: Expr, index: int) -> Leaf | None:
        """One of the parts into which a dequantised value is split."""
        inner = self.leaf(split.args[0]) if op_name(split) == "split" else None
        if inner is None:
            return None
        axis = int(split.attrs.axis) % len(shape_of(split.args[0]))
        sizes = [int(part.shape[axis]) for part in split.ty.fields]
        begin = sum(sizes[:index])
        part = relax.op.strided_slice(inner[0], [axis], [begin], [begin + sizes[index]])
        return self.emit(part), inner[1]

    def _moved(self, inner: Leaf, call: Expr) -> Leaf | None:
        data, q = inner
        attrs = call.attrs
        if op_name(call) == "nn.pad":
            number = representation(float(attrs.pad_value), q)
            if number is None or str(attrs.pad_mode) != "constant":
                return None
            return self.emit(relax.op.nn.pad(data, ints(attrs.pad_width), "constant", number)), q
        return self.emit(relax.Call(call.op, [data, *call.args[1:]], attrs, call.ty_args)), q

    def operand(self, expr: Expr) -> Leaf | None:
        """As `leaf`, but the integers may also be a constant with one scale."""
        fixed = self.constant(expr)
        if fixed is None:
            return self.leaf(expr)
        dtype, parameters = str(fixed.values.dtype), (fixed.scales, fixed.zeros)
        if dtype not in ("int8", "uint8") or any((p != p.flat[0]).any() for p in parameters):
            return None
        q = Quantization(dtype, float(fixed.scales.flat[0]), int(fixed.zeros.flat[0]))
        return relax.const(np.ascontiguousarray(fixed.values)), q

    def reshape(self, data: Expr, shape: Shape) -> Expr:
        """`data` in another shape; the reshape before it is undone if that is all it takes."""
        if shape_of(data) == shape:
            return data
        call = self.value(data)
        if op_name(call) == "reshape" and shape_of(call.args[0]) == shape:
            return call.args[0]
        return self.emit(relax.op.reshape(data, shape))

    def constant(self, expr: Expr) -> QuantizedConstant | None:
        """The quantised constant behind `expr`."""
        return quantized_constant(expr, self.value)

    def call(self, layer: QLayer, data: list[Expr], shape: Shape) -> Expr:
        """A call of `layer`."""
        if self.profile == "onnx":
            layer = with_even_halves(layer)
        return self.table.call(layer, data, shape, self.name)

    def nhwc(self, layer: QLayer, data: Expr, shape: Shape) -> Expr:
        """A call of `layer`, which works on NHWC, for NCHW around it."""
        moved = self.emit(relax.op.permute_dims(data, TO_NHWC))
        return relax.op.permute_dims(self.emit(self.call(layer, [moved], shape)), TO_NCHW)
