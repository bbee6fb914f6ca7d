"""What a pass over quantised graphs looks at: the values behind the one that it is asked about."""

from __future__ import annotations

from tvm import relax

from ..quantized_layers import QLayer, Quantization, rounding_of
from ..relax_graph import Builder, Expr, Var, constant, is_var, op_name
from .match_layers import TO_NCHW, TO_NHWC, LayerTable
from .quantized_constants import MOVES, QuantizedConstant, quantized_constant, scalar_quantization

Leaf = tuple[Expr, Quantization]
Clamp = tuple[int, int]
Shape = tuple[int, ...]


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
        call = self.value(expr)
        name = op_name(call)
        if name == "dequantize":
            q = scalar_quantization(call)
            fixed = constant(self.value(call.args[0])) is not None
            return None if q is None or fixed else (call.args[0], q)
        if name in MOVES:
            inner = self.leaf(call.args[0])
            if inner is None:
                return None
            data, q = inner
            return self.emit(relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args)), q
        return None

    def constant(self, expr: Expr) -> QuantizedConstant | None:
        """The quantised constant behind `expr`."""
        return quantized_constant(expr, self.value)

    def call(self, layer: QLayer, data: list[Expr], shape: Shape) -> Expr:
        """A call of `layer`."""
        return self.table.call(layer, data, shape, self.name)

    def nhwc(self, layer: QLayer, data: Expr, shape: Shape) -> Expr:
        """A call of `layer`, which works on NHWC, for NCHW around it."""
        moved = self.emit(relax.op.permute_dims(data, TO_NHWC))
        return relax.op.permute_dims(self.emit(self.call(layer, [moved], shape)), TO_NCHW)
