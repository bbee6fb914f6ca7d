"""Post-training quantisation: generated C equals ONNX Runtime on the quantised model, to the bit."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.host import Array, HostModel, build
from tvm_tool.compiler.driver import compile_model
from tvm_tool.image.metadata import TensorInfo
from tvm_tool.options import parse_options
from tvm_tool.samples import load_samples, numbers

ort = pytest.importorskip("onnxruntime")

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples/digits/digits.onnx"
CALIBRATION = ROOT / "examples/digits/calibration_images.npz"
TEST = ROOT / "examples/digits/test_images.npz"


def tensors(metadata: Mapping[str, Any], side: str) -> list[TensorInfo]:
    return [
        TensorInfo(t["name"], t["dtype"], tuple(t["shape"]), t["bytes"], t["scale"], t["zero_point"] or 0)
        for t in metadata[side]
    ]


def expected(host: HostModel, fed: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    (content,) = host.compiled.binaries.values()
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [t["name"] for t in host.metadata["outputs"]]
    return [session.run(names, dict(sample)) for sample in fed]


def check(host: HostModel, samples: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    """Run `samples`, reals; every output must equal that of the quantised model."""
    inputs = tensors(host.metadata, "inputs")
    fed = [{t.name: numbers(t, sample[t.name]) for t in inputs} for sample in samples]
    found = host.run(fed)
    for got, want in zip(found, expected(host, fed), strict=True):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
    return found


@pytest.mark.parametrize("io", ["float", "int8"])
def test_digits_are_exact_and_as_good_as_before(io: str, tmp_path: Path) -> None:
    host = build(DIGITS, tmp_path, quantize="int8", calibration=CALIBRATION, io=io)
    data = load_samples(TEST, [TensorInfo("image", "float32", (1, 1, 8, 8), 256)])
    found = check(host, data.inputs)
    assert data.labels is not None
    right = sum(int(v[0].argmax()) == label for v, label in zip(found, data.labels, strict=True))
    assert right >= 355  # of 360; the float model has 359
    assert host.metadata["inputs"][0]["dtype"] == host.metadata["outputs"][0]["dtype"]
    assert host.metadata["inputs"][0]["dtype"] == {"float": "float32", "int8": "int8"}[io]
    assert not host.compiled.program.left_in_float
    weights = host.metadata["weights"]["bytes"]
    assert weights < 13000  # 8,162 bytes and what biases, scales and the softmax take


def test_the_report_tells_accuracy_errors_and_layers(tmp_path: Path) -> None:
    host = build(DIGITS, tmp_path, quantize="int8", calibration=CALIBRATION)
    report = host.metadata["quantization"]
    assert (report["calibration"], report["samples"]) == ("calibration_images.npz", 200)
    assert report["accuracy"]["float"] > 0.98 and report["accuracy"]["int8"] > 0.98
    (content,) = host.compiled.binaries.values()
    assert report["model"] in host.compiled.binaries
    assert report["sha256"] == hashlib.sha256(content).hexdigest()
    (output,) = report["outputs"]
    assert output["name"] == "scores" and 0 < output["error"]["mean"] < output["error"]["maximum"] < 0.1
    assert output["error"]["sqnr_db"] > 30 and output["error"]["agreement"] >= 198
    names = [layer["name"] for layer in report["layers"]]
    assert names == ["conv1", "conv2", "conv3", "pool", "flatten", "dense1", "dense2", "softmax"]
    assert all(layer["sqnr_db"] > 20 for layer in report["layers"])


def test_the_figures_are_those_of_the_integer_model(tmp_path: Path) -> None:
    """The errors in the report, computed again from the C code's outputs."""
    host = build(DIGITS, tmp_path, quantize="int8", calibration=CALIBRATION)
    data = load_samples(CALIBRATION, tensors(host.metadata, "inputs"))
    found = np.stack([values[0] for values in check(host, data.inputs)])
    session = ort.InferenceSession(DIGITS, providers=["CPUExecutionProvider"])
    float_scores = np.stack([session.run(None, dict(sample))[0] for sample in data.inputs])
    error = host.metadata["quantization"]["outputs"][0]["error"]
    assert error["maximum"] == pytest.approx(np.abs(found - float_scores).max(), rel=1e-4)
    assert error["mean"] == pytest.approx(np.abs(found - float_scores).mean(), rel=1e-4)
    assert error["agreement"] == (found.argmax(-1) == float_scores.argmax(-1)).sum()


