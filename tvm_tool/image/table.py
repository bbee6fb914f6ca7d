"""The size table: a row for each part of the firmware, a column for each memory region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .budget import used_bytes
from .parts import order_of
from .sizes import Piece

if TYPE_CHECKING:
    from ..board import Board


def size_table(title: str, pieces: Sequence[Piece], board: Board) -> str:
    """Plain text, the same for the same image; no line ends in a space."""
    used = used_bytes(pieces)
    regions = [name for name in board.regions if name in used]
    cells: Counter[tuple[str, str]] = Counter()
    for piece in pieces:
        cells[piece.part, piece.region] += piece.bytes
    parts = sorted({piece.part for piece in pieces}, key=order_of)
    rows = [(part, [_number(cells[part, region]) for region in regions]) for part in parts]
    budgets = {region: board.budget_of(region) for region in regions}
    shares = [f"{100 * used[region] / budgets[region]:.1f} %" for region in regions]
    totals = [
        ("total", [_number(used[region]) for region in regions]),
        ("budget", [_number(budgets[region]) for region in regions]),
        ("used", shares),
    ]
    first = max(len(label) for label, _ in [*rows, *totals])
    columns = [
        max(len(text) for text in (region, *(values[i] for _, values in [*rows, *totals])))
        for i, region in enumerate(regions)
    ]
    rule = "-" * (first + sum(width + 3 for width in columns))

    def line(label: str, values: Sequence[str]) -> str:
        cells = "".join(f"   {value:>{width}}" for value, width in zip(values, columns, strict=True))
        return f"{label:<{first}}{cells}"

    body = [line(label, values) for label, values in rows]
    foot = [line(label, values) for label, values in totals]
    return "\n".join([title, "", line("bytes", regions), rule, *body, rule, *foot])


def _number(value: int) -> str:
    return f"{value:,}" if value else "-"
