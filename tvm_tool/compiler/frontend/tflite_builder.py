"""The ONNX graph while a TFLite file is translated into it.

Quantised tensors stay integers between operators. An operator that computes reads them through
DequantizeLinear (`Builder.real`) and leaves its result through QuantizeLinear (`Builder.store`); one that
only moves elements takes the integers as they are (`Builder.value`, `Builder.keep`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import helper

from ...errors import ModelError, UnsupportedError
from .onnx_graph import Array, Graph, Type, type_of
from .tflite_tensors import Operator, Scales, Tensor, TfliteFile

OPSET = 17
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
QUANTISED = (np.int8, np.uint8)
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH")
LIMITS = {"RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0), "RELU_0_TO_1": (0.0, 1.0)}


@dataclass(frozen=True)
class Border:
    """A picture before zeros were put around it, and how many: top, left, bottom, right."""

    picture: Tensor
    pads: tuple[int, int, int, int]


@dataclass(eq=False)
class Builder:
    """The graph being built.

    Attributes:
        graph: nodes and constants so far; types of inputs and constants only.
        names: ONNX names by the index of the tensor.
        constants: contents of constant tensors by index; operators on constants add to them.
        computed: indices of tensors that can be read.
        borders: what PAD made, by index: pictures with zeros around them.
    """

    graph: Graph
    names: dict[int, str] = field(default_factory=dict)
    constants: dict[int, Array] = field(default_factory=dict)
    computed: set[int] = field(default_factory=set)
    borders: dict[int, Border] = field(default_factory=dict)

    @staticmethod
    def of(file: TfliteFile) -> Builder:
        """A graph with the inputs, outputs and constants of `file` and no nodes yet."""
        graph = Graph(OPSET, [], [], [], {}, {})
        builder = Builder(graph)
        for tensor in (*file.inputs, *file.outputs, *file.tensors):  # the interface keeps its names
            if tensor.index not in builder.names:
                builder.names[tensor.index] = graph.fresh(tensor.name or f"tensor_{tensor.index}")
        builder.constants = {t.index: t.data for t in file.tensors if t.data is not None}
        for tensor in file.inputs:
            assert tensor.dtype is not None
            name = builder.names[tensor.index]
            graph.inputs.append(name)
            graph.types[name] = Type(helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape)
            builder.constants.pop(tensor.index, None)
            builder.computed.add(tensor.index)
        graph.outputs = [builder.names[t.index] for t in file.outputs]
        return builder

    # Nodes

    def node(self, kind: str, inputs: list[str], name: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node; the name of its (first) output."""
        made = [self.graph.fresh(name) for _ in range(outputs)]
        self.graph.nodes.append(helper.make_node(kind, inputs, made, name, **attributes))
        return made[0]

    def literal(self, values: Any, name: str, dtype: Any = np.int64) -> str:
        """A constant."""
        return self.graph.add_constant(name, np.array(values, dtype))

    def transpose(self, value: str, perm: tuple[int, ...], name: str) -> str:
        return self.node("Transpose", [value], name, perm=list(perm))

    def reshape(self, value: str, shape: tuple[int, ...], name: str) -> str:
        return self.node("Reshape", [value, self.literal(shape, f"{name}/shape")], name)

    # Reading

    def contents(self, op: Operator, index: int) -> Array:
        """An input that must be constant, such as axes."""
        tensor = op.input(index)
        if tensor.index not in self.constants:
            raise UnsupportedError(
                f"its input {index}, {tensor.label}, is computed at run time",
                where=op.label,
                expected="a constant",
            )
        return self.constants[tensor.index]

    def is_constant(self, tensor: Tensor) -> bool:
        return tensor.index in self.constants

    def value(self, tensor: Tensor) -> str:
        """The numbers of a tensor as they stand."""
        if tensor.unusable:
            raise UnsupportedError(tensor.unusable, where=tensor.label)
        name = self.names[tensor.index]
        if tensor.index in self.constants:
            if name not in self.graph.constants:
                self.graph.constants[name] = array = self.constants[tensor.index]
                self.graph.types[name] = type_of(array)
        elif tensor.index not in self.computed:
            raise ModelError("it is read before anything computes it", where=tensor.label)
        return name

    def real(self, op: Operator, tensor: Tensor, value: str | None = None) -> str:
        """The real values of a tensor; `value`: its numbers, if they have been moved since.

        Integer weights of an operator that computes in float become float constants.
        """
        if tensor.index in self.constants and value is None and is_hybrid(op, tensor):
            assert tensor.scales is not None
            floats = real_values(self.constants[tensor.index], tensor.scales, tensor.scales.axis)
            return self.graph.add_constant(f"{self.names[tensor.index]}/float", floats)
        numbers = self.value(tensor) if value is None else value
        return self.dequantise(op, tensor, numbers) if needs_scales(op, tensor) else numbers

    def dequantise(self, op: Operator, tensor: Tensor, numbers: str) -> str:
        assert tensor.scales is not None
        parameters = self.parameters(tensor, tensor.scales, numbers)
        axis = {} if tensor.scales.is_per_tensor else {"axis": tensor.scales.axis}
        return self.node("DequantizeLinear", [numbers, *parameters], f"{op.name}/dequantize", **axis)

    def weights(self, op: Operator, tensor: Tensor, array: Array, axis: int) -> str:
        """Constant weights, rearranged so that output channels lie along `axis`, as real values."""
        name = f"{self.names[tensor.index]}/packed"
        if not needs_scales(op, tensor):
            return self.graph.add_constant(name, array)
        assert tensor.scales is not None
        if is_hybrid(op, tensor):
            return self.graph.add_constant(name, real_values(array, tensor.scales, axis))
        numbers = self.graph.add_constant(name, array)
        parameters = self.parameters(tensor, tensor.scales, numbers)
        attribute = {} if tensor.scales.is_per_tensor else {"axis": axis}
        return self.node("DequantizeLinear", [numbers, *parameters], f"{op.name}/weights", **attribute)

    def bias(self, op: Operator, index: int, weights: Tensor) -> list[str]:
        """The bias of a linear operator, if it has one; int32 in units of input times weight scale."""
        if not op.has(index):
            return []
        tensor = op.input(index)
        array = self.contents(op, index).reshape(-1)
        name = f"{self.names[tensor.index]}/bias"
        if array.dtype == np.float32:
            return [self.graph.add_constant(name, array)]
        if array.dtype != np.int32 or op.x.scales is None or weights.scales is None:
            raise UnsupportedError(f"its bias is of type {array.dtype}", where=op.label)
        scale = op.x.scales.scale.astype(np.float64) * weights.scales.scale
        scales = Scales(scale.astype(np.float32), np.zeros(scale.size, np.int64))
        numbers = self.graph.add_constant(name, array)
        parameters = self.parameters(tensor, scales, numbers)
        attribute = {} if scales.is_per_tensor else {"axis": 0}
        return [self.node("DequantizeLinear", [numbers, *parameters], f"{op.name}/bias", **attribute)]

    def parameters(self, tensor: Tensor, scales: Scales, base: str) -> list[str]:
        """Scale and zero point as constants: scalars where one serves the whole tensor."""
        assert tensor.dtype is not None
        shape = () if scales.is_per_tensor else (-1,)
        return [
            self.graph.add_constant(f"{base}/scale", scales.scale.reshape(shape)),
            self.graph.add_constant(
                f"{base}/zero_point", scales.zero_point.reshape(shape).astype(tensor.dtype)
            ),
        ]

    # Leaving results

    def store(
        self,
        op: Operator,
        value: str,
        perm: tuple[int, ...] | None = None,
        reshape: tuple[int, ...] | None = None,
    ) -> None:
        """Let real `value` be the output of `op`: activated, quantised, then transposed or reshaped."""
        value = self.quantise(op, op.y, self.activation(op, value))
        if perm is not None:
            value = self.transpose(value, perm, f"{op.name}/transpose")
        if reshape is not None:
            value = self.reshape(value, reshape, f"{op.name}/reshape")
        self.keep(op.y, value)

    def quantise(self, op: Operator, tensor: Tensor, value: str) -> str:
        """The numbers that stand for real `value` in `tensor`."""
        if not needs_scales(op, tensor):
            return value
        assert tensor.scales is not None
        if not tensor.scales.is_per_tensor or tensor.dtype not in QUANTISED:
            how = f"{tensor.dtype} quantised {'as one' if tensor.scales.is_per_tensor else 'by channel'}"
            raise UnsupportedError(
                f"it is computed in {how}", where=tensor.label, expected="int8 or uint8 with one scale"
            )
        parameters = self.parameters(tensor, tensor.scales, self.names[tensor.index])
        numbers = self.node("QuantizeLinear", [value, *parameters], f"{op.name}/quantize")
        # The integer layer is called after the node that it ends with.
        for node in self.graph.nodes:
            if node.name == op.name and node.op_type != "QuantizeLinear":
                node.name = f"{op.name}/real"
        self.graph.nodes[-1].name = op.name
        return numbers

    def activation(self, op: Operator, value: str) -> str:
        code = int(op.options.get("FusedActivationFunction", 0))
        kind = ACTIVATIONS[code] if 0 <= code < len(ACTIVATIONS) else None
        if kind is None:
            raise UnsupportedError(f"its activation {code} is not supported", where=op.label)
        return value if kind == "NONE" else self.activate(kind, value, f"{op.name}/{kind.lower()}")

    def activate(self, kind: str, value: str, name: str) -> str:
        if kind in LIMITS:
            limits = [self.literal(limit, f"{name}/limit", np.float32) for limit in LIMITS[kind]]
            return self.node("Clip", [value, *limits], name)
        return self.node({"RELU": "Relu", "TANH": "Tanh"}[kind], [value], name)

    def keep(self, tensor: Tensor, value: str) -> None:
        """Let `value` be the numbers of `tensor`."""
        if tensor.unusable:
            raise UnsupportedError(tensor.unusable, where=tensor.label)
        if tensor.index in self.computed or tensor.index in self.constants:
            raise ModelError("it is computed twice", where=tensor.label)
        name = self.names[tensor.index]
        last = self.graph.nodes[-1] if self.graph.nodes else None
        is_fresh = not any(value == self.names[index] for index in self.computed)
        if last is not None and value in last.output and is_fresh:
            last.output[list(last.output).index(value)] = name
        else:
            self.graph.nodes.append(helper.make_node("Identity", [value], [name], name))
        self.computed.add(tensor.index)


def needs_scales(op: Operator, tensor: Tensor) -> bool:
    """Whether the numbers of `tensor` have to be scaled to compute with them."""
    if tensor.scales is not None and tensor.dtype in (np.int8, np.uint8, np.int32):
        return True
    if tensor.dtype in QUANTISED:
        raise UnsupportedError(
            f"{tensor.label} is {tensor.dtype} without scale and zero point", where=op.label
        )
    return False


def is_hybrid(op: Operator, weights: Tensor) -> bool:
    """Whether an operator with integer weights computes in float."""
    return weights.scales is not None and op.y.dtype == np.float32 and op.x.dtype == np.float32


def real_values(numbers: Array, scales: Scales, axis: int) -> Array:
    """What quantised numbers stand for, float32."""
    shape = [1] * numbers.ndim
    if not scales.is_per_tensor:
        shape[axis] = -1
    scale, zero = scales.scale.reshape(shape), scales.zero_point.reshape(shape)
    if not numbers.ndim:
        scale, zero = scale.reshape(()), zero.reshape(())
    return ((numbers.astype(np.int64) - zero).astype(np.float32) * scale).astype(np.float32)
