"""TFLite's operators that take tensors apart and put them together, in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...errors import ModelError, UnsupportedError
from .tflite_builder import Builder
from .tflite_movement import Move
from .tflite_tensors import Operator


def split(b: Builder, op: Operator) -> None:
    """SPLIT: axis, data."""
    axis = op.checked_axis(int(b.contents(op, 0).reshape(())), op.input(1).rank)
    _split(b, op, axis, Move.of(b, op, 1))


def split_v(b: Builder, op: Operator) -> None:
    """SPLIT_V: data, sizes, axis. The sizes are those of the outputs."""
    _split(b, op, op.checked_axis(int(b.contents(op, 2).reshape(())), op.x.rank), Move.of(b, op))


def _split(b: Builder, op: Operator, axis: int, move: Move) -> None:
    sizes = move.ints([t.shape[axis] for t in op.outputs], "sizes")
    move.node("Split", [sizes], outputs=len(op.outputs), axis=axis)
    for index, value in enumerate(list(b.graph.nodes[-1].output)):
        move.done(value, index)


def unpack(b: Builder, op: Operator) -> None:
    axis, move = op.axis(), Move.of(b, op)
    if len(op.outputs) != op.x.shape[axis]:
        raise ModelError(f"axis {axis} of {list(op.x.shape)} does not give its outputs", where=op.label)
    sizes = move.ints([1] * len(op.outputs), "sizes")
    move.node("Split", [sizes], outputs=len(op.outputs), axis=axis)
    for index, value in enumerate(list(b.graph.nodes[-1].output)):
        move.done(b.reshape(value, op.outputs[index].shape, f"{op.name}/reshape_{index}"), index)


def concatenation(b: Builder, op: Operator) -> None:
    move = Move.of(b, op, *range(len(op.inputs)))
    if op.options.get("FusedActivationFunction", 0):
        raise UnsupportedError("it has a fused activation", where=op.label)
    move.done(b.node("Concat", move.values, op.name, axis=op.axis()))


def pack(b: Builder, op: Operator) -> None:
    axis, move = op.axis(rank=op.y.rank), Move.of(b, op, *range(len(op.inputs)))
    shape = (*op.x.shape[:axis], 1, *op.x.shape[axis:])
    parts = [b.reshape(v, shape, f"{op.name}/reshape_{i}") for i, v in enumerate(move.values)]
    move.done(b.node("Concat", parts, op.name, axis=axis))


TRANSLATIONS: Mapping[str, Callable[[Builder, Operator], None]] = MappingProxyType(
    {
        "CONCATENATION": concatenation,
        "PACK": pack,
        "SPLIT": split,
        "SPLIT_V": split_v,
        "UNPACK": unpack,
    }
)
"""Operators by their names in the TFLite schema."""
