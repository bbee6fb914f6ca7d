"""Models with a memory in linked images on emulated cores, one run after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.firmware.test_models import needs_toolchain
from tests.numerics import state_models as models
from tests.numerics.state_models import LiteRT, opened, recurrent
from tests.support.firmware import build_firmware
from tvm_tool.errors import VerifyError
from tvm_tool.image import report_sizes
from tvm_tool.target.verify import verify_image

pytestmark = needs_toolchain
CORES = ["mps2_an385", "mps2_an386"]


@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize(
    ("model", "state"),
    [
        (recurrent("LSTM", outputs="yh", initial=True), "persistent"),
        (recurrent("GRU", linear_before_reset=1), "persistent"),
        (opened(recurrent("LSTM", outputs="y")), "h_new:h_in,c_new:c_in"),
    ],
    ids=["lstm", "gru", "pairs"],
)
def test_onnx_steps_as_in_onnxruntime(model: onnx.ModelProto, state: str, board: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    firmware = build_firmware(path, board, tmp_path / "c", state=state)
    report_sizes(firmware.elf, [firmware.metadata], firmware.board)
    result = verify_image(firmware.elf, firmware.metadata, path, firmware.board, samples=8)
    result.check()
    assert result.samples == 8


def recorded(path: Path, count: int, forgets: bool = False) -> dict[str, Any]:
    """Inputs of `ring` and what LiteRT answers, by name; `forgets`: every sample in a new interpreter."""
    rng = np.random.default_rng(4)
    data = [{"x": rng.integers(-128, 128, (1, 1, 1, 4)).astype(np.int8)} for _ in range(count)]
    reference = LiteRT(path)
    answers = [(LiteRT(path) if forgets else reference)(sample)[0] for sample in data]
    return {"x": np.stack([s["x"] for s in data]), "y": np.stack(answers)}


@pytest.mark.parametrize("board", CORES)
def test_a_streaming_convolution_gives_the_bytes_of_litert(board: str, tmp_path: Path) -> None:
    path = models.ring(tmp_path / "ring.tflite", "int8")
    firmware = build_firmware(path, board, tmp_path / "c", optimize="size", rounding="litert")
    inputs = tmp_path / "recorded.npz"
    np.savez(inputs, **recorded(path, 10))
    verify_image(firmware.elf, firmware.metadata, path, firmware.board, inputs, 10).check()
    np.savez(inputs, **recorded(path, 10, forgets=True))
    with pytest.raises(VerifyError):
        verify_image(firmware.elf, firmware.metadata, path, firmware.board, inputs, 10).check()
