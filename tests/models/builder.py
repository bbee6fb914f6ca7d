"""A small language for writing networks as ONNX, node by node, as a framework would export them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]


class Weights(Protocol):
    """Where the parameters of a network come from, asked for in the order of its layers."""

    def weight(self, shape: Sequence[int], fan_in: int) -> Array: ...

    def bias(self, outputs: int) -> Array: ...

    def batch_norm(self, channels: int) -> tuple[Array, Array, Array, Array] | None:
        """Scale, shift, mean and variance; None if they are folded into the convolutions."""


class RandomWeights:
    """Seeded weights that keep the variance from layer to layer, as He et al. initialise them."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def weight(self, shape: Sequence[int], fan_in: int) -> Array:
        return (self._rng.standard_normal(shape) * float(np.sqrt(2 / fan_in))).astype(np.float32)

    def bias(self, outputs: int) -> Array:
        return (self._rng.standard_normal(outputs) * 0.1).astype(np.float32)

    def batch_norm(self, channels: int) -> tuple[Array, Array, Array, Array] | None:
        scale, variance = self._rng.uniform(0.5, 1.5, (2, channels)).astype(np.float32)
        return scale, self.bias(channels), self.bias(channels), variance


class Builder:
    """Appends nodes to one graph; every method takes and returns names of tensors (NCHW)."""

    def __init__(self, weights: Weights, name: str, input_name: str, shape: Sequence[int]) -> None:
        self._weights = weights
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[TensorProto] = []
        self._input = helper.make_tensor_value_info(input_name, TensorProto.FLOAT, shape)

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """A node with one output, called after it."""
        output = f"{name}_output"
        self._nodes.append(helper.make_node(operator, inputs, [output], name=name, **attributes))
        return output

    def constant(self, name: str, value: Array) -> str:
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def conv(
        self,
        x: str,
        name: str,
        channels: tuple[int, int],
        kernel: tuple[int, int],
        *,
        stride: int = 1,
        pads: tuple[int, int, int, int] = (0, 0, 0, 0),
        group: int = 1,
        batch_norm: bool = True,
    ) -> str:
        """A convolution and, unless it is folded, its batch normalisation."""
        inputs, outputs = channels
        shape = (outputs, inputs // group, *kernel)
        fan_in = inputs // group * kernel[0] * kernel[1]
        tensors = [x, self.constant(f"{name}.weight", self._weights.weight(shape, fan_in))]
        norm = self._weights.batch_norm(outputs) if batch_norm else None
        if norm is None:
            tensors.append(self.constant(f"{name}.bias", self._weights.bias(outputs)))
        y = self.node(
            "Conv", tensors, name, kernel_shape=kernel, strides=[stride] * 2, pads=pads, group=group
        )
        return self._batch_norm(y, name, norm)

    def dense(self, x: str, name: str, inputs: int, outputs: int, *, batch_norm: bool = False) -> str:
        """A fully connected layer and, if wanted and not folded, its batch normalisation."""
        weight = self._weights.weight((outputs, inputs), inputs)
        norm = self._weights.batch_norm(outputs) if batch_norm else None
        bias = self._weights.bias(outputs)
        tensors = [x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        return self._batch_norm(self.node("Gemm", tensors, name, transB=1), name, norm)

    def classifier(self, x: str, inputs: int, classes: int) -> str:
        """A fully connected layer and a softmax."""
        # Small weights keep the scores away from 0 and 1, where no error could show.
        weight = self.constant("dense.weight", self._weights.weight((classes, inputs), 16 * inputs))
        bias = self.constant("dense.bias", self._weights.bias(classes))
        logits = self.node("Gemm", [x, weight, bias], "dense", transB=1)
        return self.node("Softmax", [logits], "softmax", axis=1)

    def _batch_norm(self, x: str, name: str, norm: tuple[Array, ...] | None) -> str:
        if norm is None:
            return x
        name = f"{name}/bn"
        parts = zip(("scale", "shift", "mean", "variance"), norm, strict=True)
        tensors = [self.constant(f"{name}.{part}", value) for part, value in parts]
        return self.node("BatchNormalization", [x, *tensors], name, epsilon=1e-3)

    def relu(self, x: str) -> str:
        return self.node("Relu", [x], x.removesuffix("_output") + "/relu")

    def add(self, a: str, b: str, name: str) -> str:
        return self.node("Add", [a, b], name)

    def pool_all(self, x: str, size: tuple[int, int], channels: int) -> str:
        """The mean of each whole channel, as a matrix of one row."""
        y = self.node("AveragePool", [x], "pool", kernel_shape=size, strides=size)
        shape = numpy_helper.from_array(np.array([1, channels], np.int64), "flat_shape")
        self._constants.append(shape)
        return self.node("Reshape", [y, "flat_shape"], "flatten")

    def model(self, x: str, output_name: str, shape: Sequence[int], opset: int = 13) -> onnx.ModelProto:
        """The checked model; tensor `x` leaves it as `output_name`."""
        last = next(node for node in self._nodes if x in node.output)
        last.output[:] = [output_name]
        output = helper.make_tensor_value_info(output_name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, self._name, [self._input], [output], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model
