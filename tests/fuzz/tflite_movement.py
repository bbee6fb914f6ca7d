"""Steps of random TFLite graphs: what moves numbers, and resizes pictures."""

from __future__ import annotations

import numpy as np

from tests.fuzz.tflite_graph import LARGEST, Graph, Shape


def reshape(g: Graph, x: str) -> str:
    """To two, three or four dimensions."""
    n, d = int(np.prod(g.shape(x))), g.draw
    sizes = []
    for _ in range(d.whole(1, 3)):
        sizes.append(d.one([k for k in range(1, min(n, 14) + 1) if n % k == 0]))
        n //= sizes[-1]
    shape = (*sizes, n)
    return g.op("RESHAPE", [x, g.ints(shape)], g.like(x, shape), "Reshape")


def transpose(g: Graph, x: str) -> str:
    perm = g.draw.rng.permutation(len(g.shape(x))).tolist()
    y = g.like(x, tuple(g.shape(x)[i] for i in perm))
    return g.op("TRANSPOSE", [x, g.ints(perm)], y, "Transpose")


def pad(g: Graph, x: str) -> str | None:
    d, shape = g.draw, g.shape(x)
    mirror = d.chance(0.3)
    sides = [[d.whole(0, min(2, n - 1)) if d.chance(0.5) else 0 for _ in range(2)] for n in shape]
    out: Shape = tuple(n + a + b for n, (a, b) in zip(shape, sides, strict=True))
    if int(np.prod(out)) > LARGEST:
        return None
    inputs, y = [x, g.ints(sides)], g.like(x, out)
    if mirror:
        return g.op("MIRROR_PAD", inputs, y, "MirrorPad", Mode=d.whole(0, 1))
    return g.op("PAD", inputs, y, "Pad")


def slice_(g: Graph, x: str) -> str:
    d, shape = g.draw, g.shape(x)
    begin = [d.whole(0, n - 1) if d.chance(0.4) else 0 for n in shape]
    size = [d.whole(1, n - b) if d.chance(0.4) else n - b for n, b in zip(shape, begin, strict=True)]
    return g.op("SLICE", [x, g.ints(begin), g.ints(size)], g.like(x, tuple(size)), "Slice")


def strided_slice(g: Graph, x: str) -> str:
    d, shape = g.draw, g.shape(x)
    begin = [d.whole(0, n - 1) for n in shape]
    steps = [d.whole(1, 3) for _ in shape]
    size = tuple(-(-(n - b) // s) for n, b, s in zip(shape, begin, steps, strict=True))
    inputs = [x, g.ints(begin), g.ints(shape), g.ints(steps)]
    return g.op("STRIDED_SLICE", inputs, g.like(x, size), "StridedSlice")


def split(g: Graph, x: str) -> str | None:
    """Into equal parts, which are put together in another order, or of which one goes on."""
    d, shape = g.draw, g.shape(x)
    axes = [(i, k) for i, n in enumerate(shape) for k in (2, 3, 5) if n % k == 0]
    if not axes:
        return None
    axis, count = d.one(axes)
    part = tuple(n // count if i == axis else n for i, n in enumerate(shape))
    parts = [g.like(x, part) for _ in range(count)]
    g.op("SPLIT", [g.ints(axis), x], parts, "Split", NumSplits=count)
    if d.chance(0.5):
        return parts[-1]
    return g.op("CONCATENATION", parts[::-1], g.like(x, shape), "Concatenation", Axis=axis)


def concatenation(g: Graph, x: str) -> str | None:
    """With tensors that are quantised alike: the format asks for it."""
    d, shape, own = g.draw, g.shape(x), g.tensors[x]
    axis = d.whole(0, len(shape) - 1)
    fits = [
        n
        for n, t in g.tensors.items()
        if t.data is None
        and (t.scale, t.zero, len(t.shape)) == (own.scale, own.zero, len(shape))
        and all(a == b for i, (a, b) in enumerate(zip(t.shape, shape, strict=True)) if i != axis)
    ]
    others = [d.one(fits) for _ in range(d.whole(1, 2))]
    out = list(shape)
    out[axis] += sum(g.shape(n)[axis] for n in others)
    if int(np.prod(out)) > LARGEST:
        return None
    return g.op("CONCATENATION", [x, *others], g.like(x, tuple(out)), "Concatenation", Axis=axis)


def resize(g: Graph, x: str) -> str | None:
    if len(g.shape(x)) != 4:
        return None
    d, (batch, height, width, channels) = g.draw, g.shape(x)
    size = [d.whole(1, 2 * height), d.whole(1, 2 * width)]
    aligned, centred = d.one(((False, False), (True, False), (False, True)))
    kind, table = d.one(
        (("RESIZE_BILINEAR", "ResizeBilinear"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"))
    )
    y = g.like(x, (batch, *size, channels))
    return g.op(kind, [x, g.ints(size)], y, table, AlignCorners=aligned, HalfPixelCenters=centred)


def depth_to_space(g: Graph, x: str) -> str | None:
    shape = g.shape(x)
    if len(shape) != 4:
        return None
    batch, height, width, channels = shape
    if channels % 4 == 0:
        y = g.like(x, (batch, 2 * height, 2 * width, channels // 4))
        return g.op("DEPTH_TO_SPACE", [x], y, "DepthToSpace", BlockSize=2)
    if height % 2 or width % 2:
        return None
    y = g.like(x, (batch, height // 2, width // 2, 4 * channels))
    return g.op("SPACE_TO_DEPTH", [x], y, "SpaceToDepth", BlockSize=2)


def gather(g: Graph, x: str) -> str:
    d, shape = g.draw, g.shape(x)
    axis = d.whole(0, len(shape) - 1)
    places = [d.whole(0, shape[axis] - 1) for _ in range(d.whole(1, 4))]
    y = g.like(x, (*shape[:axis], len(places), *shape[axis + 1 :]))
    return g.op("GATHER", [x, g.ints(places)], y, "Gather", Axis=axis)
