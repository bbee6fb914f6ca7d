"""The check after the link: ld lets pass what would not run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import ImageError, did_you_mean
from .elf import Image, Section
from .metadata import Metadata

if TYPE_CHECKING:
    from ..board import Board, Region

_OURS = re.compile(r"\.tvm(?:bss)?[._]([A-Za-z]\w*?)(?:\..*)?")


def check_image(image: Image, models: Sequence[Metadata], board: Board) -> None:
    """ImageError if a section or a workspace is not where the board wants it."""
    for section in image.sections:
        _check_placed(image, section, board)
        _check_ours(image, section, board)
        _check_orphan(image, section)
    _check_overlaps(image, "at run time", [(s.address, s) for s in image.sections])
    loaded = [(s.load_address, s) for s in image.sections if s.load_address is not None]
    _check_overlaps(image, "in the loaded image", loaded)
    for model in models:
        _check_model(image, model, board)


def _holds(region: Region, start: int, size: int) -> bool:
    return region.origin <= start and start + size <= region.end


def _span(start: int, size: int) -> str:
    return f"{start:#010x} to {start + size - 1:#010x}"


def _regions(board: Board) -> str:
    return ", ".join(f"{r.name} {_span(r.origin, r.length)}" for r in board.regions.values())


def _check_placed(image: Image, section: Section, board: Board) -> None:
    for address in {section.address, section.load_address} - {None}:
        assert address is not None
        if not any(_holds(region, address, section.size) for region in board.regions.values()):
            raise ImageError(
                f"it lies at {_span(address, section.size)}, in no memory region of {board.name}",
                file=image.path,
                where=f"section '{section.name}'",
                expected=_regions(board),
                remedy=f"place it with the linker script, or add the memory to {board.file.name}",
            )


def _check_ours(image: Image, section: Section, board: Board) -> None:
    match = _OURS.fullmatch(section.name)
    if match is None:
        return
    where = f"section '{section.name}'"
    region = board.regions.get(match[1])
    if region is None:
        raise ImageError(
            f"{board.name} has no memory region '{match[1]}'",
            file=image.path,
            where=where,
            remedy=did_you_mean(match[1], board.regions),
        )
    if not _holds(region, section.address, section.size):
        raise ImageError(
            f"it lies at {_span(section.address, section.size)}, outside its region",
            file=image.path,
            where=where,
            expected=f"{region.name} {_span(region.origin, region.length)}",
            remedy=f"link with the script of tvm-tool, or put '*(.tvm*.{region.name}.*)' into that region",
        )


def _check_orphan(image: Image, section: Section) -> None:
    if re.fullmatch(r"\.bss\.tvm\w+", section.name):
        raise ImageError(
            "no pattern of the linker script takes this section, so it lies behind the end of .bss, "
            "where the heap starts",
            file=image.path,
            where=f"section '{section.name}'",
            remedy="write *(.bss .bss.*) instead of *(.bss) in the linker script",
        )


def _check_overlaps(image: Image, when: str, placed: Sequence[tuple[int, Section]]) -> None:
    ordered = sorted(placed, key=lambda item: (item[0], item[1].name))
    for (start, section), (following, other) in pairwise(ordered):
        if start + section.size > following:
            raise ImageError(
                f"it overlaps section '{other.name}' {when}: {_span(start, section.size)} "
                f"and {_span(following, other.size)}",
                file=image.path,
                where=f"section '{section.name}'",
                remedy="give each its own place in the linker script",
            )


def _check_model(image: Image, model: Metadata, board: Board) -> None:
    """Symbols that the linker dropped are not missed: the firmware does not use them."""
    workspace = image.symbol(model.workspace)
    arena = board.region(model.workspace_region or board.placement.arena)
    if workspace is not None:
        where = f"symbol '{model.workspace}'"
        if workspace.address % model.workspace_align:
            raise ImageError(
                f"its address {workspace.address:#010x} is not a multiple of {model.workspace_align}",
                file=image.path,
                where=where,
                remedy="do not pack or sort it by the linker script; keep SUBALIGN at 16 or above",
            )
        if not _holds(arena, workspace.address, max(workspace.size, model.workspace_bytes)):
            raise _misplaced(image, where, workspace.address, model.workspace_bytes, arena)
    weights = board.region(model.weights_region or board.placement.weights)
    for name in model.weights:
        symbol = image.symbol(name)
        if symbol is not None and not _holds(weights, symbol.address, symbol.size):
            raise _misplaced(image, f"symbol '{name}'", symbol.address, symbol.size, weights)


def _misplaced(image: Image, where: str, address: int, size: int, region: Region) -> ImageError:
    return ImageError(
        f"it lies at {_span(address, size)}, outside its region",
        file=image.path,
        where=where,
        expected=f"{region.name} {_span(region.origin, region.length)}",
        remedy="correct the linker script, or the region that the model's options or the board name",
    )
