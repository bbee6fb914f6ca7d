"""Firmware for a board: what env.TVMBoard gives it, and what follows the link."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.projects.scons_project import Project

Copy = Callable[..., Project]

pytestmark = pytest.mark.skipif(
    not shutil.which("arm-none-eabi-gcc"), reason="arm-none-eabi-gcc is not installed"
)

needs_qemu = pytest.mark.skipif(
    not shutil.which("qemu-system-arm"), reason="qemu-system-arm is not installed"
)

OWN_BOARD = """\
extends: stm32f4
description: my own
memory:
  flash: {origin: 0x08000000, length: 512K, attributes: rx}
  ram: {origin: 0x20000000, length: 64K, attributes: rwx}
"""


def sections(elf: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each allocated section."""
    done = subprocess.run(["arm-none-eabi-size", "-A", elf], check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    return {row[0]: (int(row[2]), int(row[1])) for row in rows if len(row) == 3}


@needs_qemu
def test_board_gives_a_firmware_all_it_needs(project: Copy) -> None:
    firmware = project("board")
    run = firmware.run("board=stm32f412", "-j4")
    for name in ("firmware.elf", "firmware.bin", "firmware.hex", "firmware.map"):
        assert (firmware.path / name).stat().st_size > 0, run.output
    assert sections(firmware.path / "firmware.elf")[".vectors"][0] == 0x08000000
    firmware.up_to_date("board=stm32f412")
    assert "the model says 8\n" in firmware.run("board=stm32f412", "run").output
    assert "the model says 8\n" in firmware.run("board=stm32f412", "run").output
    firmware.up_to_date("board=stm32f412")


@needs_qemu
def test_firmware_that_fails_fails_the_build(project: Copy) -> None:
    firmware = project("board")
    firmware.replace("main.c", "8.0f", "9.0f")
    assert "Error 1" in firmware.fails("board=mps2_an386", "run")


def test_other_board_builds_again_only_what_is_for_a_board(project: Copy) -> None:
    firmware = project("board")
    firmware.run("board=stm32f412")
    run = firmware.not_up_to_date("board=stm32f407")
    assert run.files("LINK") == ["firmware.elf"]
    assert "tvm_kernels.o" not in run.files("CC")
    before = firmware.files()
    assert {"tvm/board-stm32f412/link.ld", "tvm/board-stm32f407/link.ld"} <= before


def test_clean_leaves_only_the_sources(project: Copy) -> None:
    firmware = project("board")
    before = firmware.files()
    firmware.run("board=stm32f412")
    firmware.run("board=stm32f412", "-c")
    assert firmware.files() == before


def test_flags_in_strings_stay_strings(project: Copy) -> None:
    firmware = project("board")
    firmware.replace(
        "SConstruct",
        "CCFLAGS=['-Os']",
        "CCFLAGS=' -Os -mcpu=cortex-m4', LINKFLAGS='-Wl,-u,main', CPPPATH='.'",
    )
    firmware.replace(
        "SConstruct",
        "Default",
        "assert all(type(env[v]) is str for v in ('CCFLAGS', 'LINKFLAGS', 'CPPPATH'))\nDefault",
    )
    firmware.run("board=stm32f412")
    firmware.up_to_date("board=stm32f412")


@needs_qemu
def test_own_board_in_a_folder_with_spaces(project: Copy) -> None:
    firmware = project("board", to="für mich 'n; y")
    firmware.write("my boards/own board.yaml", OWN_BOARD)
    assert "the model says 8\n" in firmware.run("board=my boards/own board.yaml", "run").output
    firmware.run("board=my boards/own board.yaml")
    firmware.up_to_date("board=my boards/own board.yaml")
    firmware.write("my boards/own board.yaml", "# only a comment\n" + OWN_BOARD)
    firmware.up_to_date("board=my boards/own board.yaml")
    firmware.write("my boards/own board.yaml", OWN_BOARD.replace("64K", "96K"))
    run = firmware.not_up_to_date("board=my boards/own board.yaml")
    assert "link.ld" in run.files("SCRIPT") and run.files("TVM") and not run.files("CC")


def test_cache_serves_a_board_elsewhere(project: Copy, tmp_path: Path) -> None:
    first, second = project("board", to="first"), project("board", to="second")
    for firmware in (first, second):
        firmware.write("own.yaml", OWN_BOARD)
        text = (firmware.path / "SConstruct").read_text(encoding="utf-8")
        firmware.write("SConstruct", f"CacheDir({str(tmp_path / 'cache')!r})\n{text}")
    first.run("board=own.yaml")
    made = second.run("board=own.yaml")
    assert not made.files("TVM") and not made.files("CC") and not made.files("LINK"), made.output


def test_unknown_board(project: Copy) -> None:
    output = project("board").fails("board=stm32f421")
    assert (
        "scons: *** board: there is no board 'stm32f421'\n" in output
        and "did you mean 'stm32f412'?" in output
    )


def test_unknown_board_of_the_environment(project: Copy) -> None:
    """Another tool may use the same variable for boards of its own."""
    firmware = project("plain")
    firmware.replace("SConstruct", "CCCOMSTR", "BOARD='nucleo_f412zg', CCCOMSTR")
    assert "scons: *** env['BOARD']: there is no board 'nucleo_f412zg'\n" in firmware.fails()
    firmware.replace("SConstruct", "'digits.toy'", "'digits.toy', board=None")
    firmware.run()


def test_two_environments_for_one_board(project: Copy) -> None:
    firmware = project("board")
    firmware.replace(
        "SConstruct", "env.TVMBoard", "boot = env.Clone(OBJPREFIX='boot-')\nboot.TVMBoard()\nenv.TVMBoard"
    )
    firmware.replace("SConstruct", "Default", "boot.Program('boot', ['boot.c'])\nDefault")
    firmware.write("boot.c", "int main(void) { return 0; }\n")
    output = firmware.run("board=stm32f412").output
    assert "warning" not in output
    for name in ("boot.elf", "firmware.elf"):
        assert sections(firmware.path / name)[".vectors"][0] == 0x08000000
    firmware.up_to_date("board=stm32f412")


def test_no_board(project: Copy) -> None:
    assert "scons: *** board: no board was chosen\n  remedy: scons board=NAME" in project("board").fails()


def test_broken_board_names_file_and_line(project: Copy) -> None:
    firmware = project("board")
    firmware.write("own.yaml", OWN_BOARD.replace("512K", "lots"))
    assert "own.yaml:4: memory.flash.length" in firmware.fails("board=own.yaml")


@pytest.mark.parametrize(
    ("variable", "flags"),
    [
        ("CCFLAGS", "['-mcpu=cortex-m3']"),
        ("CFLAGS", "'-Wall -mfloat-abi=soft'"),
        ("LINKFLAGS", "['-mfpu=fpv5-d16']"),
    ],
)
def test_flags_that_contradict_the_core(project: Copy, variable: str, flags: str) -> None:
    firmware = project("plain")
    firmware.replace("SConstruct", "CCFLAGS=", "CCFLAGS_=")
    firmware.replace("SConstruct", "CCCOMSTR", f"{variable}={flags}, CCCOMSTR")
    output = firmware.fails("board=stm32f412")
    assert f"scons: *** {variable}: " in output and "contradicts" in output and "of core cortex-m4f" in output
    assert "done reading SConscript files" not in output


def test_missing_toolchain_says_what_to_install(project: Copy) -> None:
    firmware = project("board")
    firmware.replace("SConstruct", "CCFLAGS=", "CC='/opt/arm-none-eabi-gcc', CCFLAGS=")
    output = firmware.fails("board=stm32f412")
    assert "scons: *** TVMBoard: the compiler '/opt/arm-none-eabi-gcc' is not installed\n" in output
    assert "apt-get install gcc-arm-none-eabi" in output
    firmware.run("board=stm32f412", "-h")
    firmware.run("board=stm32f412", "-c")


def test_regions_of_the_board_beside_an_own_linker_script(project: Copy) -> None:
    """The workspace goes to a memory that the firmware's own linker script does not know."""
    firmware = project("strict")
    firmware.replace("SConstruct", "board='stm32f412'", "board='stm32f407', arena='ccm'")
    firmware.replace(
        "board/main.c",
        "static float image[",
        '__attribute__((section(".tvmbss.ccm.image"))) static float image[',
    )
    firmware.run("-j4")
    found = sections(firmware.path / "board/obj/panda/main.elf")
    assert found[".tvmbss_ccm"] == (0x10000000, 16)
    assert ".tvmbss_ccm" not in sections(firmware.path / "board/obj/panda/boot.elf")
    firmware.up_to_date("board/obj")


def test_strict_bare_metal(project: Copy) -> None:
    firmware = project("strict")
    firmware.run("-j4")
    assert sections(firmware.path / "board/obj/panda/main.elf")[".isr_vector"][0] == 0x08004000
    firmware.up_to_date("board/obj")


def test_help_lists_the_boards(project: Copy) -> None:
    firmware = project("board")
    firmware.replace("SConstruct", "env.TVMBoard", "Help(env.TVMHelp())\nenv.TVMBoard")
    output = firmware.run("-h", "board=stm32f412").output
    assert "board=NAME" in output and "stm32f407       STM32F407G-DISC1" in output
