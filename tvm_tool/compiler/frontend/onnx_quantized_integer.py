"""Sums of products that stay integers, and inputs that are quantised by their own range.

ConvInteger and MatMulInteger lose their zero points here: they are subtracted before. Their operands may
then be integers of any width; the importer adds up in 32 bits.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...errors import ModelError
from .onnx_emit import Emitter
from .onnx_graph import attributes, elements, label
from .onnx_quantized_values import BYTES, check_element, check_scale, check_zero


def conv_integer(emit: Emitter) -> bool:
    """ConvInteger: padding means the zero point, so that it adds nothing."""
    if not (emit.input(2) or emit.input(3)):
        return False
    rank = len(emit.graph.shape(emit.input(1)))
    x = _centred(emit, 0, 2, None)
    w = _centred(emit, 1, 3, (-1, *[1] * (rank - 1)))
    emit("ConvInteger", x, w, output=emit.node.output[0], **attributes(emit.node))
    return True


def matmul_integer(emit: Emitter) -> bool:
    """MatMulInteger: the zero point of a may run along its rows, that of b along its columns."""
    if not (emit.input(2) or emit.input(3)):
        return False
    _product(emit, 2, 3, emit.node.output[0])
    return True


def matmul_to_float(emit: Emitter) -> bool:
    """MatMulIntegerToFloat: an exact product, then its scales and a real bias."""
    a_scale, b_scale = _scale(emit, 2, 1), _scale(emit, 3, emit.graph.shape(emit.input(1))[-1])
    _scaled(emit, _product(emit, 4, 5), emit("Mul", a_scale, b_scale), emit.input(6))
    return True


def dynamic_matmul(emit: Emitter) -> bool:
    """DynamicQuantizeMatMul: the same, its first factor quantised by its own range."""
    check_element(emit.graph, emit.node, emit.input(0), (TensorProto.FLOAT,))
    b_scale = _scale(emit, 2, emit.graph.shape(emit.input(1))[-1])
    numbers, scale, zero = _quantized_by_range(emit, emit.input(0), "", "", "")
    a = emit("Sub", emit("Cast", numbers, to=TensorProto.INT32), emit("Cast", zero, to=TensorProto.INT32))
    product = emit("MatMulInteger", a, _centred(emit, 1, 3, (1, -1)))
    _scaled(emit, product, emit("Mul", scale, b_scale), emit.input(4))
    return True


def dynamic_quantize(emit: Emitter) -> bool:
    """DynamicQuantizeLinear; what is zero everywhere gets the scale 1, as in onnxruntime."""
    outputs = [*emit.node.output, "", ""][:3]
    _quantized_by_range(emit, emit.input(0), *outputs)
    return True


def _scale(emit: Emitter, index: int, columns: int) -> str:
    """A scale, or one for each of `columns`."""
    name = emit.input(index)
    check_scale(emit.graph, emit.node, name)
    count = elements(emit.graph.shape(name))
    if count not in (1, columns):
        raise ModelError(
            f"its scale '{name}' has {count} elements",
            where=label(emit.node),
            expected="one" if columns == 1 else f"one, or {columns} by column",
        )
    return emit.reshape(name, () if count == 1 else (count,))


def _product(emit: Emitter, a_zero: int, b_zero: int, output: str = "") -> str:
    """The exact product of the first two inputs."""
    a, b = _centred(emit, 0, a_zero, (-1, 1)), _centred(emit, 1, b_zero, (1, -1))
    return emit("MatMulInteger", a, b, output=output)


def _scaled(emit: Emitter, product: str, scale: str, bias: str) -> None:
    """The output of the node: `product` times `scale`, and `bias` if there is one."""
    real = emit("Cast", product, to=TensorProto.FLOAT)
    output = emit.node.output[0]
    real = emit("Mul", real, scale, output="" if bias else output)
    if bias:
        emit("Add", real, bias, output=output)


def _centred(emit: Emitter, index: int, zero_index: int, along: tuple[int, ...] | None) -> str:
    """An input minus its zero point.

    Args:
        along: shape that lays a zero point of several elements along the right axis; None if it has one.
    """
    graph, name, zero = emit.graph, emit.input(index), emit.input(zero_index)
    check_element(graph, emit.node, name, BYTES)
    check_zero(graph, emit.node, zero, name)
    known, known_zero = graph.constants.get(name), graph.constants.get(zero)
    if not zero or (known_zero is not None and not known_zero.any()):
        return name
    shape = graph.shape(zero)
    if along is None and elements(shape) != 1:
        raise ModelError(
            f"its zero point '{zero}' has {elements(shape)} elements", where=label(emit.node), expected="one"
        )
    new_shape = () if elements(shape) == 1 else along if along is not None and len(shape) == 1 else shape
    if known is not None and known_zero is not None:
        centred = known.astype(np.int16) - known_zero.astype(np.int16).reshape(new_shape)
        is_small = not centred.size or (centred.min() >= -128 and centred.max() <= 127)
        return emit.constant(centred, np.int8 if is_small else np.int16)
    wide = [emit("Cast", part, to=TensorProto.INT32) for part in (name, emit.reshape(zero, new_shape))]
    return emit("Sub", *wide)


def _quantized_by_range(
    emit: Emitter, source: str, numbers: str, scale: str, zero: str
) -> tuple[str, str, str]:
    """Numbers, scale and zero point (uint8) of real values, 0 being one of them; names as given, or new."""
    nothing, most = emit.constant(0, np.float32), emit.constant(255, np.float32)
    highest = emit("Max", emit("ReduceMax", source, keepdims=0), nothing)
    lowest = emit("Min", emit("ReduceMin", source, keepdims=0), nothing)
    step = emit("Div", emit("Sub", highest, lowest), most)
    flat = emit("Equal", step, nothing)
    scale = emit("Where", flat, emit.constant(1, np.float32), step, output=scale)
    inside = emit("Clip", emit("Sub", nothing, emit("Div", lowest, scale)), nothing, most)
    zero = emit("Cast", emit("Round", inside), output=zero, to=TensorProto.UINT8)
    return emit("QuantizeLinear", source, scale, zero, output=numbers), scale, zero
