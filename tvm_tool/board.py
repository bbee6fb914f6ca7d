"""Boards: what a firmware is built for, read from YAML.

>>> board = load_board("stm32f412")          # or the path of your own file
>>> board.regions["ram"].length
262144
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .board_file import Entry, is_path, read_board_file, shipped
from .board_schema import check
from .cores import Core, core_named
from .errors import BoardError, did_you_mean
from .paths import boards_dir

STACK_ALIGNMENT = 8
"""Bytes; the procedure call standard asks for it."""


@dataclass(frozen=True)
class Region:
    """A memory that the linker may fill: addresses from `origin`, `length` bytes.

    `attributes` says what the processor can do there, for example ``rx``.
    """

    name: str
    origin: int
    length: int
    attributes: str

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.origin + self.length

    @property
    def writable(self) -> bool:
        """RAM: it holds variables, and constants only after the startup code has copied them."""
        return "w" in self.attributes


@dataclass(frozen=True)
class Placement:
    """Names of the regions where things go by default."""

    code: str
    weights: str
    arena: str
    data: str
    stack: str


@dataclass(frozen=True)
class Emulator:
    """A QEMU machine: values of ``-M`` and ``-cpu``; `ram` is in bytes, None for as much as the board."""

    machine: str
    ram: int | None = None
    cpu: str | None = None


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes:
        name: its short name, that of its file.
        file: the YAML file it comes from.
        description: one line for people.
        core: the processor core.
        clock_hz: clock of the core, None if unknown.
        regions: memories by name, in the order of the file.
        placement: where things go by default.
        stack: bytes reserved for the stack, a multiple of 8.
        heap: bytes reserved for the firmware's own heap.
        budget: bytes of a region that an image may use, for the regions that have a limit.
        emulator: the QEMU machine that runs the board's images, None if there is none.
        flash_tool: arguments by program, for example ``{"openocd": ["target/stm32f4x.cfg"]}``.
    """

    name: str
    file: Path
    description: str
    core: Core
    clock_hz: int | None
    regions: Mapping[str, Region]
    placement: Placement
    stack: int
    heap: int = 0
    budget: Mapping[str, int] = field(default_factory=dict)
    emulator: Emulator | None = None
    flash_tool: Mapping[str, list[str]] | None = None

    def region(self, name: str) -> Region:
        """The region called `name`; BoardError if the board has none."""
        if name not in self.regions:
            remedy = did_you_mean(name, self.regions)
            raise BoardError(f"there is no memory region '{name}'", file=self.file, remedy=remedy)
        return self.regions[name]

    def budget_of(self, region: str) -> int:
        """Bytes that an image may use of `region`: the limit, or all of it."""
        return self.budget.get(region, self.region(region).length)

    def weights_section(self, symbol: str, region: str | None = None) -> str:
        """Section of a constant; an ordinary one where the board keeps its other constants.

        Args:
            symbol: the constant's C name; one section each, so that the linker can drop it.
            region: where it goes; None for the board's placement of weights.
        """
        name = self.region(region or self.placement.weights).name
        return f".rodata.{symbol}" if name == self.placement.code else f".tvm.{name}.{symbol}"

    def arena_section(self, symbol: str, region: str | None = None) -> str:
        """Section of a workspace; an ordinary one where the board keeps its other variables.

        Elsewhere it is not cleared at reset. Arguments as of `weights_section`.
        """
        found = self.region(region or self.placement.arena)
        if not found.writable:
            raise BoardError(
                f"region '{found.name}' cannot hold a workspace",
                file=self.file,
                expected="one of " + ", ".join(r.name for r in self.regions.values() if r.writable),
            )
        return f".bss.{symbol}" if found.name == self.placement.data else f".tvmbss.{found.name}.{symbol}"


def board_names() -> list[str]:
    """Names of the boards that ship with the package."""
    return shipped()


def load_board(board: str) -> Board:
    """The board called `board`, or the one that the YAML file at this path describes."""
    if is_path(board):
        return _board(read_board_file(Path(board)))
    if board not in board_names():
        raise BoardError(
            f"there is no board '{board}'",
            expected="the name of a shipped board, or the path of a YAML file",
            remedy=did_you_mean(board, board_names()),
        )
    return _board(read_board_file(boards_dir() / f"{board}.yaml"))


