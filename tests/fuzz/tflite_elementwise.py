"""Steps of random TFLite graphs: arithmetic, activations, reductions."""

from __future__ import annotations

import numpy as np

from tests.fuzz.tflite_graph import Graph
from tests.fuzz.tflite_products import ACTIVATIONS

UNARY = ("RELU", "RELU6", "RELU_N1_TO_1", "HARD_SWISH", "LOGISTIC", "TANH", "ABS")
FIXED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Parameters that the format prescribes for the output."""
TABLES = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul"}


def unary(g: Graph, x: str) -> str:
    kind = g.draw.one(UNARY)
    return g.op(kind, [x], g.tensor(g.shape(x), g.spread(x), FIXED.get(kind)))


def leaky_relu(g: Graph, x: str) -> str:
    y = g.tensor(g.shape(x), g.spread(x))
    return g.op("LEAKY_RELU", [x], y, "LeakyRelu", Alpha=g.draw.one((0.1, 0.3, 0.01)))


def prelu(g: Graph, x: str) -> str:
    return g.op("PRELU", [x, g.fixed(g.shape(x)[-1:])], g.tensor(g.shape(x), g.spread(x)))


def requantise(g: Graph, x: str) -> str | None:
    return g.op("QUANTIZE", [x], g.tensor(g.shape(x), g.spread(x))) if g.quantised else None


def binary(g: Graph, x: str) -> str:
    """With an earlier tensor of the same shape, with one of another scale, or with a constant."""
    d, shape = g.draw, g.shape(x)
    kind = d.one(("ADD", "ADD", "SUB", "MUL"))
    earlier = [n for n, t in g.tensors.items() if t.data is None and tuple(t.shape) == shape and n != x]
    if earlier and d.chance(0.7):
        other = d.one(earlier)
    elif d.chance(0.5):
        other = unary(g, x)
    else:
        other = g.fixed(d.one((shape, shape[-1:], (1,) * len(shape), shape)))
    a, b = g.spread(x), g.spread(other)
    y = g.tensor(shape, a * b if kind == "MUL" else float(np.hypot(a, b)))
    sides = [x, other] if d.chance(0.7) else [other, x]
    return g.op(kind, sides, y, TABLES[kind], FusedActivationFunction=d.one(ACTIVATIONS))


def extremum(g: Graph, x: str) -> str | None:
    """The larger or smaller of two tensors that are quantised alike."""
    twins = [n for n, t in g.tensors.items() if n != x and t.data is None and _alike(t, g.tensors[x])]
    if not twins:
        return None
    kind = g.draw.one(("MAXIMUM", "MINIMUM"))
    return g.op(kind, [x, g.draw.one(twins)], g.like(x, g.shape(x)), "MaximumMinimum")


def _alike(a: object, b: object) -> bool:
    return all(getattr(a, f) == getattr(b, f) for f in ("shape", "scale", "zero"))


def softmax(g: Graph, x: str) -> str:
    y = g.tensor(g.shape(x), fixed=(1 / 256, -128))
    return g.op("SOFTMAX", [x], y, "Softmax", Beta=g.draw.one((1.0, 1.0, 0.5, 2.0)))


def reduce(g: Graph, x: str) -> str:
    d, shape = g.draw, g.shape(x)
    axes = sorted(d.rng.permutation(len(shape))[: d.whole(1, len(shape))].tolist())
    keep = len(axes) == len(shape) or d.chance(0.5)
    rest = tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)
    # LiteRT gives wrong int8 sums where they are negative and the scales differ.
    kinds = ("MEAN", "MEAN", "REDUCE_MAX", "REDUCE_MIN")
    kind = d.one(kinds if g.quantised else ("SUM", *kinds))
    count = float(np.sqrt(np.prod([shape[i] for i in axes])))
    y = g.tensor(rest, g.spread(x) / count) if kind == "MEAN" else g.like(x, rest)
    return g.op(kind, [x, g.ints(axes)], y, "Reducer", KeepDims=keep)
