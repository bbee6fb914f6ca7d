"""Who uses how much of which memory: every byte of a linked image, by region and by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from .elf import Image, Section, Symbol
from .linker_map import LinkerMap
from .metadata import Metadata
from .parts import HEAP, OTHER, STACK, Classifier

if TYPE_CHECKING:
    from ..board import Board


@dataclass(frozen=True)
class Piece:
    """Some bytes of one region.

    Attributes:
        region: name of the board's region.
        part: what they are for, one of `parts.PARTS`; weights and arenas of several models have the
            model's name behind it.
        name: symbol, section or file that they belong to.
    """

    region: str
    part: str
    bytes: int
    name: str


def measure(image: Image, models: Sequence[Metadata], board: Board, linker_map: LinkerMap) -> list[Piece]:
    """All pieces of `image`. Initialised variables count twice: as RAM, and as flash that keeps them.

    The board's stack and heap are added where the image has no section for them.
    """
    classifier = Classifier(models, linker_map)
    pieces: list[Piece] = []
    for section in image.sections:
        regions = _regions_of(section, board)
        for part, size, name in _split(section, image.symbols, classifier, linker_map):
            pieces += [Piece(region, part, size, name) for region in regions]
    pieces += _padding(image, board)
    names = " ".join(section.name.lower() for section in image.sections)
    if board.stack and "stack" not in names:
        pieces.append(Piece(board.placement.stack, STACK, board.stack, "reserved for the stack"))
    if board.heap and "heap" not in names:
        pieces.append(Piece(board.placement.data, HEAP, board.heap, "reserved for the heap"))
    return pieces


def region_at(board: Board, address: int) -> str | None:
    """Name of the region that holds `address`."""
    return next((r.name for r in board.regions.values() if r.origin <= address < r.end), None)


def _regions_of(section: Section, board: Board) -> list[str]:
    places = [section.address] if section.load_address is None else [section.address, section.load_address]
    return list(dict.fromkeys(name for place in places if (name := region_at(board, place)) is not None))


def _split(
    section: Section, symbols: Sequence[Symbol], classifier: Classifier, linker_map: LinkerMap
) -> Iterator[tuple[str, int, str]]:
    """Part, bytes and name of everything in `section`, from its start to its end."""
    whole = classifier.part_of_section(section.name)
    if whole is not None:
        yield whole, section.size, section.name
        return
    position = section.address
    for symbol in symbols:
        start, end = max(symbol.address, position), min(symbol.end, section.end)
        if start >= end:
            continue
        yield from _unnamed(position, start, classifier, linker_map)
        yield classifier.part_of_symbol(symbol), end - start, symbol.name
        position = end
    yield from _unnamed(position, section.end, classifier, linker_map)


def _unnamed(
    start: int, end: int, classifier: Classifier, linker_map: LinkerMap
) -> Iterator[tuple[str, int, str]]:
    """Bytes without a symbol: strings, for example. The map knows at least their file."""
    while start < end:
        owner = linker_map.at(start)
        if owner is not None:
            stop = min(owner.end, end)
            part = classifier.part_of_file(owner.file) or OTHER
        else:
            following = linker_map.next_start(start)
            stop = end if following is None else min(following, end)
            part = OTHER
        yield part, stop - start, "without a name"
        start = stop


def _padding(image: Image, board: Board) -> Iterator[Piece]:
    """Gaps that the alignment of sections leaves between them."""
    placed = [(s.address, s.size, s.align) for s in image.sections]
    placed += [
        (s.load_address, s.size, s.align)
        for s in image.sections
        if s.load_address is not None and s.load_address != s.address
    ]
    placed.sort()
    for (start, size, _), (following, _, align) in pairwise(placed):
        gap, region = following - start - size, region_at(board, following)
        if 0 < gap < align and region is not None and region == region_at(board, start):
            yield Piece(region, OTHER, gap, "alignment")
