"""The generated files of one model, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from ...options import OPTIONS, ModelOptions
from ..program import CONSTANT, INTERMEDIATE, KernelCall, MemoryPlan, Program, Tensor
from ..tvm_internals import c_type
from .literals import array_text

ALIGN = 16
COLUMNS = 100
BREAKS = re.compile(r", | (?:[-+*/?:|]|\|\|) ")
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class ModelSource:
    """What the files say about where the model came from and what compiled it.

    Attributes:
        weights_region: memory region that the weights are put in, None for the board's own place.
        arena_region: the same for the workspace.
    """

    file: str
    sha256: str
    opset: int
    versions: Mapping[str, str]
    board: str | None
    weights_region: str | None = None
    arena_region: str | None = None


@dataclass(frozen=True)
class _Context:
    program: Program
    plan: MemoryPlan
    options: ModelOptions
    source: ModelSource

    @property
    def prefix(self) -> str:
        return f"tvmgen_{self.options.name}"

    def symbol(self, tensor: Tensor) -> str:
        return f"{self.prefix}_{tensor.name}"

    def section(self, symbol: str, region: str | None, writable: bool) -> str:
        """Attributes of a variable: alignment and its own section, so that unused ones can go."""
        default, moved = (".bss", ".tvmbss") if writable else (".rodata", ".tvm")
        name = f"{moved}.{region}.{symbol}" if region else f"{default}.{symbol}"
        return f'__attribute__((aligned({ALIGN}), section("{name}")))'


def emit_files(
    program: Program, plan: MemoryPlan, options: ModelOptions, source: ModelSource
) -> dict[str, str]:
    """Text of the four generated files, by file name."""
    context = _Context(program, plan, options, source)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    values = _values(context)
    name = options.name
    files = {
        f"{name}.h": environment.get_template("header.h.j2").render(values),
        f"{name}.c": environment.get_template("source.c.j2").render(values),
        f"{name}_weights.c": environment.get_template("weights.c.j2").render(values),
    }
    files = {key: _tidy(text) for key, text in files.items()}
    files[f"{name}.json"] = json.dumps(_metadata(context), indent=1, ensure_ascii=False) + "\n"
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


# ---------------------------------------------------------------- what the templates show


def _values(context: _Context) -> dict[str, Any]:
    program, plan, options = context.program, context.plan, context.options
    inputs, outputs = _interface(context)
    pointers = [f"inputs->{t['c_name']}" for t in inputs] + [f"outputs->{t['c_name']}" for t in outputs]
    sizes = [t["itemsize"] for t in inputs + outputs]
    io_bytes = sum(_up(t["bytes"]) for t in inputs + outputs)
    return {
        "name": options.name,
        "NAME": options.name.upper(),
        "model": _comment_safe(context.source.file),
        "inputs": inputs,
        "outputs": outputs,
        "uses_bool": any(t["dtype"] == "bool" for t in inputs + outputs),
        "workspace_io": options.workspace_io,
        "workspace_bytes": plan.bytes,
        "memory_bytes": plan.bytes if options.workspace_io else _up(plan.bytes) + io_bytes,
        "weights_bytes": sum(t.bytes for t in program.constants),
        "macs": program.macs,
        "libm": bool(program.libm),
        "constants": [_constant(context, t) for t in program.constants],
        "functions": [
            {
                "name": f.name,
                "parameters": f.parameters,
                "comment": _comment_safe(f.comment),
                "body": _body(context, f.body),
            }
            for f in program.functions
        ],
        "pointers": _pointers(context),
        "io_pointers": pointers,
        "aligned_pointers": [(p, s - 1) for p, s in zip(pointers, sizes, strict=True) if s > 1],
        "layers": [_layer(context, call) for call in program.calls],
        "workspace_attribute": context.section(
            f"{context.prefix}_workspace", context.source.arena_region, True
        ),
    }


def _up(value: int) -> int:
    return -(-value // ALIGN) * ALIGN


def _comment_safe(text: str) -> str:
    """`text` without what would end or nest a C comment, break a line or a string."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace('"', "'")
    return "".join(c if c.isprintable() else "?" for c in safe)


def _interface(context: _Context) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and outputs; their place in an instance's memory comes behind the workspace."""
    place = _up(context.plan.bytes)
    sides: list[list[dict[str, Any]]] = []
    for indices in (context.program.inputs, context.program.outputs):
        side = []
        for index in indices:
            tensor = context.program.tensors[index]
            offset = context.plan.tensors.get(index) if context.options.workspace_io else None
            side.append(
                {
                    "label": _comment_safe(tensor.source),
                    "source": tensor.source,
                    "c_name": tensor.name,
                    "C_NAME": tensor.name.upper(),
                    "dtype": tensor.dtype,
                    "dtype_code": f"TVM_{tensor.dtype.upper()}",
                    "c_type": c_type(tensor.dtype),
                    "shape": list(tensor.shape),
                    "dims": "".join(f"[{d}]" for d in tensor.shape),
                    "elements": tensor.elements,
                    "bytes": tensor.bytes,
                    "itemsize": tensor.bytes // tensor.elements,
                    "offset": offset,
                    "memory_offset": place if offset is None else offset,
                }
            )
            if offset is None:
                place += _up(tensor.bytes)
        sides.append(side)
    return sides[0], sides[1]


