"""Operators that work on positions: running sums, ranks, scattering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import TensorProto

from .onnx_emit import Emitter
from .onnx_graph import attributes, elements

MOST_STEPS = 64
"""At most so many updates are written out one after the other."""

MOST_PAIRS = 1 << 20
"""At most so many pairs of elements are compared to rank them."""


def _cumulate(emit: Emitter) -> bool:
    """Running sums and products in log2(n) steps: each adds the value 1, 2, 4, ... places before."""
    node = emit.node
    at = emit.value(1)
    if at is None:
        return False
    values = attributes(node)
    source = node.input[0]
    shape = emit.graph.shape(source)
    axis = int(at.item()) % len(shape)
    neutral, combine = (0, "Add") if node.op_type == "CumSum" else (1, "Mul")
    reverse = bool(values.get("reverse", 0))

    def moved(name: str, places: int) -> str:
        fill = np.full([*shape[:axis], places, *shape[axis + 1 :]], neutral, emit.dtype(source))
        filling = emit.constant(fill, fill.dtype)
        if reverse:
            return emit("Concat", emit.cut(name, axis, places, shape[axis]), filling, axis=axis)
        return emit("Concat", filling, emit.cut(name, axis, 0, shape[axis] - places), axis=axis)

    total = moved(source, 1) if values.get("exclusive", 0) else source
    places = 1
    while places < shape[axis]:
        total = emit(combine, total, moved(total, places))
        places *= 2
    emit("Identity", total, output=node.output[0])
    return True


def _one_hot(emit: Emitter) -> bool:
    node = emit.node
    depth = emit.value(1)
    if depth is None:
        return False
    indices, _, values = node.input
    size, shape = int(depth.item()), emit.graph.shape(indices)
    axis = attributes(node).get("axis", -1) % (len(shape) + 1)
    whole = emit("Cast", indices, to=TensorProto.INT64)
    negative = emit("Less", whole, emit.constant(0))
    whole = emit("Where", negative, emit("Add", whole, emit.constant(size)), whole)
    column = emit.reshape(whole, (*shape[:axis], 1, *shape[axis:]))
    hit = emit("Equal", column, emit.constant(np.arange(size).reshape(-1, *[1] * (len(shape) - axis))))
    off, on = (emit.reshape(emit.cut(values, 0, i, i + 1), []) for i in (0, 1))
    emit("Where", hit, on, off, output=node.output[0])
    return True


def _top_k(emit: Emitter) -> bool:
    """An element's rank is the number of elements before it in the order that is asked for."""
    node = emit.node
    k = emit.value(1)
    values = attributes(node)
    source = node.input[0]
    shape = emit.graph.shape(source)
    axis = values.get("axis", -1) % len(shape)
    size = shape[axis]
    if k is None or elements(shape) * size > MOST_PAIRS:
        return False
    last = [i for i in range(len(shape)) if i != axis] + [axis]
    rows = emit("Transpose", source, perm=last)
    outer = [shape[i] for i in last[:-1]]
    mine, other = emit.reshape(rows, [*outer, size, 1]), emit.reshape(rows, [*outer, 1, size])
    before = emit("Greater" if values.get("largest", 1) else "Less", other, mine)
    earlier = np.arange(size)[None, :] < np.arange(size)[:, None]
    tie = emit("And", emit("Equal", other, mine), emit.constant(earlier, np.bool_))
    counted = emit("Cast", emit("Or", before, tie), to=TensorProto.INT32)
    rank = emit("ReduceSum", counted, emit.constant([-1]), keepdims=0)
    wanted = emit.constant(np.arange(int(k.item()))[:, None], np.int32)
    hit = emit("Equal", emit.reshape(rank, [*outer, 1, size]), wanted)
    places = emit("Where", hit, emit.constant(np.arange(size)), emit.constant(0))
    index = emit("ReduceSum", places, emit.constant([-1]), keepdims=0)
    back = [int(i) for i in np.argsort(last)]
    places = emit("Transpose", index, output=node.output[1] if len(node.output) > 1 else "", perm=back)
    emit("GatherElements", source, places, output=node.output[0], axis=axis)
    return True


def _scatter_elements(emit: Emitter) -> bool:
    node = emit.node
    values = attributes(node)
    data, indices, updates = node.input
    shape, given, dtype = emit.graph.shape(data), emit.graph.shape(indices), emit.dtype(data)
    axis = values.get("axis", 0) % len(shape)
    if given[axis] > MOST_STEPS:
        return False
    indices = emit("Cast", indices, to=TensorProto.INT64)
    indices = _from_the_front(emit, indices, shape[axis])
    for other, (there, here) in enumerate(zip(shape, given, strict=True)):
        if other != axis and here < there:  # beyond the updates nothing is hit
            rest = (*shape[:other], there - here, *given[other + 1 :])
            rest = (*rest[:axis], given[axis], *rest[axis + 1 :])
            indices = emit("Concat", indices, emit.constant(np.full(rest, -1)), axis=other)
            zeros = emit.constant(np.zeros(rest), dtype)
            updates = emit("Concat", updates, zeros, axis=other)
    places = emit.constant(np.arange(shape[axis]).reshape(-1, *[1] * (len(shape) - axis - 1)))
    for step in range(given[axis]):
        hit = emit("Equal", emit.cut(indices, axis, step, step + 1), places)
        update = emit.cut(updates, axis, step, step + 1)
        data = _put(emit, data, hit, update, values.get("reduction", "none"))
    emit("Identity", data, output=node.output[0])
    return True


