"""Many quantised ONNX operators side by side in one model, compiled once and compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.support.host import Array, build

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}


@dataclass(frozen=True)
class Q:
    """A quantised operand: an input of `shape`, or a constant with these `values`.

    `axis`: along which a constant has one scale for each index.
    """

    shape: Sequence[int] = ()
    scale: float = 0.05
    zero: int = 3
    dtype: str = "int8"
    values: Array | None = None
    axis: int | None = None


@dataclass(frozen=True)
class Case:
    """One operator: operands are dequantised, or constants as they stand; each output is quantised."""

    operator: str
    inputs: Sequence[Q | Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[Q] = (Q(scale=0.06, zero=-7),)
    bias: Array | None = None

    @property
    def label(self) -> str:
        shapes = [list(x.shape) for x in self.inputs if x is not None]
        return f"{self.operator} {dict(self.attributes)} {shapes}"


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def constant(self, name: str, values: Array) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def parameters(self, name: str, q: Q) -> list[str]:
        count = () if q.axis is None or q.values is None else (q.values.shape[q.axis],)
        scale = np.array(q.scale, np.float32)
        if count:
            scale = scale * np.linspace(0.5, 1, *count).astype(np.float32)
        zero = np.full(count, q.zero, q.dtype)
        return [self.constant(f"{name}_scale", scale), self.constant(f"{name}_zero", zero)]

    def real(self, name: str, q: Q) -> str:
        if q.values is None:
            self.inputs.append(helper.make_tensor_value_info(name, TYPES[q.dtype], q.shape))
        else:
            self.constant(name, q.values.astype(q.dtype))
        axis: dict[str, Any] = {} if q.axis is None else {"axis": q.axis}
        names = [name, *self.parameters(name, q)]
        self.nodes.append(helper.make_node("DequantizeLinear", names, [f"{name}_real"], f"{name}_d", **axis))
        return f"{name}_real"

    def case(self, index: int, case: Case) -> list[str]:
        names = []
        for position, x in enumerate(case.inputs):
            name = f"x{index}_{position}"
            if x is None:
                names.append("")
            elif isinstance(x, Q):
                names.append(self.real(name, x))
            else:
                names.append(self.constant(name, x))
        made = [f"r{index}_{i}" for i in range(len(case.outputs))]
        attributes = dict(case.attributes)
        self.nodes.append(helper.make_node(case.operator, names, made, f"node{index}", **attributes))
        if case.bias is not None:
            self.nodes.append(
                helper.make_node("Add", [made[0], self.constant(f"b{index}", case.bias)], [f"s{index}"])
            )
            made[0] = f"s{index}"
        results = []
        for i, (real, q) in enumerate(zip(made, case.outputs, strict=True)):
            result = f"y{index}_{i}"
            names = [real, *self.parameters(result, q)]
            self.nodes.append(helper.make_node("QuantizeLinear", names, [result], f"q{index}_{i}"))
            results.append(result)
        return results


def session_of(path: Path) -> onnxruntime.InferenceSession:
    """onnxruntime without its optimisations."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), settings)


def write(cases: Sequence[Case], path: Path, opset: int = 18) -> None:
    writer = _Writer()
    results: list[str] = []
    types: dict[str, int] = {}
    for index, case in enumerate(cases):
        made = writer.case(index, case)
        results += made
        types |= {name: TYPES[q.dtype] for name, q in zip(made, case.outputs, strict=True)}
    outputs = [helper.make_tensor_value_info(name, types[name], None) for name in results]
    graph = helper.make_graph(writer.nodes, "cases", writer.inputs, outputs, writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    shapes = {o.name: o for o in onnx.shape_inference.infer_shapes(model).graph.output}
    for output in model.graph.output:
        output.CopyFrom(shapes[output.name])
    onnx.save(model, path)


@dataclass(frozen=True)
class Found:
    """How one case fared.

    Attributes:
        reason: why it is computed in float; empty if it is not.
        wrong: outputs that differ from onnxruntime.
        worst: by how much at most.
    """

    label: str
    reason: str
    wrong: int
    worst: int


def compare(
    cases: Sequence[Case], folder: Path, count: int = 8, opset: int = 18, **options: Any
) -> list[Found]:
    """All cases, compiled and run on `count` samples."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cases.onnx"
    write(cases, path, opset)
    built = build(path, folder / "built", **options)
    reasons = {one.node: one.reason for one in built.compiled.program.left_in_float}
    data = samples(built.metadata["inputs"], np.random.default_rng(1), count)
    session = session_of(path)
    names = [output["name"] for output in built.metadata["outputs"]]
    worst, wrong = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for sample, outputs in zip(data, built.run(data), strict=True):
        for name, got, want in zip(names, outputs, session.run(names, sample), strict=True):
            off = np.abs(got.astype(np.int64) - want.astype(np.int64))
            worst[name] = max(worst[name], int(off.max()))
            wrong[name] += int((off > 0).sum())
    found = []
    for index, case in enumerate(cases):
        own = [f"{index}_{i}" for i in range(len(case.outputs))]
        reason = next((reasons[f"q{one}"] for one in own if f"q{one}" in reasons), "")
        found.append(
            Found(case.label, reason, sum(wrong[f"y{o}"] for o in own), max(worst[f"y{o}"] for o in own))
        )
    return found


def samples(
    inputs: Sequence[Mapping[str, Any]], rng: np.random.Generator, count: int
) -> list[dict[str, Array]]:
    """Random numbers; in the first sample every number in order."""
    data = []
    for number in range(count):
        sample = {}
        for tensor in inputs:
            info = np.iinfo(tensor["dtype"])
            values = rng.integers(info.min, info.max + 1, tensor["shape"])
            if number == 0:
                values = (np.arange(values.size) % 256 + info.min).reshape(tensor["shape"])
            sample[tensor["name"]] = values.astype(tensor["dtype"])
        data.append(sample)
    return data


def check(cases: Sequence[Case], folder: Path, **options: Any) -> None:
    """Every case is computed in integers, exactly as onnxruntime does."""
    assert [one for one in compare(cases, folder, **options) if one.reason or one.wrong] == []
