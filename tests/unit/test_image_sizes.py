"""Sizes by part, budgets and the table, on images made of data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_tool.board import Board, Placement, Region
from tvm_tool.cores import core_named
from tvm_tool.errors import BudgetError
from tvm_tool.image.budget import check_budget, used_bytes
from tvm_tool.image.elf import Image, Section, Symbol
from tvm_tool.image.linker_map import Contribution, LinkerMap
from tvm_tool.image.metadata import Metadata
from tvm_tool.image.sizes import Piece, measure
from tvm_tool.image.table import size_table

FLASH, RAM = 0x08000000, 0x20000000
BOARD = Board(
    name="toy",
    file=Path("boards/toy.yaml"),
    description="",
    core=core_named("cortex-m4f"),
    clock_hz=None,
    regions={"flash": Region("flash", FLASH, 0x10000, "rx"), "ram": Region("ram", RAM, 0x4000, "rwx")},
    placement=Placement("flash", "flash", "ram", "ram", "ram"),
    stack=512,
    budget={"flash": 0x8000},
)


def model(name: str = "kws", **changes: object) -> Metadata:
    made = Metadata(
        file=Path(f"{name}.json"),
        name=name,
        prefix=f"tvmgen_{name}",
        model=f"{name}.onnx",
        sha256="",
        inputs=(),
        outputs=(),
        workspace=f"tvmgen_{name}_workspace",
        workspace_bytes=64,
        workspace_align=16,
        workspace_region=None,
        weights=(f"tvmgen_{name}_layer0_weights",),
        weights_region=None,
        functions=("layer0_conv2d",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def image(sections: list[Section], symbols: list[Symbol]) -> Image:
    ordered = sorted(symbols, key=lambda s: (s.address, -s.size, s.name))
    return Image(Path("toy.elf"), "EM_ARM", FLASH, tuple(sections), tuple(ordered), {})


def section(name: str, address: int, size: int, load: int | None = None, align: int = 4) -> Section:
    return Section(name, address, size, load, align, b"" if load is None else bytes(size))


def parts(pieces: list[Piece], region: str) -> dict[str, int]:
    found: Counter[str] = Counter()
    for piece in pieces:
        if piece.region == region:
            found[piece.part] += piece.bytes
    return dict(found)


def test_every_part() -> None:
    names = [
        ("tvmgen_kws_layer0_weights", 400, False),
        ("tvmgen_kws_run", 40, True),
        ("layer0_conv2d", 60, True),
        ("tvm_gemm_f32", 100, True),
        ("tvm_aot_run", 30, True),
        ("tvm_platform_log", 2, True),
        ("Reset_Handler", 20, True),
        ("tvm_semihosting_write", 8, True),
        ("memcpy", 12, True),
        ("expf", 50, True),
        ("read_sensor", 70, True),
    ]
    symbols, address = [], FLASH + 64
    for name, size, function in names:
        symbols.append(Symbol(name, address, size, function))
        address += size
    at = {symbol.name: symbol for symbol in symbols}
    files = {"memcpy": "/lib/libc_nano.a(memcpy.o)", "expf": "C:\\gcc\\lib\\libm.a(s_expf.o)"}
    linker_map = LinkerMap(tuple(Contribution(at[n].address, at[n].size, f) for n, f in files.items()))
    sections = [
        section(".vectors", FLASH, 64, FLASH),
        section(".text", FLASH + 64, address - FLASH - 64 + 10, FLASH + 64),
        section(".stack", RAM, 512),
        section(".data", RAM + 512, 16, address + 12),
        section(".bss", RAM + 528, 72),
    ]
    symbols += [
        Symbol("settings", RAM + 512, 16, False),
        Symbol("tvmgen_kws_workspace", RAM + 528, 64, False),
    ]
    pieces = measure(image(sections, symbols), [model()], BOARD, linker_map)
    assert parts(pieces, "flash") == {
        "weights": 400,
        "model code": 100,
        "kernels": 100,
        "runtime": 32,
        "startup": 64 + 28,
        "libc, libgcc": 12,
        "libm": 50,
        "application": 70 + 16,  # initialised variables are kept in flash
        "other, padding": 10 + 2,  # the end of .text, and the gap before .data
    }
    assert parts(pieces, "ram") == {"stack": 512, "application": 16, "arena": 64, "other, padding": 8}


def test_two_models_are_told_apart() -> None:
    symbols = [
        Symbol("tvmgen_kws_layer0_weights", FLASH, 100, False),
        Symbol("tvmgen_vww_layer0_weights", FLASH + 100, 50, False),
        Symbol("tvmgen_kws_workspace", RAM, 64, False),
        Symbol("tvmgen_vww_workspace", RAM + 64, 32, False),
    ]
    sections = [section(".rodata", FLASH, 150, FLASH), section(".bss", RAM, 96)]
    pieces = measure(image(sections, symbols), [model("vww"), model("kws")], BOARD, LinkerMap())
    assert parts(pieces, "flash") == {"weights kws": 100, "weights vww": 50}
    assert parts(pieces, "ram") == {"arena kws": 64, "arena vww": 32, "stack": 512}
    rows = size_table("", pieces, BOARD).splitlines()[4:9]
    assert [row.split("  ")[0] for row in rows] == [
        "weights kws",
        "weights vww",
        "arena kws",
        "arena vww",
        "stack",
    ]


def test_reserves_are_added_only_where_the_image_has_none() -> None:
    with_heap = replace(BOARD, heap=256)
    bare = measure(image([section(".bss", RAM, 8)], []), [], with_heap, LinkerMap())
    assert parts(bare, "ram") == {"other, padding": 8, "stack": 512, "heap": 256}
    vendor = [section("._user_heap_stack", RAM, 0x600)]
    assert parts(measure(image(vendor, []), [], with_heap, LinkerMap()), "ram") == {"stack": 0x600}


def test_static_functions_of_ours_are_known_after_link_time_optimisation() -> None:
    """`four_channels` and `check_inputs` come from the runtime's files; the object file is ltrans."""
    symbols = [
        Symbol("check_inputs", FLASH, 10, True, "<artificial>"),
        Symbol("main", FLASH + 10, 10, True, "build/cc0.ltrans0.ltrans.o"),
    ]
    linker_map = LinkerMap((Contribution(FLASH, 20, "build/cc0.ltrans0.ltrans.o"),))
    pieces = measure(image([section(".text", FLASH, 20, FLASH)], symbols), [], BOARD, linker_map)
    assert parts(pieces, "flash") == {"runtime": 10, "application": 10}


