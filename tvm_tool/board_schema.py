"""Checks a board file against ``board.schema.json`` and prints that schema as a table.

The schema is the one place that declares fields. jsonschema finds what is wrong; here it gets a line
and the nearest right word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .board_file import Entry
from .errors import BoardError, did_you_mean

if TYPE_CHECKING:
    from jsonschema import ValidationError

Schema = Mapping[str, Any]

_KINDS = {"object": "fields", "array": "a list"}


def load_schema() -> Schema:
    """The JSON schema of a board file."""
    schema: Schema = json.loads(Path(__file__).with_name("board.schema.json").read_text(encoding="utf-8"))
    return schema


def check(entry: Entry) -> None:
    """Raise BoardError for the first value of a complete board that does not follow the schema."""
    # Imported here: a build without a board does not pay for it.
    from jsonschema import Draft202012Validator

    errors = list(Draft202012Validator(_complete(load_schema())).iter_errors(_plain(entry)))
    if errors:
        worded = [_worded(entry, error) for error in errors]
        raise min(worded, key=lambda found: found[0])[1]


def _complete(schema: Any) -> Any:
    """`schema` for a board whose families are merged in: what has no default must be there."""
    if not isinstance(schema, dict):
        return schema
    result = {name: _complete(part) for name, part in schema.items()}
    fields = schema.get("properties", {})
    if isinstance(fields, dict) and fields and "type" in schema:
        result["required"] = [name for name, field in fields.items() if "default" not in field]
    return result


def _plain(entry: Entry) -> Any:
    if isinstance(entry.value, Mapping):
        return {name: _plain(field) for name, field in entry.value.items()}
    if isinstance(entry.value, list):
        return [_plain(item) for item in entry.value]
    return entry.value


def _at(entry: Entry, path: Any) -> Entry:
    for step in path:
        entry = entry.items[step] if isinstance(step, int) else entry.fields[step]
    return entry


def _worded(board: Entry, error: ValidationError) -> tuple[int, BoardError]:
    """Line and wording of what jsonschema found."""
    entry = _at(board, error.absolute_path)
    schema: Any = error.schema
    rule, value = error.validator, cast(Any, error.validator_value)
    title = schema.get("title")
    if rule == "additionalProperties":
        known = schema["properties"]
        entry = next(field for name, field in entry.fields.items() if name not in known)
        name = entry.path.rpartition(".")[2]
        return entry.line, entry.error(f"there is no field '{name}'", remedy=did_you_mean(name, known))
    if error.parent is None and error.relative_schema_path and "propertyNames" in error.relative_schema_path:
        name = str(error.instance)
        entry = entry.fields[name]
        wrong = entry.error(f"'{name}' is not usable as a name", expected="letters, digits and _")
        return entry.line, wrong
    if rule == "required":
        name = next(name for name in list(value) if name not in entry.fields)
        expected = _resolved(schema["properties"][name], load_schema())["title"]
        return entry.line, entry.error(f"the field '{name}' is missing", expected=expected)
    if entry.value is None or rule == "minProperties":
        return entry.line, entry.error("is empty", expected=title)
    if rule == "enum":
        remedy = did_you_mean(entry.text, list(value))
        return entry.line, entry.error(f"'{entry.text}' is not {title}", remedy=remedy)
    if rule == "type":
        kind = _KINDS.get(str(value), "text")
        return entry.line, entry.error(f"is not {kind}", expected=title)
    return entry.line, entry.error(f"'{entry.text}' is not understood", expected=title)


def _resolved(schema: Schema, root: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    return {**root["$defs"][schema["$ref"].rpartition("/")[2]], **schema}


def field_table() -> str:
    """Every field of a board file as a Markdown table: name, meaning, value, default."""
    schema = load_schema()
    rows = ["| field | meaning | value | default |", "|---|---|---|---|"]
    return "\n".join([*rows, *_rows(schema, schema, ""), ""])


def _rows(schema: Schema, root: Schema, prefix: str) -> Iterator[str]:
    fields = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        fields["REGION"] = schema["additionalProperties"]
    for name, field in fields.items():
        resolved = _resolved(field, root)
        if "description" in resolved:
            value = ", ".join(f"`{v}`" for v in resolved["enum"]) if "enum" in resolved else resolved["title"]
            default = "" if name == "REGION" else str(resolved.get("default", "**required**"))
            yield f"| `{prefix}{name}` | {resolved['description']} | {value} | {default} |"
        yield from _rows(resolved, root, f"{prefix}{name}.")


if __name__ == "__main__":
    print(field_table(), end="")
