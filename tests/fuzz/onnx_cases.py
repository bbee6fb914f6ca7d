"""Random ONNX models: float, and quantised from those in every form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from tests.fuzz import onnx_dynamic
from tests.fuzz.case import Case
from tests.fuzz.draw import CHANNELS, INPUTS, MOST_STEPS, QUANTISE, SAMPLES, Draw, noise
from tests.fuzz.onnx_graph import Graph
from tests.fuzz.onnx_qoperator import fuse
from tests.fuzz.onnx_quantise import quantise
from tests.fuzz.onnx_steps import STEPS, Step, unary
from tests.support.host import Array
from tvm_tool.compiler.quantize.static import quantize_static


def float_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """A float model of NCHW pictures, or of one-dimensional signals."""
    return _case(seed, folder, _float_model(seed, without))


def quantised_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """The same in the form of QuantizeLinear and DequantizeLinear."""
    return _case(seed, folder, quantise(_float_model(seed, without), Draw(seed, QUANTISE)))


def operator_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """The same with the quantised operators of ONNX and of onnxruntime."""
    defined = quantise(_float_model(seed, without), Draw(seed, QUANTISE))
    definition = folder / "definition.onnx"
    onnx.save(defined, definition)
    return replace(_case(seed, folder, fuse(defined)), definition=definition)


def dynamic_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """Products in integers whose scales are known at run time."""
    model = _float_model(seed, without, onnx_dynamic.STEPS, onnx_dynamic.unary)
    return _case(seed, folder, onnx_dynamic.quantise_dynamically(model, Draw(seed, QUANTISE)))


def static_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """A float model as onnxruntime quantises it: int8, weights by channel."""
    model = _float_model(seed, without)
    draw = Draw(seed, QUANTISE)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}
    calibration = [{n: noise(draw.rng, s, "float32") for n, s in shapes.items()} for _ in range(3)]
    return _case(seed, folder, quantize_static(model, calibration))


def _float_model(
    seed: int, without: Collection[int], steps: Sequence[Step] = STEPS, last: Step = unary
) -> onnx.ModelProto:
    """`last` is the only step where no other appends anything."""
    d = Draw(seed, 0)
    picture = d.chance(0.75)
    shape = (1, d.one(CHANNELS), *((d.whole(3, 9), d.whole(3, 9)) if picture else (d.whole(5, 24),)))
    graph = Graph({"x": shape})
    x, ends = "x", []
    for step in range(1, d.whole(2, MOST_STEPS) + 1):
        graph.draw = Draw(seed, step)
        made = [] if step in without else graph.draw.one(steps)(graph, x)
        if made and graph.draw.chance(0.15):
            ends.append(made[0])
        x = made[0] if made else x
    if x == "x":
        (x,) = last(graph, x)
    return graph.model(list(dict.fromkeys([x, *ends])))


def _case(seed: int, folder: Path, model: onnx.ModelProto) -> Case:
    onnx.checker.check_model(model, full_check=all(not o.domain for o in model.opset_import))
    path = folder / "model.onnx"
    onnx.save(model, path)
    rng = np.random.default_rng([seed, INPUTS])
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    samples = [{name: _noise(rng, kind) for name, kind in types.items()} for _ in range(SAMPLES)]
    options = {"optimize": "size" if seed % 3 == 0 else "speed", "workspace_io": seed % 2 == 0}
    return Case(path, samples, options)


def _noise(rng: np.random.Generator, kind: onnx.TypeProto.Tensor) -> Array:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    return noise(rng, [n.dim_value for n in kind.shape.dim], dtype)
