"""A float ONNX graph that grows node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.draw import Draw

OPSET = 17
LARGEST = 2000
"""Elements of a tensor: small graphs find the same faults sooner."""

Shape = tuple[int, ...]


class Graph:
    """Nodes, constants, and the shapes of all float tensors.

    Attributes:
        draw: the choices of the step that is made.
    """

    draw: Draw

    def __init__(self, inputs: dict[str, Shape]) -> None:
        self.inputs = dict(inputs)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, TensorProto] = {}
        self.shapes: dict[str, Shape] = dict(inputs)

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def ints(self, values: Sequence[int]) -> str:
        return self.constant(np.array(values, np.int64))

    def weight(self, *shape: int, fan_in: int = 1) -> str:
        return self.constant(self.draw.normal(shape, 1 / np.sqrt(max(1, fan_in))))

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """A node with the shapes of its outputs; empty where they would be empty or large."""
        names = [f"v{len(self.nodes)}_{i}" if outputs > 1 else f"v{len(self.nodes)}" for i in range(outputs)]
        node = helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes)
        shapes = self._infer(node)
        if any(not s or np.prod(s) > LARGEST or min(s) < 1 for s in shapes.values()):
            return []
        self.nodes.append(node)
        self.shapes.update(shapes)
        return names

    def _infer(self, node: onnx.NodeProto) -> dict[str, Shape]:
        given = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, self.shapes[n])
            for n in dict.fromkeys(node.input)
            if n in self.shapes
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output]
        constants = [self.constants[n] for n in dict.fromkeys(node.input) if n in self.constants]
        graph = helper.make_graph([node], "one", given, results, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        found = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph.output
        return {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim) for v in found}

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        """The model without what its outputs do not need."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if needed & set(node.output):
                nodes.append(node)
                needed |= set(node.input)
        constants = [c for name, c in self.constants.items() if name in needed]
        sources, results = (
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, self.shapes[n]) for n in names]
            for names in (self.inputs, outputs)
        )
        graph = helper.make_graph(nodes[::-1], "random", sources, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
