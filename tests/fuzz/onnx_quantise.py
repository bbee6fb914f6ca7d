"""A float ONNX model in the form of QuantizeLinear and DequantizeLinear, with parameters good and bad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.draw import Draw, noise
from tests.support.host import Array

MOVES = frozenset(
    "Reshape Transpose Slice Split Squeeze Unsqueeze Gather Flatten MaxPool Expand GlobalMaxPool".split()
)
ACTIVATIONS = frozenset(("Relu", "Clip"))
WEIGHTED = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
"""Operators with weights as their second input, and the axis of the output channels."""


@dataclass(frozen=True)
class Parameters:
    """Scale and zero point of a tensor; arrays of one dimension along `axis` of weights."""

    scale: Array
    zero: Array
    axis: int | None = None


def quantise(model: onnx.ModelProto, draw: Draw) -> onnx.ModelProto:
    """Every activation quantised, but where an activation function follows, and a few left in float."""
    return _Quantiser(model, draw).model()


class _Quantiser:
    def __init__(self, model: onnx.ModelProto, draw: Draw) -> None:
        self.source, self.draw = model, draw
        self.dtype = draw.one(("int8", "uint8"))
        self.ranges = _ranges(model, draw)
        self.fixed = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.parameters: dict[str, Parameters] = {}

    def model(self) -> onnx.ModelProto:
        graph = self.source.graph
        sources = []
        for value in graph.input:
            parameters = self._choose(value.name)
            if self.draw.chance(0.4):
                elem = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
                shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
                sources.append(helper.make_tensor_value_info(f"{value.name}_q", elem, shape))
                self.parameters[value.name] = parameters
            else:
                sources.append(value)
                self._store(value.name, parameters)
        ends = {v.name for v in graph.output}
        for node in graph.node:
            self._node(node, ends)
        results = [self._result(v) for v in graph.output]
        constants = [numpy_helper.from_array(a, n) for n, a in self.constants.items()]
        made = helper.make_graph(self.nodes, "random", sources, results, constants)
        return helper.make_model(made, opset_imports=self.source.opset_import, ir_version=8)

    def _node(self, node: onnx.NodeProto, ends: set[str]) -> None:
        new = onnx.NodeProto()
        new.CopyFrom(node)
        del new.input[:]
        weights = None
        for index, name in enumerate(node.input):
            if name not in self.fixed:
                new.input.append(self._real(name))
            elif node.op_type in WEIGHTED and index == 1:
                weights = self._weights(node, name)
                new.input.append(self._dequantised(name, weights))
            elif node.op_type in ("Conv", "Gemm", "ConvTranspose") and index == 2:
                new.input.append(self._bias(node, name, weights))
            else:
                new.input.append(self._constant(node, name))
        self.nodes.append(new)
        for name in node.output:
            if name in ends or not self._stays_float(node, name):
                self._store(name, self._of_output(node, name))

    def _stays_float(self, node: onnx.NodeProto, name: str) -> bool:
        uses = [n for n in self.source.graph.node if name in n.input]
        if len(uses) == 1 and uses[0].op_type in ACTIVATIONS and node.op_type not in MOVES:
            return self.draw.chance(0.8)
        return self.draw.chance(0.03)

    def _of_output(self, node: onnx.NodeProto, name: str) -> Parameters:
        if node.op_type in MOVES and node.input[0] in self.parameters and self.draw.chance(0.85):
            return self.parameters[node.input[0]]
        return self._choose(name)

    def _choose(self, name: str) -> Parameters:
        """Parameters for the values seen: tight, loose, saturating, of a power of two, extreme."""
        low, high = min(0.0, self.ranges[name][0]), max(0.0, self.ranges[name][1])
        d, info = self.draw, np.iinfo(self.dtype)
        # Less is what rounding errors leave of values that cancel out.
        least = 1e-4 if high - low < 1e-5 else 1e-6
        scale = max((high - low) / 255, least) * d.one((1.0, 1.0, 1.0, 0.5, 3.0))
        zero = round(float(info.min - low / scale))
        if d.chance(0.25):
            scale, zero = max(-low, high, 127 * least) / 127, (int(info.min) + int(info.max) + 1) // 2
        if d.chance(0.2):
            scale = 2.0 ** round(np.log2(scale))
        elif d.chance(0.05):
            scale *= d.one((1e-3, 1e3))
        if d.chance(0.05):
            zero = int(d.one((info.min, info.max)))
        return Parameters(np.asarray(scale, np.float32), np.clip(zero, info.min, info.max).astype(self.dtype))

    def _store(self, name: str, parameters: Parameters) -> None:
        self.parameters[name] = parameters
        self._add("QuantizeLinear", name, f"{name}_q", parameters)

    def _real(self, name: str) -> str:
        if name not in self.parameters:
            return name
        return self._add("DequantizeLinear", f"{name}_q", f"{name}_r{len(self.nodes)}", self.parameters[name])

    def _add(self, op: str, source: str, result: str, p: Parameters) -> str:
        name = f"{source}_{len(self.nodes)}"
        self.constants[f"{name}_scale"], self.constants[f"{name}_zero"] = (
            np.asarray(p.scale),
            np.asarray(p.zero),
        )
        axis: dict[str, Any] = {} if p.axis is None else {"axis": p.axis}
        inputs = [source, f"{name}_scale", f"{name}_zero"]
        if op == "DequantizeLinear" and not np.any(p.zero) and p.zero.dtype == np.int32:
            del inputs[2]
        self.nodes.append(helper.make_node(op, inputs, [result], name=f"{name}_{op}", **axis))
        return result

    def _weights(self, node: onnx.NodeProto, name: str) -> Parameters:
        array, axis = self.fixed[name], WEIGHTED[node.op_type]
        if node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute):
            axis = 0
        by_channel = array.ndim > axis and self.draw.chance(0.5)
        groups = next((a.i for a in node.attribute if a.name == "group"), 1)
        by_channel = by_channel and not (node.op_type == "ConvTranspose" and groups > 1)
        others = tuple(i for i in range(array.ndim) if i != axis) if by_channel else None
        largest = np.maximum(np.abs(array).max(axis=others), 1e-6)
        scale = (largest / 127 * self.draw.one((1.0, 1.0, 0.7))).astype(np.float32)
        if self.draw.chance(0.15):
            scale = np.exp2(np.rint(np.log2(scale))).astype(np.float32)
        unsigned = self.dtype == "uint8" and self.draw.chance(0.4)
        zero = np.full(scale.shape, 0, np.int8)
        if unsigned:
            zero = np.full(scale.shape, self.draw.one((128, 120, 131)), np.uint8)
        return Parameters(scale, zero, axis if by_channel else None)

    def _dequantised(self, name: str, p: Parameters) -> str:
        array, info = self.fixed[name], np.iinfo(p.zero.dtype)
        shape = [-1 if i == p.axis else 1 for i in range(array.ndim)] if p.axis is not None else []
        numbers = np.rint(array / p.scale.reshape(shape)) + p.zero.reshape(shape)
        stored = f"{name}_{len(self.nodes)}_w"
        self.constants[stored] = np.clip(numbers, info.min, info.max).astype(p.zero.dtype)
        return self._add("DequantizeLinear", stored, f"{stored}_r", p)

    def _bias(self, node: onnx.NodeProto, name: str, weights: Parameters | None) -> str:
        """In int32; or in float, then sometimes between two units of what integer layers add up."""
        source, array = self._source(node.input[0]), self.fixed[name].astype(np.float64)
        if source is None or weights is None:
            self.constants[name] = self.fixed[name]
            return name
        scale = (source.scale * weights.scale).astype(np.float32)
        factors = {a.name: a.f for a in node.attribute if a.name in ("alpha", "beta")}
        unit = scale * np.float64(factors.get("alpha", 1.0) / factors.get("beta", 1.0))
        numbers = np.clip(np.rint(array / unit), -(2**30), 2**30).astype(np.int32)
        plain = set(factors.values()) <= {1.0} and (weights.axis is None or array.shape == scale.shape)
        if not plain or self.draw.chance(0.3):
            between = self.draw.rng.uniform(-0.5, 0.5, array.shape) * self.draw.one((0, 1))
            self.constants[name] = ((numbers + between) * unit).astype(np.float32)
            return name
        stored = f"{name}_{len(self.nodes)}_b"
        self.constants[stored] = numbers
        axis = 0 if weights.axis is not None else None
        parameters = Parameters(scale, np.zeros_like(scale, np.int32), axis)
        return self._add("DequantizeLinear", stored, f"{stored}_r", parameters)

    def _source(self, name: str) -> Parameters | None:
        """How the values of `name` are quantised, perhaps before they were moved."""
        while name not in self.parameters:
            maker = next((n for n in self.source.graph.node if name in n.output), None)
            if maker is None or maker.op_type not in MOVES:
                return None
            name = maker.input[0]
        return self.parameters[name]

    def _constant(self, node: onnx.NodeProto, name: str) -> str:
        array = self.fixed[name]
        if (
            array.dtype == np.float32
            and node.op_type in ("Add", "Sub", "Mul", "PRelu")
            and self.draw.chance(0.8)
        ):
            scale = np.asarray(max(float(np.abs(array).max()), 1e-6) / 127, np.float32)
            middle = 0 if self.dtype == "int8" else 128
            return self._dequantised(name, Parameters(scale, np.asarray(middle, self.dtype)))
        self.constants[name] = array
        return name

    def _result(self, value: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if self.draw.chance(0.6):
            elem = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
            return helper.make_tensor_value_info(f"{value.name}_q", elem, shape)
        return helper.make_tensor_value_info(self._real(value.name), TensorProto.FLOAT, shape)


def _ranges(model: onnx.ModelProto, draw: Draw) -> dict[str, tuple[float, float]]:
    """Least and largest value of every tensor over a few inputs."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    known = {v.name for v in model.graph.output}
    names = [name for node in model.graph.node for name in node.output]
    wide.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    session = onnxruntime.InferenceSession(wide.SerializeToString(), _quiet())
    found: dict[str, tuple[float, float]] = {}
    for _ in range(2):
        feeds: dict[str, Any] = {i.name: noise(draw.rng, i.shape, "float32") for i in session.get_inputs()}
        results = dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds), strict=True))
        for name, array in {**feeds, **results}.items():
            low, high = found.get(name, (np.inf, -np.inf))
            found[name] = min(low, float(array.min())), max(high, float(array.max()))
    return found


def _quiet() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return options
