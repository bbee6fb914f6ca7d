"""Quantised values: their parameters, checked, and the way to real values and back.

The normal form of a quantised operator is DequantizeLinear, the operator on floats, QuantizeLinear. All
that is needed to write it stands here; `onnx_quantized` knows the operators.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, TensorProto

from ...errors import ModelError, UnsupportedError
from .onnx_emit import Emitter
from .onnx_graph import Array, Graph, attributes, elements, label

BYTES = (TensorProto.INT8, TensorProto.UINT8)
"""Element types that integer layers compute with."""

WORDS = (TensorProto.INT16, TensorProto.UINT16)
SCALES = (TensorProto.FLOAT, TensorProto.FLOAT16)


@dataclass(frozen=True)
class Quantized:
    """A quantised value.

    Attributes:
        data: name of its numbers.
        scale: name of its scale, a scalar or one number for each index of `axis`.
        zero: name of its zero point, as large as the scale; empty if it is 0.
        axis: the axis that the parameters run along; None if there is one scale for all.
    """

    data: str
    scale: str
    zero: str
    axis: int | None = None


def operand(emit: Emitter, data: int, scale: int, zero: int, axis: int | None = None) -> Quantized:
    """Three inputs of the emitter's node, by index, as a quantised value.

    Args:
        axis: the axis along which its parameters may run; None if only one scale makes sense.

    Raises:
        ModelError: the parameters do not fit the value.
        UnsupportedError: they are numbers of a kind that cannot be computed with.
    """
    return quantized_value(emit, emit.input(data), emit.input(scale), emit.input(zero), axis)


def quantized_value(emit: Emitter, data: str, scale: str, zero: str, axis: int | None = None) -> Quantized:
    """As `operand`, of three values by name."""
    graph, node = emit.graph, emit.node
    check_element(graph, node, data, BYTES)
    check_scale(graph, node, scale)
    check_zero(graph, node, zero, data)
    count = elements(graph.shape(scale))
    length = 1 if axis is None else graph.shape(data)[axis]
    if count > 1 and len(graph.shape(scale)) > 1:
        raise UnsupportedError(
            f"its scale '{scale}' is {list(graph.shape(scale))}",
            where=label(node),
            expected="one scale, or one for each index of an axis",
        )
    if count not in (1, length):
        raise ModelError(
            f"its scale '{scale}' has {count} elements, '{data}' is {list(graph.shape(data))}",
            where=label(node),
            expected="one scale" if axis is None else f"one scale, or {length} along axis {axis}",
        )
    along = axis if count > 1 else None
    return Quantized(data, _flat(emit, _as_float(emit, scale), count), _zero(emit, zero, count), along)


def result(emit: Emitter, scale: int, zero: int, like: int | None = None) -> Quantized:
    """The output of the emitter's node as a quantised value, its parameters being inputs by index.

    Args:
        like: the input whose element type it has where its zero point is left out; uint8 if None.
    """
    graph, node = emit.graph, emit.node
    name, zero_name = emit.input(scale), emit.input(zero)
    check_scale(graph, node, name)
    if zero_name:
        check_element(graph, node, zero_name, BYTES)
    for parameter in filter(None, (name, zero_name)):
        if elements(graph.shape(parameter)) != 1:
            raise ModelError(
                f"'{parameter}' is {list(graph.shape(parameter))}",
                where=label(node),
                expected="one scale and one zero point for the output",
            )
    if not zero_name and like is not None:
        zero_name = emit.like(emit.input(like), 0)
    return Quantized(node.output[0], _flat(emit, _as_float(emit, name), 1), _zero(emit, zero_name, 1))


def dequantize(emit: Emitter, value: Quantized) -> str:
    """Name of the real values."""
    inputs = [value.data, value.scale, value.zero] if value.zero else [value.data, value.scale]
    if value.axis is None:
        return emit("DequantizeLinear", *inputs)
    return emit("DequantizeLinear", *inputs, axis=value.axis)


def quantize(emit: Emitter, real: str, value: Quantized, output: str = "") -> str:
    """Name of the numbers that stand for `real` with the parameters of `value`."""
    inputs = [real, value.scale, value.zero] if value.zero else [real, value.scale]
    return emit("QuantizeLinear", *inputs, output=output)


def requantize(emit: Emitter, value: Quantized, as_: Quantized) -> str:
    """Name of the numbers of `value` with other parameters. Those of a constant are computed here."""
    graph = emit.graph
    parts = [graph.constants.get(n) for n in (value.data, value.scale, as_.scale)]
    zeros = [graph.constants.get(q.zero) if q.zero else np.array(0, np.uint8) for q in (value, as_)]
    data, scale, new_scale = parts
    zero, new_zero = zeros
    if data is None or scale is None or new_scale is None or zero is None or new_zero is None:
        return quantize(emit, dequantize(emit, value), as_)
    real = (data.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale
    info = np.iinfo(new_zero.dtype)
    numbers = np.rint(real / new_scale) + new_zero.astype(np.float32)
    return emit.constant(np.clip(numbers, info.min, info.max), new_zero.dtype)


# ---------------------------------------------------------------- what parameters must be


def check_parameters(graph: Graph, node: NodeProto) -> None:
    """Check the parameters of a QuantizeLinear or DequantizeLinear.

    Raises:
        ModelError: they do not fit the value.
        UnsupportedError: the numbers are no integers of 8 or 16 bits.
    """
    values = attributes(node)
    data, scale = node.input[0], node.input[1]
    zero = node.input[2] if len(node.input) > 2 else ""
    check_scale(graph, node, scale)
    if node.op_type == "DequantizeLinear":
        check_element(graph, node, data, (*BYTES, *WORDS, TensorProto.INT32))
        check_zero(graph, node, zero, data)
    elif zero:
        check_element(graph, node, zero, (*BYTES, *WORDS))
    shape = graph.shape(data)
    for name in filter(None, (scale, zero)):
        size = graph.shape(name)
        axis = values.get("axis", 1)
        axis += len(shape) if axis < 0 else 0
        length = shape[axis if len(shape) > 1 else 0] if shape and axis < max(len(shape), 2) else 1
        if elements(size) not in (1, length) or len(size) > 1:
            raise ModelError(
                f"'{name}' is {list(size)}, the value is {list(shape)}",
                where=label(node),
                expected=f"one number, or {length} along axis {axis}",
            )
    if zero and elements(graph.shape(zero)) != elements(graph.shape(scale)):
        raise ModelError(
            f"scale {list(graph.shape(scale))} and zero point {list(graph.shape(zero))} differ in size",
            where=label(node),
        )


def check_scale(graph: Graph, node: NodeProto, name: str) -> None:
    """A scale is a positive, finite float."""
    if not name:
        raise ModelError("a scale is missing", where=label(node), remedy="quantise the network again")
    if graph.types[name].elem not in SCALES:
        raise UnsupportedError(
            f"its scale '{name}' is {_word(graph, name)}", where=label(node), expected="float32"
        )
    values = graph.constants.get(name)
    if values is not None and not (np.isfinite(values) & (values > 0)).all():
        bad = np.ravel(values)[~np.ravel(np.isfinite(values) & (values > 0))][0]
        raise ModelError(
            f"its scale '{name}' is {bad}",
            where=label(node),
            expected="positive finite numbers",
            remedy="quantise the network again, with calibration data that reaches this value",
        )


def check_zero(graph: Graph, node: NodeProto, name: str, data: str) -> None:
    """A zero point is of the type of its value; that of int32 is 0."""
    if not name:
        return
    if graph.types[name].elem != graph.types[data].elem:
        raise ModelError(
            f"its zero point '{name}' is {_word(graph, name)}, '{data}' is {_word(graph, data)}",
            where=label(node),
            expected="a zero point of the type of the value",
        )
    values = graph.constants.get(name)
    if graph.types[name].elem == TensorProto.INT32 and values is not None and values.any():
        raise ModelError(f"the zero point '{name}' of int32 is not 0", where=label(node))


def check_element(graph: Graph, node: NodeProto, name: str, kinds: Collection[int]) -> None:
    """Refuse a value that is missing or none of `kinds`."""
    if not name:
        raise ModelError("an input is missing", where=label(node))
    if graph.types[name].elem not in kinds:
        raise UnsupportedError(
            f"'{name}' is {_word(graph, name)}",
            where=label(node),
            expected=", ".join(TensorProto.DataType.Name(kind).lower() for kind in kinds),
            remedy="quantise activations and weights to 8 bits",
        )


def _word(graph: Graph, name: str) -> str:
    return str(TensorProto.DataType.Name(graph.types[name].elem)).lower()


# ---------------------------------------------------------------- their normal form


def _as_float(emit: Emitter, name: str) -> str:
    """A scale as float32."""
    known = emit.graph.constants.get(name)
    if known is not None:
        return name if known.dtype == np.float32 else emit.constant(known, np.float32)
    if emit.graph.types[name].elem == TensorProto.FLOAT:
        return name
    return emit("Cast", name, to=TensorProto.FLOAT)


def _flat(emit: Emitter, name: str, count: int) -> str:
    """A parameter as a scalar, or as a vector."""
    shape: tuple[int, ...] = () if count == 1 else (count,)
    known: Array | None = emit.graph.constants.get(name)
    if known is None:
        return emit.reshape(name, shape)
    return name if known.shape == shape else emit.constant(known.reshape(shape), known.dtype)


def _zero(emit: Emitter, name: str, count: int) -> str:
    """A zero point with `count` elements; it may have had one."""
    if not name:
        return ""
    size = elements(emit.graph.shape(name))
    if size == count:
        return _flat(emit, name, count)
    known = emit.graph.constants.get(name)
    if size != 1 or known is None:
        raise ModelError(
            f"its zero point '{name}' has {size} elements, its scale {count}", where=label(emit.node)
        )
    return emit.constant(np.broadcast_to(known.reshape(-1), (count,)), known.dtype)
