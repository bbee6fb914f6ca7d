"""Resize: the size of the output says everything, or the sampling is written out.

An image whose height and width are scaled by exactly output / input keeps its Resize, with the size of
the output and nothing that could contradict it. Every other Resize is computed axis by axis: the pixels
are gathered and weighted. Such are scales that do not come out even (1.5 on 7 pixels gives 10, not 10.5),
other axes than height and width, and nearest neighbours where a rounding error would hit another pixel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import NodeProto, helper

from ...errors import UnsupportedError
from .onnx_graph import Array, Graph, Type, attributes, copy_of, label, numpy_dtype, set_attributes


def plain_resizes(graph: Graph) -> None:
    """Rewrite every Resize but those that crop."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.op_type != "Resize" or node.domain:
            return None
        values = attributes(node)
        if values.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            return None
        scales = _scales(node, graph)
        if values.get("antialias") and (scales < 1).any():
            raise UnsupportedError("it smooths while it shrinks (antialias)", where=label(node))
        if _is_plain(node, scales, graph):
            return [_by_size(node, graph)]
        return list(_by_axis(node, scales, graph))

    graph.rewrite(rule)


def _is_plain(node: NodeProto, scales: Array, graph: Graph) -> bool:
    """Whether the sizes alone tell what to do."""
    values = attributes(node)
    before, after = graph.shape(node.input[0]), graph.shape(node.output[0])
    pairs = list(zip(before, after, strict=True))
    if len(pairs) != 4 or any(b != a for b, a in pairs[:2]):
        return False
    if values.get("mode", "nearest") == "nearest":
        return all(a % b == 0 for b, a in pairs) and _is_even(pairs, scales)
    return values.get("coordinate_transformation_mode") == "align_corners" or _is_even(pairs, scales)


def _is_even(pairs: list[tuple[int, int]], scales: Array) -> bool:
    """Whether scales are output / input, as near as float32 can tell."""
    return all(abs(b * scale - a) <= 1e-6 * a for (b, a), scale in zip(pairs, scales.tolist(), strict=True))


def _scales(node: NodeProto, graph: Graph) -> Array:
    """Scale of each axis, float64."""
    before, after = (np.array(graph.shape(name)) for name in (node.input[0], node.output[0]))
    values = attributes(node)
    axes = [axis % len(before) for axis in values.get("axes") or range(len(before))]
    given, sizes = graph.constant(node, 2), graph.constant(node, 3)
    policy = values.get("keep_aspect_ratio_policy", "stretch")
    scales = np.ones(len(before))
    if given is not None and given.size:
        scales[axes] = given
    elif sizes is None or policy == "stretch":
        scales[:] = after / before
    else:
        ratios = sizes.astype(np.float32) / before[axes].astype(np.float32)
        scales[axes] = ratios.min() if policy == "not_larger" else ratios.max()
    return scales


def _by_size(node: NodeProto, graph: Graph) -> NodeProto:
    sizes = graph.add_constant(f"{node.output[0]}/size", np.array(graph.shape(node.output[0]), np.int64))
    new = copy_of(node, input=[node.input[0], "", "", sizes])
    set_attributes(new, axes=None, keep_aspect_ratio_policy=None, antialias=None)
    if attributes(node).get("coordinate_transformation_mode") == "half_pixel_symmetric":
        set_attributes(new, coordinate_transformation_mode=None)  # the same where scales come out even
    return new


def _by_axis(node: NodeProto, scales: Array, graph: Graph) -> Iterator[NodeProto]:
    """One axis after the other: sampling is separable."""
    data, target = graph.types[node.input[0]], graph.shape(node.output[0])
    axes = [axis for axis, scale in enumerate(scales) if scale != 1 or target[axis] != data.shape[axis]]
    source, shape = node.input[0], list(data.shape)
    if not axes:
        yield helper.make_node("Identity", [source], [node.output[0]], node.name)
    for axis in axes:
        taps = _taps(node, np.float32(scales[axis]), shape[axis], target[axis])
        shape[axis] = target[axis]
        kind = Type(data.elem, tuple(shape))
        output = node.output[0] if axis == axes[-1] else graph.add_value(f"{node.output[0]}/axis", kind)
        name = f"{node.name}/{axis}"
        parts = [output] if len(taps) == 1 else [graph.add_value(f"{output}/tap", kind) for _ in taps]
        for number, (part, (pixels, _)) in enumerate(zip(parts, taps, strict=True)):
            indices = graph.add_constant(f"{output}/pixels", pixels.astype(np.int64))
            yield helper.make_node("Gather", [source, indices], [part], f"{name}/gather{number}", axis=axis)
        if len(taps) > 1:
            terms = [graph.add_value(f"{output}/term", kind) for _ in taps]
            for number, (part, term, (_, weights)) in enumerate(zip(parts, terms, taps, strict=True)):
                column = weights.reshape(-1, *[1] * (len(shape) - axis - 1)).astype(numpy_dtype(data.elem))
                factor = graph.add_constant(f"{output}/weights", column)
                yield helper.make_node("Mul", [part, factor], [term], f"{name}/weight{number}")
            yield helper.make_node("Add", terms, [output], f"{name}/sum")
        source = output


def _places(mode: str, scale: np.float32, size: int, result: int) -> Array:
    """Where on the axis of the input each output samples."""
    index = np.arange(result, dtype=np.float32)
    half = np.float32(0.5)
    if mode == "asymmetric":
        return index / scale
    if mode == "align_corners":
        return index * np.float32(size - 1) / np.float32(max(result - 1, 1))
    if mode == "pytorch_half_pixel" and result == 1:
        return np.zeros_like(index)
    middle = (index + half) / scale
    if mode == "half_pixel_symmetric":
        middle = np.float32(size / 2) * (1 - np.float32(result) / (scale * np.float32(size))) + middle
    return middle - half


def _taps(node: NodeProto, scale: np.float32, size: int, result: int) -> list[tuple[Array, Array]]:
    """Which pixels make each output, with which weights; in float32, as onnxruntime computes them."""
    values = attributes(node)
    mode = values.get("mode", "nearest")
    where = values.get("coordinate_transformation_mode", "half_pixel")
    if mode == "cubic" or (mode == "nearest" and where == "half_pixel_symmetric"):
        raise UnsupportedError(
            f"{mode} sampling ({where}) with this scale is not supported", where=label(node)
        )
    place = _places(where, scale, size, result)
    if mode == "nearest":
        pixels = _rounded(place, values.get("nearest_mode", "round_prefer_floor"))
        return [(np.clip(pixels, 0, size - 1), np.ones_like(place))]
    place = np.clip(place, 0, size - 1)
    left = np.floor(place)
    right = np.minimum(left + 1, size - 1)
    return [(left, 1 - (place - left)), (right, place - left)]


def _rounded(place: Array, mode: str) -> Array:
    """The nearest pixels; what is a half but for a rounding error is a half, as in onnxruntime."""
    if mode == "floor":
        return np.floor(place)
    if mode == "ceil":
        return np.ceil(place)
    half = 0.5 + 1e-6
    exact = place.astype(np.float64)
    return np.ceil(exact - half) if mode == "round_prefer_floor" else np.floor(exact + half)
