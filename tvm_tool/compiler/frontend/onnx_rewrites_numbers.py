"""Element by element: powers, remainders, shifts and what is like them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import TensorProto

from .onnx_emit import Emitter
from .onnx_graph import attributes


def _pow(emit: Emitter) -> bool:
    """TVM raises floats of one type only."""
    base, exponent = emit.node.input
    kind, other = emit.graph.types[base].elem, emit.graph.types[exponent].elem
    output = emit.node.output[0]
    if emit.dtype(base).kind == "f":
        if kind == other:
            return False
        emit("Pow", base, emit("Cast", exponent, to=kind), output=output)
        return True
    wide = [emit("Cast", name, to=TensorProto.DOUBLE) for name in (base, exponent)]
    emit("Cast", emit("Pow", *wide), output=output, to=kind)
    return True


def _bit_shift(emit: Emitter) -> bool:
    """In C, a shift by the width or more, or by less than nothing, means nothing."""
    value, shift = emit.node.input
    width = 8 * emit.dtype(value).itemsize
    known = emit.value(1)
    if known is not None and ((known >= 0) & (known < width)).all():
        return False
    inside = emit("Less", shift, emit.like(shift, width))
    if emit.dtype(shift).kind == "i":
        inside = emit("And", inside, emit("GreaterOrEqual", shift, emit.like(shift, 0)))
    direction = attributes(emit.node)["direction"]
    safe = emit("Where", inside, shift, emit.like(shift, 0))
    shifted = emit("BitShift", value, safe, direction=direction)
    rest = emit.like(value, 0)
    if direction == "RIGHT" and emit.dtype(value).kind == "i":
        negative = emit("Less", value, emit.like(value, 0))
        rest = emit("Where", negative, emit.like(value, -1), emit.like(value, 0))
    emit("Where", inside, shifted, rest, output=emit.node.output[0])
    return True


def _is_inf(emit: Emitter) -> bool:
    """TVM looks for both infinities."""
    values = attributes(emit.node)
    negative, positive = values.get("detect_negative", 1), values.get("detect_positive", 1)
    if negative == positive == 1:
        return False
    source = emit.node.input[0]
    infinite = emit("IsInf", source)
    comparison = "Greater" if positive else "Less"
    side = emit(comparison, source, emit.like(source, 0))
    if not (positive or negative):
        side = emit("And", side, emit("Greater", source, emit.like(source, 0)))
    emit("And", infinite, side, output=emit.node.output[0])
    return True


def _mod(emit: Emitter) -> bool:
    """The remainder with the sign of the divisor; TVM computes it by way of a quotient, which rounds."""
    value, divisor = emit.node.input
    if attributes(emit.node).get("fmod", 0) or emit.dtype(value).kind != "f":
        return False
    zero = emit.like(value, 0)
    rest = emit("Mod", value, divisor, fmod=1)
    negative = [emit("Less", name, zero) for name in (rest, divisor)]
    differs = emit("And", emit("Xor", *negative), emit("Not", emit("Equal", rest, zero)))
    emit("Where", differs, emit("Add", rest, divisor), rest, output=emit.node.output[0])
    return True


def _reduce_bool(emit: Emitter) -> bool:
    """The largest of booleans is the largest of bytes."""
    node = emit.node
    if emit.dtype(node.input[0]).kind != "b":
        return False
    bytes_ = emit("Cast", node.input[0], to=TensorProto.UINT8)
    result = emit(node.op_type, bytes_, *node.input[1:], **attributes(node))
    emit("Cast", result, output=node.output[0], to=TensorProto.BOOL)
    return True


def _lp_normalization(emit: Emitter) -> bool:
    node = emit.node
    values = attributes(node)
    source = node.input[0]
    axis = emit.constant([values.get("axis", -1)])
    magnitude = emit("Abs", source)
    if values.get("p", 2) == 1:
        norm = emit("ReduceSum", magnitude, axis, keepdims=1)
    else:
        norm = emit("Sqrt", emit("ReduceSum", emit("Mul", source, source), axis, keepdims=1))
    zero = emit("Equal", norm, emit.like(source, 0))
    emit("Div", source, emit("Where", zero, emit.like(source, 1), norm), output=node.output[0])
    return True


def _det(emit: Emitter) -> bool:
    """Determinants of up to 3 rows, by the first row."""
    source = emit.node.input[0]
    shape = emit.graph.shape(source)
    rank, size = len(shape), shape[-1]
    if size > 3:
        return False

    def cell(row: int, column: int) -> str:
        part = emit.cut(emit.cut(source, rank - 2, row, row + 1), rank - 1, column, column + 1)
        return emit.reshape(part, shape[:-2])

    def minor(row: int, columns: tuple[int, ...]) -> str:
        if len(columns) == 1:
            return cell(row, columns[0])
        total = ""
        for index, column in enumerate(columns):
            rest = (*columns[:index], *columns[index + 1 :])
            term = emit("Mul", cell(row, column), minor(row + 1, rest))
            total = emit("Sub" if index % 2 else "Add", total, term) if total else term
        return total

    emit("Identity", minor(0, tuple(range(size))), output=emit.node.output[0])
    return True


def _cast_like(emit: Emitter) -> bool:
    """Only the type of the second input matters."""
    source, like = emit.node.input
    emit("Cast", source, output=emit.node.output[0], to=emit.graph.types[like].elem)
    return True


def _eye_like(emit: Emitter) -> bool:
    """Shapes are known, so that it is a constant."""
    values = attributes(emit.node)
    (source,), (target,) = emit.node.input, emit.node.output
    rows, columns = emit.graph.shape(source)
    eye = np.eye(rows, columns, values.get("k", 0))
    emit("Identity", emit.constant(eye, emit.dtype(target)), output=target)
    return True


REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType(
    {
        "BitShift": _bit_shift,
        "CastLike": _cast_like,
        "Det": _det,
        "EyeLike": _eye_like,
        "IsInf": _is_inf,
        "LpNormalization": _lp_normalization,
        "Mod": _mod,
        "Pow": _pow,
        "ReduceMax": _reduce_bool,
        "ReduceMin": _reduce_bool,
    }
)
