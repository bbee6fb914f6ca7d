"""Linker scripts: their text, and what the linker makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tvm_tool.board import Board, Placement, Region, load_board
from tvm_tool.linker import further_regions, linker_script, linker_supplement
from tvm_tool.paths import startup_dir

F407 = load_board("stm32f407")
GCC = shutil.which("arm-none-eabi-gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="arm-none-eabi-gcc is not installed")

QSPI = replace(F407, regions={**F407.regions, "qspi": Region("qspi", 0x90000000, 8 << 20, "r")})

WRITE = 2
"""Flag of a segment of an ELF file."""

# A word in every place that a script has to care for.
PLACES = """
#include <stdint.h>
#define IN(place) __attribute__((section(place), used))
#define READ(word) (*(const volatile uint32_t *)&(word))
volatile uint32_t in_data[3] = {1, 2, 3};
volatile uint32_t in_bss[5];
const uint32_t in_rodata = 5;
IN(".tvm.flash.w") const uint32_t in_flash = 6;
IN(".tvm.ram.w") const uint32_t in_ram = 7;
#ifndef OWN_SCRIPT
IN(".tvm.ccm.w") const uint32_t in_ccm = 8;
IN(".tvmbss.ram.a") uint32_t arena_ram;
#else
const uint32_t in_ccm = 8;
uint32_t arena_ram;
#endif
IN(".tvmbss.ccm.a") uint32_t arena_ccm[16];
IN(".tvm.qspi.w") const uint32_t in_qspi = 9;
const uint32_t dropped = 1;
static void constructor(void) { in_bss[0] = 1; }
IN(".init_array") void (*const init[])(void) = { constructor };
int main(void)
{
    return (int)(READ(in_data[1]) + READ(in_bss[2]) + READ(in_rodata) + READ(in_flash) + READ(in_ram)
        + READ(in_ccm) + READ(arena_ram) + READ(arena_ccm[1]) + READ(in_qspi));
}
"""


def link(
    folder: Path, script: str, source: str, *flags: str, scripts: Sequence[str] = ("link",)
) -> subprocess.CompletedProcess[str]:
    (folder / "link.ld").write_text(script)
    (folder / "main.c").write_text(source)
    command = [str(GCC), *F407.core.flags, "-Os", "-ffunction-sections", "-fdata-sections", "-nostartfiles"]
    command += ["-Wl,--gc-sections,--fatal-warnings", f"-I{startup_dir()}", "main.c"]
    command += [
        str(startup_dir() / "cortex_m.c"),
        "-o",
        "out.elf",
        *(f"-T{name}.ld" for name in scripts),
        *flags,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


class Image:
    """Addresses and sections of a linked file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            elf = ELFFile(file)
            self.sections = {s.name: (s["sh_addr"], s["sh_size"], s["sh_type"]) for s in elf.iter_sections()}
            table = elf.get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            self.symbols: dict[str, int] = {s.name: s["st_value"] for s in table.iter_symbols()}
            self.loaded = [
                (s["p_paddr"], s["p_flags"], s.data()) for s in elf.iter_segments("PT_LOAD") if s["p_filesz"]
            ]

    def word(self, address: int) -> int:
        for start, _, data in self.loaded:
            if start <= address < start + len(data):
                return int.from_bytes(data[address - start : address - start + 4], "little")
        raise AssertionError(f"nothing is loaded at {address:#x}")


def linked(folder: Path, script: str, source: str, *flags: str, scripts: Sequence[str] = ("link",)) -> Image:
    done = link(folder, script, source, *flags, scripts=scripts)
    assert done.returncode == 0, done.stderr
    return Image(folder / "out.elf")


def test_the_text_depends_on_the_board_alone(tmp_path: Path) -> None:
    moved = replace(F407, file=tmp_path / F407.file.name)
    assert linker_script(F407) == linker_script(moved)
    assert linker_supplement(F407) == linker_supplement(moved)
    assert str(tmp_path) not in linker_script(moved)


def test_all_regions_are_in_the_script() -> None:
    script = linker_script(QSPI)
    memory = re.findall(r"^    (\w+) \((\w+)\) : ORIGIN = (\w+), LENGTH = (\w+)$", script, re.MULTILINE)
    assert {Region(n, int(o, 16), int(size, 16), a) for n, a, o, size in memory} == set(QSPI.regions.values())


