"""Steps of random ONNX graphs: what only moves values."""

from __future__ import annotations

import numpy as np

from tests.fuzz.onnx_graph import Graph


def concat(g: Graph, x: str) -> list[str]:
    """With an earlier tensor that differs at most along the axis."""
    shape = g.shapes[x]
    axis = g.draw.whole(0, len(shape) - 1)
    fits = [
        n
        for n, s in g.shapes.items()
        if len(s) == len(shape)
        and all(a == b for i, (a, b) in enumerate(zip(s, shape, strict=True)) if i != axis)
    ]
    parts = [g.draw.one(fits) for _ in range(g.draw.whole(1, 2))]
    return g.node("Concat", [x, *parts], axis=axis)


def split(g: Graph, x: str) -> list[str]:
    """Into two parts, of which one goes on, or both the other way round."""
    d, shape = g.draw, g.shapes[x]
    axes = [i for i, n in enumerate(shape) if n > 1]
    if not axes:
        return []
    axis = d.one(axes)
    first = d.whole(1, shape[axis] - 1)
    parts = g.node("Split", [x, g.ints([first, shape[axis] - first])], 2, axis=axis)
    return g.node("Concat", parts[::-1], axis=axis) if d.chance(0.5) else parts[:1]


def slice_(g: Graph, x: str) -> list[str]:
    d, shape = g.draw, g.shapes[x]
    axis = d.whole(0, len(shape) - 1)
    size, step = shape[axis], d.one((1, 1, 2, -1))
    start = d.whole(0, size - 1)
    ends = d.whole(start + 1, size) if step > 0 else -size - 1
    return g.node("Slice", [x, g.ints([start]), g.ints([ends]), g.ints([axis]), g.ints([step])])


def transpose(g: Graph, x: str) -> list[str]:
    return g.node("Transpose", [x], perm=g.draw.rng.permutation(len(g.shapes[x])).tolist())


def reshape(g: Graph, x: str) -> list[str]:
    """To two, three or four dimensions."""
    n, d = int(np.prod(g.shapes[x])), g.draw
    sizes = []
    for _ in range(d.whole(1, 3)):
        sizes.append(d.one([k for k in range(1, min(n, 14) + 1) if n % k == 0]))
        n //= sizes[-1]
    return g.node("Reshape", [x, g.ints([*sizes, n])])


def pad(g: Graph, x: str) -> list[str]:
    d, shape = g.draw, g.shapes[x]
    mode = d.one(("constant", "constant", "reflect", "edge"))
    limits = [min(2, n - 1) if mode == "reflect" else 2 for n in shape]
    inputs = [x, g.ints([d.whole(0, most) if d.chance(0.5) else 0 for most in limits * 2])]
    if mode == "constant" and d.chance(0.4):
        inputs.append(g.constant(np.float32(0.5)))
    return g.node("Pad", inputs, mode=mode)


def squeeze(g: Graph, x: str) -> list[str]:
    ones = [i for i, n in enumerate(g.shapes[x]) if n == 1]
    if ones and len(g.shapes[x]) > 2:
        return g.node("Squeeze", [x, g.ints([g.draw.one(ones)])])
    return (
        g.node("Unsqueeze", [x, g.ints([g.draw.whole(0, len(g.shapes[x]))])]) if len(g.shapes[x]) < 4 else []
    )


def gather(g: Graph, x: str) -> list[str]:
    shape = g.shapes[x]
    axis = g.draw.whole(0, len(shape) - 1)
    places = [g.draw.whole(-shape[axis], shape[axis] - 1) for _ in range(g.draw.whole(1, 4))]
    return g.node("Gather", [x, g.ints(places)], axis=axis)


def expand(g: Graph, x: str) -> list[str]:
    shape = g.shapes[x]
    return g.node("Expand", [x, g.ints([n if n > 1 else g.draw.whole(1, 3) for n in shape])])
