"""Bad input of post-training quantisation: one message that says what to do, nothing written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.inputs.test_command_line import DIGITS, refused
from tvm_tool.cli import main

pytest.importorskip("onnxruntime")

IMAGES = np.zeros((3, 1, 8, 8), np.float32)


def save(path: Path, nodes: list[onnx.NodeProto], weights: dict[str, Any]) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"image": IMAGES[:, :, :7]}, ["[3 1 7 8]", "float32 [samples 1 8 8]"]),
        ({"image": IMAGES.astype(complex)}, ["complex128", "float32"]),
        ({"image": np.array(["a", "b"])}, ["<U1"]),
        ({"image": IMAGES[:0]}, ["numbers of samples differ or are zero"]),
        ({"image": IMAGES, "labels": np.zeros(2, int)}, ["'image' 3", "'labels' 2"]),
        ({"image": np.full_like(IMAGES, np.nan)}, ["is nan", "finite numbers"]),
        ({"image": np.full_like(IMAGES, np.inf)}, ["is inf", "finite numbers"]),
        ({"imagee": IMAGES}, ["no input 'imagee'", "did you mean 'image'"]),
        ({"labels": np.zeros(2, int)}, ["no array for the input 'image'"]),
        ({}, ["no array for the input 'image'", "the file has nothing"]),
    ],
)
def test_data_that_do_not_fit(
    arrays: dict[str, Any], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calibration.npz"
    np.savez(file, **arrays)
    error = refused([str(DIGITS), "--quantize", "int8", "--calibration", str(file)], capsys, tmp_path / "out")
    for word in ["calibration.npz", *words]:
        assert word in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--quantize", "int8"], ["option 'quantize'", "no calibration data", "calibration="]),
        (["--calibration", "x.npz"], ["option 'calibration'", "quantize='int8'"]),
        (["--io", "int8"], ["option 'io'", "quantize='int8'"]),
        (["--quantize", "int4", "--calibration", "x.npz"], ["'int4' is not known", "'none' or 'int8'"]),
        (["--quantize", "int8", "--calibration", "x.npz", "--io", "flaot"], ["did you mean 'float'"]),
        (["--quantize", "int8", "--calibration", "x.npz"], ["x.npz", "cannot be read"]),
    ],
)
def test_options_that_do_not_go_together(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused([str(DIGITS), *arguments], capsys, tmp_path / "out")
    for word in words:
        assert word in error


def test_a_tflite_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(tmp_path / "m.tflite"), "--quantize", "int8", "--calibration", "x.npz"]
    error = refused(arguments, capsys, tmp_path / "out")
    assert "m.tflite" in error and "float ONNX model" in error and "converted to TFLite" in error


def test_a_model_that_keeps_a_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(DIGITS), "--quantize", "int8", "--calibration", "x.npz", "--state", "persistent"]
    error = refused(arguments, capsys, tmp_path / "out")
    assert "keeps a state" in error and "option 'quantize'" in error


def test_a_model_that_is_quantised_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "/quantise"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], "/back"),
    ]
    model = save(tmp_path / "m.onnx", nodes, {"s": np.float32(0.5), "z": np.int8(0)})
    np.savez(tmp_path / "c.npz", x=np.ones((2, 4)))
    arguments = [str(model), "--quantize", "int8", "--calibration", str(tmp_path / "c.npz")]
    error = refused(arguments, capsys, tmp_path / "out")
    assert "m.onnx" in error and "'/quantise'" in error and "quantised already" in error


def test_a_model_in_which_nothing_can_be_quantised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save(tmp_path / "m.onnx", [helper.make_node("Round", ["x"], ["y"])], {})
    np.savez(tmp_path / "c.npz", x=np.ones((2, 4)))
    arguments = [str(model), "--quantize", "int8", "--calibration", str(tmp_path / "c.npz")]
    assert "nothing in it that onnxruntime quantises" in refused(arguments, capsys, tmp_path / "out")


def test_without_onnxruntime_it_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    np.savez(tmp_path / "c.npz", image=IMAGES)
    arguments = [str(DIGITS), "--quantize", "int8", "--calibration", str(tmp_path / "c.npz")]
    error = refused(arguments, capsys, tmp_path / "out")
    assert "onnxruntime is not installed" in error and "pip install onnxruntime" in error


def test_a_refusal_leaves_what_was_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    assert main(["compile", str(DIGITS), "--output", str(output), "--quiet"]) == 0
    before = {file.name: file.read_bytes() for file in output.iterdir()}
    arguments = ["--quantize", "int8", "--calibration", str(tmp_path / "none.npz"), "--output", str(output)]
    assert main(["compile", str(DIGITS), *arguments]) == 2
    assert {file.name: file.read_bytes() for file in output.iterdir()} == before
    assert "none.npz" in capsys.readouterr().err
