"""The layers of an int8 TFLite model, with the weights and scales of the file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from tvm_tool.compiler.layers import Array
from tvm_tool.compiler.quantized_layers import (
    DOUBLE,
    QBinary,
    QConv2D,
    QDense,
    QLayer,
    QPool2D,
    QSoftmax,
    Quantization,
)

Operator = tflite.BuiltinOperator


@dataclass(frozen=True, eq=False)
class Step:
    """An operator: `layer` is None where it only reshapes. Tensors are numbers of the file."""

    layer: QLayer | None
    inputs: tuple[int, ...]
    output: int


class TFLiteLayers:
    """Reads `file`; `steps` are in order, `first` and `last` the model's input and output."""

    def __init__(self, file: Path) -> None:
        self._model = tflite.Model.GetRootAsModel(file.read_bytes(), 0)
        self._graph = self._model.Subgraphs(0)
        self.first = int(self._graph.Inputs(0))
        self.last = int(self._graph.Outputs(0))
        self.input_size = int(np.prod(self._shape(self.first)))
        self.steps = [self._step(self._graph.Operators(i)) for i in range(self._graph.OperatorsLength())]

    def _shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(int(n) for n in self._graph.Tensors(tensor).ShapeAsNumpy())

    def _constant(self, tensor: int) -> Array:
        info = self._graph.Tensors(tensor)
        dtype = {tflite.TensorType.INT8: "int8", tflite.TensorType.INT32: "<i4"}[info.Type()]
        data = self._model.Buffers(info.Buffer()).DataAsNumpy()
        return np.frombuffer(data.tobytes(), dtype).reshape(self._shape(tensor))

    def _scales(self, tensor: int) -> Array:
        scales: Array = self._graph.Tensors(tensor).Quantization().ScaleAsNumpy().astype(np.float64)
        return scales

    def _quantization(self, tensor: int) -> Quantization:
        zero = int(self._graph.Tensors(tensor).Quantization().ZeroPointAsNumpy()[0])
        return Quantization("int8", float(self._scales(tensor)[0]), zero)

    def _step(self, operator: Any) -> Step:
        code = self._model.OperatorCodes(operator.OpcodeIndex())
        kind = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        inputs = tuple(int(i) for i in operator.InputsAsNumpy())
        output = int(operator.Outputs(0))
        makers: dict[int, Callable[[Any, tuple[int, ...], int], QLayer]] = {
            Operator.CONV_2D: functools.partial(self._conv2d, tflite.Conv2DOptions(), False),
            Operator.DEPTHWISE_CONV_2D: functools.partial(
                self._conv2d, tflite.DepthwiseConv2DOptions(), True
            ),
            Operator.FULLY_CONNECTED: self._dense,
            Operator.ADD: self._add,
            Operator.AVERAGE_POOL_2D: self._average,
            Operator.SOFTMAX: self._softmax,
        }
        if kind == Operator.RESHAPE:
            return Step(None, inputs[:1], output)
        layer = makers[kind](operator, inputs, output)
        return Step(layer, inputs if kind == Operator.ADD else inputs[:1], output)

    def _options(self, operator: Any, options: Any) -> Any:
        table = operator.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        return options

    def _clamp(self, options: Any, y: Quantization) -> tuple[int, int]:
        activation = options.FusedActivationFunction()
        if activation == tflite.ActivationFunctionType.NONE:
            return -128, 127
        high = 127
        if activation == tflite.ActivationFunctionType.RELU6:
            high = min(127, y.zero_point + round(6.0 / y.scale))
        return max(-128, y.zero_point), high

    def _weights(self, inputs: tuple[int, ...], output: int, weights: Array, options: Any) -> dict[str, Any]:
        y = self._quantization(output)
        return {
            "x": self._quantization(inputs[0]),
            "y": y,
            "weights": weights,
            "weight_scales": np.broadcast_to(self._scales(inputs[1]), weights.shape[0]),
            "weight_zeros": np.zeros(weights.shape[0], np.int32),
            "bias": self._constant(inputs[2]),
            "clamp": self._clamp(options, y),
            "rounding": DOUBLE,
        }

    def _conv2d(
        self, options: Any, depthwise: bool, operator: Any, inputs: tuple[int, ...], output: int
    ) -> QLayer:
        options = self._options(operator, options)
        weights = self._constant(inputs[1])
        if depthwise:
            weights = weights.transpose(3, 1, 2, 0)
        _, *image = self._shape(inputs[0])
        _, *result = self._shape(output)
        strides = (int(options.StrideH()), int(options.StrideW()))
        return QConv2D(
            **self._weights(inputs, output, weights, options),
            input=(image[0], image[1], image[2]),
            output=(result[0], result[1], result[2]),
            strides=strides,
            pads=_pads(options, image, result, weights.shape[1:3], strides),
            groups=image[2] if depthwise else 1,
        )

    def _dense(self, operator: Any, inputs: tuple[int, ...], output: int) -> QLayer:
        options = self._options(operator, tflite.FullyConnectedOptions())
        return QDense(rows=1, **self._weights(inputs, output, self._constant(inputs[1]), options))

    def _add(self, operator: Any, inputs: tuple[int, ...], output: int) -> QLayer:
        a, b, y = (self._quantization(tensor) for tensor in (*inputs, output))
        shapes = [self._shape(tensor) for tensor in (*inputs, output)]
        clamp = self._clamp(self._options(operator, tflite.AddOptions()), y)
        return QBinary("add", a, b, y, shapes[0], shapes[1], shapes[2], clamp, DOUBLE)

    def _average(self, operator: Any, inputs: tuple[int, ...], output: int) -> QLayer:
        options = self._options(operator, tflite.Pool2DOptions())
        _, *image = self._shape(inputs[0])
        _, *result = self._shape(output)
        kernel = (int(options.FilterHeight()), int(options.FilterWidth()))
        strides = (int(options.StrideH()), int(options.StrideW()))
        y = self._quantization(output)
        return QPool2D(
            kind="average",
            x=self._quantization(inputs[0]),
            y=y,
            input=(image[0], image[1], image[2]),
            output=(result[0], result[1], result[2]),
            kernel=kernel,
            strides=strides,
            clamp=self._clamp(options, y),
            rounding=DOUBLE,
            pads=_pads(options, image, result, kernel, strides),
        )

    def _softmax(self, _operator: Any, inputs: tuple[int, ...], output: int) -> QLayer:
        rows, columns = self._shape(output)
        return QSoftmax(self._quantization(inputs[0]), self._quantization(output), rows, columns, DOUBLE)


def _pads(
    options: Any, image: list[int], result: list[int], kernel: tuple[int, ...], strides: tuple[int, int]
) -> tuple[int, int, int, int]:
    if options.Padding() == tflite.Padding.VALID:
        return (0, 0, 0, 0)
    spans = [(result[i] - 1) * strides[i] + kernel[i] - image[i] for i in (0, 1)]
    (top, bottom), (left, right) = ((max(s, 0) // 2, max(s, 0) - max(s, 0) // 2) for s in spans)
    return (top, left, bottom, right)
