"""What the float32 kernels have in common: packing, C text, and how a layer is a matrix product."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from ..layers import Array, Clamp, Conv2D, Dense, Layer, Need, Pool2D

Floats = npt.NDArray[np.float32]

POINTER = 8
"""Bytes reserved for a pointer in scratch: the plan holds on 64-bit hosts too."""

FLOAT = 4


def blocked(need: Need) -> bool:
    """Whether blocks of sums in registers pay: they need an FPU, and some flash."""
    return need.fpu and need.optimize == "speed"


def pack(weights: Array) -> Floats:
    """Weights [channels, depth] in the order in which the blocked kernels read them.

    Returns:
        [channels / 4][depth][4], then [channels % 4][depth], as one flat array.
    """
    matrix = np.asarray(weights, np.float32)
    channels, depth = matrix.shape
    whole = channels - channels % 4
    blocks = matrix[:whole].reshape(-1, 4, depth).transpose(0, 2, 1)
    return np.concatenate([blocks.ravel(), matrix[whole:].ravel()])


def floats(values: Array) -> Floats:
    """`values` as a flat float32 array."""
    return np.asarray(values, np.float32).ravel()


def as_dense(layer: Layer) -> Dense | None:
    """`layer` as a dense layer, if it is one: also 1x1 convolutions and windows as large as the image."""
    if isinstance(layer, Dense):
        return layer
    if not isinstance(layer, Conv2D) or layer.groups != 1 or any(layer.pads):
        return None
    kernel = layer.weights.shape[1:3]
    positions = layer.output[0] * layer.output[1]
    pointwise = kernel == (1, 1) and layer.output[:2] == layer.input[:2]
    whole_image = kernel == layer.input[:2] and positions == 1
    if not (pointwise or whole_image):
        return None
    weights = layer.weights.reshape(layer.weights.shape[0], -1)
    return Dense(layer.batch * positions, weights, layer.bias, layer.clamp)


def is_depthwise(layer: Layer) -> TypeGuard[Conv2D]:
    """Whether `layer` is a convolution of each channel by itself, one output for each."""
    return isinstance(layer, Conv2D) and layer.groups == layer.input[2] == layer.output[2] > 1


def macs(layer: Conv2D | Dense) -> int:
    """Multiply-accumulates of `layer`, those on padding included."""
    positions = layer.rows if isinstance(layer, Dense) else layer.batch * layer.output[0] * layer.output[1]
    return positions * layer.weights.size


def literal(value: float) -> str:
    """A C literal that reads back as the float32 `value`."""
    return f"{np.float32(value)!s}f"


def clamp_arguments(clamp: Clamp) -> str:
    """The arguments ``low, high`` of a kernel."""
    low = "-TVM_INFINITY" if clamp.low is None else literal(clamp.low)
    high = "TVM_INFINITY" if clamp.high is None else literal(clamp.high)
    return f"{low}, {high}"


def window_text(layer: Conv2D | Pool2D) -> str:
    """A C declaration of ``window``, the shape of `layer`."""
    kernel = layer.weights.shape[1:3] if isinstance(layer, Conv2D) else layer.kernel
    groups = layer.groups if isinstance(layer, Conv2D) else 1
    rows = [
        [("batch", layer.batch)],
        _named("input", layer.input),
        _named("output", layer.output),
        _named("kernel", kernel),
        _named("stride", layer.strides),
        _named("dilation", layer.dilations),
        list(zip(("pad_top", "pad_left", "pad_bottom", "pad_right"), layer.pads, strict=True)),
        [("groups", groups)],
    ]
    lines = ["    " + ", ".join(f".{name} = {value}" for name, value in row) + "," for row in rows]
    return "\n".join(["static const struct tvm_window window = {", *lines, "};"])


def _named(what: str, sizes: tuple[int, ...]) -> list[tuple[str, int]]:
    return [
        (f"{what}_{axis}", size) for axis, size in zip(("height", "width", "channels"), sizes, strict=False)
    ]


def taps_scratch(layer: Conv2D) -> int:
    """Bytes of scratch for the pointers under the taps of four windows, and for the zeros of the padding."""
    taps = int(layer.weights.shape[1] * layer.weights.shape[2])
    return 4 * POINTER * taps + FLOAT * layer.input[2]
