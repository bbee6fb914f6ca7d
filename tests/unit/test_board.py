"""Board files: what they mean, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm_tool.board import Board, Placement, Region, board_names, load_board
from tvm_tool.errors import BoardError

GOOD = """\
description: a test board
core: cortex-m4f
clock: 16.5 MHz
memory:
  flash: {origin: 0x08000000, length: 1M, attributes: rx}
  ram:
    origin: 0x20000000
    length: 96K
    attributes: rwx
  ccm: {origin: 0x10000000, length: 65536, attributes: rw}
placement: {code: flash, data: ram, arena: ccm}
stack: 2K
heap: 512
budget: {flash: 50%, ram: 64K}
emulator: {machine: netduinoplus2, ram: 64K, cpu: cortex-m4}
flash_tool: {openocd: [a.cfg, b.cfg]}
"""


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def load(folder: Path, text: str) -> Board:
    return load_board(write(folder, text))


def test_every_field(tmp_path: Path) -> None:
    board = load(tmp_path, GOOD)
    assert (board.name, board.description, board.file) == ("mine", "a test board", tmp_path / "mine.yaml")
    assert board.core.name == "cortex-m4f"
    assert board.clock_hz == 16_500_000
    assert list(board.regions) == ["flash", "ram", "ccm"]
    assert board.regions["ram"] == Region("ram", 0x20000000, 96 * 1024, "rwx")
    assert board.placement == Placement(code="flash", weights="flash", arena="ccm", data="ram", stack="ram")
    assert (board.stack, board.heap) == (2048, 512)
    assert board.budget == {"flash": 512 * 1024, "ram": 64 * 1024}
    assert board.emulator is not None
    assert (board.emulator.machine, board.emulator.ram, board.emulator.cpu) == (
        "netduinoplus2",
        64 * 1024,
        "cortex-m4",
    )
    assert board.flash_tool == {"openocd": ["a.cfg", "b.cfg"]}


def test_only_required_fields(tmp_path: Path) -> None:
    board = load(
        tmp_path,
        "core: cortex-m3\n"
        "memory:\n"
        "  rom: {origin: 0, length: 64K, attributes: rx}\n"
        "  ram: {origin: 0x20000000, length: 8K, attributes: rw}\n"
        "placement: {code: rom, data: ram}\n"
        "stack: 1K\n",
    )
    assert (board.clock_hz, board.heap, board.budget) == (None, 0, {})
    assert (board.emulator, board.flash_tool) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4096", 4096), ("0x1000", 4096), ("4K", 4096), ("4 k", 4096), ("'4K'", 4096), ("04096", 4096)],
)
def test_sizes(tmp_path: Path, text: str, value: int) -> None:
    assert load(tmp_path, GOOD.replace("stack: 2K", f"stack: {text}")).stack == value


@pytest.mark.parametrize(
    ("text", "value"), [("100 MHz", 10**8), ("32768 Hz", 32768), ("12.5 kHz", 12500), ("8MHz", 8 * 10**6)]
)
def test_clocks(tmp_path: Path, text: str, value: int) -> None:
    assert load(tmp_path, GOOD.replace("16.5 MHz", text)).clock_hz == value


def test_float_abi_of_the_firmware(tmp_path: Path) -> None:
    assert load(tmp_path, "float_abi: softfp\n" + GOOD).core.flags[-1] == "-mfloat-abi=softfp"
    soft = load(tmp_path, "float_abi: soft\n" + GOOD).core
    assert not soft.fpu
    assert not any(flag.startswith("-mfpu") for flag in soft.flags)


def test_sections_of_models(tmp_path: Path) -> None:
    board = load(tmp_path, GOOD)
    assert board.weights_section("w") == ".rodata.w"
    assert board.weights_section("w", "flash") == ".rodata.w"
    assert board.weights_section("w", "ccm") == ".tvm.ccm.w"
    assert board.arena_section("a") == ".tvmbss.ccm.a"
    assert board.arena_section("a", "ram") == ".bss.a"
    with pytest.raises(BoardError, match="cannot hold a workspace\n  expected: one of ram, ccm"):
        board.arena_section("a", "flash")
    with pytest.raises(BoardError, match="no memory region 'cmm'\n  remedy: did you mean 'ccm'"):
        board.arena_section("a", "cmm")


# What replaces what in GOOD; the line and field that the error must name; words that it must say.
WRONG = [
    ("cortex-m4f", "cortex-m4g", 2, "core", "did you mean 'cortex-m4"),
    ("core: cortex-m4f\n", "", 1, "", "the field 'core' is missing"),
    ("clock:", "clokc:", 3, "clokc", "did you mean 'clock'?"),
    ("16.5 MHz", "fast", 3, "clock", "expected: a frequency, as 100 MHz"),
    ("length: 1M,", "length: 1Q,", 5, "memory.flash.length", "'1Q' is not understood"),
    ("length: 1M,", "length: 0,", 5, "memory.flash.length", "the region is empty"),
    ("length: 1M,", "lenght: 1M,", 5, "memory.flash.lenght", "did you mean 'length'?"),
    ("length: 1M,", "length: [1M],", 5, "memory.flash.length", "is not text"),
    ("length: 1M,", "length: ,", 5, "memory.flash.length", "is empty"),
    ("length: 1M,", "", 5, "memory.flash", "the field 'length' is missing"),
    ("    length: 96K", "    length: -1", 8, "memory.ram.length", "'-1' is not understood"),
    ("    length: 96K", "    length: 1.5M", 8, "memory.ram.length", "expected: bytes, as 4096"),
    ("    origin: 0x20000000", "    origin: 0xffff0000", 8, "memory.ram.length", "beyond the last address"),
    ("    attributes: rwx", "    attributes: rwz", 9, "memory.ram.attributes", "did you mean 'rw"),
    ("0x10000000", "0x20017fff", 10, "memory.ccm", "overlaps region 'ram'"),
    ("  ccm:", "  len:", 10, "memory.len", "a word of the linker"),
    ("  ccm:", "  c-m:", 10, "memory.c-m", "letters, digits and _"),
    ("arena: ccm", "arena: cmm", 11, "placement.arena", "did you mean 'ccm'?"),
    ("arena: ccm", "arenas: ccm", 11, "placement.arenas", "did you mean 'arena'?"),
    ("arena: ccm", "arena: flash", 11, "placement.arena", "region 'flash' cannot be written"),
    ("code: flash", "code: ccm", 11, "placement.code", "region 'ccm' cannot hold code"),
    ("code: flash", "code: ram", 11, "placement.data", "data and code are in one region"),
    ("placement: {", "placement: [", 11, "", "is not YAML"),
    ("stack: 2K", "stack: 2049", 12, "stack", "no multiple of 8"),
    ("stack: 2K", "stack: 0", 12, "stack", "no multiple of 8"),
    ("stack: 2K", "stack: 96K", 12, "stack", "need 98816 bytes, region 'ram' has 98304"),
    ("stack: 2K", "stack: 2K\nstack: 4K", 13, "stack", "stands twice; the first is in line 12"),
    ("flash: 50%", "flahs: 50%", 14, "budget.flahs", "did you mean 'flash'?"),
    ("flash: 50%", "flash: 101%", 14, "budget.flash", "at most 1048576 bytes"),
    ("ram: 64K}\nemu", "ram: 97K}\nemu", 14, "budget.ram", "at most 98304 bytes"),
    ("machine: netduinoplus2, ", "", 15, "emulator", "the field 'machine' is missing"),
    ("[a.cfg, b.cfg]", "a.cfg", 16, "flash_tool.openocd", "is not a list"),
    ("[a.cfg, b.cfg]", "[a.cfg, {b: c}]", 16, "flash_tool.openocd[1]", "is not text"),
    ("description: a test board", "description: &a [*a]", 1, "description[0]", "contains itself"),
    ("description: a test board", "[1, 2]: 3", 1, "", "a name is not text"),
    ("description: a test board", "description: *a", 1, "", "is not YAML"),
    ("description: a test board", "\tdescription: x", 1, "", "is not YAML"),
    ("description: a test board", "extends:", 1, "extends", "names no board or family"),
    ("description: a test board", "extends: stm32f5", 1, "extends", "did you mean 'stm32f4"),
    ("description: a test board", "extends: ./no.yaml", 1, "extends", "there is no file './no.yaml'"),
    ("description: a test board", "extends: mine.yaml", 1, "extends", "in a circle: mine.yaml -> mine.yaml"),
    ("core: cortex-m4f", "core: cortex-m3\nfloat_abi: hard", 3, "float_abi", "cortex-m3 has no FPU"),
    (GOOD, "", None, "", "is not a board"),
    (GOOD, "- a\n", None, "", "is not a board"),
    (
        GOOD,
        "memory: {}\ncore: cortex-m3\nplacement: {code: a, data: b}\nstack: 1K\n",
        1,
        "memory",
        "is empty",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "where", "words"), WRONG)
def test_wrong_files(tmp_path: Path, old: str, new: str, line: int | None, where: str, words: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(BoardError) as caught:
        load_board(path)
    assert caught.value.file == (path if line is None else f"{path}:{line}")
    assert (caught.value.where or "") == where
    assert words in str(caught.value)


def test_errors_read_well(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("length: 1M", "length: 1Q"))
    with pytest.raises(BoardError) as caught:
        load_board(path)
    assert str(caught.value) == (
        f"{path}:5: memory.flash.length: '1Q' is not understood\n  expected: bytes, as 4096, 0x1000, 4K or 1M"
    )


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"none\.yaml: cannot be read: No such file"):
        load_board(str(tmp_path / "none.yaml"))
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(BoardError, match=r"folder\.yaml: cannot be read"):
        load_board(str(tmp_path / "folder.yaml"))
    (tmp_path / "latin.yaml").write_bytes(b"description: \xe9\n")
    with pytest.raises(BoardError, match="is not a text file in UTF-8"):
        load_board(str(tmp_path / "latin.yaml"))
    (tmp_path / "control.yaml").write_bytes(b"description: \x01\n")
    with pytest.raises(BoardError, match="is not YAML"):
        load_board(str(tmp_path / "control.yaml"))
    (tmp_path / "two.yaml").write_text(GOOD + "---\n" + GOOD)
    with pytest.raises(BoardError, match="is not YAML: but found another document"):
        load_board(str(tmp_path / "two.yaml"))


def test_unknown_board() -> None:
    with pytest.raises(BoardError, match=r"no board 'stm32f421'(.|\n)*did you mean 'stm32f41?2'\?"):
        load_board("stm32f421")


def test_a_family_is_no_board() -> None:
    assert not any(name.startswith("_") for name in board_names())
    with pytest.raises(BoardError, match="there is no board 'stm32f4'"):
        load_board("stm32f4")


def test_own_file_extends_a_shipped_board(tmp_path: Path) -> None:
    text = "extends: stm32f407\nstack: 8K\nmemory: {ram: {length: 112K}, ccm: null}\nemulator:\n"
    board = load(tmp_path, text)
    shipped = load_board("stm32f407")
    assert board.name == "mine"
    assert board.stack == 8192
    assert board.regions["ram"] == Region("ram", 0x20000000, 112 * 1024, "rwx")
    assert list(board.regions) == ["flash", "ram"]
    assert board.emulator is None
    assert (board.core, board.flash_tool) == (shipped.core, shipped.flash_tool)


def test_own_families(tmp_path: Path) -> None:
    (tmp_path / "Boards ä").mkdir()
    write(tmp_path / "Boards ä", GOOD, "base.yaml")
    write(tmp_path, "extends: Boards ä/base.yaml\nstack: 4K\n", "middle.yml")
    board = load(tmp_path, "extends: middle.yml\nheap: 1K\n")
    assert (board.stack, board.heap, board.core.name) == (4096, 1024, "cortex-m4f")


def test_circle_of_families(tmp_path: Path) -> None:
    write(tmp_path, "extends: b.yaml\n", "a.yaml")
    write(tmp_path, "\nextends: a.yaml\n", "b.yaml")
    with pytest.raises(BoardError, match=r"b\.yaml:2: extends: .*circle: a\.yaml -> b\.yaml -> a\.yaml"):
        load_board(str(tmp_path / "a.yaml"))


def test_an_error_in_a_family_names_the_family(tmp_path: Path) -> None:
    base = write(tmp_path, GOOD.replace("attributes: rx}", "attributes: rq}"), "base.yaml")
    with pytest.raises(BoardError) as caught:
        load(tmp_path, "extends: base.yaml\nstack: 4K\n")
    assert caught.value.file == f"{base}:5"


def test_a_path_with_dots_in_it(tmp_path: Path) -> None:
    board = load_board(write(tmp_path, GOOD, "my board.v2.yaml"))
    assert board.name == "my board.v2"
