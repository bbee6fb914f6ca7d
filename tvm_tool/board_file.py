"""Reads board files: YAML whose every value knows its file and line, and families by ``extends``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from .errors import BoardError, did_you_mean
from .paths import boards_dir

Value = Mapping[str, "Entry"] | list["Entry"] | str | None


@dataclass(frozen=True)
class Entry:
    """A value of a board file.

    Attributes:
        value: entries by name, a list of entries, or the text as written. Text is not converted:
            YAML would read ``010`` as eight. None for an empty value or ``null``.
        file: the file it stands in.
        line: its line there, from 1.
        path: names from the top of the file, for example ``memory.ram.length``.
    """

    value: Value
    file: Path
    line: int
    path: str

    def error(self, problem: str, *, expected: str | None = None, remedy: str | None = None) -> BoardError:
        """An error that points at this value."""
        place = f"{self.file}:{self.line}"
        return BoardError(problem, file=place, where=self.path or None, expected=expected, remedy=remedy)

    @property
    def fields(self) -> Mapping[str, Entry]:
        """Entries by name; empty if this is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> list[Entry]:
        """Entries of a list; empty if this is none."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str:
        """The text as written; empty if this is none."""
        return self.value if isinstance(self.value, str) else ""

    @property
    def bytes(self) -> int:
        """The text as a size or an address, which the schema says it is."""
        if self.text[:2] in ("0x", "0X"):
            return int(self.text, 16)
        units = {"k": 1 << 10, "m": 1 << 20}
        return int(self.text.rstrip(" kKM")) * units.get(self.text[-1].lower(), 1)

    @property
    def hertz(self) -> int:
        """The text as a frequency, which the schema says it is."""
        scale = {"k": 10**3, "M": 10**6}.get(self.text[-3], 1)
        return round(float(self.text.rstrip(" kMHz")) * scale)


def shipped(families: bool = False) -> list[str]:
    """Names of the boards that ship with the package, or of the families."""
    stems = sorted(path.stem for path in boards_dir().glob("*.yaml"))
    return [stem.lstrip("_") for stem in stems if stem.startswith("_") == families]


def is_path(board: str) -> bool:
    """Whether `board` is the path of a YAML file rather than the name of a shipped board."""
    return board.endswith((".yaml", ".yml")) or "/" in board or "\\" in board


def board_files(path: Path) -> list[Path]:
    """The file at `path` and those of the families that it takes fields from."""
    return sorted({path, *_files(read_board_file(path))})


def _files(entry: Entry) -> Iterator[Path]:
    yield entry.file
    for part in (*entry.fields.values(), *entry.items):
        yield from _files(part)


def read_board_file(path: Path) -> Entry:
    """The fields of the file at `path` on top of those of the family that it extends."""
    return _read(path, ())


def _read(path: Path, extended_by: tuple[Path, ...]) -> Entry:
    own = _parse(path)
    extends = own.fields.get("extends")
    if extends is None:
        return own
    if not extends.text:
        raise extends.error("names no board or family", expected="a name, or the path of a YAML file")
    base = _extended_file(extends)
    chain = (*extended_by, path.resolve())
    if base.resolve() in chain:
        names = " -> ".join(p.name for p in (*chain, base))
        raise extends.error(f"the files extend each other in a circle: {names}")
    own_fields = {name: entry for name, entry in own.fields.items() if name != "extends"}
    return _merge(_read(base, chain), replace(own, value=own_fields))


def _extended_file(extends: Entry) -> Path:
    name = extends.text
    if is_path(name):
        base = extends.file.parent / name
        if not base.is_file():
            raise extends.error(f"there is no file '{name}'", remedy="the path starts at this file's folder")
        return base
    for candidate in (boards_dir() / f"_{name}.yaml", boards_dir() / f"{name}.yaml"):
        if candidate.is_file():
            return candidate
    raise extends.error(
        f"there is no board or family '{name}'", remedy=did_you_mean(name, shipped() + shipped(families=True))
    )


def _merge(base: Entry, own: Entry) -> Entry:
    """`own` on top of `base`: mappings field by field; an empty value takes a field away."""
    if not isinstance(base.value, Mapping) or not isinstance(own.value, Mapping):
        return own
    merged = dict(base.value)
    for name, entry in own.value.items():
        if name in merged and entry.value is None:
            del merged[name]
        else:
            merged[name] = _merge(merged[name], entry) if name in merged else entry
    return replace(own, value=merged)


def _parse(path: Path) -> Entry:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BoardError(f"cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise BoardError("is not a text file in UTF-8", file=path) from None
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BoardError(f"is not YAML: {error.problem}", file=f"{path}:{line}") from None
    except yaml.YAMLError as error:
        raise BoardError(f"is not YAML: {' '.join(str(error).split())}", file=path) from None
    if not isinstance(node, yaml.MappingNode):
        raise BoardError("is not a board", file=path, expected="fields, for example 'core: cortex-m4f'")
    return _entry(node, path, "", ())


def _entry(node: yaml.Node, file: Path, path: str, inside: tuple[yaml.Node, ...]) -> Entry:
    entry = Entry(None, file, node.start_mark.line + 1, path)
    if any(node is outer for outer in inside):
        raise entry.error("contains itself")
    inside = (*inside, node)
    if isinstance(node, yaml.MappingNode):
        return replace(entry, value=dict(_named(node, entry, inside)))
    if isinstance(node, yaml.SequenceNode):
        parts = [_entry(n, file, f"{path}[{i}]", inside) for i, n in enumerate(node.value)]
        return replace(entry, value=parts)
    return entry if node.tag.endswith(":null") else replace(entry, value=str(node.value))


def _named(
    node: yaml.MappingNode, entry: Entry, inside: tuple[yaml.Node, ...]
) -> Iterator[tuple[str, Entry]]:
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        here = Entry(None, entry.file, line, f"{entry.path}.{key.value}".lstrip("."))
        if not isinstance(key, yaml.ScalarNode):
            raise entry.error("a name is not text")
        if key.value in seen:
            raise here.error(f"stands twice; the first is in line {seen[key.value]}")
        seen[key.value] = line
        # A mapping starts below its name; messages point at the name.
        yield key.value, replace(_entry(value, entry.file, here.path, inside), line=line)
