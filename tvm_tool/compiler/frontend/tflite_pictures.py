"""TFLite's operators that rearrange pictures in blocks, or resize them, in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...errors import ModelError, UnsupportedError
from .tflite_builder import TO_NCHW, TO_NHWC, Builder
from .tflite_movement import Move, amounts, cut
from .tflite_tensors import Operator


def space_to_depth(b: Builder, op: Operator) -> None:
    n, h, w, c = op.input(0, rank=4).shape
    k = _block(op)
    _blocks(b, op, (n, h // k, k, w // k, k, c), (0, 1, 3, 2, 4, 5))


def depth_to_space(b: Builder, op: Operator) -> None:
    n, h, w, c = op.input(0, rank=4).shape
    k = _block(op)
    _blocks(b, op, (n, h, w, k, k, c // (k * k)), (0, 1, 3, 2, 4, 5))


def _block(op: Operator) -> int:
    size = int(op.option("BlockSize"))
    if size < 1:
        raise ModelError(f"its block size is {size}", where=op.label)
    return size


def _blocks(b: Builder, op: Operator, inner: tuple[int, ...], perm: tuple[int, ...]) -> None:
    move = Move.of(b, op)
    split_up = b.reshape(move.values[0], inner, f"{op.name}/blocks")
    moved = b.transpose(split_up, perm, op.name)
    move.done(b.reshape(moved, op.y.shape, f"{op.name}/reshape"))


def space_to_batch(b: Builder, op: Operator) -> None:
    """SPACE_TO_BATCH_ND of pictures: pad, then every block's places become batches."""
    n, h, w, c = op.input(0, rank=4).shape
    (kh, kw), ((top, bottom), (left, right)) = _sizes(b, op), amounts(b, op, 2)
    h, w = h + top + bottom, w + left + right
    move = Move.of(b, op)
    pads = move.ints([0, top, left, 0, 0, bottom, right, 0], "pads")
    padded = move.node("Pad", [pads, move.zero()], "pad")
    inner = b.reshape(padded, (n, h // kh, kh, w // kw, kw, c), f"{op.name}/blocks")
    moved = b.transpose(inner, (2, 4, 0, 1, 3, 5), op.name)
    move.done(b.reshape(moved, (n * kh * kw, h // kh, w // kw, c), f"{op.name}/reshape"))


def batch_to_space(b: Builder, op: Operator) -> None:
    """BATCH_TO_SPACE_ND of pictures: the reverse, cropped."""
    n, h, w, c = op.input(0, rank=4).shape
    (kh, kw), ((top, bottom), (left, right)) = _sizes(b, op), amounts(b, op, 2)
    n = n // (kh * kw)
    move = Move.of(b, op)
    inner = b.reshape(move.values[0], (kh, kw, n, h, w, c), f"{op.name}/blocks")
    moved = b.transpose(inner, (2, 3, 0, 4, 1, 5), op.name)
    whole = b.reshape(moved, (n, h * kh, w * kw, c), f"{op.name}/reshape")
    ends = [n, h * kh - bottom, w * kw - right, c]
    move.done(cut(move, whole, [0, top, left, 0], ends, [1] * 4, "crop"))


def _sizes(b: Builder, op: Operator) -> tuple[int, int]:
    sizes = b.contents(op, 1).reshape(-1).tolist()
    if len(sizes) != 2 or min(sizes) < 1:
        raise UnsupportedError(f"its blocks have size {sizes}", where=op.label, expected="two dimensions")
    return sizes[0], sizes[1]


def resize_nearest_neighbor(b: Builder, op: Operator) -> None:
    """RESIZE_NEAREST_NEIGHBOR; TFLite rounds half up, or down where corners are not aligned."""
    move = Move.of(b, op)
    _resize(b, op, move, "nearest", nearest_mode="round_prefer_ceil")


def resize_bilinear(b: Builder, op: Operator) -> None:
    values = [b.real(op, op.input(0, rank=4))]
    _resize(b, op, Move(b, op, values, raw=False), "linear")


def _resize(b: Builder, op: Operator, move: Move, mode: str, **attributes: Any) -> None:
    n, _, _, c = op.input(0, rank=4).shape
    _, h, w, _ = op.y.shape
    if op.option("AlignCorners"):
        # Where one pixel is left, TFLite takes the first; so does ONNX.
        coordinates = "align_corners"
    elif op.option("HalfPixelCenters"):
        coordinates = "half_pixel"
    else:
        coordinates = "asymmetric"
        if mode == "nearest":
            attributes["nearest_mode"] = "floor"
    attributes |= {"mode": mode, "coordinate_transformation_mode": coordinates}
    picture = b.transpose(move.values[0], TO_NCHW, f"{op.name}/nchw")
    sizes = move.ints([n, c, h, w], "sizes")
    resized = b.node("Resize", [picture, "", "", sizes], op.name, **attributes)
    move.done(b.transpose(resized, TO_NHWC, f"{op.name}/transpose"))


TRANSLATIONS: Mapping[str, Callable[[Builder, Operator], None]] = MappingProxyType(
    {
        "BATCH_TO_SPACE_ND": batch_to_space,
        "DEPTH_TO_SPACE": depth_to_space,
        "RESIZE_BILINEAR": resize_bilinear,
        "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
        "SPACE_TO_BATCH_ND": space_to_batch,
        "SPACE_TO_DEPTH": space_to_depth,
    }
)
"""Operators by their names in the TFLite schema."""
