"""Operators on windows whose elements are chosen one by one: by position, or by offsets that are data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from .onnx_emit import Emitter
from .onnx_graph import Array, attributes, elements
from .onnx_rewrites_index import MOST_PAIRS
from .onnx_windows import Window, pads_of

LARGEST = 32 * 1024
"""Elements of the largest table of positions that is put into flash for this."""


def _max_pool(emit: Emitter) -> bool:
    """The places of the maxima: windows are gathered, so that a place in one is a place in a table."""
    node = emit.node
    if len(node.output) < 2 or not node.output[1]:
        return False
    window = Window.of(node, emit.graph)
    table = _elements_of_windows(window, pads_of(node, window))
    if table.size > LARGEST:
        return False
    batch, channels, *out = emit.graph.shape(node.output[0])
    planes, size = batch * channels, elements(window.size)
    values = {name: value for name, value in attributes(node).items() if name != "storage_order"}
    emit("MaxPool", node.input[0], output=node.output[0], **values)
    flat = emit.reshape(node.input[0], [planes, size])
    rows = emit("Gather", flat, emit.constant(table), axis=1)
    place = emit("ArgMax", rows, axis=2, keepdims=1)
    hit = emit("Equal", place, emit.constant(np.arange(table.shape[1])))
    if attributes(node).get("storage_order", 0):
        table = np.ravel_multi_index(np.unravel_index(table, window.size), window.size, order="F")
    inside = emit("ReduceSum", emit("Where", hit, emit.constant(table), emit.constant(0)), emit.constant([2]),
                  keepdims=0)  # fmt: skip
    index = emit("Add", inside, emit.constant(np.arange(planes)[:, None] * size))
    emit.reshape(index, [batch, channels, *out], output=node.output[1])
    return True


def _elements_of_windows(window: Window, pads: list[int]) -> Array:
    """Flat input positions [windows, elements]; one in the padding is replaced by the window's first."""
    rank = len(window.size)
    steps = np.indices(window.out).reshape(rank, -1, 1)
    taps = np.indices(window.kernel).reshape(rank, 1, -1)

    def column(values: list[int]) -> Array:
        return np.array(values).reshape(rank, 1, 1)

    at = steps * column(window.strides) + taps * column(window.dilations) - column(pads[:rank])
    size = column(list(window.size))
    inside = ((at >= 0) & (at < size)).all(axis=0)
    flat = np.ravel_multi_index(tuple(np.clip(at, 0, size - 1)), window.size)
    first = np.take_along_axis(flat, inside.argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.where(inside, flat, first))


def _max_unpool(emit: Emitter) -> bool:
    """The maxima go where they came from; all else is zero."""
    node = emit.node
    if emit.input(2):
        return False
    values, indices = node.input[:2]
    shape, count = emit.graph.shape(node.output[0]), elements(emit.graph.shape(values))
    if elements(shape) * count > MOST_PAIRS:
        return False
    places = emit.constant(np.arange(elements(shape)))
    hit = emit("Equal", emit.reshape(indices, [count, 1]), places)
    chosen = emit("Where", hit, emit.reshape(values, [count, 1]), emit.like(values, 0))
    total = emit("ReduceSum", chosen, emit.constant([0]), keepdims=0)
    emit.reshape(total, shape, output=node.output[0])
    return True


def _deform_conv(emit: Emitter) -> bool:
    """Pixels are sampled between the pixels; the product with the weights is an ordinary one."""
    node = emit.node
    values = attributes(node)
    source, weights, offsets = node.input[:3]
    batch, channels, *size = emit.graph.shape(source)
    outputs, _, *kernel = emit.graph.shape(weights)
    out = emit.graph.shape(node.output[0])[2:]
    if len(size) != 2:
        return False
    group, parts = values.get("group", 1), values.get("offset_group", 1)
    taps, places = elements(kernel), elements(out)
    strides, dilations = values.get("strides") or [1, 1], values.get("dilations") or [1, 1]
    pads = values.get("pads") or [0, 0, 0, 0]
    dtype = emit.dtype(source)
    # Where each tap of each window stands without its offset, in rows and columns: [2, taps, places].
    still = np.stack([
        np.indices(kernel)[i].reshape(-1, 1) * dilations[i]
        + np.indices(out)[i].reshape(1, -1) * strides[i] - pads[i]
        for i in range(2)
    ])  # fmt: skip
    moved = emit.reshape(offsets, [batch, parts, taps, 2, places])
    moved = emit(
        "Add", emit("Transpose", moved, perm=[0, 1, 2, 4, 3]), emit.constant(still.transpose(1, 2, 0), dtype)
    )
    # Pixel p of n lies at (2 p + 1) / n - 1; columns come first.
    scale = emit.constant([2 / n for n in size], dtype)
    shift = emit.constant([1 / n - 1 for n in size], dtype)
    at = emit("Gather", emit("Add", emit("Mul", moved, scale), shift), emit.constant([1, 0]), axis=4)
    sampled = []
    for part in range(parts):
        grid = emit.reshape(emit.cut(at, 1, part, part + 1), [batch, taps, places, 2])
        share = channels // parts
        picture = emit.cut(source, 1, part * share, (part + 1) * share)
        pixels = emit("GridSample", picture, grid, mode="bilinear", padding_mode="zeros", align_corners=0)
        if emit.input(4):
            mask = emit.cut(emit.reshape(node.input[4], [batch, parts, taps, places]), 1, part, part + 1)
            pixels = emit("Mul", pixels, mask)
        sampled.append(pixels)
    columns = emit("Concat", *sampled, axis=1)
    depth = channels // group * taps
    columns = emit.reshape(columns, [batch, group, depth, places])
    product = emit("MatMul", emit.reshape(weights, [1, group, outputs // group, depth]), columns)
    if not emit.input(3):
        emit.reshape(product, [batch, outputs, *out], output=node.output[0])
        return True
    picture = emit.reshape(product, [batch, outputs, *out])
    emit("Add", picture, emit.reshape(node.input[3], [outputs, 1, 1]), output=node.output[0])
    return True


REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType(
    {"DeformConv": _deform_conv, "MaxPool": _max_pool, "MaxUnpool": _max_unpool}
)
