"""Real networks inside linked images, on emulated cores, against onnxruntime."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from elftools.elf.elffile import ELFFile

from tests.models import mlperf_tiny
from tests.support.firmware import build_firmware
from tvm_tool.image import report_sizes
from tvm_tool.target.verify import verify_image

needs_toolchain = pytest.mark.skipif(
    not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"),
    reason="needs arm-none-eabi-gcc and qemu-system-arm",
)
pytestmark = needs_toolchain

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.mark.parametrize("board", ["mps2_an385", "mps2_an386", "stm32f412", "stm32f407"])
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_digits_on_every_board(board: str, optimize: str, tmp_path: Path) -> None:
    firmware = build_firmware(DIGITS, board, tmp_path, optimize)
    report_sizes(firmware.elf, [firmware.metadata], firmware.board)
    result = verify_image(firmware.elf, firmware.metadata, DIGITS, firmware.board, samples=4)
    result.check()
    assert result.stack_bytes < 1024


@pytest.mark.parametrize("name", ["kws", "ad", "ic", "vww"])
def test_mlperf_tiny_on_a_cortex_m4f(name: str, tmp_path: Path) -> None:
    make: Callable[[], onnx.ModelProto] = getattr(mlperf_tiny, name)
    model = tmp_path / "model.onnx"
    onnx.save(make(), model)
    firmware = build_firmware(model, "mps2_an386", tmp_path / "c", name=name)
    verify_image(firmware.elf, firmware.metadata, model, firmware.board, samples=2).check()


def test_keyword_spotting_on_a_cortex_m3(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(mlperf_tiny.kws(), model)
    firmware = build_firmware(model, "mps2_an385", tmp_path / "c")
    verify_image(firmware.elf, firmware.metadata, model, firmware.board, samples=1).check()


def symbols(elf: Path) -> set[str]:
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {s.name for s in table.iter_symbols() if s["st_info"]["bind"] == "STB_GLOBAL"}


@pytest.mark.parametrize("model", ["digits"])
def test_every_global_symbol_of_ours_has_a_prefix(model: str, tmp_path: Path) -> None:
    firmware = build_firmware(DIGITS, "stm32f412", tmp_path)
    for unit in tmp_path.glob("*.c"):
        if unit.name == "main.c":
            continue
        obj = tmp_path / f"{unit.stem}.o"
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", f"-I{tmp_path}", "-c", unit, "-o", obj]
        subprocess.run(command, check=True)
        with obj.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            ours = [s.name for s in table.iter_symbols() if s["st_info"]["bind"] != "STB_LOCAL"]
            defined = [s for s in ours if s]
        foreign = {s for s in defined if not s.startswith(("tvm_", "tvmgen_"))}
        # What the compiler itself calls for soft floats and copies is not ours to name.
        assert all(s.startswith("__aeabi_") for s in foreign), foreign
    assert "malloc" not in symbols(firmware.elf)


def test_the_demo_needs_no_libm_and_no_heap(tmp_path: Path) -> None:
    firmware = build_firmware(DIGITS, "stm32f412", tmp_path)
    names = symbols(firmware.elf)
    assert not names & {"expf", "exp", "malloc", "_sbrk", "free", "__aeabi_dmul", "__aeabi_dadd"}
