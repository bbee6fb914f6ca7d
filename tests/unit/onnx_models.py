"""Small ONNX models for the tests of the frontend, and onnxruntime as the judge of what they compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

from tvm_tool.compiler.frontend.onnx_model import OnnxModel, load_onnx

Array = npt.NDArray[Any]
Source = str | onnx.ModelProto

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'


def text(graph: str, head: str = HEAD) -> onnx.ModelProto:
    """A model in ONNX's own notation; opset 17 unless `head` says otherwise."""
    return parser.parse_model(head + graph)


class Net:
    """Writes a network node by node, in the words of one opset."""

    def __init__(self, opset: int, seed: int = 0) -> None:
        self.opset = opset
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.count = 0

    def input(self, *shape: int | str, name: str = "x", elem: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, elem, shape))
        return name

    def constant(self, value: object) -> str:
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{self.count}"))
        return f"c{self.count}"

    def weight(self, *shape: int) -> str:
        """Random weights that keep the size of activations."""
        fan_in = max(1, int(np.prod(shape[1:])))
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32))

    def positive(self, *shape: int) -> str:
        return self.constant((self.rng.random(shape) + 0.5).astype(np.float32))

    def op(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self.ops(operator, *inputs, outputs=1, **attributes)[0]

    def ops(self, operator: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        self.count += 1
        names = [f"v{self.count}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def model(self, *outputs: str) -> onnx.ModelProto:
        values = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, values, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    # Operators that opsets write differently

    def batch_norm(self, data: str, channels: int) -> str:
        parameters = (self.positive(channels), self.weight(channels), self.weight(channels))
        return self.op("BatchNormalization", data, *parameters, self.positive(channels))

    def clip(self, data: str, low: float, high: float) -> str:
        if self.opset < 11:
            return self.op("Clip", data, min=low, max=high)
        return self.op("Clip", data, self.constant(np.float32(low)), self.constant(np.float32(high)))

    def mean(self, data: str, axes: Sequence[int], keepdims: int) -> str:
        return self._with_ints("ReduceMean", data, 18, "axes", axes, keepdims=keepdims)

    def pad(self, data: str, pads: Sequence[int]) -> str:
        return self._with_ints("Pad", data, 11, "pads", pads)

    def unsqueeze(self, data: str, axes: Sequence[int]) -> str:
        return self._with_ints("Unsqueeze", data, 13, "axes", axes)

    def slice(self, data: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int]) -> str:
        if self.opset < 10:
            return self.op("Slice", data, starts=starts, ends=ends, axes=axes)
        return self.op("Slice", data, *(self.constant(np.array(v, np.int64)) for v in (starts, ends, axes)))

    def split(self, data: str, sizes: Sequence[int], axis: int) -> list[str]:
        if self.opset < 13:
            return self.ops("Split", data, outputs=len(sizes), split=sizes, axis=axis)
        lengths = self.constant(np.array(sizes, np.int64))
        return self.ops("Split", data, lengths, outputs=len(sizes), axis=axis)

    def resize(self, data: str, scales: Sequence[float], mode: str) -> str:
        if self.opset < 9:
            return self.op("Upsample", data, mode=mode, scales=scales)
        factors = self.constant(np.array(scales, np.float32))
        if self.opset < 11:
            return self.op("Upsample" if self.opset < 10 else "Resize", data, factors, mode=mode)
        return self.op("Resize", data, self.constant(np.array([], np.float32)), factors, mode=mode)

    def _with_ints(
        self, operator: str, data: str, since: int, what: str, values: Sequence[int], **attributes: Any
    ) -> str:
        """Integers that were an attribute before opset `since` and are an input from then on."""
        if self.opset < since:
            return self.op(operator, data, **{what: list(values)}, **attributes)
        return self.op(operator, data, self.constant(np.array(values, np.int64)), **attributes)


def load(source: Source, folder: Path, shapes: Mapping[str, tuple[int, ...]] | None = None) -> OnnxModel:
    """Normalise a model; text is a graph of opset 17."""
    path = folder / "model.onnx"
    model = text(source) if isinstance(source, str) else source
    path.write_bytes(model.SerializeToString())
    return load_onnx(path, shapes or {})


def operators(model: OnnxModel) -> list[str]:
    return [node.op_type for node in model.proto.graph.node]


def run(model: onnx.ModelProto, data: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes, without optimising."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results: list[Array] = session.run(None, dict(data))
    return results


def random_data(model: onnx.ModelProto, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    data = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_float = dtype.kind == "f"
        data[value.name] = (rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)).astype(
            dtype
        )
    return data


def largest_error(wanted: Sequence[Array], got: Sequence[Array]) -> float:
    """Largest difference, relative to the largest value (at least 1); shapes and types must agree."""
    worst = 0.0
    for a, b in zip(wanted, got, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.size:
            difference = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
            worst = max(worst, float(difference) / max(1.0, float(np.abs(a.astype(np.float64)).max())))
    return worst


def same(source: Source, folder: Path, tolerance: float = 1e-6) -> OnnxModel:
    """Normalise a model whose shapes are fixed and check that it still computes the same."""
    original = text(source) if isinstance(source, str) else source
    for value in original.graph.output:
        value.ClearField("type")  # inference finds it
    model = load(original, folder)
    onnx.checker.check_model(model.proto, full_check=True)
    data = random_data(model.proto)
    assert largest_error(run(original, data), run(model.proto, data)) <= tolerance
    return model
