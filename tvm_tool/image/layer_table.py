"""The layers of a model: which kernel computes each, what it takes, and why no faster one does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .metadata import LayerInfo, Metadata, load_metadata

HEAD = ("", "layer", "operator", "kernel", "MACs", "weights", "scratch", "why not a faster one")
NUMBERS = (0, 4, 5, 6)
"""Columns that are right-aligned."""


LONGEST_NAME = 32


def report_layers(file: Path) -> str:
    """A table for the metadata in `file`; ImageError if it is not what the compiler writes."""
    metadata = load_metadata(file)
    rows = [HEAD, *(_row(index, layer) for index, layer in enumerate(metadata.layers)), _total(metadata)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [_line(row, widths) for row in rows]
    rule = "-" * max(map(len, lines))
    title = f"{metadata.name}: {len(metadata.layers)} layers, workspace {metadata.workspace_bytes:,} bytes"
    return "\n".join([title, "", lines[0], rule, *lines[1:-1], rule, lines[-1]])


def _row(index: int, layer: LayerInfo) -> tuple[str, ...]:
    numbers = (_number(n) for n in (layer.macs, layer.weights_bytes, layer.scratch_bytes))
    return (str(index), _short(layer.name), layer.operator, layer.kernel, *numbers, layer.declined)


def _short(name: str) -> str:
    """The first of several names, its end if it is long."""
    first = name.split(";", maxsplit=1)[0]
    return first if len(first) <= LONGEST_NAME else "..." + first[3 - LONGEST_NAME :]


def _total(metadata: Metadata) -> tuple[str, ...]:
    layers = metadata.layers
    macs, weights = sum(layer.macs for layer in layers), sum(layer.weights_bytes for layer in layers)
    most = max((layer.scratch_bytes for layer in layers), default=0)
    return ("", "total, most scratch", "", "", _number(macs), _number(weights), _number(most), "")


def _number(value: int) -> str:
    return f"{value:,}" if value else "-"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        f"{text:>{width}}" if column in NUMBERS else f"{text:<{width}}"
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
