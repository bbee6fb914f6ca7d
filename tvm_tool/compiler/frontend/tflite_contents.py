"""What the entries of a TFLite file mean: the bytes of a constant, the scales of a quantised tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError, UnsupportedError
from .onnx_graph import Array, elements
from .tflite_tensors import Scales


def vector(values: Any, dtype: Any = np.int64) -> Array:
    """A vector as the flatbuffer library returns it: 0 if it is absent."""
    return np.array([], dtype) if isinstance(values, int) else np.asarray(values)


def contents(raw: Array, kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], label: str) -> Array:
    """The contents of a constant."""
    count = elements(shape)
    expected = -(-count // 2) if kind == "INT4" else count * dtype.itemsize
    if raw.size != expected:
        raise ModelError(
            f"its {raw.size:,} bytes do not fill shape {list(shape)} of {kind}",
            where=label,
            remedy="copy or convert the model again",
        )
    if kind == "INT4":  # two numbers a byte, the first in the low half
        halves = np.stack([raw << 4, raw & 0xF0], axis=-1).reshape(-1)[:count]
        return (halves.view(np.int8) >> 4).reshape(shape)
    return np.frombuffer(raw.tobytes(), dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def scales_of(entry: Any, dtype: np.dtype[Any], shape: tuple[int, ...], label: str) -> Scales | None:
    """How a tensor is quantised; None if it is not."""
    scale = vector(entry.ScaleAsNumpy(), np.float32) if entry is not None else np.array([])
    if dtype.kind not in "iu" or scale.size == 0:
        return None
    if entry.DetailsType():
        raise UnsupportedError("it is quantised in a custom or blockwise way", where=label)
    zero_point = vector(entry.ZeroPointAsNumpy())
    if zero_point.size == 0:
        zero_point = np.zeros(scale.size, np.int64)
    axis = int(entry.QuantizedDimension())
    if scale.size > 1 and (not 0 <= axis < len(shape) or shape[axis] != scale.size):
        raise ModelError(f"its {scale.size} scales do not fit axis {axis} of {list(shape)}", where=label)
    if zero_point.size != scale.size:
        raise ModelError(f"it has {scale.size} scales but {zero_point.size} zero points", where=label)
    if not (np.isfinite(scale) & (scale > 0)).all():
        wrong = scale[~(np.isfinite(scale) & (scale > 0))][0]
        raise ModelError(f"its scale is {wrong}", where=label, expected="a number above zero")
    limits = np.iinfo(dtype)
    if (zero_point < limits.min).any() or (zero_point > limits.max).any():
        raise ModelError(f"its zero point does not fit {dtype}", where=label)
    return Scales(scale.astype(np.float32), zero_point.astype(np.int64), axis if scale.size > 1 else 0)
