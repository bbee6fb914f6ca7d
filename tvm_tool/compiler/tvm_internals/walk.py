"""Looking into TIR."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import PointerType, PrimType

STACK_ARRAY_LIMIT = 64
"""Bytes of the largest array that a printed kernel keeps on the stack."""


def collect(node: Any, kind: Any) -> list[Any]:
    """Every node of type `kind` in `node`."""
    found: list[Any] = []
    tvm_ffi.structural_walk(node, (kind, found.append))
    return found


def hoist_scratch(body: Any) -> tuple[Any, list[Any], list[tuple[str, int]]]:
    """Turn allocations above the stack limit into parameters.

    Returns:
        The new body, the parameters, and element type and bytes of each.
    """
    variables: list[Any] = []
    sizes: list[tuple[str, int]] = []

    def hoist(allocation: Any) -> Any:
        buffer = allocation.buffer
        dtype = str(buffer.dtype)
        count = int(np.prod([int(d) for d in buffer.shape]))
        size = count * np.dtype(dtype).itemsize
        if size <= STACK_ARRAY_LIMIT:
            return allocation
        handle = tvm.ir.Var(f"scratch{len(variables)}", PointerType(PrimType(dtype)))
        variables.append(handle)
        sizes.append((dtype, size))
        return tirx.DeclBuffer(buffer, data=handle)

    return tvm_ffi.structural_map(body, (tirx.AllocBuffer, hoist)), variables, sizes


def in_place_inputs(body: Any, params: Any, inputs: int) -> tuple[int, ...]:
    """Inputs that are only read at the very index that is written in the same statement."""
    views = {}
    tvm_ffi.structural_walk(body, (tirx.DeclBuffer, lambda d: views.update({d.buffer: d.data})))

    def is_param(buffer: Any, param: Any) -> bool:
        # Flattening gives every parameter a one-dimensional view: follow it back.
        data = views.get(buffer)
        return bool(buffer.same_as(param)) or (
            isinstance(data, tvm.ir.Call) and bool(data.args) and bool(data.args[0].same_as(param))
        )

    output = params[inputs]
    stores = collect(body, tirx.BufferStore)
    loads = collect(body, tvm.ir.TensorLoad)
    writes = [s for s in stores if is_param(s.buffer, output)]
    if len(writes) != 1 or any(is_param(load.source, output) for load in loads):
        return ()
    inside = collect(writes[0], tvm.ir.TensorLoad)
    result = []
    for index in range(inputs):
        mine = [load for load in loads if is_param(load.source, params[index])]
        here = [load for load in inside if is_param(load.source, params[index])]
        aligned = all(_same_indices(load.indices, writes[0].indices) for load in here)
        if mine and len(mine) == len(here) and aligned and _bytes(params[index]) == _bytes(output):
            result.append(index)
    return tuple(result)


def _same_indices(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(tvm_ffi.structural_equal(x, y) for x, y in zip(a, b, strict=True))


def _bytes(buffer: Any) -> int:
    return int(np.prod([int(d) for d in buffer.shape])) * np.dtype(str(buffer.dtype)).itemsize
