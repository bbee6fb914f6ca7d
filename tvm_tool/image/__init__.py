"""What is inside a linked image: sizes by part, the board's budget, the check after the link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .budget import check_budget
from .check import check_image
from .elf import read_image
from .linker_map import LinkerMap, find_map, read_map
from .metadata import load_metadata
from .sizes import measure
from .table import size_table

if TYPE_CHECKING:
    from ..board import Board

__all__ = ["report_sizes"]


def report_sizes(elf: Path, metadata: Sequence[Path], board: Board) -> str:
    """The size table of `elf` against the budget of `board`.

    Args:
        elf: the linked image. Its map file is read where it stands beside it (``firmware.map``): only
            the map tells libc from the application.
        metadata: ``<name>.json`` of every model in the image.

    Raises:
        ImageError: the layout is wrong.
        BudgetError: a region holds more than the board's budget allows.
    """
    image = read_image(elf)
    models = [load_metadata(file) for file in metadata]
    check_image(image, models, board)
    map_file = find_map(elf)
    linker_map = read_map(map_file, image.sections) if map_file is not None else LinkerMap()
    pieces = measure(image, models, board, linker_map)
    check_budget(elf, pieces, board)
    return size_table(f"{elf.name} on {board.name}", pieces, board)
