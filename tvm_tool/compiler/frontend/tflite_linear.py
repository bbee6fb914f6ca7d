"""TFLite's convolutions, poolings and matrix products in ONNX. Pictures are NHWC there and NCHW here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ...errors import ModelError, UnsupportedError
from .tflite_builder import TO_NCHW, TO_NHWC, Builder, needs_scales
from .tflite_tensors import Operator

SAME = 0
Pair = tuple[int, int]


def picture(b: Builder, op: Operator, index: int = 0) -> str:
    """Real values of an input picture, NCHW."""
    tensor = op.input(index, rank=4)
    moved = b.transpose(b.value(tensor), TO_NCHW, f"{op.name}/nchw")
    return b.dequantise(op, tensor, moved) if needs_scales(op, tensor) else moved


def conv_2d(b: Builder, op: Operator) -> None:
    """CONV_2D: weights [out, h, w, in / groups]."""
    weights = op.input(1, rank=4)
    array = b.contents(op, 1).transpose(0, 3, 1, 2)
    channels = op.input(0, rank=4).shape[3]
    if channels % array.shape[1]:
        raise ModelError(f"weights {list(weights.shape)} do not fit {channels} channels", where=op.label)
    inputs = [b.weights(op, weights, array, 0), *b.bias(op, 2, weights)]
    _conv(b, op, inputs, channels // array.shape[1], _pair(array.shape[2:]))


def depthwise_conv_2d(b: Builder, op: Operator) -> None:
    """DEPTHWISE_CONV_2D: weights [1, h, w, channels * multiplier]."""
    weights = op.input(1, rank=4)
    array = b.contents(op, 1).transpose(3, 0, 1, 2)
    channels = op.input(0, rank=4).shape[3]
    if array.shape[1] != 1 or array.shape[0] % channels:
        raise ModelError(f"weights {list(weights.shape)} do not fit {channels} channels", where=op.label)
    inputs = [b.weights(op, weights, array, 0), *b.bias(op, 2, weights)]
    _conv(b, op, inputs, channels, _pair(array.shape[2:]))


def _conv(b: Builder, op: Operator, inputs: list[str], groups: int, kernel: Pair) -> None:
    dilations = (int(op.option("DilationHFactor")), int(op.option("DilationWFactor")))
    pads = _pads(op, kernel, dilations)
    border = b.borders.get(op.x.index)
    data = op
    if border is not None:  # the zeros around the picture are padding like that of the operator itself
        data = replace(op, inputs=(border.picture, *op.inputs[1:]))
        pads = [own + zeros for own, zeros in zip(pads, border.pads, strict=True)]
    value = b.node(
        "Conv",
        [picture(b, data), *inputs],
        op.name,
        kernel_shape=kernel,
        strides=_strides(op),
        dilations=dilations,
        pads=pads,
        group=groups,
    )
    b.store(op, value, TO_NHWC)


def transpose_conv(b: Builder, op: Operator) -> None:
    """TRANSPOSE_CONV: output shape, weights [out, h, w, in], input, bias."""
    weights, x = op.input(1, rank=4), op.input(2, rank=4)
    array = b.contents(op, 1).transpose(3, 0, 1, 2)
    kernel, strides = _pair(array.shape[2:]), _strides(op)
    data = replace(op, inputs=(x, weights, *op.inputs[3:]))
    begin, end, extra = [], [], []
    for axis in (0, 1):
        size, out = x.shape[axis + 1], op.y.shape[axis + 1]
        missing = (-(-out // strides[axis]) - 1) * strides[axis] + kernel[axis] - out
        before = max(missing, 0) // 2 if op.option("Padding") == SAME else 0
        after = (size - 1) * strides[axis] + kernel[axis] - before - out
        begin.append(before)
        end.append(max(after, 0))
        extra.append(max(-after, 0))
    value = b.node(
        "ConvTranspose",
        [picture(b, data), b.weights(data, weights, array, 1), *b.bias(data, 2, weights)],
        op.name,
        kernel_shape=kernel,
        strides=strides,
        pads=begin + end,
        output_padding=extra,
    )
    b.store(data, value, TO_NHWC)


def average_pool_2d(b: Builder, op: Operator) -> None:
    _pool(b, op, "AveragePool")


def max_pool_2d(b: Builder, op: Operator) -> None:
    _pool(b, op, "MaxPool")


def _pool(b: Builder, op: Operator, kind: str) -> None:
    kernel = (int(op.option("FilterHeight")), int(op.option("FilterWidth")))
    x = picture(b, op)
    value = b.node(
        kind, [x], op.name, kernel_shape=kernel, strides=_strides(op), pads=_pads(op, kernel, (1, 1))
    )
    b.store(op, value, TO_NHWC)


def _strides(op: Operator) -> Pair:
    strides = (int(op.option("StrideH")), int(op.option("StrideW")))
    if min(strides) < 1:
        raise ModelError(f"its strides are {list(strides)}", where=op.label, expected="at least 1")
    return strides


def _pads(op: Operator, kernel: Pair, dilations: Pair) -> list[int]:
    """Explicit padding: top, left, bottom, right; of an odd number the end gets more."""
    if op.option("Padding") != SAME:
        return [0, 0, 0, 0]
    sizes = op.input(0, rank=4).shape[1:3]
    total = [
        max((-(-size // stride) - 1) * stride + (window - 1) * dilation + 1 - size, 0)
        for size, stride, window, dilation in zip(sizes, _strides(op), kernel, dilations, strict=True)
    ]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


def _pair(values: tuple[int, ...]) -> Pair:
    height, width = values
    return height, width


def fully_connected(b: Builder, op: Operator) -> None:
    """FULLY_CONNECTED: rows of the input by weights [n, k]."""
    weights = op.input(1, rank=2)
    if op.option("WeightsFormat"):
        raise UnsupportedError("its weights are shuffled", where=op.label)
    units, depth = weights.shape
    x = b.value(op.x)
    if op.x.rank != 2 or op.x.shape[1] != depth:
        x = b.reshape(x, (-1, depth), f"{op.name}/rows")
    x = b.dequantise(op, op.x, x) if needs_scales(op, op.x) else x
    if b.is_constant(weights):
        matrix = b.weights(op, weights, b.contents(op, 1), 0)
    else:
        matrix = b.real(op, weights)
    value = b.node("Gemm", [x, matrix, *b.bias(op, 2, weights)], op.name, transB=1)
    if op.y.rank == 2 and op.y.shape[1] == units:
        b.store(op, value)
    else:
        b.store(op, value, reshape=op.y.shape)


def batch_matmul(b: Builder, op: Operator) -> None:
    operands = []
    for index, flag in ((0, "AdjX"), (1, "AdjY")):
        tensor = op.input(index)
        if tensor.rank < 2:
            raise ModelError(f"its input {index} is no matrix", where=op.label)
        if not op.option(flag):
            operands.append(b.real(op, tensor))
            continue
        if b.is_constant(tensor):
            scales = tensor.scales
            if scales is not None and not scales.is_per_tensor:
                raise UnsupportedError("its constant is quantised by channel and transposed", where=op.label)
            operands.append(b.weights(op, tensor, np.swapaxes(b.contents(op, index), -1, -2), 0))
            continue
        perm = (*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2)
        moved = b.transpose(b.value(tensor), perm, f"{op.name}/adjoint")
        operands.append(b.real(op, tensor, moved))
    b.store(op, b.node("MatMul", operands, op.name))


TRANSLATIONS: Mapping[str, Callable[[Builder, Operator], None]] = MappingProxyType(
    {
        "AVERAGE_POOL_2D": average_pool_2d,
        "BATCH_MATMUL": batch_matmul,
        "CONV_2D": conv_2d,
        "DEPTHWISE_CONV_2D": depthwise_conv_2d,
        "FULLY_CONNECTED": fully_connected,
        "MAX_POOL_2D": max_pool_2d,
        "TRANSPOSE_CONV": transpose_conv,
    }
)
"""Operators by their names in the TFLite schema."""
