"""The boards that ship with the package, as data."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_tool.paths
from tvm_tool.board import Board, board_names, load_board
from tvm_tool.cores import CORE_NAMES
from tvm_tool.errors import TVMToolError

BOARDS = [load_board(name) for name in board_names()]
# QEMU has no machine with their core and their memory.
WITHOUT_EMULATOR = {"nrf5340", "rpi_pico", "stm32f746", "stm32h743", "stm32u585"}
each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)


def test_the_boards_are_there() -> None:
    assert {"stm32f412", "stm32f407", "mps2_an385", "mps2_an386"} <= set(board_names())


@each_board
def test_it_tells_what_it_is(board: Board) -> None:
    assert board.description
    assert "\n" not in board.description
    assert board.clock_hz is not None
    assert 1_000_000 <= board.clock_hz <= 1_000_000_000
    assert board.name == board.file.stem


@each_board
def test_options_have_the_same_meaning_on_every_board(board: Board) -> None:
    assert (board.placement.code, board.placement.data) == ("flash", "ram")


@each_board
def test_stack_and_heap_leave_room(board: Board) -> None:
    ram = board.regions[board.placement.stack].length
    if board.emulator and board.emulator.ram:
        ram = min(ram, board.emulator.ram)
    assert board.stack + board.heap <= ram // 2


@each_board
def test_the_emulator_knows_the_machine(board: Board) -> None:
    assert (board.emulator is None) == (board.name in WITHOUT_EMULATOR)
    if board.emulator is None:
        return
    qemu = shutil.which(board.core.qemu)
    if qemu is None:
        pytest.skip(f"{board.core.qemu} is not installed")
    listed = subprocess.run([qemu, "-M", "help"], capture_output=True, text=True, check=True).stdout
    machine, _, _ = board.emulator.machine.partition(",")
    assert machine in [line.split()[0] for line in listed.splitlines() if line]


def test_memory_of_the_parts() -> None:
    by_name = {board.name: board for board in BOARDS}
    memory = {
        name: {r.name: (r.origin, r.length >> 10) for r in board.regions.values()}
        for name, board in by_name.items()
    }
    # RM0402 (STM32F412), RM0090 (STM32F407), AN385 and AN386.
    mps2 = {"flash": (0, 4096), "ram": (0x20000000, 4096), "psram": (0x21000000, 16384)}
    assert memory["stm32f412"] == {"flash": (0x08000000, 1024), "ram": (0x20000000, 256)}
    assert memory["stm32f407"] == {
        "flash": (0x08000000, 1024),
        "ram": (0x20000000, 128),
        "ccm": (0x10000000, 64),
    }
    assert memory["mps2_an385"] == memory["mps2_an386"] == mps2
    assert memory["mps2_an382"] == memory["mps2_an383"] == mps2
    assert memory["mps2_an500"] == {**mps2, "psram": (0x60000000, 16384)}
    assert not by_name["mps2_an385"].core.fpu
    assert all(by_name[name].core.fpu for name in ("stm32f412", "stm32f407", "mps2_an386"))
    assert not by_name["stm32f407"].regions["ccm"].attributes.endswith("x")


def test_memory_of_further_parts() -> None:
    """Origin and KiB, from the reference manuals of the parts."""
    wanted = {
        "stm32f103": {"flash": (0x08000000, 64), "ram": (0x20000000, 20)},
        "stm32l476": {"flash": (0x08000000, 1024), "ram": (0x20000000, 96), "ram2": (0x10000000, 32)},
        "stm32f746": {"flash": (0x08000000, 1024), "ram": (0x20000000, 320)},
        "stm32u585": {"flash": (0x08000000, 2048), "ram": (0x20000000, 768)},
        "nrf52840": {"flash": (0, 1024), "ram": (0x20000000, 256)},
        "nrf5340": {"flash": (0, 1024), "ram": (0x20000000, 512)},
        "microbit": {"flash": (0, 256), "ram": (0x20000000, 16)},
        "hifive1_revb": {"flash": (0x20010000, 4032), "ram": (0x80000000, 16)},
        "stm32h743": {
            "flash": (0x08000000, 2048),
            "ram": (0x24000000, 512),
            "dtcm": (0x20000000, 128),
            "sram": (0x30000000, 288),
            "sram4": (0x38000000, 64),
        },
    }
    for name, memory in wanted.items():
        regions = load_board(name).regions.values()
        assert {r.name: (r.origin, r.length / 1024) for r in regions} == memory, name
    pico = load_board("rpi_pico").regions
    assert pico["boot2"].end == pico["flash"].origin == 0x10000100
    assert pico["flash"].end == 0x10000000 + (2 << 20)
    assert pico["ram"].end == pico["scratch_x"].origin
    assert pico["scratch_y"].end == 0x20042000


@each_board
def test_the_page_lists_it(board: Board) -> None:
    page = Path(__file__).parents[2] / "docs" / "boards.md"
    assert f"| `{board.name}` |" in page.read_text(encoding="utf-8")


def test_every_core_can_be_emulated() -> None:
    emulated = {board.core.name for board in BOARDS if board.emulator}
    assert emulated == set(CORE_NAMES) - {"cortex-m4"}  # The same without its FPU.


def test_loading_a_board_stays_light() -> None:
    heavy = ("jinja2", "tvm", "onnx", "numpy", "SCons")
    code = (
        "import sys; from tvm_tool.board import load_board; load_board('stm32f412');"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_data_inside_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "tvm_tool"
    (package / "boards").mkdir(parents=True)
    (package.parent / "boards").mkdir()
    monkeypatch.setattr(tvm_tool.paths, "PACKAGE", package)
    assert tvm_tool.paths.boards_dir() == package / "boards"
    with pytest.raises(TVMToolError, match=r"'linker_scripts' is missing(.|\n)*install tvm-tool again"):
        tvm_tool.paths.linker_scripts_dir()


def test_data_of_this_checkout_or_installation() -> None:
    assert (tvm_tool.paths.boards_dir() / "stm32f412.yaml").is_file()
    assert (tvm_tool.paths.linker_scripts_dir() / "cortex_m.ld.in").is_file()
    assert (tvm_tool.paths.startup_dir() / "cortex_m.c").is_file()
    assert tvm_tool.paths.runtime_dir().is_dir()