def _constant(context: _Context, tensor: Tensor) -> dict[str, Any]:
    assert tensor.data is not None
    symbol = context.symbol(tensor)
    return {
        "symbol": symbol,
        "c_type": c_type(tensor.dtype),
        "elements": tensor.elements,
        "attribute": context.section(symbol, context.source.weights_region, False),
        "text": array_text(tensor.data),
    }


def _body(context: _Context, body: str) -> str:
    for tensor in context.program.constants:
        body = body.replace(f"@{tensor.name}@", context.symbol(tensor))
    return body


def _pointers(context: _Context) -> list[dict[str, Any]]:
    """The table of contents of the workspace, in the order of first use."""
    pointers = []
    for call in context.program.calls:
        for index in call.outputs:
            tensor = context.program.tensors[index]
            if tensor.role == INTERMEDIATE:
                last = max([c.index for c in context.program.calls if index in c.inputs], default=call.index)
                pointers.append(
                    {
                        "name": tensor.name,
                        "c_type": c_type(tensor.dtype),
                        "offset": context.plan.tensors[index],
                        "bytes": tensor.bytes,
                        "note": f", layers {call.index} to {last}",
                    }
                )
    return pointers


def _layer(context: _Context, call: KernelCall) -> dict[str, Any]:
    program = context.program
    arguments = [_argument(context, program.tensors[i]) for i in (*call.inputs, *call.outputs)]
    function = next(f for f in program.functions if f.name == call.function)
    scratch_types = [p.rsplit(" ", 1)[0] for p in function.parameters[len(arguments) :]]
    for position, kind in enumerate(scratch_types):
        kind = kind.replace("TVM_RESTRICT", "").replace("*", "").strip()
        place = f"workspace + {context.plan.scratch[(call.index, position)]}"
        arguments.append(place if kind == "uint8_t" else f"({kind} *)(void *)({place})")
    return {
        "index": call.index,
        "function": call.function,
        "arguments": arguments,
        "comment": _comment_safe(call.layer) if call.kernel == "generic" else "",
    }


def _argument(context: _Context, tensor: Tensor) -> str:
    if tensor.role == CONSTANT:
        return context.symbol(tensor)
    if tensor.role == INTERMEDIATE:
        return tensor.name
    side = "inputs" if tensor.role == "input" else "outputs"
    return f"{side}->{tensor.name}"


# ---------------------------------------------------------------- metadata


def _metadata(context: _Context) -> dict[str, Any]:
    program, plan, options, source = context.program, context.plan, context.options, context.source
    inputs, outputs = _interface(context)
    keys = ("c_name", "dtype", "shape", "bytes", "offset")

    def tensors(side: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"name": t["source"], **{k: t[k] for k in keys}} for t in side]

    return {
        "format": 1,
        "name": options.name,
        "prefix": context.prefix,
        "model": {"file": source.file, "sha256": source.sha256, "opset": source.opset},
        "versions": dict(source.versions),
        "options": {o.name: _plain(getattr(options, o.name)) for o in OPTIONS},
        "board": source.board,
        "inputs": tensors(inputs),
        "outputs": tensors(outputs),
        "workspace": {
            "symbol": f"{context.prefix}_workspace",
            "bytes": plan.bytes,
            "align": ALIGN,
            "region": source.arena_region,
            "lower_bound": plan.lower_bound,
        },
        "weights": {
            "bytes": sum(t.bytes for t in program.constants),
            "region": source.weights_region,
            "symbols": [
                {"name": context.symbol(t), "bytes": t.bytes, "layer": t.layer} for t in program.constants
            ],
        },
        "macs": program.macs,
        "layers": [_layer_metadata(program, call) for call in program.calls],
        "buffers": [
            {"name": b.name, "offset": b.offset, "bytes": b.bytes, "first": b.first, "last": b.last}
            for b in plan.buffers
        ],
        "runtime": ["tvm_aot.c", "tvm_platform.c", *program.runtime],
        "libm": bool(program.libm),
    }


def _layer_metadata(program: Program, call: KernelCall) -> dict[str, Any]:
    tensors = program.tensors
    data = [i for i in call.inputs if tensors[i].role != CONSTANT]
    weights = {i for i in (*call.inputs, *call.constants) if tensors[i].role == CONSTANT}
    return {
        "index": call.index,
        "name": call.layer,
        "operator": call.operator,
        "kernel": call.kernel,
        "function": call.function,
        "input_shapes": [list(tensors[i].shape) for i in data],
        "output_shapes": [list(tensors[i].shape) for i in call.outputs],
        "macs": call.macs,
        "weights_bytes": sum(tensors[i].bytes for i in weights),
        "scratch_bytes": sum(call.scratch),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: list(v) for k, v in value.items()}
    return list(value) if isinstance(value, tuple) else value
