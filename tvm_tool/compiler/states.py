"""How the new values of states reach the place where the next run finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .c_text import c_type
from .program import Function, KernelCall, Tensor

Pair = tuple[int, int]
"""A state and the intermediate tensor that holds its new value, by index; no two pairs share one."""


def write_states(calls: Sequence[KernelCall], pairs: Sequence[Pair]) -> tuple[list[KernelCall], list[Pair]]:
    """Let each new value be computed in the place of its state, where that is safe.

    It is where every call that reads the old value comes before the one that computes the new value, or
    is that very call and works in place.

    Returns:
        The calls, and the pairs that have to be copied after the last of them.
    """
    found, left = list(calls), []
    for state, new in pairs:
        writer = next(call for call in found if new in call.outputs)
        last = max((call.index for call in found if state in call.inputs), default=-1)
        if last < writer.index or (last == writer.index and _overwrites(writer, state, new)):
            found = [_renamed(call, new, state) for call in found]
        else:
            left.append((state, new))
    return found, left


def _overwrites(call: KernelCall, old: int, new: int) -> bool:
    """Whether a call may write `new` over its input `old`."""
    return call.inputs.count(old) == 1 and call.inputs.index(old) in call.in_place and call.outputs == (new,)


def _renamed(call: KernelCall, old: int, new: int) -> KernelCall:
    return replace(
        call,
        inputs=tuple(new if i == old else i for i in call.inputs),
        outputs=tuple(new if i == old else i for i in call.outputs),
    )


def copy_call(number: int, source: Tensor, target: int) -> tuple[Function, KernelCall]:
    """Step `number`: copies `source` to the tensor with index `target`, which has its size and type."""
    kind = c_type(source.dtype)
    function = Function(
        name=f"copy_{source.dtype}_{source.elements}",
        parameters=(f"const {kind} *TVM_RESTRICT input", f"{kind} *TVM_RESTRICT output"),
        body=f"    for (int32_t i = 0; i < {source.elements}; ++i) {{\n        output[i] = input[i];\n    }}",
        comment="copy",
    )
    call = KernelCall(number, function.name, "", "copy", "generic", (source.index,), (target,))
    return function, call