def test_further_regions() -> None:
    assert [region.name for region in further_regions(QSPI)] == ["ccm", "qspi"]
    assert further_regions(load_board("stm32f412")) == []


@needs_gcc
@pytest.mark.parametrize("flags", [[], ["-flto"], ["-flto", "-O2"], ["--specs=nano.specs"], ["-nostdlib"]])
def test_everything_has_its_place(tmp_path: Path, flags: list[str]) -> None:
    image = linked(tmp_path, linker_script(QSPI), PLACES, "-Wl,--warn-rwx-segments", *flags)
    at = image.symbols
    assert at["tvm_vectors"] == 0x08000000
    assert image.sections[".vectors"][1] == 64
    assert image.word(0x08000000) == at["__stack_top"]
    assert image.word(0x08000004) == at["Reset_Handler"] | 1
    for name in ("in_rodata", "in_flash", "__data_load"):
        assert 0x08000040 <= at[name] < 0x08010000
    # The stack is at the bottom: nothing but the end of the memory is below it.
    assert (at["__stack_start"], at["__stack_top"]) == (0x20000000, 0x20001000)
    data, bss, heap = (at[f"__{part}_start"] for part in ("data", "bss", "heap"))
    assert 0x20001000 == data < at["__data_end"] <= bss < at["__bss_end"] <= heap == at["__heap_end"]
    assert data <= at["in_data"] < at["__data_end"]
    assert data <= at["in_ram"] < at["__data_end"]
    assert data <= at["__init_array_start"] == at["__init_array_end"] - 4 < at["__data_end"]
    for name in ("in_bss", "arena_ram"):
        assert bss <= at[name] < at["__bss_end"]
    assert 0x10000000 <= at["in_ccm"] < 0x10010000
    assert 0x10000000 <= at["arena_ccm"] < 0x10010000
    assert at["in_qspi"] == 0x90000000
    assert "dropped" not in at
    for name in (".stack", ".bss", ".tvmbss_ccm"):
        assert image.sections[name][2] == "SHT_NOBITS"
    # What reset copies stands in flash, and nothing in RAM is loaded.
    assert image.word(at["__data_load"] + at["in_data"] - data + 4) == 2
    rows = [image.word(a) for a in range(at["__copy_start"], at["__copy_end"], 4)]
    assert rows[:3] == [at["__data_load"], data, at["__init_array_end"]]
    assert rows[4:] == [at["in_ccm"], at["in_ccm"] + 4]
    assert image.word(rows[3]) == 8
    assert all(0x08000000 <= start < 0x08100000 for start, flags, _ in image.loaded if flags & WRITE)


@needs_gcc
def test_heap_reserve(tmp_path: Path) -> None:
    image = linked(tmp_path, linker_script(replace(QSPI, heap=1000)), PLACES)
    assert image.symbols["__heap_end"] - image.symbols["__heap_start"] == 1000
    assert image.symbols["__heap_start"] % 8 == 0


@needs_gcc
def test_stack_in_a_region_of_its_own(tmp_path: Path) -> None:
    board = replace(QSPI, placement=Placement("flash", "flash", "ram", "ram", "ccm"))
    image = linked(tmp_path, linker_script(board), PLACES)
    assert image.symbols["__stack_start"] == 0x10000000
    assert image.symbols["in_ccm"] == 0x10001000
    assert image.symbols["__data_start"] == 0x20000000


# Region, definition of an array that does not fit there, the remedy, and by how much it does not.
FULL = {
    "ram": (
        "char big[200000];",
        r"region 'ram' is full\. Remedy: a smaller model, arena in another region, less stack or heap",
        "region `ram' overflowed by 73",
    ),
    "flash": (
        "const char big[1200000] = {1};",
        r"region 'flash' is full\. Remedy: a smaller model, optimize=size, weights in another region",
        "region `flash' overflowed by 151",
    ),
    "ccm": (
        '__attribute__((section(".tvmbss.ccm.a"))) char big[70000];',
        r"region 'ccm' is full\. Remedy: place fewer weights or arenas there",
        "region `ccm' overflowed by 4464 bytes",
    ),
    "qspi": (
        '__attribute__((section(".tvm.qspi.a"))) const char big[9 << 20] = {1};',
        r"region 'qspi' is full\. Remedy: place fewer weights or arenas there",
        "region `qspi' overflowed by 1048576 bytes",
    ),
}


