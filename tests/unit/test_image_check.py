"""The check after the link, on images made of data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tvm_tool.board import Board, Placement, Region
from tvm_tool.cores import core_named
from tvm_tool.errors import ImageError
from tvm_tool.image.check import check_image
from tvm_tool.image.elf import Image, Section, Symbol
from tvm_tool.image.metadata import Metadata

FLASH, RAM, CCM = 0x08000000, 0x20000000, 0x10000000
BOARD = Board(
    name="toy",
    file=Path("boards/toy.yaml"),
    description="",
    core=core_named("cortex-m4f"),
    clock_hz=None,
    regions={
        "flash": Region("flash", FLASH, 0x10000, "rx"),
        "ram": Region("ram", RAM, 0x4000, "rwx"),
        "ccm": Region("ccm", CCM, 0x1000, "rw"),
    },
    placement=Placement("flash", "flash", "ram", "ram", "ram"),
    stack=512,
)
MODEL = Metadata(
    file=Path("kws.json"),
    name="kws",
    prefix="tvmgen_kws",
    model="kws.onnx",
    sha256="",
    inputs=(),
    outputs=(),
    workspace="tvmgen_kws_workspace",
    workspace_bytes=64,
    workspace_align=16,
    workspace_region=None,
    weights=("tvmgen_kws_layer0_weights",),
    weights_region=None,
    functions=(),
)
USUAL = (
    Section(".text", FLASH, 0x800, FLASH, 4, bytes(0x800)),
    Section(".data", RAM, 0x10, FLASH + 0x800, 4, bytes(0x10)),
    Section(".bss", RAM + 0x10, 0x100, None, 16, b""),
)
WORKSPACE = Symbol("tvmgen_kws_workspace", RAM + 0x10, 64, False)
WEIGHTS = Symbol("tvmgen_kws_layer0_weights", FLASH + 0x100, 32, False)
SYMBOLS = (WORKSPACE, WEIGHTS)


def check(*more: Section, symbols: tuple[Symbol, ...] = SYMBOLS, model: Metadata = MODEL) -> None:
    sections = tuple(sorted((*USUAL, *more), key=lambda s: s.address))
    check_image(Image(Path("toy.elf"), "EM_ARM", FLASH, sections, symbols, {}), [model], BOARD)


def refused(*more: Section, symbols: tuple[Symbol, ...] = SYMBOLS, model: Metadata = MODEL) -> str:
    with pytest.raises(ImageError) as caught:
        check(*more, symbols=symbols, model=model)
    assert caught.value.file == "toy.elf"
    assert caught.value.remedy
    return str(caught.value)


def bss(name: str, address: int, size: int = 64) -> Section:
    return Section(name, address, size, None, 16, b"")


def test_a_good_image() -> None:
    check()
    check(symbols=())  # the linker dropped the model
    check(bss(".tvmbss_ccm", CCM), Section(".tvm.flash.w", FLASH + 0x900, 64, FLASH + 0x900, 4, bytes(64)))
    # Copied at reset: stored in flash, used in ccm.
    check(Section(".tvm_ccm", CCM, 64, FLASH + 0x900, 4, bytes(64)))


def test_outside_all_regions() -> None:
    text = refused(bss(".noinit", 0x30000000))
    assert "section '.noinit'" in text
    assert "0x30000000 to 0x3000003f, in no memory region of toy" in text
    assert "flash 0x08000000 to 0x0800ffff" in text
    # The end counts too, and where an initialised section is stored.
    assert "section '.noinit'" in refused(bss(".noinit", RAM + 0x3FF0))
    assert "0x90000000" in refused(Section(".rw", RAM + 0x1000, 4, 0x90000000, 4, bytes(4)))


def test_an_arena_at_address_zero() -> None:
    """What ld makes of a mistyped region name, with no more than a warning."""
    assert "0x00000000" in refused(bss(".tvmbss.ccm.arena", 0))


def test_our_sections_lie_in_their_region() -> None:
    text = refused(bss(".tvmbss.ccm.tvmgen_kws_workspace", RAM + 0x1000))
    assert "outside its region" in text
    assert "ccm 0x10000000 to 0x10000fff" in text
    assert "*(.tvm*.ccm.*)" in text
    assert "outside its region" in refused(Section(".tvm_ccm", FLASH + 0x900, 4, FLASH + 0x900, 4, bytes(4)))


def test_our_sections_name_a_region() -> None:
    text = refused(bss(".tvmbss.cmm.arena", CCM))
    assert "no memory region 'cmm'" in text
    assert "did you mean 'ccm'?" in text


def test_overlaps() -> None:
    text = refused(bss(".more", RAM + 0x10))
    assert "overlaps section" in text
    assert "at run time" in text
    stored = Section(".rw", RAM + 0x1000, 0x20, FLASH + 0x80F, 4, bytes(0x20))
    assert "overlaps section '.rw' in the loaded image" in refused(stored)
    check(Section(".rw", RAM + 0x1000, 0x20, FLASH + 0x810, 4, bytes(0x20)))


def test_an_orphan_behind_the_bss() -> None:
    text = refused(bss(".bss.tvmgen_kws_workspace", RAM + 0x200))
    assert "where the heap starts" in text
    assert "*(.bss .bss.*)" in text
    check(bss(".bss.app_buffer", RAM + 0x200))  # not ours to judge


def test_workspace_alignment() -> None:
    text = refused(symbols=(replace(WORKSPACE, address=RAM + 0x18),))
    assert "symbol 'tvmgen_kws_workspace'" in text
    assert "0x20000018 is not a multiple of 16" in text


def test_workspace_region() -> None:
    moved = replace(MODEL, workspace_region="ccm")
    text = refused(model=moved)
    assert "symbol 'tvmgen_kws_workspace'" in text
    assert "ccm 0x10000000" in text
    check(bss(".tvmbss_ccm", CCM), symbols=(replace(WORKSPACE, address=CCM),), model=moved)
    end = replace(WORKSPACE, address=RAM + 0x3FE0, size=0)
    assert "outside its region" in refused(symbols=(end,))


def test_weights_region() -> None:
    text = refused(symbols=(replace(WEIGHTS, address=RAM + 0x20),))
    assert "symbol 'tvmgen_kws_layer0_weights'" in text
    check(symbols=(replace(WEIGHTS, address=CCM),), model=replace(MODEL, weights_region="ccm"))
