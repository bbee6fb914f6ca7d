"""GNU ld's map file as it really looks."""

from __future__ import annotations

from pathlib import Path

from tvm_tool.image.elf import Section
from tvm_tool.image.linker_map import Contribution, LinkerMap, find_map, read_map

TEXT = """
Archive member included to satisfy reference by file (symbol)

Discarded input sections

 .text          0x00000000        0x8 build/unused.o

Memory Configuration

Linker script and memory map

LOAD build/main.o
                0x00001000                __stack_size = 0x1000

.text           0x00000000       0x60
 *(.text .text.*)
 .text          0x00000000       0x10 build/main.o
                0x00000000                main
 .text.a_very_long_name_of_a_function
                0x00000010        0xc build dir/main file.o
 *fill*         0x0000001c        0x4
 .text.memcpy   0x00000020        0x8 /usr/lib/libc_nano.a(libc_a-memcpy.o)
 .rodata.str1.4
                0x00000028       0x20 build/main.o
                                 0x24 (size before relaxing)
 .rodata.str1.4
                0x00000030       0x10 build/other.o
                0x00000050        0x4 LONG 0x54 LOADADDR (.data)

.glue_7         0x00000060        0x0
 .glue_7        0x00000060        0x0 linker stubs

.bss            0x20000000        0x8
 COMMON         0x20000000        0x8 build/main.o
                0x20000000                buffer

.debug_info     0x00000000     0x1234
 .debug_info    0x00000000       0x34 build/main.o
 .debug_info    0x00000034       0x34 build/debug.o
"""

SECTIONS = (
    Section(".text", 0, 0x60, 0, 4, bytes(0x60)),
    Section(".bss", 0x20000000, 8, None, 4, b""),
)


def read(folder: Path) -> LinkerMap:
    path = folder / "firmware.map"
    path.write_text(TEXT)
    return read_map(path, SECTIONS)


def test_contributions(tmp_path: Path) -> None:
    assert read(tmp_path).contributions == (
        Contribution(0x00, 0x10, "build/main.o"),
        Contribution(0x10, 0x0C, "build dir/main file.o"),
        Contribution(0x20, 0x08, "/usr/lib/libc_nano.a(libc_a-memcpy.o)"),
        # The next one starts inside: these strings were merged.
        Contribution(0x28, 0x08, "build/main.o"),
        Contribution(0x30, 0x10, "build/other.o"),
        Contribution(0x50, 0x04, "LONG 0x54 LOADADDR (.data)"),
        Contribution(0x20000000, 0x08, "build/main.o"),
    )


def test_lookup(tmp_path: Path) -> None:
    found = read(tmp_path)
    owner = found.at(0x1B)
    assert owner is not None
    assert owner.file == "build dir/main file.o"
    assert found.at(0x1C) is None
    assert found.next_start(0x1C) == 0x20
    assert found.next_start(0x20000000) is None
    assert LinkerMap().at(0) is None


def test_beside_the_image(tmp_path: Path) -> None:
    elf = tmp_path / "firmware.elf"
    assert find_map(elf) is None
    other = tmp_path / "firmware.elf.map"
    other.touch()
    assert find_map(elf) == other
    usual = tmp_path / "firmware.map"
    usual.touch()
    assert find_map(elf) == usual