def test_files_decide_about_static_functions() -> None:
    symbols = [
        Symbol("copy", FLASH, 10, True, "app.c"),
        Symbol("block", FLASH + 10, 10, True, "tvm_gemm_f32.c"),
        Symbol("helper", FLASH + 20, 10, True, "kws.c"),
        Symbol("start", FLASH + 30, 10, True, "cortex_m.c"),
    ]
    pieces = measure(image([section(".text", FLASH, 40, FLASH)], symbols), [model()], BOARD, LinkerMap())
    assert parts(pieces, "flash") == {"application": 10, "kernels": 10, "model code": 10, "startup": 10}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 250), st.integers(0, 80)), max_size=12),
    st.lists(st.tuples(st.integers(0, 250), st.integers(1, 40)), max_size=12),
)
def test_every_byte_is_counted_once(spans: list[tuple[int, int]], owners: list[tuple[int, int]]) -> None:
    """However symbols overlap or leave gaps."""
    symbols = [Symbol(f"s{i}", FLASH + start, size, True) for i, (start, size) in enumerate(spans)]
    pieces, end = [], 0
    for start, size in sorted(owners):
        if start >= end:
            pieces.append(Contribution(FLASH + start, size, "libc.a(x.o)"))
            end = start + size
    linker_map = LinkerMap(tuple(pieces))
    found = measure(image([section(".text", FLASH, 256, FLASH)], symbols), [], BOARD, linker_map)
    assert used_bytes(found)["flash"] == 256
    assert all(piece.bytes > 0 for piece in found)


def test_budget_names_region_excess_and_the_largest() -> None:
    pieces = [
        Piece("flash", "weights", 30000, "tvmgen_kws_layer3_weights"),
        Piece("flash", "application", 5000, "font"),
        Piece("flash", "application", 1000, "font"),
        *(Piece("flash", "libm", 10, f"f{i}") for i in range(9)),
    ]
    with pytest.raises(BudgetError) as caught:
        check_budget(Path("toy.elf"), pieces, BOARD)
    text = str(caught.value)
    assert "toy.elf" in text
    assert "region 'flash' of toy" in text
    assert "36,090 bytes are 3,322 more than the budget of 32,768 bytes" in text
    assert "65,536" in text
    assert "tvmgen_kws_layer3_weights 30,000 (weights), font 6,000 (application), f0 10 (libm)" in text
    assert "f3" not in text


def test_budget_is_exact_and_defaults_to_the_region() -> None:
    check_budget(Path("toy.elf"), [Piece("flash", "weights", 0x8000, "w")], BOARD)
    check_budget(Path("toy.elf"), [Piece("ram", "arena", 0x4000, "a")], BOARD)
    with pytest.raises(BudgetError, match="1 more than the budget of 16,384"):
        check_budget(Path("toy.elf"), [Piece("ram", "arena", 0x4001, "a")], BOARD)


def test_table() -> None:
    pieces = [
        Piece("ram", "stack", 512, "reserved"),
        Piece("flash", "application", 1500, "main"),
        Piece("ram", "application", 20, "count"),
        Piece("flash", "weights", 12000, "w"),
    ]
    assert size_table("toy.elf on toy", pieces, BOARD) == (
        "toy.elf on toy\n"
        "\n"
        "bytes          flash      ram\n"
        "-----------------------------\n"
        "weights       12,000        -\n"
        "application    1,500       20\n"
        "stack              -      512\n"
        "-----------------------------\n"
        "total         13,500      532\n"
        "budget        32,768   16,384\n"
        "used          41.2 %    3.2 %"
    )
