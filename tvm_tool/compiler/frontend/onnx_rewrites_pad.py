"""Pads of the kinds that the importer does not take, or not as integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from .onnx_emit import Emitter
from .onnx_graph import attributes, elements

MODES = ("edge", "reflect", "wrap")
"""Pads whose numbers stand in their input already, as ONNX and numpy call them."""

MOST_MASKED = 16 * 1024
"""Tensors of at most so many elements are padded through a mask: it is as large as they are."""


def _pad(emit: Emitter) -> bool:
    widths = _widths(emit)
    if widths is None or (widths < 0).any():
        return False
    mode = attributes(emit.node).get("mode", "constant")
    if mode == "constant":
        return _fill(emit, widths)
    return mode in MODES and _pick(emit, widths, mode)


def _widths(emit: Emitter) -> np.ndarray | None:
    """What is added before and after each axis, (rank, 2); None if that is not constant."""
    pads, axes = emit.value(1), emit.value(3)
    if pads is None or (emit.input(3) and axes is None):
        return None
    rank = len(emit.graph.shape(emit.node.input[0]))
    listed = range(rank) if axes is None else [int(axis) % rank for axis in axes]
    widths = np.zeros((rank, 2), np.int64)
    for axis, before, after in zip(listed, *np.split(pads, 2), strict=True):
        widths[axis] = before, after
    return widths


def _fill(emit: Emitter, widths: np.ndarray) -> bool:
    """The importer wants a constant to fill with: any other number comes in through a mask."""
    node = emit.node
    if not emit.input(2) or emit.value(2) is not None:
        return False
    if elements(emit.graph.shape(node.output[0])) > MOST_MASKED:
        return False
    inside = np.pad(np.ones(emit.graph.shape(node.input[0]), np.bool_), widths)
    padded = emit("Pad", node.input[0], emit.constant(widths.T.ravel()))
    fill = emit.reshape(node.input[2], [1])
    emit("Where", emit.constant(inside, np.bool_), padded, fill, output=node.output[0])
    return True


def _pick(emit: Emitter, widths: np.ndarray, mode: str) -> bool:
    """What repeats dequantised numbers at the borders picks them: then the integers can be picked."""
    value = emit.node.input[0]
    made = emit.graph.producers().get(value)
    if made is None or made.op_type != "DequantizeLinear":
        return False
    for axis, size in enumerate(emit.graph.shape(value)):
        if widths[axis].any():
            places = np.pad(np.arange(size), widths[axis], mode=mode)  # type: ignore[call-overload]
            value = emit("Gather", value, emit.constant(places), axis=axis)
    emit("Identity", value, output=emit.node.output[0])
    return True


REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType({"Pad": _pad})
