"""Linear maps along an axis, as a product with a constant matrix: Fourier transforms, resampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ...errors import UnsupportedError
from .onnx_emit import Emitter
from .onnx_graph import Array, attributes, elements, label, set_attributes

LARGEST = 256 * 1024
"""Bytes of the largest matrix that is put into flash for this."""


def fourier(length: int, parts: int, inverse: bool, onesided: bool) -> Array:
    """The matrix from a row of `length` numbers of `parts` parts to (real, imaginary) of each frequency."""
    bins = length // 2 + 1 if onesided else length
    turn = 2 * np.pi * (np.outer(np.arange(length), np.arange(bins)) % length) / length
    wave = np.exp((1j if inverse else -1j) * turn) / (length if inverse else 1)
    matrix = np.zeros((length, parts, bins, 2))
    matrix[:, 0, :, 0], matrix[:, 0, :, 1] = wave.real, wave.imag
    if parts == 2:
        matrix[:, 1, :, 0], matrix[:, 1, :, 1] = -wave.imag, wave.real
    return matrix.reshape(length * parts, bins * 2)


def inverse_of_real(length: int) -> Array:
    """The matrix from (real, imaginary) of the frequencies of a real row to its `length` numbers."""
    bins = length // 2 + 1
    turn = 2 * np.pi * (np.outer(np.arange(bins), np.arange(length)) % length) / length
    # All but the first frequency, and the last of an even row, stand for two.
    twice = np.full((bins, 1), 2.0)
    twice[0] = 1
    twice[length - length // 2 :] = 1
    wave = twice * np.exp(1j * turn) / length
    return np.stack([wave.real, -wave.imag], axis=1).reshape(bins * 2, length)


def _dft(emit: Emitter) -> bool:
    node = emit.node
    values = attributes(node)
    source = node.input[0]
    shape = emit.graph.shape(source)
    rank, dtype = len(shape), emit.dtype(source)
    constants = [emit.value(1), emit.value(2)]
    if any(emit.input(i + 1) and constants[i] is None for i in range(2)):
        return False
    inverse, onesided = bool(values.get("inverse", 0)), bool(values.get("onesided", 0))
    default = -2 if emit.graph.opset >= 20 else values.get("axis", 1)
    axis = (default if constants[1] is None else int(constants[1].item())) % rank
    length = shape[axis] if constants[0] is None else int(constants[0].item())
    parts = 2
    if inverse and onesided:
        length = 2 * (shape[axis] - 1) if constants[0] is None else length
        matrix, parts = inverse_of_real(length), 1
        length = length // 2 + 1
    else:
        matrix = fourier(length, shape[-1], inverse, onesided)
    if matrix.size * dtype.itemsize > LARGEST:
        return False
    if length < shape[axis]:
        source = emit.cut(source, axis, 0, length)
    elif length > shape[axis]:
        rest = np.zeros([*shape[:axis], length - shape[axis], *shape[axis + 1 :]], dtype)
        source = emit("Concat", source, emit.constant(rest, dtype), axis=axis)
    perm = [i for i in range(rank - 1) if i != axis] + [axis, rank - 1]
    outer = [shape[i] for i in perm[:-2]]
    rows = emit.reshape(emit("Transpose", source, perm=perm), [elements(outer), length * shape[-1]])
    product = emit("MatMul", rows, emit.constant(matrix, dtype))
    spectrum = emit.reshape(product, [*outer, matrix.shape[1] // parts, parts])
    emit("Transpose", spectrum, output=node.output[0], perm=[int(i) for i in np.argsort(perm)])
    return True


def _stft(emit: Emitter) -> bool:
    node = emit.node
    step, window, given = emit.value(1), emit.value(2), emit.value(3)
    signal = node.input[0]
    batch, samples, *parts = emit.graph.shape(signal)
    if step is None or (given is None and not emit.input(2)) or (emit.input(3) and given is None):
        return False
    length = int(given.item()) if given is not None else emit.graph.shape(node.input[2])[0]
    onesided = bool(attributes(node).get("onesided", 1))
    matrix = fourier(length, parts[0] if parts else 1, inverse=False, onesided=onesided)
    if matrix.size * emit.dtype(signal).itemsize > LARGEST or (parts == [2] and onesided):
        return False
    frames = (samples - length) // int(step.item()) + 1
    places = np.arange(frames)[:, None] * int(step.item()) + np.arange(length)
    part = parts[0] if parts else 1
    cut = emit("Gather", emit.reshape(signal, [batch, samples, part]), emit.constant(places), axis=1)
    if emit.input(2):
        factors = emit.input(2) if window is None else emit.constant(window, emit.dtype(signal))
        cut = emit("Mul", cut, emit.reshape(factors, [length, 1]))
    rows = emit.reshape(cut, [batch * frames, length * part])
    product = emit("MatMul", rows, emit.constant(matrix, emit.dtype(signal)))
    emit.reshape(product, [batch, frames, matrix.shape[1] // 2, 2], output=node.output[0])
    return True


def _resize(emit: Emitter) -> bool:
    """Cubic, smoothing and cropping Resize: the reference's own weights, axis by axis."""
    node = emit.node
    values = attributes(node)
    crops = values.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    mode = values.get("mode", "nearest")
    _check_corners(emit)
    if mode != "cubic" and not values.get("antialias") and not crops:
        return False
    if emit.dtype(node.input[0]) != np.float32:
        return False
    before, after = emit.graph.shape(node.input[0]), emit.graph.shape(node.output[0])
    axes = [a % len(before) for a in values.get("axes") or range(len(before))]
    source, shape = node.input[0], list(before)
    for place, axis in enumerate(axes):
        matrix = _resampling(emit, place, len(axes), before[axis], after[axis])
        if matrix is None or matrix.size * 4 > LARGEST:
            return False
        if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
            continue
        outer, inner = elements(shape[:axis]), elements(shape[axis + 1 :])
        table = emit.reshape(source, [outer, shape[axis], inner])
        shape[axis] = after[axis]
        source = emit.reshape(emit("MatMul", emit.constant(matrix, np.float32), table), shape)
    emit("Identity", source, output=node.output[0])
    return True