@needs_gcc
@pytest.mark.parametrize("region", FULL)
def test_a_full_region_names_the_remedy(tmp_path: Path, region: str) -> None:
    array, remedy, overflow = FULL[region]
    source = f"{array} int main(void) {{ return *(const volatile char *)&big[3]; }}"
    done = link(tmp_path, linker_script(QSPI), source)
    assert done.returncode != 0
    assert re.search(remedy, done.stderr), done.stderr
    assert overflow in done.stderr


@needs_gcc
def test_an_image_that_fills_ram_to_the_last_byte(tmp_path: Path) -> None:
    source = "char big[%d]; int main(void) { return big[3]; }"
    room = F407.regions["ram"].length - F407.stack
    linked(tmp_path, linker_script(F407), source % room)
    assert link(tmp_path, linker_script(F407), source % (room + 1)).returncode != 0


@needs_gcc
def test_a_firmware_without_vectors(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text("void Reset_Handler(void) { for (;;) {} }\n")
    (tmp_path / "link.ld").write_text(linker_script(F407))
    command = [str(GCC), *F407.core.flags, "-nostartfiles", "own.c", "-Tlink.ld", "-o", "out.elf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "there is no vector table: add the startup file" in done.stderr


@needs_gcc
def test_code_behind_a_boot_loader(tmp_path: Path) -> None:
    def moved(by: int) -> Board:
        flash = Region("flash", 0x08000000 + by, 0x80000, "rx")
        return replace(QSPI, regions={**QSPI.regions, "flash": flash})

    assert linked(tmp_path, linker_script(moved(0x4000)), PLACES).symbols["tvm_vectors"] == 0x08004000
    done = link(tmp_path, linker_script(moved(0x4100)), PLACES)
    assert "region 'flash' must start at a multiple of 1K" in done.stderr


# A firmware's own script, with the usual attributes.
OWN_SCRIPT = """
MEMORY { ROM (rx) : ORIGIN = 0x08000000, LENGTH = 1M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 128K }
ENTRY(Reset_Handler)
SECTIONS {
  .text : { KEEP(*(.vectors*)) *(.text*) *(.rodata*) *(.tvm.flash.*) } > ROM
  .data : { *(.data*) *(.init_array) *(.tvm.ram.*) } > RAM AT> ROM
  .bss : { *(.bss*) *(COMMON) } > RAM
}
__copy_start = 0; __copy_end = 0; __bss_start = 0; __bss_end = 0; __stack_start = 0; __stack_top = 0;
__init_array_start = 0; __init_array_end = 0;
"""


@needs_gcc
@pytest.mark.parametrize("scripts", [["regions", "link"], ["link", "regions"]], ids=["before", "after"])
@pytest.mark.parametrize("flags", [[], ["-flto"]], ids=["plain", "lto"])
def test_supplement_to_a_firmwares_own_script(tmp_path: Path, scripts: list[str], flags: list[str]) -> None:
    flags = ["-DOWN_SCRIPT", *flags]
    plain = re.sub(r'IN\("\.tvm(bss\.ccm|\.qspi)\..\"\)', "", PLACES)
    without = linked(tmp_path, OWN_SCRIPT, plain, *flags)
    (tmp_path / "regions.ld").write_text(linker_supplement(QSPI))
    image = linked(tmp_path, OWN_SCRIPT, PLACES, *flags, scripts=scripts)
    assert image.symbols["in_qspi"] == 0x90000000
    assert image.symbols["arena_ccm"] == 0x10000000
    assert image.sections[".tvmbss_ccm"][2] == "SHT_NOBITS"
    assert image.symbols["tvm_vectors"] == without.symbols["tvm_vectors"]
    for name in (".text", ".data", ".bss"):
        assert image.sections[name][0] == without.sections[name][0]


@needs_gcc
def test_supplement_refuses_weights_that_nobody_copies(tmp_path: Path) -> None:
    (tmp_path / "regions.ld").write_text(linker_supplement(QSPI))
    done = link(tmp_path, OWN_SCRIPT, PLACES, "-Wl,--no-fatal-warnings", scripts=["link", "regions"])
    assert done.returncode != 0
    assert "weights cannot be in region 'ccm': nothing in this firmware copies them there" in done.stderr
