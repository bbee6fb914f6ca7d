"""Channels that are the same for every input disappear, and no output changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.host import Array, build
from tvm_tool.compiler import lower

ACTIVATION = 0.0473
"""Scale of all activations: nothing round, so that no sum lies just between two numbers."""


class Network:
    """A quantised network of ONNX, written layer by layer; all activations have one scale."""

    def __init__(self, seed: int, channels: int, size: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.shape = (1, channels, size, size)
        self.zero_point = int(self.rng.integers(-128, 128))
        self.last = self.requantize("input", self.zero_point)

    def constant(self, value: Array | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def requantize(self, value: str, zero_point: int) -> str:
        scale, zero = self.constant(np.float32(ACTIVATION)), self.constant(np.int8(zero_point))
        quantized = self.add("QuantizeLinear", [value, scale, zero])
        return self.add("DequantizeLinear", [quantized, scale, zero])

    def conv(self, value: str, weights: Array, bias: Array, relu: bool = True, **attributes: Any) -> str:
        scale = np.float32(0.01137)
        parts = [value]
        for array, by, dtype in ((weights, scale, np.int8), (bias, scale * np.float32(ACTIVATION), np.int32)):
            numbers = self.constant(np.rint(array / by).astype(dtype))
            parts.append(
                self.add(
                    "DequantizeLinear", [numbers, self.constant(np.float32(by)), self.constant(dtype(0))]
                )
            )
        out = self.add("Conv", parts, **attributes)
        out = self.add("Relu", [out]) if relu else out
        # Zero lies inside of the numbers without Relu, at their end with it.
        return self.requantize(out, -128 if relu else int(self.rng.integers(-60, 60)))

    def weights(self, *shape: int) -> Array:
        return self.rng.uniform(-0.4, 0.4, shape)

    def stuck(self, channels: int) -> Array:
        """A bias that keeps some channels at the clamp for good."""
        stuck = self.rng.permutation(channels) < 5
        return np.where(
            stuck, self.rng.choice([-1e3, -1e3, 1e3], channels), self.rng.uniform(-1, 1, channels)
        )

    def save(self, path: Path, value: str) -> Path:
        graph = helper.make_graph(
            [*self.nodes, helper.make_node("Identity", [value], ["output"])],
            "network",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(model, path)
        return path


def mobile(net: Network) -> str:
    """Convolution, depthwise, pointwise, pooling, dense."""
    x = net.conv(net.last, net.weights(13, 3, 3, 3), net.stuck(13), pads=[1, 1, 1, 1])
    x = net.conv(x, net.weights(13, 1, 3, 3), net.stuck(13), pads=[1, 1, 1, 1], group=13)
    x = net.conv(x, net.weights(11, 13, 1, 1), net.stuck(11))
    x = net.requantize(net.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), -128)
    x = net.conv(x, net.weights(9, 11, 3, 3), net.stuck(9), pads=[1, 0, 0, 1])
    x = net.requantize(net.add("GlobalAveragePool", [x]), -128)
    return net.conv(x, net.weights(4, 9, 1, 1), net.rng.uniform(-1, 1, 4), relu=False)


def residual(net: Network) -> str:
    """Two branches that meet: their channels belong together."""
    x = net.conv(net.last, net.weights(10, 3, 3, 3), net.stuck(10), pads=[1, 1, 1, 1])
    y = net.conv(x, net.weights(12, 10, 3, 3), net.stuck(12), pads=[1, 1, 1, 1])
    y = net.conv(y, net.weights(10, 12, 1, 1), net.stuck(10), relu=False)
    x = net.requantize(net.add("Add", [x, y]), 3)
    x = net.requantize(net.add("Sigmoid", [x]), -100)
    return net.conv(x, net.weights(5, 10, 1, 1), net.rng.uniform(-1, 1, 5), relu=False)


def flattened(net: Network) -> str:
    """A dense layer that reads every position of every channel."""
    x = net.conv(net.last, net.weights(9, 3, 3, 3), net.stuck(9))
    x = net.conv(x, net.weights(9, 9, 1, 1), net.stuck(9))
    flat = net.add("Flatten", [x])
    numbers = net.constant(np.rint(net.weights(9 * 49, 6) * 99).astype(np.int8))
    scale, zero = net.constant(np.float32(0.00313)), net.constant(np.int8(0))
    product = net.add("MatMul", [flat, net.add("DequantizeLinear", [numbers, scale, zero])])
    return net.requantize(product, 7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("network", [mobile, residual, flattened])
def test_outputs_are_the_same(
    network: Callable[[Network], str], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Network(seed, 3, 9)
    path = net.save(tmp_path / "network.onnx", network(net))
    built = build(path, tmp_path / "built")
    monkeypatch.setattr(lower, "drop_constant_channels", lambda module, _table: module)
    whole = build(path, tmp_path / "whole")
    assert built.compiled.program.macs < whole.compiled.program.macs
    assert built.compiled.plan.bytes <= whole.compiled.plan.bytes

    samples = [{"input": net.rng.uniform(-3, 3, net.shape).astype(np.float32)} for _ in range(9)]
    answers = [outputs[0].tobytes() for outputs in whole.run(samples)]
    assert len(set(answers)) > 1
    assert [outputs[0].tobytes() for outputs in built.run(samples)] == answers
