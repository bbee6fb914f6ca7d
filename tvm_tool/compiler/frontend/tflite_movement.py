"""TFLite's operators that move elements, in ONNX.

They move the integers of quantised tensors as they are where all inputs and outputs are quantised alike,
and real values where they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import ModelError, UnsupportedError
from .onnx_graph import elements
from .tflite_builder import Border, Builder
from .tflite_tensors import Operator, Tensor

INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Move:
    """One such operator: `values` of its data inputs, and whether they are the integers themselves."""

    b: Builder
    op: Operator
    values: list[str]
    raw: bool

    @staticmethod
    def of(b: Builder, op: Operator, *inputs: int) -> Move:
        """`inputs`: which inputs are data; by default the first."""
        tensors = [op.input(index) for index in inputs or (0,)]
        raw = _are_alike([*tensors, *op.outputs])
        return Move(b, op, [b.value(t) if raw else b.real(op, t) for t in tensors], raw)

    def done(self, value: str, index: int = 0) -> None:
        """`value` is output `index`."""
        tensor = self.op.outputs[index]
        self.b.keep(tensor, value if self.raw else self.b.quantise(self.op, tensor, value))

    def node(self, kind: str, inputs: Sequence[str] = (), suffix: str = "", **attributes: Any) -> str:
        """A node on the (first) data input."""
        name = f"{self.op.name}/{suffix}" if suffix else self.op.name
        return self.b.node(kind, [self.values[0], *inputs], name, **attributes)

    def ints(self, values: object, what: str) -> str:
        return self.b.literal(values, f"{self.op.name}/{what}")

    def zero(self, what: str = "value") -> str:
        """What stands for 0.0."""
        scales, dtype = self.op.x.scales, self.op.x.dtype if self.raw else np.float32
        number = scales.zero_point[0] if scales is not None and self.raw else 0
        return self.b.literal(number, f"{self.op.name}/{what}", dtype)


def _are_alike(tensors: Sequence[Tensor]) -> bool:
    first = tensors[0].scales
    if first is None:
        return all(t.scales is None for t in tensors)
    return first.is_per_tensor and all(first.equals(t.scales) for t in tensors)


def reshape(b: Builder, op: Operator) -> None:
    """RESHAPE, SQUEEZE, EXPAND_DIMS: to the shape of the output."""
    if elements(op.x.shape) != elements(op.y.shape):
        raise ModelError(f"shape {list(op.x.shape)} cannot become {list(op.y.shape)}", where=op.label)
    move = Move.of(b, op)
    move.done(move.node("Reshape", [move.ints(op.y.shape, "shape")]))


def transpose(b: Builder, op: Operator) -> None:
    perm = [int(axis) for axis in b.contents(op, 1).reshape(-1)]
    if sorted(perm) != list(range(op.x.rank)):
        raise ModelError(f"{perm} is no order of {op.x.rank} axes", where=op.label)
    move = Move.of(b, op)
    move.done(move.node("Transpose", perm=perm))


def amounts(b: Builder, op: Operator, index: int = 1) -> list[list[int]]:
    """Begin and end of each axis, from a [rank, 2] constant."""
    array = b.contents(op, index)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ModelError(f"its amounts have shape {list(array.shape)}", where=op.label)
    if (array < 0).any():
        raise ModelError(f"its amounts {array.tolist()} are negative", where=op.label)
    return [[int(v) for v in row] for row in array]


def pad(b: Builder, op: Operator) -> None:
    """PAD, PADV2: with zero, or with the value of input 2. A convolution may take zeros into its own pads."""
    sides = amounts(b, op)
    if op.has(2):
        move = Move.of(b, op, 0, 2)
        value = b.reshape(move.values[1], (), f"{op.name}/value")
    else:
        move = Move.of(b, op)
        value = move.zero()
        if move.raw and op.x.rank == 4 and sides[0] == sides[3] == [0, 0]:
            b.borders[op.y.index] = Border(op.x, (sides[1][0], sides[2][0], sides[1][1], sides[2][1]))
    pads = move.ints([*(a for a, _ in sides), *(z for _, z in sides)], "pads")
    move.done(move.node("Pad", [pads, value]))


def mirror_pad(b: Builder, op: Operator) -> None:
    """MIRROR_PAD: the indices of each axis, mirrored, are gathered."""
    move = Move.of(b, op)
    value = move.values[0]
    for axis, (before, after) in enumerate(amounts(b, op)):
        if before or after:
            places = np.arange(op.x.shape[axis])
            if max(before, after) > len(places) - (not op.option("Mode")):
                raise ModelError(f"it mirrors more than axis {axis} has", where=op.label)
            if op.option("Mode"):
                indices = np.pad(places, (before, after), mode="symmetric")
            else:
                indices = np.pad(places, (before, after), mode="reflect")
            picked = move.ints(indices, f"indices_{axis}")
            value = b.node("Gather", [value, picked], f"{op.name}/axis_{axis}", axis=axis)
    move.done(value)


def slice_(b: Builder, op: Operator) -> None:
    """SLICE: begin and size of each axis; -1 is the rest."""
    begin, size = (b.contents(op, index).reshape(-1).tolist() for index in (1, 2))
    sizes = zip(begin, size, op.x.shape, strict=True)
    ends = [dimension if count < 0 else first + count for first, count, dimension in sizes]
    move = Move.of(b, op)
    move.done(cut(move, move.values[0], begin, ends, [1] * len(begin)))


def cut(move: Move, value: str, begin: list[int], end: list[int], step: list[int], suffix: str = "") -> str:
    name = f"{move.op.name}/{suffix}" if suffix else move.op.name
    axes = list(range(len(begin)))
    pieces = (("starts", begin), ("ends", end), ("axes", axes), ("steps", step))
    return move.b.node("Slice", [value, *(move.ints(v, what) for what, v in pieces)], name)


def strided_slice(b: Builder, op: Operator) -> None:
    if op.option("EllipsisMask") or op.option("NewAxisMask"):
        raise UnsupportedError(
            "it has an ellipsis or a new axis", where=op.label, remedy="use reshape in the network"
        )
    given = [b.contents(op, index).reshape(-1).tolist() for index in (1, 2, 3)]
    starts, stops, steps = [], [], []
    for axis, (begin, end, step) in enumerate(zip(*given, strict=True)):
        dimension, bit = op.x.shape[axis], 1 << axis
        if step == 0:
            raise ModelError("its step is 0", where=op.label)
        if op.option("ShrinkAxisMask") & bit:
            first, stop, step = begin % dimension, begin % dimension + 1, 1
        else:
            last = end + begin if op.options.get("Offset") else end
            chosen = slice(
                None if op.option("BeginMask") & bit else begin,
                None if op.option("EndMask") & bit else last,
                step,
            )
            first, stop, step = chosen.indices(dimension)
        starts.append(first)
        stops.append(stop if stop >= 0 else -INT64_MAX)
        steps.append(step)
    move = Move.of(b, op)
    value = cut(move, move.values[0], starts, stops, steps)
    if op.option("ShrinkAxisMask"):
        value = b.reshape(value, op.y.shape, f"{op.name}/reshape")
    move.done(value)


def reverse(b: Builder, op: Operator) -> None:
    axes = {op.checked_axis(int(axis), op.x.rank) for axis in b.contents(op, 1).reshape(-1)}
    turned = [axis in axes for axis in range(op.x.rank)]
    starts = [size - 1 if turn else 0 for size, turn in zip(op.x.shape, turned, strict=True)]
    ends = [-INT64_MAX if turn else size for size, turn in zip(op.x.shape, turned, strict=True)]
    move = Move.of(b, op)
    move.done(cut(move, move.values[0], starts, ends, [-1 if turn else 1 for turn in turned]))


def tile(b: Builder, op: Operator) -> None:
    repeats, move = b.contents(op, 1).reshape(-1), Move.of(b, op)
    move.done(move.node("Tile", [move.ints(repeats, "repeats")]))


def broadcast_to(b: Builder, op: Operator) -> None:
    move = Move.of(b, op)
    move.done(move.node("Expand", [move.ints(op.y.shape, "shape")]))


def fill(b: Builder, op: Operator) -> None:
    """FILL: shape, value."""
    move = Move.of(b, op, 1)
    move.done(move.node("Expand", [move.ints(op.y.shape, "shape")]))


def shape(b: Builder, op: Operator) -> None:
    """SHAPE is a constant, because shapes are static."""
    b.constants[op.y.index] = np.array(op.x.shape, op.y.dtype)


def gather(b: Builder, op: Operator) -> None:
    if op.options.get("BatchDims", 0):
        raise UnsupportedError("it gathers batch by batch", where=op.label)
    move = Move.of(b, op)
    move.done(move.node("Gather", [b.value(op.input(1))], axis=op.axis()))


def gather_nd(b: Builder, op: Operator) -> None:
    move = Move.of(b, op)
    indices = b.value(op.input(1))
    wide = b.node("Cast", [indices], f"{op.name}/indices", to=7)
    move.done(move.node("GatherND", [wide]))


def select(b: Builder, op: Operator) -> None:
    """SELECT, SELECT_V2: condition, two choices."""
    condition = op.x
    if op.kind == "SELECT" and condition.shape not in ((), op.y.shape):
        raise UnsupportedError(f"its condition has shape {list(condition.shape)}", where=op.label)
    tensors = [op.input(1), op.input(2)]
    raw = _are_alike([*tensors, op.y])
    values = [b.value(t) if raw else b.real(op, t) for t in tensors]
    value = b.node("Where", [b.value(condition), *values], op.name)
    Move(b, op, values, raw).done(value)


TRANSLATIONS: Mapping[str, Callable[[Builder, Operator], None]] = MappingProxyType(
    {
        "BROADCAST_TO": broadcast_to,
        "EXPAND_DIMS": reshape,
        "FILL": fill,
        "GATHER": gather,
        "GATHER_ND": gather_nd,
        "MIRROR_PAD": mirror_pad,
        "PAD": pad,
        "PADV2": pad,
        "RESHAPE": reshape,
        "REVERSE_V2": reverse,
        "SELECT": select,
        "SELECT_V2": select,
        "SHAPE": shape,
        "SLICE": slice_,
        "SQUEEZE": reshape,
        "STRIDED_SLICE": strided_slice,
        "TILE": tile,
        "TRANSPOSE": transpose,
    }
)
"""Operators by their names in the TFLite schema."""
