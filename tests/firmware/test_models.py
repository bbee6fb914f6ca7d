"""Real networks inside linked images, on emulated cores, against onnxruntime."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

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


def global_symbols(path: Path) -> set[str]:
    """Names of the global and weak symbols of an object or image, undefined ones included."""
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {s.name for s in table.iter_symbols() if s.name and s["st_info"]["bind"] != "STB_LOCAL"}


def test_every_global_symbol_of_ours_has_a_prefix(tmp_path: Path) -> None:
    build_firmware(DIGITS, "stm32f412", tmp_path)
    for unit in tmp_path.glob("*.c"):
        if unit.name == "main.c":
            continue
        obj = tmp_path / f"{unit.stem}.o"
        core = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
        command = ["arm-none-eabi-gcc", *core, "-O2", f"-I{tmp_path}", "-c", str(unit), "-o", str(obj)]
        subprocess.run(command, check=True)
        foreign = {name for name in global_symbols(obj) if not name.startswith(("tvm_", "tvmgen_"))}
        assert not foreign, unit.name


def test_the_demo_needs_no_libm_and_no_heap(tmp_path: Path) -> None:
    firmware = build_firmware(DIGITS, "stm32f412", tmp_path)
    names = global_symbols(firmware.elf)
    assert not names & {"expf", "exp", "malloc", "_sbrk", "free", "__aeabi_dmul", "__aeabi_dadd"}
