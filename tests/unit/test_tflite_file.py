from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")

from tests.unit.tflite_files import Op, T, const, write
from tvm_tool.compiler.frontend.tflite_model import load_tflite
from tvm_tool.errors import ModelError, OptionError, ToolchainError, UnsupportedError

RELU = [Op("RELU", ["x"], ["y"])]


def relu(path: Path, **changes: Any) -> Path:
    x = T("x", [1, 4], **{k[2:]: v for k, v in changes.items() if k.startswith("x_")})
    y = T("y", [1, 4], **{k[2:]: v for k, v in changes.items() if k.startswith("y_")})
    rest = {k: v for k, v in changes.items() if k[1] != "_"}
    return write(path / "m.tflite", [x, y], rest.pop("ops", RELU), ["x"], ["y"], **rest)


def refusal(path: Path, kind: type[ModelError] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        load_tflite(path, {})
    assert caught.value.file == str(path)
    return str(caught.value)


def test_good_file(tmp_path: Path) -> None:
    model = load_tflite(relu(tmp_path), {"x": (1, 4)})
    assert (model.inputs, model.outputs) == (("x",), ("y",))
    assert [(n.name, n.op_type) for n in model.proto.graph.node] == [("y", "Relu")]
    again = load_tflite(tmp_path / "m.tflite", {})
    assert again.proto.SerializeToString() == model.proto.SerializeToString()


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "empty"),
        (b"\x08\x07\x12\x07pytorch", "not a TFLite model"),
        (b"\x1c\0\0\0TFL3", "damaged"),
        (b"\xff\xff\xff\x7fTFL3" + bytes(64), "damaged"),
    ],
)
def test_no_model(contents: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(contents)
    assert words in refusal(path)


def test_a_file_beyond_any_flash_is_not_read(tmp_path: Path) -> None:
    path = relu(tmp_path)
    with path.open("r+b") as file:
        file.truncate(300 * 2**20)  # a hole: it takes no space and would take memory if it were read
    assert "takes 314,572,800 bytes" in refusal(path)


def test_no_file(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "no.tflite")
    assert "regular file" in refusal(tmp_path)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    data = relu(tmp_path, x_dtype="int8", x_scale=0.5, y_dtype="int8", y_scale=0.5).read_bytes()
    path = tmp_path / "short.tflite"
    for size in range(8, len(data) - 4, 3):
        path.write_bytes(data[:size])
        refusal(path)


def test_damaged_bytes_never_end_in_a_trace(tmp_path: Path) -> None:
    data = relu(tmp_path, x_dtype="int8", x_scale=0.5, y_dtype="int8", y_scale=0.5).read_bytes()
    rng = np.random.default_rng(1)
    path = tmp_path / "bad.tflite"
    for _ in range(400):
        bad = bytearray(data)
        for place in rng.integers(8, len(data), 2):
            bad[place] = rng.integers(256)
        path.write_bytes(bytes(bad))
        with contextlib.suppress(ModelError):
            load_tflite(path, {})


def test_package_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = relu(tmp_path)
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(ToolchainError, match="pip install"):
        load_tflite(path, {})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "schema version 2"),
        ({"subgraphs": 0}, "holds no network"),
        ({"ops": []}, "computes nothing"),
        ({"x_buffer": 77}, "tensor 'x': its buffer 77 does not exist"),
        ({"x_dtype": "int8", "x_scale": 0.0}, "tensor 'x': its scale is 0.0"),
        ({"x_dtype": "int8", "x_scale": float("nan")}, "tensor 'x': its scale is nan"),
        ({"x_dtype": "int8", "x_scale": 1.0, "x_zero": 300}, "zero point does not fit int8"),
        ({"x_dtype": "int8", "x_scale": [1.0, 1.0], "x_zero": [0, 0], "x_axis": 1}, "2 scales do not fit"),
        ({"x_dtype": "int8", "x_scale": [1.0] * 4, "x_axis": 1}, "4 scales but 1 zero points"),
        ({"ops": [Op("RELU", ["z"], ["y"])]}, "'y' .RELU.: its input 0 is missing"),
        ({"ops": [*RELU, *RELU]}, "tensor 'y': it is computed twice"),
        ({"ops": [Op("RELU", ["y"], ["y"])]}, "tensor 'y': it is read before"),
        ({"ops": [Op("SOFTMAX", ["x"], ["y"])]}, "its option 'Beta' is missing"),
        ({"ops": [Op("MEAN", ["x", "x"], ["y"], "Reducer")]}, "input 1, tensor 'x', is computed at run time"),
    ],
)
def test_invalid(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert re.search(words, refusal(relu(tmp_path, **changes)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subgraphs": 2}, "2 subgraphs"),
        ({"ops": [Op("WHILE", ["x"], ["y"])]}, "operator 'y' .WHILE.: WHILE cannot be compiled"),
        ({"ops": [Op("MyOwn", ["x"], ["y"])]}, "custom operator MyOwn cannot be compiled"),
        ({"ops": [Op("SVDF", ["x"], ["y"])], "x_variable": True}, "SVDF cannot be compiled"),
        ({"x_variable": True}, "input 'x': it keeps its value"),
        ({"x_dtype": "int16"}, "input 'x': it is computed in elements of type INT16"),
        ({"x_dtype": "STRING"}, "elements of type STRING"),
        ({"x_dtype": "int8"}, "tensor 'x' is int8 without scale"),
        ({"y_dtype": "int8", "y_scale": [1.0] * 4, "y_zero": [0] * 4, "y_axis": 1}, "quantised by channel"),
    ],
)
def test_unsupported(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert re.search(words, refusal(relu(tmp_path, **changes), UnsupportedError))


def test_declared_shape_contradicts(tmp_path: Path) -> None:
    tensors = [T("x", [1, 4]), T("y", [1, 5])]
    path = write(tmp_path / "m.tflite", tensors, RELU, ["x"], ["y"])
    assert "tensor 'y': its shape is [1, 4]" in refusal(path)


def test_huge_shape(tmp_path: Path) -> None:
    tensors = [T("x", [2**30, 2]), T("y", [1, 4])]
    path = write(tmp_path / "m.tflite", tensors, RELU, ["x"], ["y"])
    assert "tensor 'x': its shape [1073741824, 2] takes" in refusal(path, UnsupportedError)


def test_constant_too_short(tmp_path: Path) -> None:
    short = T("c", [8], data=np.zeros(7, np.float32))
    tensors = [T("x", [1, 8]), short, T("y", [1, 8])]
    path = write(tmp_path / "m.tflite", tensors, [Op("ADD", ["x", "c"], ["y"], "Add")], ["x"], ["y"])
    assert "tensor 'c': its 28 bytes do not fill shape [8] of FLOAT32" in refusal(path)


def test_shapes(tmp_path: Path) -> None:
    path = relu(tmp_path)
    with pytest.raises(OptionError, match=r"\[2, 4\] contradicts"):
        load_tflite(path, {"x": (2, 4)})
    with pytest.raises(OptionError, match="no input 'z'"):
        load_tflite(path, {"z": (2, 4)})


def test_names_are_made_unique(tmp_path: Path) -> None:
    tensors = [T("x", [4]), T("a", [4]), T("", [4]), T("y", [4]), const("k", [1.0], "float32")]
    ops = [Op("RELU", ["x"], ["a"]), Op("ADD", ["a", "k"], [""], "Add"), Op("ABS", [""], ["y"])]
    model = load_tflite(write(tmp_path / "m.tflite", tensors, ops, ["x"], ["y"]), {})
    assert [n.name for n in model.proto.graph.node] == ["a", "ADD_2", "y"]