def test_header_and_descriptors_tell_scales(tmp_path: Path) -> None:
    options = parse_options("digits.onnx", {"quantize": "int8", "calibration": CALIBRATION, "io": "int8"})
    compiled = compile_model(DIGITS, options)
    header, source = compiled.files["digits.h"], compiled.files["digits.c"]
    assert "#define TVMGEN_DIGITS_IMAGE_SCALE 0.003921569f" in header
    assert "#define TVMGEN_DIGITS_IMAGE_ZERO_POINT (-128)\n" in header
    assert "#define TVMGEN_DIGITS_SCORES_SCALE 0.00" in header
    assert source.count("0.003921569f, -128},") == 2
    (image,) = json.loads(compiled.files["digits.json"])["inputs"]
    assert np.float32(image["scale"]) == np.float32(1 / 255) and image["zero_point"] == -128


def test_same_input_same_bytes(tmp_path: Path) -> None:
    """Whatever order sets have in a process."""
    made = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        command = [sys.executable, "-m", "tvm_tool", "compile", str(DIGITS), "--quantize", "int8"]
        command += ["--calibration", str(CALIBRATION), "--output", str(folder), "--quiet"]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed})
        made.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert made[0] == made[1]
    assert "digits_quantized.onnx" in made[0]


def model(
    nodes: list[onnx.NodeProto], weights: Mapping[str, Array], outputs: Sequence[str]
) -> onnx.ModelProto:
    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 6, 6] if name in "xy" else None)

    graph = helper.make_graph(
        nodes,
        "g",
        [value("x"), value("y")],
        [value(name) for name in outputs],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def two_inputs() -> onnx.ModelProto:
    """Two inputs and two outputs, one of them read inside as well; batch normalisation, odd channels."""
    rng = np.random.default_rng(3)
    norm = {k: rng.uniform(0.5, 1.5, 5).astype(np.float32) for k in ("scale", "offset", "mean", "variance")}
    weights = {
        "w": rng.normal(size=(5, 2, 3, 3)).astype(np.float32),
        "v": rng.normal(size=(3, 5, 1, 1)).astype(np.float32),
        **norm,
    }
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"], "sum"),
        helper.make_node("Conv", ["sum", "w"], ["c"], "wide", pads=[1, 0, 1, 0]),
        helper.make_node("BatchNormalization", ["c", *norm], ["n"], "norm"),
        helper.make_node("HardSwish", ["n"], ["inner"], "swish"),
        helper.make_node("Conv", ["inner", "v"], ["outer"], "narrow"),
    ]
    return model(nodes, weights, ["inner", "outer"])


@pytest.mark.parametrize("io", ["float", "int8"])
def test_two_inputs_two_outputs_and_an_activation_of_no_kernel(io: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    folder = tmp_path / "samples"
    folder.mkdir()
    samples = [{n: rng.normal(size=(1, 2, 6, 6)).astype(np.float32) for n in "xy"} for _ in range(12)]
    for i, sample in enumerate(samples):
        np.savez(folder / f"{i:02}.npz", **sample)  # type: ignore[arg-type]
    host = build(two_inputs(), tmp_path, quantize="int8", calibration=folder, io=io)
    check(host, samples)
    wanted = {"float": "float32", "int8": "int8"}[io]
    assert {t["dtype"] for t in (*host.metadata["inputs"], *host.metadata["outputs"])} == {wanted}
    report = host.metadata["quantization"]
    assert report["accuracy"] is None and report["calibration"] == "samples"
    assert [o["name"] for o in report["outputs"]] == ["inner", "outer"]
    assert all(o["error"]["sqnr_db"] > 20 for o in report["outputs"])


def test_recorded_answers_are_compared_before_and_after(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=(6, 2, 6, 6)).astype(np.float32) for _ in "xy")
    net = two_inputs()
    session = ort.InferenceSession(net.SerializeToString(), providers=["CPUExecutionProvider"])
    answers = [session.run(None, {"x": a[None], "y": b[None]}) for a, b in zip(x, y, strict=True)]
    inner, outer = (np.concatenate([answer[i] for answer in answers]) for i in (0, 1))
    np.savez(tmp_path / "all.npz", x=x, y=y, inner=inner, outer=outer)
    host = build(net, tmp_path, quantize="int8", calibration=tmp_path / "all.npz")
    report = host.metadata["quantization"]
    assert report["accuracy"]["float"] == 1.0
    for output in report["outputs"]:
        assert output["float_error"]["maximum"] < 1e-4 < output["int8_error"]["maximum"]


