"""What is no model is refused with the reason, quickly, before it costs memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from tests.unit.onnx_models import load, random_data, run, text
from tvm_tool.compiler.frontend.onnx_file import SIZE_LIMIT
from tvm_tool.compiler.frontend.onnx_model import load_onnx
from tvm_tool.errors import ModelError, TVMToolError

MODEL = text("g (float[1,4] x) => (float[1,4] y) <float[1,4] w = {1,2,3,4}> { [sum] y = Add(x, w) }")
DATA = MODEL.SerializeToString()


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load_onnx(path, {})
    message = str(caught.value)
    assert str(path) in message
    return message


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "digits.onnx").write_bytes(DATA)
    message = refusal(tmp_path / "digit.onnx")
    assert "no such file" in message
    assert "did you mean 'digits.onnx'" in message


def test_missing_file_in_missing_folder(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "nowhere" / "digits.onnx")


def test_folder(tmp_path: Path) -> None:
    assert "this is a folder" in refusal(tmp_path)


def test_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.onnx"
    path.write_bytes(DATA)
    path.chmod(0)
    assert "cannot be read" in refusal(path)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"", "the file is empty"),
        (b"\x1c\x00\x00\x00TFL3", "this is a TFLite file"),
        (b"\x08\x00\x00\x00ORTM", "onnxruntime model"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"PK\x03\x04", "zip archive"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (b"#!/bin/sh\necho hello\n", "not an ONNX model"),
        (bytes(range(256)), "not an ONNX model"),
        (b"\x08\x07", "holds no graph"),
        (b"\x08\x07\x3a\x00", "names no operator set"),
    ],
)
def test_other_contents(start: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(start and start + bytes(0 if start[0] == 8 else 64))
    assert words in refusal(path)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for size in range(1, len(DATA)):
        path.write_bytes(DATA[:size])
        refusal(path)


def test_random_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "model.onnx"
    for size in (10, 100, 1000, 100_000):
        path.write_bytes(rng.bytes(size))
        refusal(path)


def test_damaged_bytes_never_give_a_trace(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "model.onnx"
    refused = 0
    for _ in range(300):
        damaged = np.frombuffer(DATA, np.uint8).copy()
        damaged[rng.integers(0, len(damaged), 2)] = rng.integers(0, 256, 2)
        path.write_bytes(damaged.tobytes())
        try:
            load_onnx(path, {})
        except TVMToolError:
            refused += 1
    assert refused > 100


def test_names_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(DATA.replace(b"sum", b"s\xffm"))
    assert "not text" in refusal(path)


def test_300_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)  # a hole: it takes no space and would take memory if it were read
    message = refusal(path)
    assert "314,572,800 bytes" in message
    assert f"{SIZE_LIMIT:,}" in message


def test_contents_that_do_not_match_their_shape(tmp_path: Path) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    model.graph.initializer[0].dims[:] = [1000, 1000, 1000]
    with pytest.raises(ModelError):
        load(model, tmp_path)


# External data


def external(folder: Path, location: str = "weights.bin", *, offset: int = 16, length: int = 16) -> Path:
    """The model with its weights in another file, 16 bytes in."""
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    tensor = model.graph.initializer[0]
    weights = numpy_helper.to_array(tensor).tobytes()
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
    (folder / "weights.bin").write_bytes(bytes(16) + weights)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_is_loaded(tmp_path: Path) -> None:
    path = external(tmp_path)
    model = load_onnx(path, {})
    data = random_data(MODEL)
    assert np.array_equal(run(model.proto, data)[0], run(MODEL, data)[0])
    assert model.files == (path, tmp_path / "weights.bin")


def test_missing_external_data(tmp_path: Path) -> None:
    path = external(tmp_path)
    (tmp_path / "weights.bin").unlink()
    message = refusal(path)
    assert "'weights.bin' is missing" in message
    assert "constant 'w'" in message


@pytest.mark.parametrize("location", ["../weights.bin", "sub/../../weights.bin", "/etc/passwd", ""])
def test_external_data_outside_the_folder(location: str, tmp_path: Path) -> None:
    inside = tmp_path / "models"
    inside.mkdir()
    path = external(inside, location)
    (tmp_path / "weights.bin").write_bytes(bytes(32))
    message = refusal(path)
    assert "lies outside" in message or "names no file" in message


def test_external_data_behind_a_link_that_leads_outside(tmp_path: Path) -> None:
    inside = tmp_path / "models"
    inside.mkdir()
    path = external(inside, "link.bin")
    (tmp_path / "secret.bin").write_bytes(bytes(32))
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    assert "lies outside" in refusal(path)


@pytest.mark.parametrize(
    ("extent", "words"),
    [
        ({"offset": 20}, "beyond the end"),
        ({"offset": -16}, "beyond the end"),
        ({"length": 12}, "do not fill shape"),
        ({"length": -1}, "do not fill shape"),
        ({"offset": 10**30}, "beyond the end"),
    ],
)
def test_wrong_extent_of_external_data(extent: dict[str, int], words: str, tmp_path: Path) -> None:
    assert words in refusal(external(tmp_path, "weights.bin", **extent))


def test_large_external_data_is_refused_unread(tmp_path: Path) -> None:
    path = external(tmp_path, length=300 * 2**20)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].dims[:] = [300 * 2**18]
    path.write_bytes(model.SerializeToString())
    with (tmp_path / "weights.bin").open("ab") as file:
        file.truncate(301 * 2**20)
    assert f"{SIZE_LIMIT:,}" in refusal(path)
