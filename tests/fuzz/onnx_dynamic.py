"""Float models whose products are of integers, the range of their inputs being known at run time only.

All their steps are exact, or one float operation of each number: the same bits whoever computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz import onnx_movement as movement
from tests.fuzz.draw import Draw
from tests.fuzz.onnx_graph import Graph
from tests.fuzz.onnx_steps import Step, clip, conv, leaky_relu, matmul, prelu, window, with_constant
from tests.support.host import Array


def max_pool(g: Graph, x: str) -> list[str]:
    attributes = window(g, x) if len(g.shapes[x]) == 4 else None
    return g.node("MaxPool", [x], **attributes) if attributes else []


def unary(g: Graph, x: str) -> list[str]:
    return g.node(g.draw.one(("Relu", "Abs", "Neg")), [x])


def residual(g: Graph, x: str) -> list[str]:
    """Arithmetic with an earlier tensor of the same shape."""
    earlier = [n for n, s in g.shapes.items() if s == g.shapes[x]]
    return g.node(g.draw.one(("Add", "Sub", "Mul", "Max", "Min")), [x, g.draw.one(earlier)])


STEPS: Sequence[Step] = (
    *[conv] * 6, *[matmul] * 6, *[movement.concat] * 2, *[residual] * 2, *[unary] * 2,
    clip, leaky_relu, max_pool, movement.expand, movement.gather, movement.reshape, movement.slice_,
    movement.split, movement.squeeze, movement.transpose, prelu, with_constant,
)  # fmt: skip


def quantise_dynamically(model: onnx.ModelProto, draw: Draw) -> onnx.ModelProto:
    """Convolutions and matrix products in integers, weights in int8 or uint8."""
    return _Quantiser(model, draw).model()


class _Quantiser:
    def __init__(self, model: onnx.ModelProto, draw: Draw) -> None:
        self.source, self.draw = model, draw
        self.fixed = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def model(self) -> onnx.ModelProto:
        graph = self.source.graph
        for node in graph.node:
            if node.op_type in ("Conv", "MatMul"):
                self._product(node)
            else:
                self.nodes.append(node)
                self.constants |= {name: self.fixed[name] for name in node.input if name in self.fixed}
        constants = [numpy_helper.from_array(a, n) for n, a in self.constants.items()]
        made = helper.make_graph(self.nodes, "random", graph.input, graph.output, constants)
        return helper.make_model(made, opset_imports=self.source.opset_import, ir_version=8)

    def _product(self, node: onnx.NodeProto) -> None:
        x, x_scale, x_zero = self._by_range(node.input[0])
        weights = node.input[1]
        if weights in self.fixed:
            w, w_scale, w_zero = self._stored(node, self.fixed[weights])
        else:
            w, w_scale, w_zero = self._by_range(weights)
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        inputs = [x, w, x_zero, w_zero]
        sums = self._add(f"{node.op_type}Integer", [*inputs] if w_zero else inputs[:3], **attributes)
        real = self._add("Cast", [sums], to=TensorProto.FLOAT)
        scale = self._add("Mul", [x_scale, w_scale])
        bias = node.input[2] if len(node.input) > 2 else ""
        real = self._add("Mul", [real, scale], "" if bias else node.output[0])
        if bias:
            array = self.fixed[bias]
            rank = self.fixed[weights].ndim
            shaped = self._constant(array.reshape(-1, *[1] * (rank - 2)))
            self._add("Add", [real, shaped], node.output[0])

    def _by_range(self, source: str) -> list[str]:
        """Numbers, scale and zero point of what is known at run time."""
        place = len(self.nodes)
        names = [f"{source}_{place}_{part}" for part in ("numbers", "scale", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [source], names, f"dynamic_{place}"))
        return names

    def _stored(self, node: onnx.NodeProto, array: Array) -> tuple[str, str, str]:
        """Names of weights as numbers, by channel now and then, their scale, and their zero point if any."""
        dtype, is_conv = self.draw.one(("int8", "int8", "uint8")), node.op_type == "Conv"
        axis = 0 if is_conv else array.ndim - 1
        others = tuple(i for i in range(array.ndim) if i != axis)
        scale = np.maximum(np.abs(array).max(others if self.draw.chance(0.5) else None, keepdims=True), 1e-6)
        scale = (scale / 127).astype(np.float32)
        zero = self.draw.one((128, 121)) if dtype == "uint8" else self.draw.one((0, 0, 3))
        info = np.iinfo(dtype)
        numbers = np.clip(np.rint(array / scale) + zero, info.min, info.max).astype(dtype)
        shape = (-1, *[1] * (array.ndim - 2)) if is_conv else (-1,)
        name = self._constant(np.asarray(zero, dtype)) if zero else ""
        return self._constant(numbers), self._constant(scale.reshape(shape)), name

    def _constant(self, array: Array) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = array
        return name

    def _add(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        place = len(self.nodes)
        result = output or f"d{place}"
        self.nodes.append(helper.make_node(op, inputs, [result], f"integer_{op}_{place}", **attributes))
        return result