def test_data_that_are_all_zero_still_give_a_model(tmp_path: Path) -> None:
    np.savez(tmp_path / "zero.npz", x=np.zeros((2, 2, 6, 6)), y=np.zeros((2, 2, 6, 6)))
    host = build(two_inputs(), tmp_path, quantize="int8", calibration=tmp_path / "zero.npz")
    rng = np.random.default_rng(6)
    check(host, [{n: rng.normal(size=(1, 2, 6, 6)).astype(np.float32) for n in "xy"} for _ in range(3)])


def test_what_does_not_begin_with_a_quantize_stays_float(tmp_path: Path) -> None:
    """The comparison is no operator for integers: its input and output keep their types."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["p"], "conv"),
        helper.make_node("GreaterOrEqual", ["y", "zero"], ["q"], "compare"),
    ]
    weights = {"w": np.ones((3, 2, 1, 1), np.float32), "zero": np.zeros(1, np.float32)}
    net = model(nodes, weights, ["p", "q"])
    net.graph.output[1].type.tensor_type.elem_type = TensorProto.BOOL
    onnx.save(net, tmp_path / "m.onnx")
    np.savez(
        tmp_path / "c.npz", x=np.random.default_rng(7).normal(size=(3, 2, 6, 6)), y=np.ones((3, 2, 6, 6))
    )
    said: list[str] = []
    given = {"quantize": "int8", "calibration": tmp_path / "c.npz", "io": "int8"}
    compiled = compile_model(tmp_path / "m.onnx", parse_options("m.onnx", given), progress=said.append)
    metadata = json.loads(compiled.files["m.json"])
    assert [t["dtype"] for t in (*metadata["inputs"], *metadata["outputs"])] == [
        "int8",
        "float32",
        "int8",
        "bool",
    ]
    assert [line for line in said if line.startswith("warning: 'y'")]
    assert [line for line in said if line.startswith("warning: 'q'")]


def test_biases_of_gemm_of_every_shape(tmp_path: Path) -> None:
    """onnxruntime's own quantiser takes vectors alone where weights have a scale by channel."""
    rng = np.random.default_rng(8)
    shapes = {"one": (1,), "row": (1, 5), "vector": (5,)}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    weights |= {
        "w": rng.normal(size=(12, 5)).astype(np.float32),
        "v": rng.normal(size=(5, 12)).astype(np.float32),
    }
    weights["shape"] = np.array([6, 12])
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"], "sum"),
        helper.make_node("Reshape", ["sum", "shape"], ["rows"], "rows"),
        helper.make_node("Gemm", ["rows", "w", "one"], ["a"], "a"),
        helper.make_node("Gemm", ["rows", "v", "row"], ["b"], "b", transB=1),
        helper.make_node("Gemm", ["rows", "w", "vector"], ["c"], "c"),
    ]
    x, y = rng.normal(size=(2, 4, 2, 6, 6))
    np.savez(tmp_path / "c.npz", x=x, y=y)
    host = build(
        model(nodes, weights, ["a", "b", "c"]), tmp_path, quantize="int8", calibration=tmp_path / "c.npz"
    )
    check(host, [{n: rng.normal(size=(1, 2, 6, 6)).astype(np.float32) for n in "xy"} for _ in range(3)])
