"""Verification of TFLite models without recorded answers: LiteRT is the reference."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.test_models import needs_toolchain
from tests.numerics import state_models as models
from tests.support.firmware import Firmware, build_firmware
from tests.unit.tflite_files import Op, T, const, write
from tvm_tool.compiler.frontend.tflite_file import read_tflite
from tvm_tool.errors import ModelError, ToolchainError, VerifyError
from tvm_tool.target.litert import litert_kernels
from tvm_tool.target.reference import reference_outputs
from tvm_tool.target.tflm import tflm_outputs
from tvm_tool.target.verdict import VerifyResult
from tvm_tool.target.verify import verify_image

BOARD = "mps2_an386"


def verify(path: Path, firmware: Firmware, inputs: Path | None = None, samples: int = 8) -> VerifyResult:
    return verify_image(firmware.elf, firmware.metadata, path, firmware.board, inputs, samples)


def dense(path: Path, kind: str = "int8") -> Path:
    """A fully connected layer whose scales make its sums large: the two roundings of profile tflm show."""
    rng = np.random.default_rng(0)
    real = kind == "float32"
    weights = rng.standard_normal((40, 24)) if real else rng.integers(-127, 128, (40, 24))
    scale = {} if real else {"scale": 0.011}
    tensors = [
        T("x", (1, 24), kind, scale=None if real else 0.05, zero=0 if real else 3),
        const("w", weights, kind, **scale),
        T("y", (1, 40), kind, scale=None if real else 0.037, zero=0 if real else -5),
    ]
    op = Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnected", {})
    return write(path, tensors, [op], ["x"], ["y"])


@needs_toolchain
@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_litert_is_the_reference(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    path = dense(tmp_path / "dense.tflite", kind)
    result = verify(path, build_firmware(path, BOARD, tmp_path / "c", rounding="litert"))
    result.check()
    assert result.samples == result.agreement == 8
    assert "LiteRT's reference kernels, the model rounds as profile litert" in result.report()


@needs_toolchain
def test_variables_step_along(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    path = models.ring(tmp_path / "ring.tflite", "int8")
    result = verify(path, build_firmware(path, BOARD, tmp_path / "c", rounding="litert"), samples=10)
    result.check()
    assert result.samples == 10


@needs_toolchain
def test_micro_is_the_reference_of_its_own_rounding(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro")
    path = dense(tmp_path / "dense.tflite")
    result = verify(path, build_firmware(path, BOARD, tmp_path / "c"), samples=200)
    result.check()
    assert result.samples == result.agreement == 200
    assert "TensorFlow Lite Micro, the model rounds as profile tflm" in result.report()


def test_micro_steps_along(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro")
    path = models.ring(tmp_path / "ring.tflite", "int8")
    file = read_tflite(path)
    rng = np.random.default_rng(0)
    samples = [
        {t.name: rng.integers(-128, 128, t.shape).astype(np.int8) for t in file.inputs} for _ in range(6)
    ]
    names = [t.name for t in file.outputs]
    answers = tflm_outputs(path, samples, names)
    assert answers is not None
    wanted = reference_outputs(path, samples, names)
    for got, want in zip(answers, wanted, strict=True):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_micro_does_not_take_is_left_to_litert(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro")
    tensors = [T("x", (1, 4), "int8", scale=0.05), T("y", (1, 4), "int8", scale=0.05)]
    path = write(tmp_path / "m.tflite", tensors, [Op("EXP", ["x"], ["y"])], ["x"], ["y"])
    assert tflm_outputs(path, [{"x": np.zeros((1, 4), np.int8)}], ["y"]) is None


@needs_toolchain
def test_another_rounding_is_not_called_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    monkeypatch.setattr("tvm_tool.target.verify.has_tflm", lambda: False)
    path = dense(tmp_path / "dense.tflite")
    firmware = build_firmware(path, BOARD, tmp_path / "c")
    result = verify(path, firmware, samples=200)
    assert result.largest_error == 1.0
    assert (
        "profile tflm" in result.report()
        and "DIFFERENT: these kernels round in another way" in result.report()
    )
    with pytest.raises(VerifyError, match="rounding=litert") as error:
        result.check()
    assert "pip install tflite-micro" in str(error.value)
    # Recorded answers come first, and then nothing excuses a difference.
    recorded = tmp_path / "recorded.npz"
    np.savez(recorded, x=np.zeros((1, 1, 24), np.int8), y=np.zeros((1, 1, 40), np.int8))
    result = verify(path, firmware, recorded)
    assert "WRONG" in result.report() and "LiteRT" not in result.report()


def test_without_litert_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ToolchainError, match="LiteRT is not installed") as error:
        list(reference_outputs(dense(tmp_path / "dense.tflite"), [], []))
    text = str(error.value)
    assert "dense.tflite" in text and "recorded answers" in text and "pip install ai-edge-litert" in text


def test_an_output_that_the_model_lacks(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    path = dense(tmp_path / "dense.tflite")
    with pytest.raises(ModelError, match="no output 'z'"):
        list(reference_outputs(path, [], ["z"]))


@pytest.mark.parametrize(("kind", "kernels"), [("ELU", "optimised"), ("TANH", "reference")])
def test_what_the_reference_kernels_lack_the_others_answer(kind: str, kernels: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter")
    path = write(
        tmp_path / "m.tflite", [T("x", (1, 3)), T("y", (1, 3))], [Op(kind, ["x"], ["y"])], ["x"], ["y"]
    )
    assert litert_kernels(path) == kernels
    [[got]] = reference_outputs(path, [{"x": np.array([[-1, 0, 2]], np.float32)}], ["y"])
    want = np.array([[np.expm1(-1) if kind == "ELU" else np.tanh(-1), 0, 2 if kind == "ELU" else np.tanh(2)]])
    np.testing.assert_allclose(got, want, atol=1e-6)
