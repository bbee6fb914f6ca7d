"""Linker scripts from a board.

`linker_script` is for firmware without a script of its own; `linker_supplement` adds the regions of
a board to a script that the firmware already has. The same board gives the same text.
"""

from __future__ import annotations

from .board import Board, Region
from .options import ModelOptions
from .paths import linker_scripts_dir


def further_regions(board: Board) -> list[Region]:
    """The regions besides those of code and data: models are there only if somebody asks for it."""
    usual = (board.placement.code, board.placement.data)
    return [region for region in board.regions.values() if region.name not in usual]


def wants_regions(options: ModelOptions, board: Board) -> bool:
    """Whether a model may lie elsewhere than among the firmware's other constants and variables."""
    usual = (board.placement.code, board.placement.data)
    placed = (board.placement.weights, board.placement.arena)
    return bool(options.weights or options.arena) or placed != usual


def linker_script(board: Board) -> str:
    """A full script: all regions, vectors, code, data, stack and heap reserve, models' regions."""
    return _render(board.core.linker_script, board)


def linker_supplement(board: Board) -> str:
    """A script that only adds `further_regions`; the linker takes it as one more ``-T``."""
    return _render("supplement.ld.in", board)


def _render(template: str, board: Board) -> str:
    # Imported here: a build that changes nothing never comes here.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(linker_scripts_dir()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    others = further_regions(board)
    return environment.get_template(template).render(
        board=board,
        code=board.placement.code,
        data=board.placement.data,
        stack=board.placement.stack,
        others=others,
        copied=[".data", *(f".tvm_{region.name}" for region in others if region.writable)],
        hex="0x{:08x}".format,
    )
