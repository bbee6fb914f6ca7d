"""Resize in all its modes: by size where that says everything, else written out."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.unit.onnx_models import Net, operators, same
from tvm_tool.compiler.frontend.onnx_graph import attributes

PLACES = ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
EVEN: dict[str, list[tuple[float, ...]]] = {"scales": [(1, 1, 2, 3)], "sizes": [(1, 2, 14, 18)]}
UNEVEN: dict[str, list[tuple[float, ...]]] = {
    "scales": [(1, 1, 1.5, 1.3), (1, 1, 0.5, 0.5), (1, 1, 0.7, 1.9), (1, 2, 1, 1)],
    "sizes": [(1, 2, 9, 11), (1, 2, 3, 4), (1, 2, 1, 1)],
}


def resize(kind: str, values: tuple[float, ...], opset: int = 17, **more: Any) -> onnx.ModelProto:
    net = Net(opset)
    x = net.input(1, 2, 7, 6)
    empty = net.constant(np.array([], np.float32))
    if kind == "scales":
        return net.model(net.op("Resize", x, empty, net.constant(np.array(values, np.float32)), **more))
    return net.model(net.op("Resize", x, empty, empty, net.constant(np.array(values, np.int64)), **more))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("opset", [11, 19])
def test_nearest(place: str, opset: int, tmp_path: Path) -> None:
    for rounding, kind in itertools.product(ROUNDINGS, EVEN):
        for values in EVEN[kind] + UNEVEN[kind]:
            more = {"coordinate_transformation_mode": place, "nearest_mode": rounding}
            names = operators(same(resize(kind, values, opset, **more), tmp_path, tolerance=0))
            assert set(names) <= ({"Resize"} if values in EVEN[kind] else {"Gather"})


@pytest.mark.parametrize("place", [*PLACES, "half_pixel_symmetric"])
def test_linear(place: str, tmp_path: Path) -> None:
    for kind, even in EVEN.items():
        for values in even + UNEVEN[kind]:
            if kind == "scales" and place == "align_corners" and values not in even:
                continue  # runtimes do not agree
            model = same(
                resize(kind, values, 19, mode="linear", coordinate_transformation_mode=place), tmp_path
            )
            if values in even:
                assert operators(model) == ["Resize"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", EVEN)
def test_cubic(place: str, kind: str, tmp_path: Path) -> None:
    same(resize(kind, EVEN[kind][0], mode="cubic", coordinate_transformation_mode=place), tmp_path, 2e-6)


def test_only_the_size_is_left(tmp_path: Path) -> None:
    model = same(resize("scales", (1, 1, 2, 3), 18, mode="linear", antialias=0), tmp_path)
    node = model.proto.graph.node[0]
    constants = {t.name: list(onnx.numpy_helper.to_array(t)) for t in model.proto.graph.initializer}
    assert list(node.input[1:3]) == ["", ""]
    assert constants[node.input[3]] == [1, 2, 14, 18]
    assert set(attributes(node)) == {"mode"}


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_some_axes_and_aspect_ratio(policy: str, mode: str, tmp_path: Path) -> None:
    more = {"axes": [3, 2], "keep_aspect_ratio_policy": policy, "mode": mode}
    same(resize("sizes", (8, 9), 18, **more), tmp_path)


@pytest.mark.parametrize("size", [(5,), (3, 4, 5)])
def test_other_ranks(size: tuple[int, ...], tmp_path: Path) -> None:
    for mode, scale in itertools.product(("nearest", "linear"), (1.0, 2.0, 1.3)):
        if mode == "linear" and len(size) == 1 and scale != 1:
            continue  # onnxruntime knows no linear rows
        net = Net(17)
        factors = net.constant(np.array([1, 1, *[scale] * len(size)], np.float32))
        y = net.op("Relu", net.op("Resize", net.input(1, 2, *size), "", factors, mode=mode))
        same(net.model(y), tmp_path)


def test_scales_that_nearly_come_out_even(tmp_path: Path) -> None:
    """3/7 is no float32, but what it means is clear."""
    model = same(resize("scales", (1, 1, 3 / 7, 5 / 6), mode="linear"), tmp_path)
    assert operators(model) == ["Resize"]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_sizes_are_those_of_onnxruntime(mode: str, tmp_path: Path) -> None:
    """Scales that frameworks compute as result / size: ONNX's inference often loses a pixel of them."""
    rng = np.random.default_rng(0)
    for size, result in rng.integers(2, 90, (25, 2)).tolist():
        for opset in (8, 10, 19):
            if opset < 10 and result < size:
                continue  # Upsample only grows
            net = Net(opset)
            y = net.resize(net.input(1, 1, size, 2), [1.0, 1.0, float(np.float32(result / size)), 1.0], mode)
            same(net.model(y), tmp_path)
