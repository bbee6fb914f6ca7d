"""The board's budget: how much of each region an image may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BudgetError
from .sizes import Piece

if TYPE_CHECKING:
    from ..board import Board


def used_bytes(pieces: Sequence[Piece]) -> dict[str, int]:
    """Bytes in use by region."""
    used: Counter[str] = Counter()
    for piece in pieces:
        used[piece.region] += piece.bytes
    return dict(used)


def check_budget(elf: Path, pieces: Sequence[Piece], board: Board) -> None:
    """BudgetError if a region holds more than it may, with those who use most of it."""
    for region, used in used_bytes(pieces).items():
        budget = board.budget_of(region)
        if used > budget:
            raise BudgetError(
                f"{used:,} bytes are {used - budget:,} more than the budget of {budget:,} bytes",
                file=elf,
                where=f"region '{region}' of {board.name}",
                expected=f"at most {budget:,} of its {board.regions[region].length:,} bytes",
                remedy=f"the largest are {', '.join(_largest(pieces, region))}; "
                f"make them smaller or raise the budget in {board.file.name}",
            )


def _largest(pieces: Sequence[Piece], region: str, count: int = 5) -> list[str]:
    sizes: Counter[tuple[str, str]] = Counter()
    for piece in pieces:
        if piece.region == region:
            sizes[piece.name, piece.part] += piece.bytes
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return [f"{name} {size:,} ({part})" for (name, part), size in ordered[:count]]
