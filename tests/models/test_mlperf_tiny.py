"""The builders give the networks that they promise."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from . import mlperf_tiny
from .builder import Array, Weights

Builder = Callable[[Weights | None], onnx.ModelProto]

# Multiplications of one inference, as published for the reference models.
MACS = {"kws": 2.657e6, "vww": 7.490e6, "ic": 12.502e6, "ad": 0.264e6}
BATCH_NORMS = {"kws": 9, "vww": 27, "ic": 7, "ad": 9}
REAL_WEIGHTS = {"vww": "vww_96_float", "ic": "pretrainedResnet", "ad": "ad01_fp32"}


def builder(name: str) -> Builder:
    found: Builder = getattr(mlperf_tiny, name)
    return found


def macs(model: onnx.ModelProto) -> int:
    """Multiply-accumulates of the convolutions and dense layers."""
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    weights = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in [*graph.value_info, *graph.output]
    }
    return sum(
        math.prod(weights[node.input[1]][1:]) * math.prod(shapes[node.output[0]])
        for node in graph.node
        if node.op_type in {"Conv", "Gemm"}
    )


def run(model: onnx.ModelProto) -> list[Array]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = session.get_inputs()
    values = np.random.default_rng(0).uniform(0, 1, wanted.shape).astype(np.float32)
    outputs: list[Array] = session.run(None, {wanted.name: values})
    return outputs


@pytest.mark.parametrize("name", MACS)
def test_size_and_form_are_those_of_the_reference_model(name: str) -> None:
    model = builder(name)(None)
    assert macs(model) == pytest.approx(MACS[name], abs=500)
    assert [opset.version for opset in model.opset_import] == [13]
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    assert len(norms) == BATCH_NORMS[name]


@pytest.mark.parametrize("name", MACS)
def test_reference_runtime_runs_it(name: str) -> None:
    (output,) = run(builder(name)(None))
    assert np.isfinite(output).all()
    # Scores that are all the same or nearly 0 and 1 would hide errors.
    assert output.std() > 1e-3
    if name != "ad":
        assert output.sum() == pytest.approx(1, abs=1e-5)
        assert output.max() < 1 - 1e-4


@pytest.mark.parametrize("name", MACS)
def test_same_bytes_every_time(name: str) -> None:
    build = builder(name)
    assert build(None).SerializeToString() == build(None).SerializeToString()


@pytest.mark.parametrize("name", REAL_WEIGHTS)
def test_real_weights_fit(name: str) -> None:
    pytest.importorskip("tflite")
    from .tflite_weights import TFLiteWeights

    beside = Path(__file__).resolve().parents[3] / "shared" / "models"
    file = Path(os.environ.get("TVM_TOOL_MODELS", beside)) / f"{REAL_WEIGHTS[name]}.tflite"
    if not file.is_file():
        pytest.skip(f"no {file.name}; TVM_TOOL_MODELS names the folder of the real models")
    weights = TFLiteWeights(file)
    (output,) = run(builder(name)(weights))
    assert weights.is_empty()
    assert np.isfinite(output).all()
