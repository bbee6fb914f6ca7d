"""Verification of models whose interface is in half precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.firmware.test_models import needs_toolchain
from tests.support.firmware import build_firmware
from tvm_tool.errors import VerifyError
from tvm_tool.target.verify import verify_image

pytest.importorskip("onnxruntime")
pytestmark = needs_toolchain


def model(path: Path, kind: str, body: str = "y = Add(x, w)") -> Path:
    text = f"""<ir_version: 10, opset_import: ["": 20]>
        g ({kind}[1, 5] x, {kind}[5] w) => ({kind}[1, 5] y) {{ {body} }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    return path


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_halves_are_verified(kind: str, tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", kind)
    firmware = build_firmware(path, "mps2_an386", tmp_path / "c")
    result = verify_image(firmware.elf, firmware.metadata, path, firmware.board, samples=4)
    result.check()
    limit = {"float16": 2 * 2**-10, "bfloat16": 2 * 2**-7}[kind]
    assert result.samples == 4 and result.largest.difference.limit == limit
    # Recorded as float32, and with wrong answers.
    recorded = tmp_path / "recorded.npz"
    arrays = {"x": np.ones((2, 5), np.float32), "w": np.full((2, 5), 0.5, np.float32)}
    np.savez(recorded, **arrays, y=np.full((2, 5), 1.5, np.float32))  # type: ignore[arg-type]
    verify_image(firmware.elf, firmware.metadata, path, firmware.board, recorded).check()
    np.savez(recorded, **arrays, y=np.full((2, 5), 1.75, np.float32))  # type: ignore[arg-type]
    with pytest.raises(VerifyError, match=r"1\.5, the reference says 1\.75"):
        verify_image(firmware.elf, firmware.metadata, path, firmware.board, recorded).check()
