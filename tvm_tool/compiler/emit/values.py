"""What the templates show."""

from __future__ import annotations

from typing import Any

from ..c_text import array_text, c_type
from ..program import CONSTANT, INTERMEDIATE, STATE, KernelCall, Place, State, Tensor
from .context import ALIGN, Context, aligned, comment_safe, interface


def template_values(context: Context) -> dict[str, Any]:
    """Values by name in the templates."""
    program, plan, options = context.program, context.plan, context.options
    inputs, outputs = interface(context)
    pointers = [f"inputs->{t['c_name']}" for t in inputs] + [f"outputs->{t['c_name']}" for t in outputs]
    sizes = [t["itemsize"] for t in inputs + outputs]
    io_bytes = sum(aligned(t["bytes"]) for t in inputs + outputs)
    return {
        "name": options.name,
        "NAME": options.name.upper(),
        "model": comment_safe(context.source.file),
        "inputs": inputs,
        "outputs": outputs,
        "uses_bool": any(t["dtype"] == "bool" for t in inputs + outputs),
        "workspace_io": options.workspace_io,
        "workspace_bytes": plan.bytes,
        "memory_bytes": plan.bytes if options.workspace_io else aligned(plan.bytes) + io_bytes,
        "weights_bytes": sum(t.bytes for t in program.constants),
        "macs": program.macs,
        "libm": bool(program.libm),
        "constants": [_constant(context, t) for t in program.constants],
        "headers": program.headers,
        "blocks": program.blocks,
        "functions": [
            {
                "name": f.name,
                "parameters": f.parameters,
                "comment": comment_safe(f.comment),
                "body": _body(context, f.body),
            }
            for f in program.functions
        ],
        "pointers": [_state(context, s) for s in program.states] + _pointers(context),
        "states": [_state(context, s) for s in program.states],
        "state_bytes": plan.state_bytes,
        "ready": f"0x{context.ready:08x}u",
        "io_pointers": pointers,
        "aligned_pointers": [(p, s - 1) for p, s in zip(pointers, sizes, strict=True) if s > 1],
        "layers": [_layer(context, call) for call in program.calls],
        "workspace_attribute": _attribute(context.source.arena, f"{context.prefix}_workspace"),
    }


def _attribute(place: Place, symbol: str) -> str:
    return f'__attribute__((aligned({ALIGN}), section("{place.section}{symbol}")))'


def _constant(context: Context, tensor: Tensor) -> dict[str, Any]:
    assert tensor.data is not None
    symbol = context.symbol(tensor)
    return {
        "symbol": symbol,
        "c_type": c_type(tensor.dtype),
        "elements": tensor.elements,
        "attribute": _attribute(context.source.weights, symbol),
        "text": array_text(tensor.data),
    }


def _body(context: Context, body: str) -> str:
    for tensor in context.program.constants:
        body = body.replace(f"@{tensor.name}@", context.symbol(tensor))
    return body


def _state(context: Context, state: State) -> dict[str, Any]:
    tensor = context.program.tensors[state.tensor]
    initial = None if state.initial is None else context.symbol(context.program.tensors[state.initial])
    return {
        "name": tensor.name,
        "label": comment_safe(tensor.source),
        "dtype": tensor.dtype,
        "dims": "".join(f"[{d}]" for d in tensor.shape),
        "c_type": c_type(tensor.dtype),
        "elements": tensor.elements,
        "offset": context.plan.tensors[state.tensor],
        "bytes": tensor.bytes,
        "note": ", kept",
        "initial": initial,
    }


def _pointers(context: Context) -> list[dict[str, Any]]:
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


def _layer(context: Context, call: KernelCall) -> dict[str, Any]:
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
        "comment": comment_safe(call.layer) if call.kernel == "generic" else "",
    }


def _argument(context: Context, tensor: Tensor) -> str:
    if tensor.role == CONSTANT:
        return context.symbol(tensor)
    if tensor.role in (INTERMEDIATE, STATE):
        return tensor.name
    side = "inputs" if tensor.role == "input" else "outputs"
    return f"{side}->{tensor.name}"
