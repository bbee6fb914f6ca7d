"""What a random ONNX graph is made of: each step appends an operator, or a small block of them.

A step takes the tensor that the last one made and gives its own, or an empty list where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz import onnx_movement as movement
from tests.fuzz.onnx_graph import Graph

Step = Callable[[Graph, str], list[str]]

UNARY = ("Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Abs", "Neg", "Elu", "Softplus", "Erf", "Exp")


def window(g: Graph, x: str) -> dict[str, Any] | None:
    """Kernel, strides, dilations and asymmetric pads; None if no window fits."""
    d, sizes = g.draw, g.shapes[x][2:]
    kernel = [d.whole(1, 4) for _ in sizes]
    strides = [d.whole(1, 5) for _ in sizes]
    dilations = [d.whole(1, 2) if d.chance(0.3) else 1 for _ in sizes]
    begin, end = ([d.whole(0, min(2, k - 1)) for k in kernel] for _ in range(2))
    spans = [dilation * (k - 1) + 1 for k, dilation in zip(kernel, dilations, strict=True)]
    for size, span, before, after in zip(sizes, spans, begin, end, strict=True):
        if size + before + after < span:
            return None
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": begin + end}


def conv(g: Graph, x: str) -> list[str]:
    """1-D or 2-D; dense, grouped, depthwise with a multiplier."""
    d, shape = g.draw, g.shapes[x]
    attributes = window(g, x) if len(shape) in (3, 4) else None
    if attributes is None:
        return []
    channels = shape[1]
    kind = d.one(("dense", "dense", "depthwise", "grouped"))
    groups = 1
    if kind == "depthwise":
        groups = channels
    elif kind == "grouped":
        groups = next(n for n in (2, 3, 5, 13, 1) if channels % n == 0)
    # As many as columns now and then: what is added to them by column must not count by channel.
    out = groups * d.whole(1, 3) if groups > 1 else d.one((d.channels(), d.channels(), shape[-1]))
    kernel = attributes["kernel_shape"]
    fan_in = channels // groups * int(np.prod(kernel))
    inputs = [x, g.weight(out, channels // groups, *kernel, fan_in=fan_in)]
    if d.chance(0.7):
        inputs.append(g.weight(out))
    return g.node("Conv", inputs, group=groups, **attributes)


def columns_as_channels(g: Graph, x: str) -> list[str]:
    """As many channels as columns, and a number for each column is added: no bias."""
    attributes = window(g, x) if len(g.shapes[x]) in (3, 4) else None
    if attributes is None:
        return []
    span = attributes["dilations"][-1] * (attributes["kernel_shape"][-1] - 1) + 1
    padded = g.shapes[x][-1] + sum(
        attributes["pads"][len(attributes["strides"]) - 1 :: len(attributes["strides"])]
    )
    columns = (padded - span) // attributes["strides"][-1] + 1
    made = g.node("Conv", [x, g.weight(columns, g.shapes[x][1], *attributes["kernel_shape"])], **attributes)
    return g.node("Add", [*made, g.weight(columns)]) if made else []


def conv_transpose(g: Graph, x: str) -> list[str]:
    d, shape = g.draw, g.shapes[x]
    if len(shape) != 4:
        return []
    channels = shape[1]
    kernel, strides = [d.whole(1, 3), d.whole(1, 3)], [d.whole(1, 2), d.whole(1, 3)]
    pads = [d.whole(0, k - 1) for k in kernel] + [0, 0]
    out = d.channels()
    weights = g.weight(channels, out, *kernel, fan_in=channels)
    inputs = [x, weights, g.weight(out)]
    return g.node("ConvTranspose", inputs, kernel_shape=kernel, strides=strides, pads=pads)


def pool(g: Graph, x: str) -> list[str]:
    d = g.draw
    attributes = window(g, x) if len(g.shapes[x]) == 4 else None
    if attributes is None:
        return []
    if d.chance(0.5):
        return g.node("MaxPool", [x], **attributes)
    del attributes["dilations"]
    return g.node("AveragePool", [x], count_include_pad=d.whole(0, 1), **attributes)


def global_pool(g: Graph, x: str) -> list[str]:
    if len(g.shapes[x]) < 3:
        return []
    return g.node(g.draw.one(("GlobalAveragePool", "GlobalMaxPool")), [x])


def unary(g: Graph, x: str) -> list[str]:
    return g.node(g.draw.one(UNARY), [x])


def leaky_relu(g: Graph, x: str) -> list[str]:
    return g.node("LeakyRelu", [x], alpha=g.draw.one((0.1, 0.3, -0.2)))


def prelu(g: Graph, x: str) -> list[str]:
    shape = g.shapes[x]
    slopes = (shape[1], *(1 for _ in shape[2:])) if len(shape) > 1 else shape
    return g.node("PRelu", [x, g.weight(*slopes)])


def clip(g: Graph, x: str) -> list[str]:
    low, high = g.draw.one(((0.0, 6.0), (-0.5, 1.5), (-1.0, 1.0), (0.25, 0.75)))
    return g.node("Clip", [x, g.constant(np.float32(low)), g.constant(np.float32(high))])


def with_constant(g: Graph, x: str) -> list[str]:
    """Arithmetic with a constant: a number, one along some axis, often the channels, or a whole tensor."""
    d, shape = g.draw, g.shapes[x]
    axis = d.one((1, len(shape) - 1, d.whole(0, len(shape) - 1)))
    along = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    other = d.one((shape, shape[-1:], along, along, (1,)))
    sides = [x, g.weight(*other)]
    return g.node(d.one(("Add", "Sub", "Mul")), sides[::-1] if d.chance(0.3) else sides)


def residual(g: Graph, x: str) -> list[str]:
    """Arithmetic with an earlier tensor of the same shape, or with a function of this one."""
    earlier = [n for n, s in g.shapes.items() if s == g.shapes[x] and n != x]
    other = g.draw.one(earlier) if earlier and g.draw.chance(0.7) else (unary(g, x) or [x])[0]
    return g.node(g.draw.one(("Add", "Add", "Sub", "Mul", "Max", "Min")), [x, other])


def gate(g: Graph, x: str) -> list[str]:
    """Squeeze and excitation: each channel times a number that depends on all of them."""
    if len(g.shapes[x]) != 4:
        return []
    channels = g.shapes[x][1]
    pooled = g.node("GlobalAveragePool", [x])
    narrow = g.node("Conv", [*pooled, g.weight(channels, channels, 1, 1, fan_in=channels)])
    return g.node("Mul", [x, *g.node("Sigmoid", narrow)])


def resize(g: Graph, x: str) -> list[str]:
    d, shape = g.draw, g.shapes[x]
    if len(shape) != 4:
        return []
    sizes = g.ints([*shape[:2], d.whole(1, 2 * shape[2]), d.whole(1, 2 * shape[3])])
    mode = d.one(("nearest", "linear"))
    places = d.one(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": places}
    if mode == "nearest":
        attributes["nearest_mode"] = d.one(("floor", "round_prefer_floor", "round_prefer_ceil", "ceil"))
    return g.node("Resize", [x, "", "", sizes], **attributes)


def softmax(g: Graph, x: str) -> list[str]:
    return g.node("Softmax", [x], axis=g.draw.whole(-1, len(g.shapes[x]) - 1))


def reduce(g: Graph, x: str) -> list[str]:
    d, rank = g.draw, len(g.shapes[x])
    axes = sorted(d.rng.permutation(rank)[: d.whole(1, rank)].tolist())
    keep = 1 if len(axes) == rank else d.whole(0, 1)
    op = d.one(("ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"))
    if op == "ReduceSum":
        return g.node(op, [x, g.ints(axes)], keepdims=keep)
    return g.node(op, [x], axes=axes, keepdims=keep)


def gemm(g: Graph, x: str) -> list[str]:
    d, shape = g.draw, g.shapes[x]
    if len(shape) != 2:
        flat = g.node("Flatten", [x], axis=d.whole(1, len(shape) - 1) if len(shape) > 1 else 0)
        return gemm(g, flat[0]) if flat else []
    trans_a, trans_b = int(d.chance(0.2)), d.whole(0, 1)
    depth, units = shape[0] if trans_a else shape[1], d.channels()
    weights = g.weight(*((units, depth) if trans_b else (depth, units)), fan_in=depth)
    inputs: list[str] = [x, weights]
    factors: dict[str, Any] = {"alpha": d.one((1.0, 1.0, 0.5)), "beta": d.one((1.0, 1.0, 2.0))}
    if d.chance(0.7):
        inputs.append(g.weight(*d.one(((units,), (1, units), (1,)))))
    return g.node("Gemm", inputs, transA=trans_a, transB=trans_b, **factors)


def matmul(g: Graph, x: str) -> list[str]:
    """With a constant, or of two activations in batches."""
    d, shape = g.draw, g.shapes[x]
    if len(shape) < 2:
        return []
    if d.chance(0.5):
        product = g.node("MatMul", [x, g.weight(shape[-1], d.channels(), fan_in=shape[-1])])
        return (
            g.node("Add", [*product, g.weight(g.shapes[product[0]][-1])])
            if product and d.chance(0.5)
            else product
        )
    perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned = g.node("Transpose", [x], perm=perm)
    product = g.node("MatMul", [x, *turned])
    return g.node("Mul", [*product, g.constant(np.float32(1 / np.sqrt(shape[-1])))]) if product else []


def batch_normalization(g: Graph, x: str) -> list[str]:
    shape = g.shapes[x]
    if len(shape) < 3:
        return []
    variance = g.constant(np.abs(g.draw.normal((shape[1],))) + np.float32(0.5))
    return g.node("BatchNormalization", [x, *(g.weight(shape[1]) for _ in range(3)), variance])


STEPS: Sequence[Step] = (
    *[conv] * 6, columns_as_channels, *[unary] * 2, *[residual] * 3, *[movement.concat] * 2, *[gemm] * 2,
    *[matmul] * 2,
    *[pool] * 2, *[reduce] * 2, *[movement.transpose] * 2, *[movement.reshape] * 2, batch_normalization,
    clip, conv_transpose, movement.expand, gate, movement.gather, global_pool, leaky_relu, movement.pad,
    prelu, resize, movement.slice_, softmax, movement.split, movement.squeeze, with_constant,
)  # fmt: skip
"""As often as they are likely to hide a fault."""
