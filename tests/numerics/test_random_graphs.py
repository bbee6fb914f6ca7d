"""Small random networks: what passes do to each other shows here. Seeded; TVM_TOOL_FUZZ=N for more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.host import build, error_of

GRAPHS = int(os.environ.get("TVM_TOOL_FUZZ", "40"))
CHANNELS = (1, 3, 4, 5, 8, 13)


class Graph:
    """Grows a network node by node, NCHW."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}

    def pick(self, *choices: object) -> object:
        return choices[int(self.rng.integers(len(choices)))]

    def constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int) -> str:
        scale = 1 / np.sqrt(max(1, int(np.prod(shape[1:]))))
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def node(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"/{op}{len(self.nodes)}", **attributes))
        self.shapes[name] = shape
        return name

    def conv(self, x: str) -> str:
        _, c, h, w = self.shapes[x]
        kernel = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 4))
        stride = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 3))
        pads = [int(self.rng.integers(0, 3)) for _ in range(4)]
        out_h = (h + pads[0] + pads[2] - kernel[0]) // stride[0] + 1
        out_w = (w + pads[1] + pads[3] - kernel[1]) // stride[1] + 1
        if out_h < 1 or out_w < 1:
            return x
        depthwise = bool(self.rng.integers(2))
        k = c if depthwise else int(self.rng.choice(CHANNELS))
        group = c if depthwise else 1
        inputs = [x, self.weight(k, c // group, *kernel)]
        if self.rng.integers(2):
            inputs.append(self.weight(k))
        return self.node(
            "Conv", inputs, (1, k, out_h, out_w), kernel_shape=kernel, strides=stride, pads=pads, group=group
        )

    def pool(self, x: str) -> str:
        _, c, h, w = self.shapes[x]
        if h < 3 or w < 3:
            return x
        op = str(self.pick("MaxPool", "AveragePool"))
        return self.node(op, [x], (1, c, (h - 2) // 2 + 1, w - 2), kernel_shape=[2, 3], strides=[2, 1])

    def unary(self, x: str) -> str:
        return self.node(str(self.pick("Relu", "Sigmoid", "Tanh", "HardSwish", "Abs")), [x], self.shapes[x])

    def clip(self, x: str) -> str:
        return self.node(
            "Clip", [x, self.constant(np.float32(-0.5)), self.constant(np.float32(1.5))], self.shapes[x]
        )

    def scale(self, x: str) -> str:
        _, c, _, _ = self.shapes[x]
        return self.node(str(self.pick("Mul", "Add")), [x, self.weight(c, 1, 1)], self.shapes[x])

    def residual(self, x: str) -> str:
        y = self.node(str(self.pick("Relu", "Neg")), [x], self.shapes[x])
        return self.node(str(self.pick("Add", "Mul", "Max")), [x, y], self.shapes[x])

    def gate(self, x: str) -> str:
        _, c, _, _ = self.shapes[x]
        pooled = self.node("GlobalAveragePool", [x], (1, c, 1, 1))
        narrow = self.node("Conv", [pooled, self.weight(c, c, 1, 1)], (1, c, 1, 1))
        return self.node("Mul", [x, self.node("Sigmoid", [narrow], (1, c, 1, 1))], self.shapes[x])

    def concat(self, x: str) -> str:
        _, c, h, w = self.shapes[x]
        y = self.node("Sigmoid", [x], self.shapes[x])
        return self.node("Concat", [x, y], (1, 2 * c, h, w), axis=1) if c <= 8 else x

    def transpose(self, x: str) -> str:
        n, c, h, w = self.shapes[x]
        return self.node("Transpose", [x], (n, w, h, c), perm=[0, 3, 2, 1])

    def pad(self, x: str) -> str:
        n, c, h, w = self.shapes[x]
        amounts = self.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64))
        return self.node("Pad", [x, amounts], (n, c, h + 1, w + 2))

    def model(self) -> onnx.ModelProto:
        shape = (
            1,
            int(self.rng.choice(CHANNELS)),
            int(self.rng.integers(4, 10)),
            int(self.rng.integers(4, 10)),
        )
        self.shapes["x"] = shape
        x = "x"
        steps = [self.conv] * 4 + [self.unary, self.clip, self.scale, self.residual, self.gate, self.concat]
        steps += [self.pool, self.transpose, self.pad]
        for _ in range(int(self.rng.integers(3, 9))):
            x = steps[int(self.rng.integers(len(steps)))](x)
        outputs = [x] if x != "x" else [self.unary(x)]
        if self.rng.integers(2):
            size = int(np.prod(self.shapes[x]))
            flat = self.node("Flatten", [x], (1, size))
            dense = self.node("Gemm", [flat, self.weight(7, size), self.weight(7)], (1, 7), transB=1)
            outputs.append(self.node("Softmax", [dense], (1, 7)))
        infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, self.shapes[o]) for o in outputs]
        source = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "random", [source], infos, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_random_network(seed: int, tmp_path: Path) -> None:
    graph = Graph(seed)
    model = graph.model()
    onnx.checker.check_model(model, full_check=True)
    options = {"optimize": "size"} if seed % 3 == 0 else {}
    built = build(model, tmp_path, workspace_io=seed % 2 == 0, **options)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    samples = [
        {"x": np.random.default_rng(s).standard_normal(graph.shapes["x"]).astype(np.float32)}
        for s in range(2)
    ]
    for sample, outputs in zip(samples, built.run(samples), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            assert error_of(got, np.asarray(want)) <= 1e-5
