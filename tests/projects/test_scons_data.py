"""What a model is made of besides its file: calibration data, and weights in files of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.projects.scons_project import Project

Copy = Callable[..., Project]


def quantised(project: Copy, calibration: str, *files: str) -> Project:
    firmware = project("plain")
    for name in files:
        firmware.write(name, "1\n")
    firmware.replace(
        "SConstruct", "'digits.toy')", f"'digits.toy', quantize='int8', calibration='{calibration}')"
    )
    return firmware


def test_changed_calibration_compiles_again_and_touched_does_not(project: Copy) -> None:
    firmware = quantised(project, "data.npz", "data.npz")
    firmware.run()
    assert firmware.program() == "3 6 9 12\n"
    assert "tvm/digits/digits_quantized.onnx" in firmware.files()
    firmware.up_to_date()
    os.utime(firmware.path / "data.npz", (1, 1))
    firmware.up_to_date()
    firmware.write("data.npz", "2\n")
    run = firmware.not_up_to_date()
    assert run.files("TVM") == ["digits.toy"] and run.files("CC") == ["digits_weights.o"]
    assert firmware.program() == "4 8 12 16\n"
    firmware.run("-c")
    assert not (firmware.path / "tvm").exists()


def test_every_file_of_a_folder_counts(project: Copy) -> None:
    firmware = quantised(project, "data", "data/a.npz", "data/b.npy", "data/notes.txt")
    firmware.run()
    assert firmware.program() == "4 8 12 16\n"
    os.utime(firmware.path / "data/b.npy", (1, 1))
    firmware.write("data/notes.txt", "another\n")
    firmware.up_to_date()
    firmware.write("data/b.npy", "2\n")
    firmware.not_up_to_date()
    assert firmware.program() == "5 10 15 20\n"
    firmware.write("data/c.npz", "3\n")
    firmware.not_up_to_date()
    assert firmware.program() == "8 16 24 32\n"
    (firmware.path / "data/a.npz").unlink()
    firmware.not_up_to_date()
    assert firmware.program() == "7 14 21 28\n"
    firmware.up_to_date()


def test_calibration_data_may_be_made_by_the_build(project: Copy) -> None:
    firmware = quantised(project, "made.npz", "raw.txt")
    text = (firmware.path / "SConstruct").read_text()
    made = "env.Command('made.npz', 'raw.txt', Copy('$TARGET', '$SOURCE'))\n"
    firmware.write("SConstruct", text.replace("env.Program", f"{made}env.Program"))
    firmware.run()
    assert firmware.program() == "3 6 9 12\n"
    firmware.write("raw.txt", "5\n")
    firmware.not_up_to_date()
    assert firmware.program() == "7 14 21 28\n"


@pytest.mark.parametrize("duplicate", [0, 1])
def test_calibration_in_a_variant_folder(duplicate: int, project: Copy) -> None:
    firmware = quantised(project, "data", "data/a.npz")
    (firmware.path / "src").mkdir()
    for name in ("main.c", "digits.toy", "data"):
        (firmware.path / name).rename(firmware.path / "src" / name)
    (firmware.path / "SConstruct").rename(firmware.path / "src/SConscript")
    firmware.write("SConstruct", f"SConscript('src/SConscript', variant_dir='out', duplicate={duplicate})\n")
    firmware.run()
    assert firmware.program("out/firmware") == "3 6 9 12\n"
    firmware.up_to_date()
    firmware.write("src/data/a.npz", "4\n")
    firmware.not_up_to_date()
    assert firmware.program("out/firmware") == "6 12 18 24\n"


def test_cache_serves_a_quantised_model_elsewhere(project: Copy, tmp_path: Path) -> None:
    """Where the data lie is no part of what is built, what they hold is."""
    cache = f"CacheDir({str(tmp_path / 'cache')!r})\n"
    made = []
    for folder in ("first", "second/below"):
        made.append(project("plain", to=folder))
        made[-1].write("x.npz", "1\n")
        made[-1].replace(
            "SConstruct",
            "'digits.toy')",
            f"'digits.toy', quantize='int8', calibration={str(made[-1].path / 'x.npz')!r})",
        )
        made[-1].write("SConstruct", cache + (made[-1].path / "SConstruct").read_text())
    made[0].run()
    run = made[1].run()
    assert not run.files("TVM") and "Retrieved `tvm/digits/digits_quantized.onnx'" in run.output


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("quantize='int8', calibration='dat.npz'", ["dat.npz", "did you mean 'data.npz'"]),
        ("quantize='int8', calibration='nowhere/x.npz'", ["nowhere/x.npz", "check the path"]),
        ("quantize='int8'", ["no calibration data", "calibration='FILE.npz'"]),
        ("calibration='data.npz'", ["option 'calibration'", "quantize='int8'"]),
        ("io='int8'", ["option 'io'", "quantize='int8'"]),
        ("quantize='int16', calibration='data.npz'", ["'int16' is not known", "did you mean 'int8'"]),
        ("quantize='int8', calibration=['a', 'b']", ["2 files were given", "folder"]),
    ],
)
def test_what_does_not_fit_is_said_at_once(call: str, words: list[str], project: Copy) -> None:
    firmware = project("plain")
    firmware.write("data.npz", "1\n")
    firmware.replace("SConstruct", "'digits.toy')", f"'digits.toy', {call})")
    output = firmware.fails()
    for word in words:
        assert word in output, output
    assert not (firmware.path / "tvm").exists()


def model_with_external_weights(folder: Path, location: str) -> None:
    weights = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    onnx.external_data_helper.set_external_data(weights, location, offset=0, length=16)
    weights.ClearField("raw_data")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [weights],
    )
    (folder / "digits.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (folder / location).parent.mkdir(exist_ok=True)
    (folder / location).write_bytes(bytes(16))


@pytest.mark.parametrize("location", ["weights.bin", "sub/weights.bin"])
def test_changed_external_weights_compile_again(location: str, project: Copy) -> None:
    firmware = project("plain")
    model_with_external_weights(firmware.path, location)
    firmware.replace("SConstruct", "digits.toy", "digits.onnx")
    firmware.run()
    firmware.up_to_date()
    os.utime(firmware.path / location, (1, 1))
    firmware.up_to_date()
    (firmware.path / location).write_bytes(bytes(15) + b"\1")
    assert firmware.not_up_to_date().files("TVM") == ["digits.onnx"]
    firmware.up_to_date()


@pytest.mark.parametrize("duplicate", [0, 1])
def test_external_weights_in_a_variant_folder(duplicate: int, project: Copy) -> None:
    firmware = project("plain")
    (firmware.path / "src").mkdir()
    model_with_external_weights(firmware.path / "src", "weights.bin")
    firmware.replace("SConstruct", "digits.toy", "digits.onnx")
    (firmware.path / "SConstruct").rename(firmware.path / "src/SConscript")
    (firmware.path / "main.c").rename(firmware.path / "src/main.c")
    firmware.write("SConstruct", f"SConscript('src/SConscript', variant_dir='out', duplicate={duplicate})\n")
    firmware.run()
    firmware.up_to_date()
    assert (firmware.path / "out/weights.bin").exists() == bool(duplicate)
    (firmware.path / "src/weights.bin").write_bytes(bytes(15) + b"\1")
    assert firmware.not_up_to_date().files("TVM") == ["digits.onnx"]
    firmware.up_to_date()
