"""Bad input at the command line: one clear message, a status, no half-written outputs, no trace."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_tool.cli import main

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    shape: list[str | int],
    weights: Mapping[str, object] | None = None,
) -> Path:
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], output: Path) -> str:
    status = main(["compile", *arguments, "--output", str(output)])
    error = capsys.readouterr().err
    assert status in (1, 2)
    assert "error: " in error
    assert "Traceback" not in error
    assert not output.exists() or not list(output.iterdir()), "no half-written outputs"
    return error.replace(",", "")


def test_missing_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(DIGITS.read_bytes())
    error = refused([str(tmp_path / "modle.onnx")], capsys, tmp_path / "out")
    assert "modle.onnx" in error
    assert "did you mean 'model.onnx'" in error


@pytest.mark.parametrize("size", [0, 10, 1000, 20_000])
def test_truncated_model(size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "cut.onnx"
    model.write_bytes(DIGITS.read_bytes()[:size])
    assert "cut.onnx" in refused([str(model)], capsys, tmp_path / "out")


MEASURED = """
import resource, subprocess, sys
status = subprocess.run([sys.executable, "-m", "tvm_tool", *sys.argv[1:]]).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small program that starts the tool: a process counts the memory of the one that it was forked from."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
@pytest.mark.parametrize("ending", ["onnx", "tflite"])
def test_a_model_of_300_megabytes_costs_no_memory(ending: str, tmp_path: Path) -> None:
    model = tmp_path / f"large.{ending}"
    with model.open("wb") as file:
        file.truncate(300 * 2**20)
    command = [sys.executable, "-c", MEASURED, "compile", str(model), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    status, kibibytes = map(int, done.stdout.split())
    assert status == 1 and f"large.{ending}" in done.stderr and "314,572,800 bytes" in done.stderr
    assert kibibytes < 150 * 2**10  # half of the file; the tool itself takes 60 MB
    assert not (tmp_path / "out").exists()


def test_not_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "text.onnx"
    model.write_text("This is no model at all.")
    assert "text.onnx" in refused([str(model)], capsys, tmp_path / "out")


def test_unsupported_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = helper.make_node("Det", ["x"], ["y"], name="/head/Det")
    error = refused([str(save(tmp_path / "m.onnx", [node], [1, 4, 4]))], capsys, tmp_path / "out")
    assert "m.onnx" in error
    assert "'/head/Det' (Det)" in error
    assert "remedy" in error


def test_free_dimension(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["N", 3])
    error = refused([str(model)], capsys, tmp_path / "out")
    assert "'x'" in error
    assert "shapes" in error
    assert main(["compile", str(model), "--shapes", "x=2,3", "--output", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--board", "stm32f421"], ["stm32f421", "did you mean 'stm32f412'"]),
        (["--optimise", "size"], ["--optimise", "did you mean '--optimize'"]),
        (["--optimize", "sped"], ["option 'optimize'", "did you mean 'speed'"]),
        (["--weights", "flash"], ["option 'weights'", "board"]),
        (["--board", "stm32f407", "--arena", "cmc"], ["'cmc'", "did you mean 'ccm'"]),
        (["--board", "stm32f412", "--name", "no good"], ["'no good'", "C identifier"]),
    ],
)
def test_bad_options(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused([str(DIGITS), *arguments], capsys, tmp_path / "out")
    for word in words:
        assert word in error


def test_malformed_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = tmp_path / "mine.yaml"
    board.write_text(
        "extends: stm32f4\ndescription: mine\nmemory:\n  flash: {orgin: 0x08000000, length: 1M}\n"
    )
    error = refused([str(DIGITS), "--board", str(board)], capsys, tmp_path / "out")
    assert "mine.yaml" in error
    assert "4" in error
    assert "orgin" in error


def test_model_larger_than_flash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["h"], name="/wide"),
        helper.make_node("Gemm", ["h", "v"], ["y"], name="/narrow"),
    ]
    weights = {"w": np.ones((64, 8000), np.float32), "v": np.full((8000, 4), 2, np.float32)}
    model = save(tmp_path / "m.onnx", nodes, [1, 64], weights)
    error = refused([str(model), "--board", "stm32f412"], capsys, tmp_path / "out")
    size = 4 * (64 * 8000 + 8000 + 8000 * 4 + 4)
    assert f"{size}" in error
    assert f"{size - 2**20} too few" in error
    assert "/wide" in error


def test_arena_larger_than_ram(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], name="/wide"),
        helper.make_node("GlobalAveragePool", ["h"], ["y"], name="/pool"),
    ]
    model = save(tmp_path / "m.onnx", nodes, [1, 1, 128, 128], {"w": np.ones((16, 1, 1, 1), np.float32)})
    error = refused([str(model), "--board", "stm32f412"], capsys, tmp_path / "out")
    assert "workspace" in error
    assert "/wide" in error
    assert "too few" in error


def test_an_output_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["compile", str(DIGITS), "--output", str(tmp_path / "file" / "out")]) == 1
    assert "cannot write here" in capsys.readouterr().err


def test_mistyped_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complie"]) == 2
    assert "did you mean 'compile'" in capsys.readouterr().err


def test_spaces_and_other_letters_simply_work(tmp_path: Path) -> None:
    folder = tmp_path / "Gerät nr. 1 – модель"
    folder.mkdir()
    model = folder / "my digits ä.onnx"
    model.write_bytes(DIGITS.read_bytes())
    command = [sys.executable, "-m", "tvm_tool", "compile", str(model), "--output", str(folder / "out put")]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    metadata = json.loads((folder / "out put" / "my_digits__.json").read_text(encoding="utf-8"))
    assert metadata["model"]["file"] == model.name
    include = f"-I{folder / 'out put'}"
    subprocess.run(
        ["gcc", "-fsyntax-only", "-Wall", "-Werror", include, folder / "out put" / "my_digits__.c"],
        check=True,
    )


def test_an_interrupted_compile_leaves_nothing_to_believe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tvm_tool", "compile", str(DIGITS), "--output", str(tmp_path / "out")]
    for delay in (0.3, 0.8, 1.2):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
        done = (tmp_path / "out" / "digits.json").exists()
        assert not done or process.returncode == 0 or (tmp_path / "out" / "digits.c").exists()
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    assert not list((tmp_path / "out").glob(".tvm-*")), "what the killed ones left is gone"


def test_nobody_needs_a_trace(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tvm_tool", "compile", str(tmp_path), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "this is a folder" in done.stderr
    assert "Traceback" not in done.stderr
