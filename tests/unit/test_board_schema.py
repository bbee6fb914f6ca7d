"""The schema says the same to our messages, to other tools and to the docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tvm_tool.board import load_board
from tvm_tool.board_file import read_board_file
from tvm_tool.board_schema import check, field_table, load_schema
from tvm_tool.cores import CORE_NAMES
from tvm_tool.errors import BoardError
from tvm_tool.paths import boards_dir

ROOT = Path(__file__).parents[2]

# Rules that our messages have words for, and words that only explain.
RULES = {"$ref", "additionalProperties", "enum", "items", "minProperties", "pattern", "properties"}
RULES |= {"propertyNames", "type"}
WORDS = {"$defs", "$schema", "default", "description", "title"}
# The check sees text only, where the pattern already leaves out what is negative.
WORDS |= {"minimum"}

COMPLETE = """\
description: x
core: cortex-m3
float_abi: soft
clock: 1 MHz
memory:
  flash: {origin: 0, length: 64K, attributes: rx}
  ram: {origin: 0x20000000, length: 8K, attributes: rw}
placement: {code: flash, data: ram, weights: flash, arena: ram, stack: ram}
stack: 1024
heap: 0
budget: {flash: 90%, ram: 4K}
emulator: {machine: x, ram: 4K, cpu: y}
flash_tool: {openocd: [a.cfg]}
"""


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    below = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    below += [schema[name] for name in ("items", "additionalProperties") if schema.get(name)]
    for part in below:
        yield from schemas(part)


def test_it_is_a_schema_and_uses_only_rules_that_have_words() -> None:
    schema = dict(load_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in schemas(schema):
        assert set(part) <= RULES | WORDS
        assert "title" in part or "$ref" in part


def test_every_field_is_in_the_complete_example() -> None:
    fields = {name for part in schemas(dict(load_schema())) for name in part.get("properties", {})}
    for name in fields - {"extends"}:
        assert f"{name}:" in COMPLETE


def test_cores_are_those_of_the_tool() -> None:
    assert tuple(load_schema()["properties"]["core"]["enum"]) == CORE_NAMES


@pytest.mark.parametrize("path", sorted(boards_dir().glob("*.yaml")), ids=lambda path: path.stem)
def test_other_tools_accept_the_shipped_files(path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), load_schema())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("description: x", "description: [x]"),
        ("description: x", "colour: x"),
        ("cortex-m3", "cortex-m2"),
        ("float_abi: soft", "float_abi: hrad"),
        ("1 MHz", "1 GHz"),
        ("1 MHz", "100"),
        ("length: 64K", "length: 64KB"),
        ("length: 64K", "length: -64"),
        ("length: 64K", "length: 0.5"),
        ("length: 64K", "length: 1e3"),
        ("length: 64K", "length: ''"),
        ("length: 64K", "length: null"),
        ("length: 64K", "length: {a: b}"),
        ("length: 64K", "size: 64K"),
        ("attributes: rx", "attributes: xr"),
        ("ram: {origin", "1ram: {origin"),
        ("ram: {origin", "'': {origin"),
        ("arena: ram", "arenas: ram"),
        ("stack: 1024", "stack: []"),
        ("90%", "90 percent"),
        ("90%", "-1%"),
        ("[a.cfg]", "a.cfg"),
        ("[a.cfg]", "[[a.cfg]]"),
        ("openocd", "openodc"),
        (COMPLETE[COMPLETE.index("memory") : COMPLETE.index("placement")], "memory: {}\n"),
    ],
)
def test_every_refusal_has_words(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "board.yaml"
    path.write_text(COMPLETE)
    check(read_board_file(path))
    jsonschema.validate(yaml.safe_load(COMPLETE), load_schema())

    assert old in COMPLETE
    path.write_text(COMPLETE.replace(old, new, 1))
    with pytest.raises(BoardError):
        check(read_board_file(path))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(path.read_text()), load_schema())


PAGE = ROOT / "docs" / "boards.md"


def test_the_docs_hold_the_table_of_fields() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert field_table() in page, "put the output of 'python -m tvm_tool.board_schema' into docs/boards.md"


def test_the_files_in_the_docs_are_right(tmp_path: Path) -> None:
    shown = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [name for name, _ in shown] == ["boards/stm32f407.yaml", "hardware/sensor.yaml"]
    boards = []
    for name, text in shown:
        path = tmp_path / Path(name).name
        path.write_text(text)
        boards.append(load_board(str(path)))
    assert boards[0] == replace(load_board("stm32f407"), file=boards[0].file)
    assert boards[1].placement.weights == "qspi"
    assert boards[1].flash_tool is None
