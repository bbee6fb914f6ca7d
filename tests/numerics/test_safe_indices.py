"""Indices that lead outside of a tensor read something, but never something outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.host import Array, build
from tests.unit.onnx_models import text

WILD = [-(2**40), -1000, -7, -1, 0, 6, 7, 1000, 2**40]
"""Six of them lead outside of an axis of seven."""


def clipped(indices: Array, size: int) -> Array:
    """What is read instead: the nearest end."""
    inside = np.clip(indices, -size, size - 1)
    return np.where(inside < 0, inside + size, inside)


@pytest.mark.parametrize("rank", [1, 2])
def test_gather_elements(rank: int, tmp_path: Path) -> None:
    head = "float[7,2] x, int64[9,2] i" if rank == 2 else "float[7] x, int64[9] i"
    model = build(text(f"g ({head}) => (float[9] y) {{ y = GatherElements<axis = 0>(x, i) }}"), tmp_path)
    x = np.arange(7 * rank, dtype=np.float32).reshape((7, 2) if rank == 2 else (7,))
    i = np.array(WILD, np.int64) if rank == 1 else np.stack([WILD, WILD[::-1]], axis=1).astype(np.int64)
    ((y,),) = model.run([{"x": x, "i": i}])
    np.testing.assert_array_equal(y, np.take_along_axis(x, clipped(i, 7), axis=0))


@pytest.mark.parametrize("batch", [0, 1])
def test_gather_nd(batch: int, tmp_path: Path) -> None:
    head = "float[9,7,5] x, int64[9,2] i" if batch == 0 else "float[9,7,5] x, int64[9,1,1] i"
    body = f"y = GatherND<batch_dims = {batch}>(x, i)"
    model = build(text(f"g ({head}) => (float[9] y) {{ {body} }}"), tmp_path)
    x = np.arange(9 * 7 * 5, dtype=np.float32).reshape(9, 7, 5)
    wild = np.array(WILD, np.int64)
    if batch == 0:
        i = np.stack([wild, wild[::-1]], axis=1)
        want = x[clipped(i[:, 0], 9), clipped(i[:, 1], 7)]
    else:
        i = wild.reshape(9, 1, 1)
        want = x[np.arange(9), clipped(wild, 7)][:, None, :]
    ((y,),) = model.run([{"x": x, "i": i}])
    np.testing.assert_array_equal(y, want)


def test_gather(tmp_path: Path) -> None:
    model = build(text("g (float[7,2] x, int64[5] i) => (float[5,2] y) { y = Gather(x, i) }"), tmp_path)
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    i = np.array([2**40, 7, 6, 0, 3], np.int64)
    ((y,),) = model.run([{"x": x, "i": i}])
    np.testing.assert_array_equal(y, x[[6, 6, 6, 0, 3]])


@pytest.mark.parametrize("last", [0, 1])
def test_places_among_the_least(last: int, tmp_path: Path) -> None:
    """A row of nothing but the type's end has a place, too."""
    body = f"y = ArgMax<axis = 1, keepdims = 0, select_last_index = {last}>(x)\n"
    body += f"z = ArgMin<axis = 1, keepdims = 0, select_last_index = {last}>(q)"
    model = build(text(f"g (float[2,3] x, int8[2,3] q) => (int64[2] y, int64[2] z) {{ {body} }}"), tmp_path)
    x = np.array([[-np.inf] * 3, [-np.inf, np.finfo(np.float32).min, -np.inf]], np.float32)
    q = np.array([[127] * 3, [127, -128, 127]], np.int8)
    ((y, z),) = model.run([{"x": x, "q": q}])
    np.testing.assert_array_equal(y, [2 * last, 1])
    np.testing.assert_array_equal(z, [2 * last, 1])
