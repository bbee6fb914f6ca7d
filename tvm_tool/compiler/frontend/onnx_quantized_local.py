"""Quantised operators that look at one place at a time, or along one axis."""

from __future__ import annotations

import math
from dataclasses import replace

from onnx import TensorProto

from ...errors import ModelError
from .onnx_emit import Emitter
from .onnx_graph import attributes, label
from .onnx_quantized_values import (
    check_element,
    dequantize,
    operand,
    quantize,
    quantized_value,
    requantize,
    result,
)
from .onnx_quantized_windows import finish


def add(emit: Emitter) -> bool:
    """QLinearAdd."""
    return _binary(emit, "Add")


def mul(emit: Emitter) -> bool:
    """QLinearMul."""
    return _binary(emit, "Mul")


def _binary(emit: Emitter, operator: str) -> bool:
    a, b, y = operand(emit, 0, 1, 2), operand(emit, 3, 4, 5), result(emit, 6, 7, like=0)
    finish(emit, emit(operator, dequantize(emit, a), dequantize(emit, b)), y)
    return True


def sigmoid(emit: Emitter) -> bool:
    """QLinearSigmoid."""
    x, y = operand(emit, 0, 1, 2), result(emit, 3, 4, like=0)
    finish(emit, emit("Sigmoid", dequantize(emit, x)), y)
    return True


def leaky_relu(emit: Emitter) -> bool:
    """QLinearLeakyRelu."""
    x, y = operand(emit, 0, 1, 2), result(emit, 3, 4, like=0)
    finish(emit, emit("LeakyRelu", dequantize(emit, x), **attributes(emit.node)), y)
    return True


def softmax(emit: Emitter) -> bool:
    """QLinearSoftmax: along one axis, which comes last here; all axes from it on, as of opset 12, are one."""
    values = attributes(emit.node)
    x, y = operand(emit, 0, 1, 2), result(emit, 3, 4, like=0)
    shape = emit.graph.shape(x.data)
    rank = len(shape)
    axis = values.get("axis", -1) % max(rank, 1)
    if values.get("opset", 13) < 13:
        data = emit.reshape(x.data, (math.prod(shape[:axis]), math.prod(shape[axis:])))
        numbers = quantize(emit, emit("Softmax", dequantize(emit, replace(x, data=data)), axis=-1), y)
        emit.reshape(numbers, shape, output=emit.node.output[0])
    elif axis == rank - 1:
        finish(emit, emit("Softmax", dequantize(emit, x), axis=-1), y)
    else:
        swapped = list(range(rank))
        swapped[axis], swapped[-1] = rank - 1, axis
        data = emit("Transpose", x.data, perm=swapped)
        numbers = quantize(emit, emit("Softmax", dequantize(emit, replace(x, data=data)), axis=-1), y)
        emit("Transpose", numbers, output=emit.node.output[0], perm=swapped)
    return True


def concat(emit: Emitter) -> bool:
    """QLinearConcat: parameters of the output, then each input with its own."""
    y = result(emit, 0, 1)
    names = list(emit.node.input[2:])
    if not names or len(names) % 3:
        raise ModelError(
            f"it has {len(names)} inputs behind the parameters of its output",
            where=label(emit.node),
            expected="a value, its scale and its zero point, for each value",
        )
    triples = zip(names[::3], names[1::3], names[2::3], strict=True)
    values = [quantized_value(emit, data, scale, zero) for data, scale, zero in triples]
    if any(value.data in emit.graph.constants for value in values):
        parts = [requantize(emit, value, y) for value in values]
        emit("Concat", *parts, output=emit.node.output[0], **attributes(emit.node))
    else:
        reals = [dequantize(emit, value) for value in values]
        finish(emit, emit("Concat", *reals, **attributes(emit.node)), y)
    return True


def where(emit: Emitter) -> bool:
    """QLinearWhere: both sides as numbers of the output, then a choice."""
    check_element(emit.graph, emit.node, emit.input(0), (TensorProto.BOOL,))
    x, y, z = operand(emit, 1, 2, 3), operand(emit, 4, 5, 6), result(emit, 7, 8)
    sides = [requantize(emit, side, z) for side in (x, y)]
    emit("Where", emit.input(0), *sides, output=emit.node.output[0])
    return True


def quantize_linear(emit: Emitter) -> bool:
    """The QuantizeLinear of onnxruntime is that of ONNX."""
    emit("QuantizeLinear", *emit.node.input, output=emit.node.output[0], **attributes(emit.node))
    return True


def dequantize_linear(emit: Emitter) -> bool:
    """The DequantizeLinear of onnxruntime is that of ONNX."""
    emit("DequantizeLinear", *emit.node.input, output=emit.node.output[0], **attributes(emit.node))
    return True
