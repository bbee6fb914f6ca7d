"""Running whole firmwares in the emulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.firmware.data_target.firmware import MISSING, build, plain_script
from tvm_tool.board import Board, Emulator, load_board
from tvm_tool.errors import TargetError, ToolchainError
from tvm_tool.target.qemu import run_image

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

F412, F407 = load_board("stm32f412"), load_board("stm32f407")
M3, M4 = load_board("mps2_an385"), load_board("mps2_an386")


@pytest.mark.parametrize("board", [F412, F407, M3, M4], ids=lambda b: b.name)
def test_output_and_status(board: Board, tmp_path: Path) -> None:
    result = run_image(build(tmp_path, board).elf, board, timeout=20)
    assert (result.output, result.status) == ("right\n", 0)


@pytest.mark.parametrize("flags", [(), ("-flto",)], ids=["plain", "lto"])
@pytest.mark.parametrize("board", [F412, M3], ids=lambda b: b.name)
def test_models_and_instances_in_turn(board: Board, flags: tuple[str, ...], tmp_path: Path) -> None:
    result = run_image(build(tmp_path, board, *flags, main="handles.c").elf, board, timeout=20)
    assert (result.output, result.status) == ("right\n", 0)


def test_a_status_that_is_not_zero(tmp_path: Path) -> None:
    result = run_image(build(tmp_path, F412, "-DFAKE_BIAS=3.0f").elf, F412, timeout=20)
    assert (result.output, result.status) == ("wrong\n", 8)


def test_a_hard_fault(tmp_path: Path) -> None:
    result = run_image(build(tmp_path, F412, "-DMAIN_FAULTS").elf, F412, timeout=20)
    assert result.status == 125
    assert "hard fault" in result.output


def test_a_lockup(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412, "-DMAIN_LOCKS_UP", "-DMAIN_FAULTS")
    with pytest.raises(TargetError, match="locked up") as caught:
        run_image(firmware.elf, F412, timeout=20)
    assert "main" in str(caught.value)


def test_a_hang(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"did not end within 0\.3 s"):
        run_image(build(tmp_path, F412, "-DMAIN_HANGS").elf, F412, timeout=0.3)


def test_an_emulator_with_less_ram(tmp_path: Path) -> None:
    """The board has 256K, the emulated machine 128K: the stack would start outside."""
    script = plain_script(0x08000000, 256 << 10)
    with pytest.raises(TargetError, match="initial stack pointer reaches 0x20040000") as caught:
        run_image(build(tmp_path, F412, script=script).elf, F412, timeout=20)
    assert "ends at 0x20020000" in str(caught.value)
    assert "at most 131,072 bytes of region 'ram', not 262,144" in str(caught.value)


def test_variables_beyond_the_emulated_ram(tmp_path: Path) -> None:
    source = tmp_path / "big.c"
    source.write_text("__attribute__((used)) char big[150000];\n")
    firmware = build(tmp_path, F412, str(source), "-Wl,--undefined=big")
    with pytest.raises(TargetError, match=r"section '\.(bss|heap)' reaches"):
        run_image(firmware.elf, F412, timeout=20)


def test_a_board_without_emulator(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="stm32f412 has no emulator"):
        run_image(build(tmp_path, F412).elf, replace(F412, emulator=None))


def test_a_machine_that_does_not_exist(tmp_path: Path) -> None:
    board = replace(F412, emulator=Emulator("netduinoplus3"))
    with pytest.raises(TargetError, match="unsupported machine"):
        run_image(build(tmp_path, F412).elf, board, timeout=20)


def test_no_emulator_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elf = build(tmp_path, F412).elf
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="qemu-system-arm is not installed") as caught:
        run_image(elf, F412)
    assert "apt install qemu-system-arm" in str(caught.value)
