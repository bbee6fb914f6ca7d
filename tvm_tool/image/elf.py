"""A linked image as data: what is loaded where, and what is called how."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection, RISCVAttributesSection, SymbolTableSection

from ..errors import ImageError

_ALLOCATED, _THREAD_LOCAL = 0x2, 0x400


@dataclass(frozen=True)
class Section:
    """An allocated output section.

    Attributes:
        address: where it is at run time.
        load_address: where its bytes are stored in the image; None if it has none (bss, stack).
        align: alignment in bytes.
    """

    name: str
    address: int
    size: int
    load_address: int | None
    align: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class Symbol:
    """A name in the image.

    Attributes:
        name: without what the compiler appends (``.lto_priv.0``, ``.constprop.1``).
        address: without the Thumb bit.
        size: bytes, 0 for plain labels.
        function: whether it is code.
        source: the file that a local symbol comes from, as far as the image says.
        clone: whether it is a function of that name that the compiler changed: its parameters are not
            those of the source.
    """

    name: str
    address: int
    size: int
    function: bool
    source: str = ""
    clone: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class Image:
    """A linked ELF file.

    Attributes:
        sections: allocated sections that are not empty, by address.
        symbols: functions, objects and labels in them, by address; undefined ones are left out.
        attributes: build attributes (``TAG_CPU_ARCH`` of Arm, ``TAG_ARCH`` of RISC-V, ...) by name.
    """

    path: Path
    machine: str
    entry: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    attributes: dict[str, Any]

    @cached_property
    def _by_name(self) -> dict[str, Symbol]:
        return {symbol.name: symbol for symbol in reversed(self.symbols)}

    @cached_property
    def _functions(self) -> list[Symbol]:
        return [symbol for symbol in self.symbols if symbol.function]

    def symbol(self, name: str) -> Symbol | None:
        """The symbol called `name`; of several local ones, the lowest."""
        return self._by_name.get(name)

    def function(self, name: str) -> Symbol | None:
        """The function called `name`, if it can be called as the source says."""
        return next((s for s in self._functions if s.name == name and not s.clone), None)

    def read(self, address: int, size: int) -> bytes | None:
        """`size` bytes at the run-time `address`, or None if the image has none there."""
        for section in self.sections:
            if section.data and section.address <= address and address + size <= section.end:
                return section.data[address - section.address :][:size]
        return None

    def place(self, address: int) -> str:
        """`address` as ``function+0x12``, for messages."""
        address &= ~1
        index = bisect_right(self._functions, address, key=lambda s: s.address) - 1
        if index >= 0 and address < max(self._functions[index].end, self._functions[index].address + 1):
            function = self._functions[index]
            offset = address - function.address
            return f"{function.name}+{offset:#x}" if offset else function.name
        return f"{address:#010x}"


def read_image(path: Path) -> Image:
    """Read the linked ELF file `path`; ImageError if it is none."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_type"] != "ET_EXEC":
                raise ImageError(
                    "this is not a linked image",
                    file=path,
                    expected="an executable ELF file",
                    remedy="name the linker's output, not an object file or a library",
                )
            table = elf.get_section_by_name(".symtab")
            if not isinstance(table, SymbolTableSection):
                raise ImageError(
                    "the image has no symbols",
                    file=path,
                    remedy="name the linker's output, not a stripped copy",
                )
            sections = _sections(elf)
            return Image(
                path=path,
                machine=elf["e_machine"],
                entry=elf["e_entry"],
                sections=tuple(sorted(sections, key=lambda s: (s.address, s.name))),
                symbols=tuple(sorted(_symbols(table, sections), key=lambda s: (s.address, -s.size, s.name))),
                attributes=_attributes(elf),
            )
    except OSError as error:
        raise ImageError("the image cannot be read", file=path, where=error.strerror) from None
    except (ELFError, ValueError, UnicodeDecodeError) as error:
        raise ImageError(
            "this is not an ELF file, or it is damaged",
            file=path,
            where=str(error) or None,
            remedy="link the firmware again",
        ) from None


def _sections(elf: ELFFile) -> list[Section]:
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
    found = []
    for section in elf.iter_sections():
        flags, address, size = section["sh_flags"], section["sh_addr"], section["sh_size"]
        empty = section["sh_type"] == "SHT_NOBITS"
        if not flags & _ALLOCATED or not size or (empty and flags & _THREAD_LOCAL):
            continue
        load_address = None
        if not empty:
            load_address = address
            for segment in segments:
                if segment["p_vaddr"] <= address < segment["p_vaddr"] + segment["p_memsz"]:
                    load_address = address - segment["p_vaddr"] + segment["p_paddr"]
                    break
        data = b"" if empty else section.data()
        align = max(1, section["sh_addralign"])
        found.append(Section(section.name, address, size, load_address, align, data))
    return found


def _symbols(table: SymbolTableSection, sections: list[Section]) -> list[Symbol]:
    found, source = [], ""
    for entry in table.iter_symbols():
        kind, place = entry["st_info"]["type"], entry["st_shndx"]
        if kind == "STT_FILE":
            source = entry.name
        if entry["st_info"]["bind"] != "STB_LOCAL":
            source = ""
        # '$t', '$a' and '$d' mark code and data for disassemblers.
        if kind not in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE") or place in ("SHN_UNDEF", "SHN_ABS"):
            continue
        if not entry.name or entry.name.startswith("$"):
            continue
        name = re.sub(r"(?<=.)\..*", "", entry.name)
        clone = re.search(r"\.(constprop|isra|part)\b", entry.name) is not None
        function = kind == "STT_FUNC"
        address = entry["st_value"] & ~1 if function else entry["st_value"]
        found.append(Symbol(name, address, entry["st_size"], function, source, clone))
    return [s for s in found if any(x.address <= s.address <= x.end for x in sections)]


def _attributes(elf: ELFFile) -> dict[str, Any]:
    section = elf.get_section_by_name(".ARM.attributes") or elf.get_section_by_name(".riscv.attributes")
    if not isinstance(section, ARMAttributesSection | RISCVAttributesSection):
        return {}
    found: dict[str, Any] = {}
    for subsection in section.iter_subsections():
        for subsubsection in subsection.iter_subsubsections():
            for attribute in subsubsection.iter_attributes():
                found.setdefault(attribute.tag, attribute.value)
    return found
