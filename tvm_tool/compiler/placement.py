"""In which memory region of the board the weights and the workspace go."""

from __future__ import annotations

from collections.abc import Iterable

from ..board import Board
from ..errors import BudgetError, OptionError
from ..options import ModelOptions
from .program import KernelCall, MemoryPlan, Place, Program

NO_BOARD = (Place(".rodata."), Place(".bss."))
"""Ordinary sections: every linker script takes them."""


def check_regions(options: ModelOptions, board: Board | None) -> None:
    """Refuse regions that are not there, before any work is done."""
    for option in ("weights", "arena"):
        for name in getattr(options, option):
            if board is None:
                raise OptionError(
                    "a region is named but no board", where=f"option '{option}'", remedy="board=..."
                )
            board.region(name)


def choose_places(
    program: Program, plan: MemoryPlan, options: ModelOptions, board: Board | None
) -> tuple[Place, Place]:
    """Places of weights and workspace: the first of the regions named that has room.

    Raises:
        BudgetError: none has room.
    """
    if board is None:
        return NO_BOARD
    size = sum(t.bytes for t in program.constants)
    shares = [(sum(program.tensors[i].bytes for i in call.constants), call) for call in program.calls]
    weights = _choose(board, "weights", options.weights or (board.placement.weights,), size, shares)
    peaks = [(_peak(plan, call.index), call) for call in program.calls]
    arena = _choose(board, "arena", options.arena or (board.placement.arena,), plan.bytes, peaks)
    return (
        Place(board.weights_section("", weights), weights),
        Place(board.arena_section("", arena), arena),
    )


def _peak(plan: MemoryPlan, call: int) -> int:
    return sum(b.bytes for b in plan.buffers if b.first <= call <= b.last)


def _choose(
    board: Board, what: str, names: Iterable[str], size: int, layers: list[tuple[int, KernelCall]]
) -> str:
    tried = []
    for name in names:
        region = board.region(name)
        if size <= region.length:
            return name
        tried.append(f"{name} has {region.length:,} bytes, {size - region.length:,} too few")
    largest = sorted(((s, c.layer or c.operator) for s, c in layers if s), key=lambda pair: -pair[0])[:3]
    raise BudgetError(
        f"the {'workspace' if what == 'arena' else what} of {size:,} bytes does not fit {board.name}: "
        + "; ".join(tried),
        where=what,
        expected="at most what the region holds; largest layers: "
        + ", ".join(f"{name} {share:,} bytes" for share, name in largest),
        remedy=f"a smaller model, or another region: {what}=...",
    )
