"""The generated files of one model, as text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jinja2

from ...options import ModelOptions
from ..program import MemoryPlan, Program
from .context import Context, ModelSource
from .metadata import metadata
from .values import template_values

TEMPLATES = Path(__file__).parent / "templates"
COLUMNS = 100
BREAKS = re.compile(r", | (?:[-+*/?:|]|\|\|) ")


def emit_files(
    program: Program, plan: MemoryPlan, options: ModelOptions, source: ModelSource
) -> dict[str, str]:
    """Text of the four generated files, by file name."""
    context = Context(program, plan, options, source)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    values = template_values(context)
    name = options.name
    files = {
        f"{name}.h": environment.get_template("header.h.j2").render(values),
        f"{name}.c": environment.get_template("source.c.j2").render(values),
        f"{name}_weights.c": environment.get_template("weights.c.j2").render(values),
    }
    files = {key: _tidy(text) for key, text in files.items()}
    files[f"{name}.json"] = json.dumps(metadata(context), indent=1, ensure_ascii=False) + "\n"
    return files


def _tidy(text: str) -> str:
    """At most one empty line in a row, and no line of code beyond `COLUMNS`."""
    lines: list[str] = []
    for line in (raw.rstrip() for raw in text.split("\n")):
        if not line and (not lines or not lines[-1]):
            continue
        lines += _wrapped(line)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def _wrapped(line: str) -> list[str]:
    """`line` broken after commas or before operators; strings, comments and macros stay whole."""
    lines: list[str] = []
    indent = " " * (len(line) - len(line.lstrip(" ")) + 8)
    while len(line) > COLUMNS and not any(mark in line for mark in ('"', "/*", "#")):
        places = [m.end() if m[0] == ", " else m.start() + 1 for m in BREAKS.finditer(line, 0, COLUMNS)]
        place = max((p for p in places if p > len(indent)), default=0)
        if not place:
            break
        lines.append(line[:place].rstrip())
        line = indent + line[place:].lstrip()
    return [*lines, line]
