"""One-dimensional convolutions and poolings become two-dimensional ones of height 1.

So the kernels for images serve them. Only shapes change, no number: a value [N, C, W] gets a twin
[N, C, 1, W]. Elementwise operators, Concat and Transpose beside them work on the twins too, so that
a chain of layers has a Reshape at its ends and none inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from onnx import NodeProto

from .onnx_graph import Graph, Type, attributes, copy_of, numpy_dtype, set_attributes
from .onnx_simplify import permutation
from .onnx_windows import POOLS, WEIGHTS

SPATIAL = frozenset((*WEIGHTS, *POOLS, "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"))

ELEMENTWISE = frozenset(
    """
    Abs Add Cast Ceil Celu Clip Cos Div Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Max Mean
    Min Mish Mul Neg PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum
    Swish Tanh ThresholdedRelu Where
    """.split()
)

QUANTIZE = ("QuantizeLinear", "DequantizeLinear")

HEIGHT = 2
"""Axis of the added dimension where a spatial operator reads or writes."""


def widen(graph: Graph) -> None:
    """Rewrite every 1-D spatial operator, and what stands between them."""
    walk = _Walk(graph)
    graph.rewrite(walk.rule)


@dataclass
class _Walk:
    """A walk in order of execution. `twins` holds the twins of values by the axis of their unit dimension."""

    graph: Graph
    twins: dict[tuple[str, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.producers = self.graph.producers()
        self.readers = self.graph.consumers()

    def rule(self, node: NodeProto) -> list[NodeProto] | None:
        graph = self.graph
        if node.domain or not node.input or len(node.output) != 1:
            return None
        if len(graph.types[node.output[0]].shape) != 3:
            return None
        if node.op_type in SPATIAL and len(graph.shape(node.input[0])) == 3:
            before: list[NodeProto] = []
            wide, axis = self.spatial(node, before), HEIGHT
        else:
            found = self.follower_axes(node)
            if found is None:
                return None
            before, (inside, axis) = [], found
            wide = self.follower(node, inside, axis)
        target = node.output[0]
        self.twins[target, axis] = wide.output[0]
        back = graph.reshape(f"{node.name}/squeeze", wide.output[0], target)
        return [*before, wide, back]

    def spatial(self, node: NodeProto, before: list[NodeProto]) -> NodeProto:
        """The 2-D form of a 1-D operator; what it needs in addition goes to `before`."""
        new = copy_of(node, output=[self.new_twin(node.output[0], HEIGHT)])
        new.input[0] = self.widened(node.input[0], HEIGHT, node, before)
        if node.op_type in WEIGHTS:
            index = WEIGHTS[node.op_type]
            new.input[index] = self.weights(node.input[index], node, before)
        values = attributes(node)
        for name, unit in (("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("output_padding", 0)):
            if name in values:
                set_attributes(new, **{name: [unit, *values[name]]})
        if "pads" in values:
            begin, end = values["pads"]
            set_attributes(new, pads=[0, begin, 0, end])
        return new

    # Values

    def new_twin(self, name: str, axis: int) -> str:
        known = self.graph.types[name]
        shape = (*known.shape[:axis], 1, *known.shape[axis:])
        return self.graph.add_value(f"{name}/wide", Type(known.elem, shape))

    def widened(self, name: str, axis: int, node: NodeProto, before: list[NodeProto]) -> str:
        """The twin of an activation; the Reshape stands as far up as only spatial operators read it."""
        twin = self.twins.get((name, axis))
        if twin is not None:
            return twin
        twin = self.new_twin(name, axis)
        source = self.producers.get(name)
        if source is not None and self.is_movable(source, node):
            if source.op_type == "Transpose":
                perm, inside = _wide_permutation(permutation(source, self.graph), axis)
                new = copy_of(source, output=[twin])
                set_attributes(new, perm=perm)
            else:
                inside = axis
                new = copy_of(source, output=[twin])
            new.input[0] = self.widened(source.input[0], inside, source, before)
            before.append(new)
        else:
            before.append(self.graph.reshape(f"{node.name}/unsqueeze", name, twin))
        self.twins[name, axis] = twin
        return twin

    def is_movable(self, node: NodeProto, reader: NodeProto) -> bool:
        """Whether the Reshape of what `reader` reads may move from behind this node to before it."""
        others = [r for r in self.readers[node.output[0]] if r is not reader]
        if node.domain or any(r.op_type not in SPATIAL for r in others):
            return False
        if node.output[0] in self.graph.outputs or len(self.graph.shape(node.input[0])) != 3:
            return False
        if node.op_type == "Transpose":
            return True
        is_unary = node.op_type in ELEMENTWISE and len(node.input) == 1
        return is_unary or self.is_per_tensor(node)

    def is_per_tensor(self, node: NodeProto) -> bool:
        return node.op_type in QUANTIZE and self.graph.types[node.input[1]].bytes == (
            numpy_dtype(self.graph.types[node.input[1]].elem).itemsize
        )

    def weights(self, name: str, node: NodeProto, before: list[NodeProto]) -> str:
        """Weights with a kernel height of 1; of quantised constants the integers are reshaped."""
        graph = self.graph
        if name in graph.constants:
            array = graph.constants[name]
            return graph.add_constant(f"{name}/wide", array.reshape(*array.shape[:2], 1, -1))
        twin = self.new_twin(name, HEIGHT)
        source = self.producers.get(name)
        if source is not None and source.op_type == "DequantizeLinear" and source.input[0] in graph.constants:
            scales = graph.shape(source.input[1])
            if len(scales) < 2:
                new = copy_of(source, output=[twin])
                new.input[0] = self.weights(source.input[0], source, before)
                set_attributes(new, axis=attributes(source).get("axis", 1) % 3 if scales else None)
                before.append(new)
                return twin
        before.append(graph.reshape(f"{node.name}/weights", name, twin))
        return twin

    # Nodes between spatial operators

    def follower_axes(self, node: NodeProto) -> tuple[int, int] | None:
        """Where the twins of the inputs have their unit dimension, and where that of the output will.

        None if the node does not work on twins.
        """
        if node.op_type in QUANTIZE and len(self.graph.shape(node.input[1])) > 1:
            return None  # quantised in blocks
        data = [n for n in self.data_inputs(node) if n not in self.graph.constants]
        for axis in range(3):
            if data and all((name, axis) in self.twins for name in data):
                if node.op_type == "Transpose":
                    return axis, _followed(permutation(node, self.graph), axis)[1]
                return axis, axis
        return None

    def data_inputs(self, node: NodeProto) -> Sequence[str]:
        """Inputs that have the shape of the output or are broadcast to it; none if there are no such."""
        if node.op_type == "Clip" or node.op_type in QUANTIZE or node.op_type == "Transpose":
            return [node.input[0]]
        return list(node.input) if node.op_type in ELEMENTWISE or node.op_type == "Concat" else []

    def follower(self, node: NodeProto, inside: int, axis: int) -> NodeProto:
        new = copy_of(node, output=[self.new_twin(node.output[0], axis)])
        for index, name in enumerate(self.data_inputs(node)):
            if name in self.graph.constants:
                new.input[index] = self.wide_constant(name, inside)
            else:
                new.input[index] = self.twins[name, inside]
        if node.op_type == "Transpose":
            set_attributes(new, perm=_followed(permutation(node, self.graph), inside)[0])
        elif node.op_type == "Concat" or node.op_type in QUANTIZE:
            along = attributes(node).get("axis", 1) % 3
            set_attributes(new, axis=along if along < inside else along + 1)
        return new

    def wide_constant(self, name: str, axis: int) -> str:
        """A constant that broadcasts against a twin as `name` does against the value."""
        array = self.graph.constants[name]
        behind = 3 - axis
        if array.ndim <= behind:
            return name
        cut = array.ndim - behind
        return self.graph.add_constant(
            f"{name}/wide", array.reshape(*array.shape[:cut], 1, *array.shape[cut:])
        )


def _wide_permutation(perm: Sequence[int], axis: int) -> tuple[list[int], int]:
    """The Transpose that makes a twin with the unit dimension at `axis`, and where its input has it.

    In the input the unit dimension stands before the dimension that it stands before in the output.
    """
    inside = perm[axis] if axis < len(perm) else len(perm)
    wide = [p if p < inside else p + 1 for p in perm]
    return [*wide[:axis], inside, *wide[axis:]], inside


def _followed(perm: Sequence[int], inside: int) -> tuple[list[int], int]:
    """The Transpose of a twin whose unit dimension is at `inside`, and where its output has it."""
    axis = list(perm).index(inside) if inside < len(perm) else len(perm)
    wide = [p if p < inside else p + 1 for p in perm]
    return [*wide[:axis], inside, *wide[axis:]], axis
