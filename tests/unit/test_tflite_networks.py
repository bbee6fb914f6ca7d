"""Whole TFLite networks: the translation, run by onnxruntime, against LiteRT and against TFLM's outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("tflite")

from tests.unit.test_tflite_operators import run_litert, run_onnx
from tvm_tool.compiler.frontend.tflite_model import load_tflite

MODELS = Path(os.environ.get("TVM_TOOL_MODELS", Path(__file__).parents[3] / "shared" / "models"))
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the model collection is not there")

# Most an output may differ from LiteRT's reference kernels, in its own units: onnxruntime computes in float
# what they compute in integers, and random inputs lie far from any class, which magnifies a rounding.
LIMITS = {
    "ad01_int8": 1,
    "field/hello_world_int8": 1,
    "kws_ref_model": 3,
    "pretrainedResnet_quant": 60,
    "str_ww_ref_model": 3,
    "vww_96_int8": 3,
    "ad01_fp32": 1e-5,
    "pretrainedResnet": 1e-5,
    "vww_96_float": 1e-5,
    "kws_ref_model_float32": 0.05,  # LiteRT quantises the data of hybrid layers, we do not
}


@pytest.mark.parametrize("name", LIMITS)
def test_against_litert(name: str) -> None:
    path = MODELS / f"{name}.tflite"
    model = load_tflite(path, {})
    onnx.checker.check_model(model.proto, full_check=True)
    (value,) = model.proto.graph.input
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    rng = np.random.default_rng(0)
    worst, different, total = 0.0, 0, 0
    for _ in range(10):
        data = rng.integers(-128, 128, shape) if dtype == np.int8 else rng.standard_normal(shape)
        feeds = {value.name: data.astype(dtype)}
        (got,) = run_onnx(model.proto, feeds)
        (want,) = run_litert(path, feeds, model.outputs, reference=True)
        assert got.dtype == want.dtype and got.shape == want.shape
        error = np.abs(got.astype(np.float64) - want)
        if dtype == np.float32:
            error /= np.maximum(np.abs(want), 1.0)
        worst, total = max(worst, float(error.max())), total + error.size
        different += int((error > 0).sum())
    print(f"{name}: {different}/{total} differ, at most by {worst:.3g}")
    assert worst <= LIMITS[name]


@pytest.mark.parametrize("name", ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8"])
def test_against_tflm(name: str) -> None:
    file = f"{name}.tflite"
    expected = json.loads((MODELS / "expected_tflm.json").read_text(encoding="utf-8"))["outputs"][file]
    model = load_tflite(MODELS / file, {})
    (value,) = model.proto.graph.input
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    data = ((np.arange(np.prod(shape)) * 7919 + 13) % 256 - 128).astype(np.int8).reshape(shape)
    (got,) = run_onnx(model.proto, {value.name: data})
    want = np.frombuffer(bytes.fromhex(expected), np.int8)
    worst = int(np.abs(got.reshape(-1).astype(int) - want).max())
    print(f"{name}: at most {worst} from TFLM")
    assert worst <= LIMITS[name] + 3  # its fully connected layers round twice


@pytest.mark.parametrize("name", ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant"])
def test_transposes_cancel_between_convolutions(name: str) -> None:
    graph = load_tflite(MODELS / f"{name}.tflite", {}).proto.graph
    readers = {i: n for n in graph.node for i in n.input}
    quantised = {n.output[0] for n in graph.node if n.op_type == "QuantizeLinear"}
    turned = [n for n in graph.node if n.op_type == "Transpose" and n.input[0] in quantised]
    assert all(readers[n.output[0]].op_type != "Transpose" for n in turned)
    floats = [n for n in graph.node if n.op_type in ("Conv", "Gemm")]
    producers = {o: n for n in graph.node for o in n.output}
    for node in floats:
        assert {producers[i].op_type for i in node.input} == {"DequantizeLinear"}
