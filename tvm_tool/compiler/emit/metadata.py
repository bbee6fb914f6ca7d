"""``NAME.json``: what other tools want to know about a compiled model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...options import OPTIONS
from ..program import CONSTANT, KernelCall, Program, State
from .context import ALIGN, Context, interface


def metadata(context: Context) -> dict[str, Any]:
    """The content of the file; `format` 1."""
    program, plan, options, source = context.program, context.plan, context.options, context.source
    inputs, outputs = interface(context)
    keys = ("c_name", "dtype", "shape", "bytes", "offset", "scale", "zero_point")

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
        "quantization": source.quantization,
        "inputs": tensors(inputs),
        "outputs": tensors(outputs),
        "states": [_state_metadata(context, state) for state in program.states],
        "workspace": {
            "symbol": f"{context.prefix}_workspace",
            "bytes": plan.bytes,
            "align": ALIGN,
            "region": source.arena.region,
            "lower_bound": plan.lower_bound,
            "state_bytes": plan.state_bytes,
        },
        "weights": {
            "bytes": sum(t.bytes for t in program.constants),
            "region": source.weights.region,
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


def _state_metadata(context: Context, state: State) -> dict[str, Any]:
    tensor = context.program.tensors[state.tensor]
    return {
        "name": tensor.source,
        "c_name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "bytes": tensor.bytes,
        "offset": context.plan.tensors[state.tensor],
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
        "declined": call.declined,
        "function": call.function,
        "input_shapes": [list(tensors[i].shape) for i in data],
        "output_shapes": [list(tensors[i].shape) for i in call.outputs],
        "macs": call.macs,
        "weights_bytes": sum(tensors[i].bytes for i in weights),
        "scratch_bytes": sum(call.scratch),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return value.name  # where it lies is no part of what was made
    if isinstance(value, Mapping):
        return {k: list(v) for k, v in value.items()}
    return list(value) if isinstance(value, tuple) else value
