"""The tables of mlperf_tiny.py: our figures beside those of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tvm_tool.board import load_board

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = Path(__file__).with_name("published.yaml")
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- mlperf_tiny.py: begin -->", "<!-- mlperf_tiny.py: end -->"
MODELLED = "cortex-m4f"
"""The core whose cycles are modelled."""


@dataclass(frozen=True)
class Layer:
    """What one layer takes."""

    function: str
    kernel: str
    instructions: int
    cycles: int | None


@dataclass(frozen=True)
class Row:
    """One model on one board.

    Attributes:
        instructions: of the second of four inferences.
        flash: bytes of code, constants and initialised data.
        ram: bytes of variables, workspace, inputs and outputs; not the stack.
        cycles: of the same inference, modelled; None where there is no model of the core.
        layers: if asked for.
    """

    instructions: int
    flash: int
    ram: int
    cycles: int | None = None
    layers: tuple[Layer, ...] = ()


Rows = Mapping[tuple[str, str], Row]
"""By board and model."""


def tables(rows: Rows, optimize: str) -> Iterator[str]:
    """The tables as Markdown: ours in bold beside what was published."""
    published = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    boards = list(dict.fromkeys(board for board, _ in rows))
    shorts = list(dict.fromkeys(short for _, short in rows))
    head = f"| | | {' | '.join(s.upper() for s in shorts)} |\n|---|---|{'---|' * len(shorts)}"
    yield f"Instructions of one inference, in thousands, `optimize={optimize}`:\n\n{head}"
    for board in boards:
        core = load_board(board).core.name
        cells = [_thousands(rows, board, short) for short in shorts]
        yield f"| {core} | **tvm-tool** | {' | '.join(cells)} |"
        for other in published["runtimes"]:
            if other["core"] == core:
                yield f"| {core} | {other['name']} | {_cells(other['instructions'], shorts)} |"
    if any(row.cycles for row in rows.values()):
        yield f"\nCycles of one inference on a {MODELLED}, in thousands and for each MAC:\n\n{head}"
        yield from _cycle_table(rows, shorts, published)
    for what, meaning in (("flash", "Flash of the whole image"), ("ram", "RAM without the stack")):
        yield f"\n{meaning}, in bytes:\n\n{head}"
        for board in boards:
            core = load_board(board).core.name
            values = {s: getattr(rows[board, s], what) for s in shorts if (board, s) in rows}
            yield f"| {core} | **tvm-tool** | {_cells(values, shorts)} |"
            for other in published["runtimes"]:
                if other["core"] == core and what in other:
                    yield f"| {core} | {other['name']} | {_cells(other[what], shorts)} |"
    yield "\nHow the others were measured:\n"
    for other in published["runtimes"]:
        yield f"- {other['name']} on {other['core']}: {other['conditions']}."


def _cycle_table(rows: Rows, shorts: Sequence[str], published: Mapping[str, Any]) -> Iterator[str]:
    """Of the core that has a model, in all and a multiply-accumulate, beside what boards took."""
    ours = {
        short: row.cycles / 1000
        for (board, short), row in rows.items()
        if row.cycles is not None and load_board(board).core.name == MODELLED
    }
    runtimes: list[tuple[str, dict[str, float]]] = [("**tvm-tool**", ours)]
    runtimes += [(r["name"], r["cycles"]) for r in published["runtimes"] if "cycles" in r]
    for name, known in runtimes:
        yield f"| model | {name} | {_cells({s: round(n) for s, n in known.items()}, shorts)} |"
    macs = published["macs"]
    for name, known in runtimes:
        each = {s: f"{n / macs[s]:.2f}" for s, n in known.items() if s in macs}
        yield f"| model, a MAC | {name} | {_cells(each, shorts)} |"
    for record in published["records"]:
        yield f"| board, a MAC | {record['name']} | {_cells(record['cycles_per_mac'], shorts)} |"


def _thousands(rows: Rows, board: str, short: str) -> str:
    row = rows.get((board, short))
    return f"{row.instructions / 1000:,.0f}" if row else ""


def _cells(values: Mapping[str, Any], shorts: Sequence[str]) -> str:
    cells = (values.get(short, "") for short in shorts)
    return " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)


def write_page(text: str) -> None:
    """Put `text` between the markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n{text}\n{page[end:]}", encoding="utf-8")
