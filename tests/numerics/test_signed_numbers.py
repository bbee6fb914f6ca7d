"""Numbers inside of a graph become int8, and no output changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.support.host import Array, build


class Network:
    """An ONNX model in uint8, node by node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: Array | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def scaled(self, operator: str, value: str, scale: float, zero: int, output: str = "") -> str:
        parts = self.constant(np.float32(scale)), self.constant(np.uint8(zero))
        return self.add(operator, value, *parts, output=output)


def network() -> onnx.ModelProto:
    """Numbers that are moved, pooled, read by an operator on integers and given out."""
    rng = np.random.default_rng(0)
    net = Network()
    first = net.scaled("DequantizeLinear", "number", 0.0373, 119)
    numbers = net.constant(rng.integers(0, 256, (6, 3, 3, 3)).astype(np.uint8))
    weights = net.scaled("DequantizeLinear", numbers, 0.00817, 137)
    convolved = net.add("Conv", first, weights, pads=[1, 1, 1, 1])
    inner = net.scaled("QuantizeLinear", convolved, 0.0517, 91)
    pooled = net.add("MaxPool", inner, kernel_shape=[2, 2], strides=[2, 2])
    moved = net.add("Reshape", pooled, net.constant(np.array([1, 6, 16])))
    flipped = net.add("Transpose", moved, perm=[0, 2, 1])
    real = net.scaled("DequantizeLinear", flipped, 0.0517, 91)
    net.scaled("QuantizeLinear", net.add("Sigmoid", real), 1 / 256, 0, output="moved")
    shown = net.scaled("QuantizeLinear", convolved, 0.0617, 77, output="shown")
    net.add("Cast", shown, to=TensorProto.INT32, output="as_integers")
    doubled = net.add("Add", first, first)
    net.scaled("QuantizeLinear", doubled, 0.0913, 200, output="doubled")
    shapes = {
        "moved": [1, 16, 6],
        "shown": [1, 6, 8, 8],
        "as_integers": [1, 6, 8, 8],
        "doubled": [1, 3, 8, 8],
    }
    graph = helper.make_graph(
        net.nodes,
        "unsigned",
        [helper.make_tensor_value_info("number", TensorProto.UINT8, [1, 3, 8, 8])],
        [
            helper.make_tensor_value_info(
                name, TensorProto.INT32 if name == "as_integers" else TensorProto.UINT8, shape
            )
            for name, shape in shapes.items()
        ],
        net.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_outputs_are_those_of_onnxruntime(tmp_path: Path) -> None:
    model = network()
    onnx.checker.check_model(model)
    built = build(model, tmp_path)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
    rng = np.random.default_rng(1)
    data = [{"number": rng.integers(0, 256, (1, 3, 8, 8)).astype(np.uint8)} for _ in range(8)]
    names = [output["name"] for output in built.metadata["outputs"]]
    for sample, outputs in zip(data, built.run(data), strict=True):
        for name, got, want in zip(names, outputs, session.run(names, sample), strict=True):
            assert got.dtype == want.dtype
            assert np.array_equal(got.reshape(want.shape), want), name


def test_only_what_is_given_or_shown_stays_unsigned(tmp_path: Path) -> None:
    program = build(network(), tmp_path).compiled.program
    unsigned = {tensor.source or tensor.name for tensor in program.tensors if tensor.dtype == "uint8"}
    inner = {
        tensor.name for tensor in program.tensors if tensor.dtype == "int8" and tensor.role != "constant"
    }
    assert {"number", "moved", "shown", "doubled"} <= unsigned
    assert inner
    assert not any(layer.kernel == "generic" and "quantize" in layer.operator for layer in program.calls)
