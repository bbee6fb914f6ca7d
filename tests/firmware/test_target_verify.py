"""Verification of whole firmwares in the emulator, right ones and wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.firmware.data_target.firmware import (
    MISSING,
    Firmware,
    build,
    plain_script,
    write_metadata,
    write_model,
)
from tvm_tool.board import Board, load_board
from tvm_tool.errors import ImageError, OptionError, TargetError, VerifyError
from tvm_tool.image.elf import read_image
from tvm_tool.target.session import start_session
from tvm_tool.target.verdict import VerifyResult
from tvm_tool.target.verify import verify_image

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

F412, M3, M4 = load_board("stm32f412"), load_board("mps2_an385"), load_board("mps2_an386")


def verify(
    firmware: Firmware,
    board: Board = F412,
    inputs: Path | None = None,
    samples: int = 3,
    timeout: float = 20.0,
) -> VerifyResult:
    files = firmware.elf, firmware.metadata, firmware.model
    return verify_image(*files, board, inputs, samples, timeout=timeout)


@pytest.mark.parametrize("flags", [(), ("-flto",), ("-O2",)], ids=["Os", "lto", "O2"])
@pytest.mark.parametrize("board", [F412, M3, M4], ids=lambda b: b.name)
def test_a_right_model(board: Board, flags: tuple[str, ...], tmp_path: Path) -> None:
    result = verify(build(tmp_path, board, *flags), board)
    result.check()
    assert result.largest_error == 0.0
    assert result.agreement == result.samples == 3
    assert result.accuracy is None
    assert result.instructions is not None
    assert 50 < result.instructions[0] <= result.instructions[1] < 2000
    assert 0 < result.stack_bytes < 256
    report = result.report()
    assert report.startswith(f"firmware.elf: fake.onnx on {board.name}\n")
    assert "equal to the reference" in report


def test_the_stack_at_the_end_of_the_ram(tmp_path: Path) -> None:
    result = verify(build(tmp_path, M4, script=plain_script(0, 0x8000)), M4)
    result.check()
    assert result.stack_reserve == M4.stack


def test_recorded_inputs_and_labels(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    inputs = np.eye(8, dtype=np.float32)[[3, 1, 7, 0]]
    np.savez(tmp_path / "inputs.npz", inputs=inputs, labels=np.array([3, 1, 7, 5]))
    result = verify(firmware, inputs=tmp_path / "inputs.npz", samples=100)
    result.check()
    assert (result.samples, result.agreement, result.accuracy) == (4, 4, 3)
    assert "3 of 4 (75.0 %)" in result.report()
    assert "4 (inputs.npz)" in result.report()
    # The same run gives the same numbers.
    assert verify(firmware, inputs=tmp_path / "inputs.npz", samples=100) == result


def test_a_wrong_constant(tmp_path: Path) -> None:
    result = verify(build(tmp_path, F412, "-DFAKE_BIAS=1.001f"))
    assert not result.passed
    assert "WRONG" in result.report()
    with pytest.raises(VerifyError) as caught:
        result.check()
    text = str(caught.value)
    assert "output 'scores', input " in text
    assert "element [0][" in text
    assert "the reference says" in text
    assert "an error of at most 1e-05, not 0.00" in text


def test_an_error_below_the_limit(tmp_path: Path) -> None:
    result = verify(build(tmp_path, F412, "-DFAKE_BIAS=1.000001f"))
    result.check()
    assert 0 < result.largest_error < 1e-5


@pytest.mark.parametrize("board", [F412, M3], ids=lambda b: b.name)
def test_a_model_that_faults(board: Board, tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="the model faulted") as caught:
        verify(build(tmp_path, board, "-DFAKE_FAULT"), board)
    assert "layer1_add" in str(caught.value)
    assert "no memory: 0x60000000" in str(caught.value)


def test_a_model_that_hangs(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match=r"did not return within 0\.5 s") as caught:
        verify(build(tmp_path, F412, "-DFAKE_HANG"), timeout=0.5)
    assert "layer1_add" in str(caught.value)


def test_a_model_that_overruns_its_output(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="writes behind its output") as caught:
        verify(build(tmp_path, F412, "-DFAKE_OVERRUN"))
    assert "output 'scores'" in str(caught.value)


def test_a_model_that_returns_an_error(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="returned status -2"):
        verify(build(tmp_path, F412, "-DFAKE_STATUS=-2"))


def test_the_stack_is_measured(tmp_path: Path) -> None:
    result = verify(build(tmp_path, F412, "-DFAKE_STACK=1000"))
    assert 1000 <= result.stack_bytes <= 1100
    assert result.stack_reserve == F412.stack


def test_a_stack_overflow_that_faults(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="the stack overflowed"):
        verify(build(tmp_path, F412, "-DFAKE_STACK=6000"))


def test_a_stack_overflow_that_corrupts(tmp_path: Path) -> None:
    """A stack at the end of the RAM grows into free memory: nothing faults."""
    with pytest.raises(VerifyError, match=r"uses all 4,0\d\d bytes of stack") as caught:
        verify(build(tmp_path, M4, "-DFAKE_STACK=6000", script=plain_script(0, 0x8000)), M4)
    assert "raise 'stack'" in str(caught.value)


def test_an_image_for_another_core(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="built for armv7e-m, which the cortex-m3 of mps2_an385") as caught:
        verify(build(tmp_path, M4), M3)
    assert "-mcpu=cortex-m3" in str(caught.value)


def test_a_firmware_that_never_reaches_main(tmp_path: Path) -> None:
    """Without link-time optimisation main is found; a firmware whose constructor hangs never gets there."""
    source = tmp_path / "hang.c"
    source.write_text("__attribute__((constructor)) static void wait_for_clock(void) { for (;;) { } }\n")
    firmware = build(tmp_path, F412, str(source))
    image = read_image(firmware.elf)
    main = image.function("main")
    assert main is not None
    with (
        pytest.raises(TargetError, match="did not reach main") as caught,
        start_session(image, F412, main, start_timeout=0.5),
    ):
        pass
    assert "wait_for_clock" in str(caught.value)


def test_a_firmware_that_ends_too_early(tmp_path: Path) -> None:
    source = tmp_path / "end.c"
    source.write_text(
        "void tvm_semihosting_exit(int status);\n"
        "__attribute__((constructor)) static void give_up(void) { tvm_semihosting_exit(3); }\n"
    )
    with pytest.raises(TargetError, match="the program ended with status 3") as caught:
        verify(build(tmp_path, F412, str(source)))
    assert "the firmware reaches main" in str(caught.value)


def test_a_model_that_was_compiled_from_another_file(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    write_model(tmp_path, bias=2.0)
    with pytest.raises(VerifyError, match="not the model that was compiled"):
        verify(firmware)
    firmware.model.unlink()
    with pytest.raises(VerifyError, match="cannot be read"):
        verify(firmware)


def test_a_reference_that_differs(tmp_path: Path) -> None:
    """The other way round: the image is right, the original says something else."""
    firmware = build(tmp_path, F412, bias=2.0)
    with pytest.raises(VerifyError, match="the reference says"):
        verify(firmware).check()


def test_an_image_without_the_model(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    write_metadata(tmp_path, firmware.model, prefix="tvmgen_other")
    with pytest.raises(ImageError, match="no function tvmgen_other_run") as caught:
        verify(firmware)
    assert "--undefined=tvmgen_other_run" in str(caught.value)


def test_an_image_that_uses_the_model_through_a_handle(tmp_path: Path) -> None:
    """The remedy of the test above works."""
    with pytest.raises(ImageError, match="no function tvmgen_fake_run"):
        verify(build(tmp_path, F412, main="handles.c"))
    result = verify(build(tmp_path, F412, "-Wl,--undefined=tvmgen_fake_run", main="handles.c"))
    result.check()


def test_no_samples(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path / "a.elf", tmp_path / "a.json", tmp_path / "a.onnx")
    with pytest.raises(OptionError, match="verify nothing"):
        verify(firmware, samples=0)


def test_paths_with_spaces_and_letters(tmp_path: Path) -> None:
    folder = tmp_path / "my firmware é, v2"
    folder.mkdir()
    verify(build(folder, F412)).check()


def test_without_the_linker_map(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    firmware.elf.with_suffix(".map").unlink()
    verify(firmware).check()
