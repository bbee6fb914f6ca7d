"""Verification of a model that is quantised when it is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.firmware.test_models import needs_toolchain
from tests.support.firmware import Firmware, build_firmware
from tvm_tool.errors import VerifyError
from tvm_tool.target.verify import verify_image

pytest.importorskip("onnxruntime")
pytestmark = needs_toolchain

EXAMPLE = Path(__file__).parents[2] / "examples/digits"
DIGITS, TEST = EXAMPLE / "digits.onnx", EXAMPLE / "test_images.npz"


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    calibration = EXAMPLE / "calibration_images.npz"
    given: dict[str, Any] = {"quantize": "int8", "calibration": calibration, "io": "int8"}
    return build_firmware(DIGITS, "mps2_an386", tmp_path_factory.mktemp("firmware"), **given)


def test_recorded_reals_are_quantised_and_both_models_are_asked(firmware: Firmware) -> None:
    result = verify_image(firmware.elf, firmware.metadata, DIGITS, firmware.board, TEST, 40)
    result.check()
    assert result.largest_error == 0.0 and result.agreement == result.samples == 40
    assert result.original is not None and result.accuracy is not None
    assert result.original.agreement is not None and result.original.agreement >= 38
    assert 0 < result.original.largest < 0.1
    report = result.report()
    assert "none is allowed" in report
    assert f"float model      differs by at most {result.original.largest:.3g}, agrees in " in report


def test_random_inputs_are_integers(firmware: Firmware) -> None:
    result = verify_image(firmware.elf, firmware.metadata, DIGITS, firmware.board, samples=3)
    result.check()
    assert result.original is not None and result.original.accuracy is None


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"other", "not the model that was")]
)
def test_the_quantised_model_must_be_there_as_it_was(
    content: bytes | None, message: str, firmware: Firmware, tmp_path: Path
) -> None:
    metadata = tmp_path / firmware.metadata.name
    metadata.write_bytes(firmware.metadata.read_bytes())
    if content is not None:
        (tmp_path / "digits_quantized.onnx").write_bytes(content)
    with pytest.raises(VerifyError, match=message) as error:
        verify_image(firmware.elf, metadata, DIGITS, firmware.board, TEST, 1)
    assert "digits_quantized.onnx" in str(error.value)
