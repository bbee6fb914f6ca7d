"""Where a debugger may write in the RAM of a stopped firmware that will not go on.

Free are the gaps between the sections and below the stack, the heap, and, if that is not enough, the
application's own variables. The model's workspace, the runtime's and the libraries' variables are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import TargetError
from ..image.elf import Image
from ..image.linker_map import LinkerMap
from ..image.metadata import Metadata
from ..image.parts import APPLICATION, HEAP, Classifier
from .qemu import emulated_ram

if TYPE_CHECKING:
    from ..board import Board

_ALIGN = 16
_SMALLEST_VARIABLE = 256  # below, it may be a library's

Span = tuple[int, int]


@dataclass(frozen=True)
class Stack:
    """The stack of the firmware: from `bottom`, the last byte that it may use, up to `top`."""

    bottom: int
    top: int


def stack_of(image: Image, board: Board, pointer: int) -> Stack:
    """The stack that `pointer` is in: its section, or the board's reserve below the initial pointer.

    A reserve never reaches into a section: the stack would destroy it.
    """
    for section in image.sections:
        if "stack" in section.name.lower() and section.address < pointer <= section.end:
            return Stack(section.address, section.end)
    first = image.read(board.regions[board.placement.code].origin, 4)
    initial = int.from_bytes(first, "little") if first else pointer
    top = initial if initial - board.stack < pointer <= initial else pointer
    floor = max((s.end for s in image.sections if s.end <= pointer), default=0)
    region = next((r for r in board.regions.values() if r.origin < pointer <= r.end), None)
    origin = region.origin if region is not None else 0
    return Stack(max(top - board.stack, floor, origin), top)


class Scratch:
    """Hands out RAM, the largest free span first."""

    def __init__(
        self, image: Image, model: Metadata, board: Board, stack: Stack, linker_map: LinkerMap
    ) -> None:
        self._image = image
        start, end = emulated_ram(board)
        parts = Classifier([model], linker_map)
        taken = [(s.address, s.end) for s in image.sections if parts.part_of_section(s.name) != HEAP]
        gaps = _gaps(start, end, [*taken, (stack.bottom, stack.top)])
        empty = [s for s in image.sections if s.load_address is None and start <= s.address < end]
        variables = [
            (symbol.address, symbol.end)
            for symbol in image.symbols
            if symbol.size >= _SMALLEST_VARIABLE
            and any(s.address <= symbol.address and symbol.end <= s.end for s in empty)
            and parts.part_of_symbol(symbol) == APPLICATION
        ]
        self._free = _by_size(gaps) + _by_size(variables)

    def take(self, size: int) -> int:
        """Address of `size` bytes, aligned to 16; TargetError if nothing is large enough."""
        for index, (start, end) in enumerate(self._free):
            address = -(-start // _ALIGN) * _ALIGN
            if address + size <= end:
                self._free[index] = (address + size, end)
                return address
        largest = max((end - start for start, end in self._free), default=0)
        raise TargetError(
            f"no {size:,} bytes of RAM are free for the inputs and outputs; the largest gap has {largest:,}",
            file=self._image.path,
            remedy="verify on a board whose emulator has more RAM",
        )


def _gaps(start: int, end: int, taken: Sequence[Span]) -> list[Span]:
    gaps, position = [], start
    for low, high in sorted(taken):
        if high > position:
            if low > position:
                gaps.append((position, min(low, end)))
            position = high
    gaps.append((position, end))
    return [(low, high) for low, high in gaps if low < min(high, end)]


def _by_size(spans: Iterable[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))