def _check_corners(emit: Emitter) -> None:
    """Refuse what ONNX leaves open: where the last corner is if the scaled size is not whole."""
    values = attributes(emit.node)
    scales = emit.value(2)
    if values.get("coordinate_transformation_mode") != "align_corners" or scales is None or not scales.size:
        return
    shape = emit.graph.shape(emit.node.input[0])
    axes = [axis % len(shape) for axis in values.get("axes") or range(len(shape))]
    sizes = np.array([shape[axis] for axis in axes]) * scales.astype(np.float64)
    if values.get("mode", "nearest") != "nearest" and (np.abs(sizes - np.round(sizes)) > 1e-5 * sizes).any():
        raise UnsupportedError(
            "with align_corners, scales that do not come out even mean different things to ONNX runtimes",
            where=label(emit.node),
            remedy="give sizes instead of scales",
        )


def _resampling(emit: Emitter, place: int, count: int, size: int, result: int) -> Array | None:
    """The matrix [result, size] of one axis, from the reference's answers to unit pixels."""
    roi, scales, sizes = (emit.value(i) for i in (1, 2, 3))
    has_sizes = sizes is not None and sizes.size > 0
    if not has_sizes and (scales is None or not scales.size):
        return None
    if has_sizes and attributes(emit.node).get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    unit = helper.make_node("Resize", ["x", "roi", "" if has_sizes else "scales", "sizes"], ["y"])
    unit.attribute.extend(emit.node.attribute)
    set_attributes(unit, axes=None, keep_aspect_ratio_policy=None)
    if not has_sizes:
        del unit.input[3]
    corners = np.array([0, 1], np.float32)
    if roi is not None and roi.size:
        corners = roi.astype(np.float32)[[place, place + count]]
    inputs: dict[str, Array] = {
        "x": np.zeros(size, np.float32),
        "roi": corners,
        "scales": np.array([1.0 if scales is None or not scales.size else scales[place]], np.float32),
        "sizes": np.array([result], np.int64),
    }
    inputs = {name: inputs[name] for name in unit.input if name}
    known = [helper.make_empty_tensor_value_info(name) for name in inputs]
    proto = helper.make_graph([unit], "unit", known, [helper.make_empty_tensor_value_info("y")])
    reference = ReferenceEvaluator(proto, opsets={"": emit.graph.opset})

    def answer(row: Array) -> Array:
        (result,) = reference.run(None, {**inputs, "x": row})
        return np.asarray(result)

    if answer(np.zeros(size, np.float32)).any():
        return None  # what lies outside is not zero: no matrix alone does that
    return np.stack([answer(row) for row in np.eye(size, dtype=np.float32)], axis=1)


REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType(
    {"DFT": _dft, "Resize": _resize, "STFT": _stft}
)
