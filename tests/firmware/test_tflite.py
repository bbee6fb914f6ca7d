"""Quantised TFLite models in linked images on emulated cores: the bytes of TensorFlow Lite Micro."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.firmware.test_models import needs_toolchain
from tests.numerics.test_kernels_s8 import needs
from tests.numerics.test_tflite_exact import MODEL_FACTS, MODELS, pattern, recorded_outputs
from tests.support.firmware import build_firmware
from tvm_tool.board import load_board
from tvm_tool.target.verify import verify_image

pytestmark = needs_toolchain


BOARDS = (
    *("mps2_an383", "mps2_an385", "mps2_an386", "mps2_an500"),
    *("mps2_an505", "mps3_an547", "virt_rv32"),
)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", MODEL_FACTS)
def test_the_bytes_on_the_core_are_those_of_tflm(name: str, board: str, tmp_path: Path) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    core = load_board(board).core
    needs(f"{core.toolchain}gcc", core.qemu)
    firmware = build_firmware(path, board, tmp_path)
    metadata = json.loads(firmware.metadata.read_text(encoding="utf-8"))
    source, result = metadata["inputs"][0], metadata["outputs"][0]
    answers = recorded_outputs(MODEL_FACTS[name][1])
    inputs = [pattern(p, source["bytes"]).reshape(source["shape"]) for p in range(4)]
    outputs = [np.frombuffer(bytes.fromhex(a), np.int8).reshape(result["shape"]) for a in answers]
    recorded = tmp_path / "recorded.npz"
    arrays: dict[str, Any] = {source["name"]: np.stack(inputs), result["name"]: np.stack(outputs)}
    np.savez(recorded, **arrays)
    found = verify_image(firmware.elf, firmware.metadata, path, firmware.board, recorded)
    found.check()
    assert found.samples == 4
