"""Writing the nodes that replace a node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, helper

from .onnx_graph import Array, Graph


class Emitter:
    """Collects the nodes that replace `node`. Types of new values are left to the inference."""

    def __init__(self, graph: Graph, node: NodeProto) -> None:
        self.graph = graph
        self.node = node
        self.nodes: list[NodeProto] = []

    def __call__(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node with one output; returns the name of that."""
        target = output or self.graph.fresh(f"{self.node.name}/{operator.lower()}")
        name = f"{self.node.name}/{operator}"
        self.nodes.append(helper.make_node(operator, inputs, [target], name, **attributes))
        return target

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> str:
        return self.graph.add_constant(f"{self.node.name}/constant", np.asarray(value, dtype))

    def like(self, name: str, value: float) -> str:
        """A scalar constant of the element type of `name`."""
        return self.constant(value, self.dtype(name))

    def dtype(self, name: str) -> np.dtype[Any]:
        return np.dtype(helper.tensor_dtype_to_np_dtype(self.graph.types[name].elem))

    def reshape(self, source: str, shape: npt.ArrayLike, output: str = "") -> str:
        return self("Reshape", source, self.constant(shape), output=output)

    def cut(self, source: str, axis: int, start: int, end: int) -> str:
        """A part of `source` along one axis."""
        return self("Slice", source, *(self.constant([value]) for value in (start, end, axis)))

    def input(self, index: int) -> str:
        """Name of an input; empty if the node leaves it out."""
        return str(self.node.input[index]) if index < len(self.node.input) else ""

    def value(self, index: int) -> Array | None:
        return self.graph.constant(self.node, index)
