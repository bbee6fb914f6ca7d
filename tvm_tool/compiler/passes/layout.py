"""Move transposes towards the outputs until they meet and cancel.

Kernels work on NHWC, ONNX on NCHW: after matching, a transpose stands on each side of every layer.
A value that is ``permute_dims(source, axes)`` is *pending*: operators that do not care about the
order of axes are applied to the source instead, and the transpose follows behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import tvm
from tvm import relax

from ..layers import Dense
from ..quantized_layers import QBinary, QDense, QTable
from ..relax_graph import (
    Builder,
    Expr,
    Var,
    constant,
    ints,
    is_var,
    op_name,
    rewrite,
    shape_of,
)
from .match_layers import LayerTable

UNARY = frozenset(
    "abs acos acosh asin asinh astype atan atanh ceil clip cos cosh erf exp floor isfinite isinf isnan log "
    "logical_not negative nn.gelu nn.gelu_tanh nn.leakyrelu nn.relu nn.relu6 nn.silu nn.softplus round rsqrt "
    "sigmoid sign sin sinh sqrt square tan tanh trunc".split()
)
BINARY = frozenset(
    "add subtract multiply divide floor_divide mod floor_mod power maximum minimum equal not_equal less "
    "less_equal greater greater_equal logical_and logical_or logical_xor".split()
)
REDUCTIONS = frozenset("mean sum max min prod".split())

Axes = tuple[int, ...]


@dataclass(frozen=True)
class _Pending:
    """A value that equals ``permute_dims(source, axes)``."""

    source: Var
    axes: Axes


@dataclass(frozen=True)
class _Flat:
    """A reshape of a pending value whose rows are ``shape[1:]`` in the order of `axes`."""

    pending: _Pending
    shape: tuple[int, ...]


def sink_transposes(module: tvm.IRModule, table: LayerTable) -> tvm.IRModule:
    """Cancel what transposes can be cancelled; dense weights absorb those in front of them."""
    return rewrite(module, _Sink(table).visit)


def _inverse(axes: Axes) -> Axes:
    return tuple(int(i) for i in np.argsort(axes))


def _moves_nothing(shape: tuple[int, ...], axes: Axes) -> bool:
    """Whether a transpose of `shape` leaves every byte where it is."""
    kept = [a for a in axes if shape[a] != 1]
    return kept == sorted(kept)


class _Sink:
    def __init__(self, table: LayerTable) -> None:
        self.table = table
        self.pending: dict[Var, _Pending] = {}
        self.flat: dict[Var, _Flat] = {}

    def visit(self, builder: Builder, var: Var, value: Expr) -> Expr | None:
        name = op_name(value)
        self.name = var.name
        if name == "permute_dims":
            axes = value.attrs.axes
            rank = len(shape_of(value))
            return self._permute(builder, value.args[0], ints(axes) if axes else tuple(range(rank))[::-1])
        if name == "reshape":
            return self._reshape(builder, value)
        if name in UNARY:
            return self._unary(builder, value)
        if name in BINARY:
            return self._binary(builder, value)
        if name == "concat":
            return self._concat(builder, value)
        if name in REDUCTIONS:
            return self._reduce(builder, value, name)
        index = self.table.index_of(value)
        if index is not None:
            return self._layer(builder, value, index)
        return None

    def _of(self, expr: Expr) -> _Pending | None:
        return self.pending.get(expr) if is_var(expr) else None

    def _emit(self, builder: Builder, expr: Expr) -> Var:
        return builder.emit(expr, name_hint=self.name)

    def _permute(self, builder: Builder, data: Expr, axes: Axes) -> Var:
        """Emit a transpose, or what it comes down to together with the one in front of it."""
        before = self._of(data)
        if before is not None:
            data, axes = before.source, tuple(before.axes[a] for a in axes)
        shape = shape_of(data)
        if list(axes) == sorted(axes):
            return data
        if _moves_nothing(shape, axes):
            return self._emit(builder, relax.op.reshape(data, [shape[a] for a in axes]))
        result = self._emit(builder, relax.op.permute_dims(data, list(axes)))
        self.pending[result] = _Pending(data, axes)
        return result

    def _reshape(self, builder: Builder, value: Expr) -> Expr | None:
        data = value.args[0]
        before = self._of(data)
        shape = shape_of(value)
        if before is None or len(shape) < 2 or before.axes[0] != 0 or shape[0] != shape_of(data)[0]:
            return None
        result = self._emit(builder, value)
        self.flat[result] = _Flat(before, shape_of(data))
        return result

    def _unary(self, builder: Builder, value: Expr) -> Expr | None:
        before = self._of(value.args[0])
        if before is None:
            return None
        moved = relax.Call(value.op, [before.source, *value.args[1:]], value.attrs, value.ty_args)
        return self._permute(builder, self._emit(builder, moved), before.axes)

    def _binary(self, builder: Builder, value: Expr) -> Expr | None:
        found = [p for p in map(self._of, value.args) if p is not None]
        if not found:
            return None
        axes = found[0].axes
        operands = [self._operand(builder, arg, axes) for arg in value.args]
        if any(o is None for o in operands):
            return None
        moved = relax.Call(value.op, operands, value.attrs, value.ty_args)
        result = self._emit(builder, moved)
        if len(shape_of(result)) != len(axes):
            return None
        return self._permute(builder, result, axes)

    def _operand(self, builder: Builder, arg: Expr, axes: Axes) -> Expr | None:
        """`arg` as it stands in front of a transpose by `axes`, if that costs nothing."""
        before = self._of(arg)
        if before is not None and before.axes == axes:
            return before.source
        shape = shape_of(arg)
        if all(d == 1 for d in shape) and len(shape) <= len(axes):
            return arg
        array = constant(arg)
        if array is not None and array.ndim <= len(axes):
            full = array.reshape((1,) * (len(axes) - array.ndim) + array.shape)
            return relax.const(np.ascontiguousarray(full.transpose(_inverse(axes))))
        if len(shape) != len(axes):
            return None
        source_shape = shape_of(before.source) if before else shape
        whole = tuple(before.axes[a] for a in _inverse(axes)) if before else _inverse(axes)
        if _moves_nothing(source_shape, whole):
            return self._permute(builder, arg, _inverse(axes))
        return None

    def _concat(self, builder: Builder, value: Expr) -> Expr | None:
        parts = list(value.args[0].fields) if isinstance(value.args[0], relax.Tuple) else []
        found = [p for p in map(self._of, parts) if p is not None]
        if not found:
            return None
        axes = found[0].axes
        operands = [self._operand(builder, part, axes) for part in parts]
        if any(o is None for o in operands):
            return None
        axis = axes[int(value.attrs.axis) % len(axes)]
        return self._permute(builder, self._emit(builder, relax.op.concat(operands, axis)), axes)

    def _reduce(self, builder: Builder, value: Expr, name: str) -> Expr | None:
        before = self._of(value.args[0])
        if before is None or value.attrs.axis is None:
            return None
        rank = len(before.axes)
        over = [before.axes[a % rank] for a in ints(value.attrs.axis)]
        keep = bool(value.attrs.keepdims)
        moved = getattr(relax.op, name)(before.source, axis=sorted(over), keepdims=keep)
        result = self._emit(builder, moved)
        if keep:
            return self._permute(builder, result, before.axes)
        left = [a for a in before.axes if a not in over]
        rank_of = {a: i for i, a in enumerate(sorted(left))}
        return self._permute(builder, result, tuple(rank_of[a] for a in left)) if left else result

    def _layer(self, builder: Builder, value: Expr, index: int) -> Expr | None:
        layer = self.table.layers[index]
        inputs = list(value.args[1].fields)
        if isinstance(layer, (Dense, QDense)):
            return self._dense(value, index, layer, inputs[0])
        if isinstance(layer, (QTable, QBinary)):
            return self._elementwise(builder, value, index, layer, inputs)
        return None

    def _elementwise(
        self, builder: Builder, value: Expr, index: int, layer: QTable | QBinary, inputs: list[Expr]
    ) -> Expr | None:
        found = [self._of(data) for data in inputs]
        first = found[0]
        if first is None or any(p is None or p.axes != first.axes for p in found):
            return None
        if isinstance(layer, QBinary):
            shape = shape_of(first.source)
            if layer.constant is not None:
                if layer.a_shape != layer.y_shape or len(layer.b_shape) != len(first.axes):
                    return None
                fixed = layer.constant.reshape(layer.b_shape).transpose(_inverse(first.axes))
                layer = replace(layer, constant=np.ascontiguousarray(fixed), b_shape=fixed.shape)
            elif layer.a_shape == layer.b_shape:
                layer = replace(layer, b_shape=shape)
            else:
                return None
            self.table.layers[index] = replace(layer, a_shape=shape, y_shape=shape)
        sources = [p.source for p in found if p is not None]
        out = relax.TensorType(shape_of(first.source), str(value.ty.dtype))
        moved = relax.op.call_dps_packed(str(value.args[0].global_symbol), sources, out_ty=out)
        return self._permute(builder, self._emit(builder, moved), first.axes)

    def _dense(self, value: Expr, index: int, layer: Dense | QDense, data: Expr) -> Expr | None:
        flat = self.flat.get(data) if is_var(data) else None
        if flat is None or len(shape_of(data)) != 2:
            return None
        # The rows are a transposed picture laid flat: permute the weights once instead.
        inner = flat.shape[1:]
        axes = [a - 1 for a in _inverse(flat.pending.axes)[1:]]
        weights = layer.weights.reshape(-1, *inner).transpose(0, *(a + 1 for a in axes))
        self.table.layers[index] = replace(
            layer, weights=np.ascontiguousarray(weights.reshape(layer.weights.shape))
        )
        source = relax.op.reshape(flat.pending.source, shape_of(data))
        return relax.Call(value.op, [value.args[0], relax.Tuple([source])], value.attrs, value.ty_args)
