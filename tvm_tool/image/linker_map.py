"""GNU ld's map file: which input file every byte of the image comes from."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from .elf import Section

_OUTPUT = re.compile(r"(\.?[A-Za-z_][\w.$-]*)(?:\s|$)")
_INPUT = re.compile(r"\s+(?:\S+\s+)?0x([0-9a-fA-F]+)\s+0x([0-9a-fA-F]+)\s+(\S.*)$")


@dataclass(frozen=True)
class Contribution:
    """What one input file gave to one output section."""

    address: int
    size: int
    file: str

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class LinkerMap:
    """The contributions by address; none of them overlap."""

    contributions: tuple[Contribution, ...] = ()

    def at(self, address: int) -> Contribution | None:
        """What `address` belongs to."""
        index = bisect_right(self.contributions, address, key=lambda c: c.address) - 1
        found = self.contributions[index] if index >= 0 else None
        return found if found is not None and address < found.end else None

    def next_start(self, address: int) -> int | None:
        """Where the first contribution behind `address` starts."""
        index = bisect_right(self.contributions, address, key=lambda c: c.address)
        return self.contributions[index].address if index < len(self.contributions) else None


def find_map(elf: Path) -> Path | None:
    """The map file that stands beside the image: ``firmware.map`` or ``firmware.elf.map``."""
    for path in (elf.with_suffix(".map"), elf.with_name(elf.name + ".map")):
        if path.is_file():
            return path
    return None


def read_map(path: Path, sections: tuple[Section, ...]) -> LinkerMap:
    """Read what `path` says about the allocated `sections`; lines of any other kind are skipped."""
    known = {section.name: section for section in sections}
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = iter(text.partition("Linker script and memory map")[2].splitlines())
    section: Section | None = None
    found: list[Contribution] = []
    for line in lines:
        if (output := _OUTPUT.match(line)) is not None:
            section = known.get(output[1])
        elif section is not None:
            # ld breaks the line behind a long section name.
            if re.fullmatch(r"\s\S+", line):
                line = f" {next(lines, '')}"
            if (piece := _INPUT.match(line)) is not None:
                address, size = int(piece[1], 16), int(piece[2], 16)
                if section.address <= address and address + size <= section.end and size:
                    found.append(Contribution(address, size, piece[3].strip()))
    return LinkerMap(tuple(_without_overlaps(found)))


def _without_overlaps(found: list[Contribution]) -> list[Contribution]:
    """Merged strings are listed with the size that they had before the merge: the next one wins."""
    ordered = sorted(found, key=lambda c: (c.address, c.size))
    result: list[Contribution] = []
    for current, following in zip(ordered, [*ordered[1:], None], strict=True):
        end = current.end if following is None else min(current.end, following.address)
        if end > current.address:
            result.append(Contribution(current.address, end - current.address, current.file))
    return result