def _board(entry: Entry) -> Board:
    check(entry)
    fields = entry.fields
    regions = {name: _region(name, region) for name, region in fields["memory"].fields.items()}
    _check_overlap(fields["memory"], regions)
    placement = _placement(fields["placement"], regions)
    _check_reserves(entry, regions, placement)
    limits = fields["budget"].fields if "budget" in fields else {}
    tools = fields["flash_tool"].fields if "flash_tool" in fields else {}
    return Board(
        name=entry.file.stem,
        file=entry.file,
        description=fields["description"].text if "description" in fields else "",
        core=_core(fields),
        clock_hz=fields["clock"].hertz if "clock" in fields else None,
        regions=regions,
        placement=placement,
        stack=fields["stack"].bytes,
        heap=fields["heap"].bytes if "heap" in fields else 0,
        budget={name: _limit(limit, name, regions) for name, limit in limits.items()},
        emulator=_emulator(fields["emulator"].fields) if "emulator" in fields else None,
        flash_tool={name: [item.text for item in tool.items] for name, tool in tools.items()} or None,
    )


def _core(fields: Mapping[str, Entry]) -> Core:
    core = core_named(fields["core"].text)
    if "float_abi" not in fields:
        return core
    float_abi = fields["float_abi"]
    if core.fpu_name is None and float_abi.text != "soft":
        raise float_abi.error(f"{core.name} has no FPU", expected="soft", remedy="or name a core with an FPU")
    return core.with_float_abi(float_abi.text)


def _region(name: str, entry: Entry) -> Region:
    if name.lower() in ("o", "org", "origin", "l", "len", "length"):
        raise entry.error(f"'{name}' is a word of the linker", remedy="choose another name")
    origin, length = (entry.fields[f].bytes for f in ("origin", "length"))
    if length == 0:
        raise entry.fields["length"].error("the region is empty", expected="at least one byte")
    if origin + length > 1 << 32:
        raise entry.fields["length"].error("the region ends beyond the last address, 0xffffffff")
    return Region(name, origin, length, entry.fields["attributes"].text)


def _check_overlap(memory: Entry, regions: Mapping[str, Region]) -> None:
    earlier: list[Region] = []
    for region in regions.values():
        for other in earlier:
            if region.origin < other.end and other.origin < region.end:
                raise memory.fields[region.name].error(
                    f"overlaps region '{other.name}'",
                    expected=f"no address from 0x{other.origin:08x} to 0x{other.end - 1:08x}",
                )
        earlier.append(region)


def _placement(entry: Entry, regions: Mapping[str, Region]) -> Placement:
    names = {use: field.text for use, field in entry.fields.items()}
    needs = {"code": "x", "data": "w", "arena": "w", "stack": "w"}
    for use, field_entry in entry.fields.items():
        _check_known(field_entry, names[use], regions)
        if needs.get(use, "") not in regions[names[use]].attributes:
            access = "be written" if needs[use] == "w" else "hold code"
            raise field_entry.error(f"region '{names[use]}' cannot {access}")
    code, data = names["code"], names["data"]
    if code == data:
        raise entry.fields["data"].error("data and code are in one region", expected="two regions")
    return Placement(
        code=code,
        weights=names.get("weights", code),
        arena=names.get("arena", data),
        data=data,
        stack=names.get("stack", data),
    )


def _check_known(entry: Entry, name: str, regions: Mapping[str, Region]) -> None:
    if name not in regions:
        raise entry.error(f"there is no memory region '{name}'", remedy=did_you_mean(name, regions))


def _check_reserves(board: Entry, regions: Mapping[str, Region], placement: Placement) -> None:
    stack_entry = board.fields["stack"]
    stack = stack_entry.bytes
    if stack == 0 or stack % STACK_ALIGNMENT:
        raise stack_entry.error(f"'{stack_entry.text}' is no multiple of {STACK_ALIGNMENT}")
    needed = {placement.stack: stack}
    if "heap" in board.fields:
        needed[placement.data] = needed.get(placement.data, 0) + board.fields["heap"].bytes
    for name, size in needed.items():
        if size > regions[name].length:
            raise stack_entry.error(
                f"stack and heap need {size} bytes, region '{name}' has {regions[name].length}"
            )


def _limit(entry: Entry, name: str, regions: Mapping[str, Region]) -> int:
    _check_known(entry, name, regions)
    length = regions[name].length
    percent = entry.text.endswith("%")
    limit = length * int(entry.text.rstrip(" %")) // 100 if percent else entry.bytes
    if limit > length:
        raise entry.error(f"'{entry.text}' is more than the region", expected=f"at most {length} bytes")
    return limit


def _emulator(fields: Mapping[str, Entry]) -> Emulator:
    return Emulator(
        machine=fields["machine"].text,
        ram=fields["ram"].bytes if "ram" in fields else None,
        cpu=fields["cpu"].text if "cpu" in fields else None,
    )
