"""Random ONNX models: float, and quantised from those."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import onnx

from tests.fuzz.case import Case
from tests.fuzz.draw import CHANNELS, INPUTS, MOST_STEPS, QUANTISE, SAMPLES, Draw, noise
from tests.fuzz.onnx_graph import Graph
from tests.fuzz.onnx_quantise import quantise
from tests.fuzz.onnx_steps import STEPS, unary
from tests.support.host import Array


def float_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """A float model of NCHW pictures, or of one-dimensional signals."""
    return _case(seed, folder, _float_model(seed, without))


def quantised_case(seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """The same in the form of QuantizeLinear and DequantizeLinear."""
    return _case(seed, folder, quantise(_float_model(seed, without), Draw(seed, QUANTISE)))


def _float_model(seed: int, without: Collection[int]) -> onnx.ModelProto:
    d = Draw(seed, 0)
    picture = d.chance(0.75)
    shape = (1, d.one(CHANNELS), *((d.whole(3, 9), d.whole(3, 9)) if picture else (d.whole(5, 24),)))
    graph = Graph({"x": shape})
    x, ends = "x", []
    for step in range(1, d.whole(2, MOST_STEPS) + 1):
        graph.draw = Draw(seed, step)
        made = [] if step in without else graph.draw.one(STEPS)(graph, x)
        if made and graph.draw.chance(0.15):
            ends.append(made[0])
        x = made[0] if made else x
    if x == "x":
        (x,) = unary(graph, x)
    return graph.model(list(dict.fromkeys([x, *ends])))


def _case(seed: int, folder: Path, model: onnx.ModelProto) -> Case:
    onnx.checker.check_model(model, full_check=True)
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
