"""Quantised convolutions and matrix products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from ...errors import ModelError
from .onnx_emit import Emitter
from .onnx_graph import attributes, label
from .onnx_quantized_values import Quantized, check_element, dequantize, operand, result
from .onnx_quantized_windows import channels_first, finish


def conv(emit: Emitter) -> bool:
    """QLinearConv: x, w by output channel, y, a bias in int32. onnxruntime's own has channels last, too."""
    values = attributes(emit.node)
    last = bool(values.pop("channels_last", 0))
    x, w, y = operand(emit, 0, 1, 2), operand(emit, 3, 4, 5, axis=0), result(emit, 6, 7)
    inputs = [dequantize(emit, channels_first(emit, x) if last else x), dequantize(emit, w)]
    if emit.input(8):
        inputs.append(_bias(emit, 8, x, w))
    finish(emit, emit("Conv", *inputs, **values), y, last)
    return True


def matmul(emit: Emitter) -> bool:
    """QLinearMatMul: parameters of a may run along its rows, those of b along its columns."""
    ranks = [len(emit.graph.shape(emit.input(index))) for index in (0, 3)]
    a = operand(emit, 0, 1, 2, axis=ranks[0] - 2 if ranks[0] > 1 else None)
    b = operand(emit, 3, 4, 5, axis=ranks[1] - 1 if ranks[1] > 1 else None)
    y = result(emit, 6, 7)
    finish(emit, emit("MatMul", dequantize(emit, a), dequantize(emit, b)), y)
    return True


def gemm(emit: Emitter) -> bool:
    """QGemm: as Gemm without beta. Without an output scale the result is real."""
    values = attributes(emit.node)
    turned = bool(values.get("transB", 0))
    a, b = operand(emit, 0, 1, 2), operand(emit, 3, 4, 5, axis=0 if turned else 1)
    if values.get("alpha", 1.0) != 1.0:
        factor = emit.constant(values["alpha"], np.float32)
        b = replace(b, scale=_product(emit, b.scale, factor))
    bias = _bias(emit, 6, a, b) if emit.input(6) else ""
    if values.get("transA", 0):
        a = replace(a, data=emit("Transpose", a.data, perm=[1, 0]))
    if turned:
        data = emit("Transpose", b.data, perm=[1, 0])
        b = replace(b, data=data, axis=None if b.axis is None else 1)
    if bool(emit.input(7)) != bool(emit.input(8)):
        raise ModelError("its output has a scale or a zero point, not both", where=label(emit.node))
    y = result(emit, 7, 8) if emit.input(7) else None
    output = "" if y else emit.node.output[0]
    real = emit("MatMul", dequantize(emit, a), dequantize(emit, b), output="" if bias else output)
    if bias:
        real = emit("Add", real, bias, output=output)
    if y:
        finish(emit, real, y)
    return True


def _bias(emit: Emitter, index: int, x: Quantized, w: Quantized) -> str:
    """The real value of a bias, which counts in units of both scales."""
    name = emit.input(index)
    check_element(emit.graph, emit.node, name, (TensorProto.INT32,))
    axis = None if w.axis is None else len(emit.graph.shape(name)) - 1
    return dequantize(emit, Quantized(name, _product(emit, x.scale, w.scale), "", axis))


def _product(emit: Emitter, a: str, b: str) -> str:
    """A scale that is the product of two."""
    first, second = (emit.graph.constants.get(name) for name in (a, b))
    if first is None or second is None:
        return emit("Mul", a, b)
    return emit.constant(first * second, np.float32)