def _scatter_nd(emit: Emitter) -> bool:
    """Rows of the flattened data are replaced one after the other."""
    node = emit.node
    data, indices, updates = node.input
    shape, given = emit.graph.shape(data), emit.graph.shape(indices)
    depth, count = given[-1], elements(given[:-1])
    if count > MOST_STEPS:
        return False
    rows, inner = elements(shape[:depth]), elements(shape[depth:])
    sizes = np.array(shape[:depth])
    strides = np.array([elements(shape[i + 1 : depth]) for i in range(depth)])
    index = _from_the_front(emit, emit.reshape(indices, [count, depth]), sizes)
    row = emit("ReduceSum", emit("Mul", index, emit.constant(strides)), emit.constant([1]), keepdims=1)
    flat = emit.reshape(data, [rows, inner])
    updates = emit.reshape(updates, [count, inner])
    places = emit.constant(np.arange(rows)[:, None])
    for step in range(count):
        hit = emit("Equal", emit.cut(row, 0, step, step + 1), places)
        update = emit.cut(updates, 0, step, step + 1)
        flat = _put(emit, flat, hit, update, attributes(node).get("reduction", "none"))
    emit.reshape(flat, shape, output=node.output[0])
    return True


def _tensor_scatter(emit: Emitter) -> bool:
    """Each row of the update is put where its batch has arrived; what lies outside is not written."""
    node = emit.node
    values = attributes(node)
    cache, update = node.input[:2]
    shape, given = emit.graph.shape(cache), emit.graph.shape(update)
    rank = len(shape)
    axis = values.get("axis", -2) % rank
    if given[axis] > MOST_STEPS or axis == 0:
        return False
    starts = emit.input(2) or emit.constant(np.zeros(shape[0]))
    starts = emit.reshape(starts, [shape[0], *[1] * (rank - 1)])
    places = emit.constant(np.arange(shape[axis]).reshape(-1, *[1] * (rank - axis - 1)))
    for step in range(given[axis]):
        at = emit("Add", starts, emit.constant(step))
        if values.get("mode", "linear") == "circular":
            at = emit("Mod", at, emit.constant(shape[axis]))
        cache = emit("Where", emit("Equal", at, places), emit.cut(update, axis, step, step + 1), cache)
    emit("Identity", cache, output=node.output[0])
    return True


def _from_the_front(emit: Emitter, indices: str, size: int | np.ndarray) -> str:
    """Indices that are counted from the end, counted from the front."""
    negative = emit("Less", indices, emit.constant(0))
    return emit("Where", negative, emit("Add", indices, emit.constant(size)), indices)


def _put(emit: Emitter, data: str, hit: str, update: str, reduction: str) -> str:
    if reduction != "none":
        update = emit({"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}[reduction], data, update)
    return emit("Where", hit, update, data)


def _col2im(emit: Emitter) -> bool:
    """Each pixel is the sum of the columns' values that lie on it."""
    node = emit.node
    image, block = emit.value(1), emit.value(2)
    if image is None or block is None:
        return False
    values = attributes(node)
    spatial, kernel = [int(v) for v in image], [int(v) for v in block]
    rank = len(spatial)
    strides = values.get("strides") or [1] * rank
    dilations = values.get("dilations") or [1] * rank
    pads = values.get("pads") or [0] * (2 * rank)
    batch, rows, columns = emit.graph.shape(node.input[0])
    counts = [
        (spatial[i] + pads[i] + pads[rank + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    taps: list[list[int]] = [[] for _ in range(elements(spatial))]
    for tap in np.ndindex(*kernel):
        for step in np.ndindex(*counts):
            at = [step[i] * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(rank)]
            if all(0 <= a < s for a, s in zip(at, spatial, strict=True)):
                source = np.ravel_multi_index(tap, kernel) * columns + np.ravel_multi_index(step, counts)
                taps[np.ravel_multi_index(at, spatial)].append(int(source))
    nothing = elements(kernel) * columns
    most = max(1, *(len(t) for t in taps))
    table = np.array([t + [nothing] * (most - len(t)) for t in taps])
    channels = rows // elements(kernel)
    flat = emit.reshape(node.input[0], [batch, channels, nothing])
    zero = emit.constant(np.zeros((batch, channels, 1)), emit.dtype(node.input[0]))
    picked = emit("Gather", emit("Concat", flat, zero, axis=2), emit.constant(table), axis=2)
    total = emit("ReduceSum", picked, emit.constant([3]), keepdims=0)
    emit.reshape(total, [batch, channels, *spatial], output=node.output[0])
    return True


def _space_to_depth(emit: Emitter) -> bool:
    """The importer knows one order of the new channels only."""
    values = attributes(emit.node)
    if values.get("mode", "DCR") == "DCR":
        return False
    block = values["blocksize"]
    batch, channels, height, width = emit.graph.shape(emit.node.input[0])
    rows, columns = height // block, width // block
    split = emit.reshape(emit.node.input[0], [batch, channels, rows, block, columns, block])
    moved = emit("Transpose", split, perm=[0, 1, 3, 5, 2, 4])
    emit.reshape(moved, [batch, channels * block * block, rows, columns], output=emit.node.output[0])
    return True


REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType(
    {
        "Col2Im": _col2im,
        "CumProd": _cumulate,
        "CumSum": _cumulate,
        "OneHot": _one_hot,
        "Scatter": _scatter_elements,
        "ScatterElements": _scatter_elements,
        "ScatterND": _scatter_nd,
        "SpaceToDepth": _space_to_depth,
        "TensorScatter": _tensor_scatter,
        "TopK": _top_k,
    }
)
