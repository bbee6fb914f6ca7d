"""The parameters of a trained float TFLite model, for a network with the same order of layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tflite

from .builder import Array

_WITH_WEIGHTS = (
    tflite.BuiltinOperator.CONV_2D,
    tflite.BuiltinOperator.DEPTHWISE_CONV_2D,
    tflite.BuiltinOperator.FULLY_CONNECTED,
)


class TFLiteWeights:
    """Weights in the order of the file's operators; batch normalisation is folded in such files."""

    def __init__(self, file: Path) -> None:
        layers = list(_layers(file))
        self._weights = iter([weight for weight, _ in layers])
        self._biases = iter([bias for _, bias in layers])

    def weight(self, shape: Sequence[int], fan_in: int) -> Array:
        weight = next(self._weights)
        if weight.shape != tuple(shape):
            raise ValueError(f"the file has weights {weight.shape} where the network wants {shape}")
        return weight

    def bias(self, outputs: int) -> Array:
        return next(self._biases)

    def batch_norm(self, channels: int) -> None:
        return None

    def is_empty(self) -> bool:
        """Whether the network has asked for everything in the file."""
        return next(self._weights, None) is None and next(self._biases, None) is None


def _layers(file: Path) -> Iterator[tuple[Array, Array]]:
    """Weight (outputs first, NCHW) and bias of each layer."""
    model = tflite.Model.GetRootAsModel(file.read_bytes(), 0)
    graph = model.Subgraphs(0)

    def values(tensor_index: int) -> Array:
        tensor = graph.Tensors(tensor_index)
        if tensor.Type() != tflite.TensorType.FLOAT32:
            raise ValueError(f"{file}: tensor {tensor_index} is not float32")
        data = model.Buffers(tensor.Buffer()).DataAsNumpy()
        return np.frombuffer(data.tobytes(), "<f4").reshape(tensor.ShapeAsNumpy())

    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        code = model.OperatorCodes(operator.OpcodeIndex())
        # Old files know only the deprecated field, new ones write both.
        kind = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if kind not in _WITH_WEIGHTS:
            continue
        weight, bias = (values(tensor) for tensor in operator.InputsAsNumpy()[1:3])
        if kind == tflite.BuiltinOperator.CONV_2D:
            weight = weight.transpose(0, 3, 1, 2)
        elif kind == tflite.BuiltinOperator.DEPTHWISE_CONV_2D:
            weight = weight.transpose(3, 0, 1, 2)
        yield np.ascontiguousarray(weight), bias
