"""Random integer layers as models have them, and some as no model has them: the same for the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.numerics.q_layers import (
    REDUCTIONS,
    Random,
    binary,
    conv2d,
    conv2d_transposed,
    dense,
    matmul,
    pool,
    random_layers,
    reduce,
    softmax,
    table,
)
from tvm_tool.compiler.quantized_layers import QConv2D, QDense, QLayer, Quantization

ROUNDINGS = ("double", "single", "float")


def layers_for(seed: int, count: int) -> list[QLayer]:
    """`count` layers; every fourth is of a kind that only a test thinks of."""
    rng = np.random.default_rng(seed)
    found: list[QLayer] = []
    while len(found) < count:
        rounding = str(rng.choice(ROUNDINGS, p=[0.6, 0.25, 0.15]))
        if len(found) % 4 == 3:
            found.append(random_layers(rng, rounding, 16)[int(rng.integers(16))])
        else:
            maker = _MAKERS[int(rng.integers(len(_MAKERS)))]
            found.append(maker(rng, rounding))
    return found


def as_models_are(rng: Random, layer: QLayer) -> QLayer:
    """Signed weights around zero and signed activations; some biases at the limits of faster arithmetic."""
    if not isinstance(layer, QConv2D | QDense):
        return layer
    weights = layer.weights
    if weights.dtype == np.uint8:
        weights = (weights ^ 128).view(np.int8)
    lift = 128 if layer.y.dtype == "uint8" else 0
    low, high = layer.clamp
    plain = dataclasses.replace(
        layer,
        x=_signed(layer.x),
        y=_signed(layer.y),
        weights=weights,
        weight_zeros=np.zeros_like(layer.weight_zeros),
        clamp=(low - lift, high - lift),
    )
    if rng.random() < 0.15:
        reach = 255 * np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(1)
        edge = 2**23 - reach + rng.integers(-300, 300, len(weights))
        bias = np.where(rng.random(len(weights)) < 0.5, -1, 1) * np.maximum(edge, 0)
        return dataclasses.replace(plain, bias=bias.astype(np.int32))
    return plain


def _signed(q: Quantization) -> Quantization:
    return Quantization("int8", q.scale, q.zero_point - 128) if q.dtype == "uint8" else q


def _sizes(rng: Random, most: int) -> tuple[int, int]:
    height, width = (int(n) for n in rng.integers(1, most, 2))
    return height, width


def _channels(rng: Random, most: int = 40) -> int:
    """Often a multiple of four, as in models."""
    number = int(rng.integers(1, most + 1))
    return -(-number // 4) * 4 if rng.random() < 0.4 else number


def _pads(
    rng: Random, image: tuple[int, int], kernel: tuple[int, int], strides: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Those of "same", none, or any."""
    kind = int(rng.integers(4))
    if kind == 0 and all(k <= n for k, n in zip(kernel, image, strict=True)):
        return 0, 0, 0, 0
    if kind == 1:
        before = [int(rng.integers(k)) for k in kernel]
        after = [max(int(rng.integers(k)), k - n - b) for k, n, b in zip(kernel, image, before, strict=True)]
        return before[0], before[1], after[0], after[1]
    total = [max(0, (-(-n // s) - 1) * s + k - n) for n, k, s in zip(image, kernel, strides, strict=True)]
    return total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2


def _pointwise(rng: Random, rounding: str) -> QLayer:
    stride = int(rng.choice([1, 1, 1, 2]))
    image = (*_sizes(rng, 9), _channels(rng))
    return as_models_are(rng, conv2d(rng, rounding, image, _channels(rng), strides=(stride, stride)))


def _square(rng: Random, rounding: str) -> QLayer:
    """As many channels as before: such a layer may run in place."""
    channels = _channels(rng)
    return as_models_are(rng, conv2d(rng, rounding, (*_sizes(rng, 9), channels), channels))


def _window(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng, 9), _channels(rng, 24))
    kernel = (3, 3) if rng.random() < 0.5 else _sizes(rng, 6)
    stride = int(rng.choice([1, 1, 2]))
    strides = (stride, stride) if rng.random() < 0.8 else (1, 2)
    pads = _pads(rng, image[:2], kernel, strides)
    return as_models_are(rng, conv2d(rng, rounding, image, _channels(rng, 24), kernel, strides, pads=pads))


def _first(rng: Random, rounding: str) -> QLayer:
    """The first layer of a network: few channels, large windows."""
    image = (*(int(n) for n in rng.integers(8, 20, 2)), int(rng.integers(1, 5)))
    kernel = (int(rng.integers(3, 11)), int(rng.integers(3, 5)))
    strides = (int(rng.integers(1, 3)),) * 2
    pads = _pads(rng, image[:2], kernel, (strides[0], strides[1]))  # type: ignore[arg-type]
    return as_models_are(
        rng,
        conv2d(rng, rounding, image, _channels(rng, 24), kernel, strides, pads=pads),  # type: ignore[arg-type]
    )


def _line(rng: Random, rounding: str) -> QLayer:
    """A convolution along one axis."""
    image = (1, int(rng.integers(4, 40)), _channels(rng, 24))
    kernel = (1, int(rng.integers(1, 6)))
    strides = (1, int(rng.integers(1, 3)))
    dilations = (1, int(rng.choice([1, 1, 2, 4])))
    span = (kernel[1] - 1) * dilations[1]
    pads = (0, span, 0, 0) if rng.random() < 0.5 else (0, span // 2, 0, span - span // 2)
    layer = conv2d(rng, rounding, image, _channels(rng, 24), kernel, strides, dilations, pads)
    return as_models_are(rng, layer)


def _depthwise(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng, 11), _channels(rng))
    kernel = [(3, 3), (3, 3), (3, 3), (5, 5), (1, 3), _sizes(rng, 6)][int(rng.integers(6))]
    stride = int(rng.choice([1, 1, 2]))
    pads = _pads(rng, image[:2], kernel, (stride, stride))
    multiplier = int(rng.choice([1, 1, 1, 1, 2]))
    layer = conv2d(
        rng, rounding, image, image[2] * multiplier, kernel, (stride, stride), pads=pads, groups=image[2]
    )
    return as_models_are(rng, layer)


def _dense(rng: Random, rounding: str) -> QLayer:
    rows = 1 if rng.random() < 0.7 else int(rng.integers(2, 6))
    return as_models_are(rng, dense(rng, rounding, rows, _channels(rng, 130), _channels(rng)))


def _grouped(rng: Random, rounding: str) -> QLayer:
    """Several channels a group."""
    groups = int(rng.integers(2, 5))
    image = (*_sizes(rng, 8), groups * int(rng.integers(2, 7)))
    kernel, stride = _sizes(rng, 4), int(rng.integers(1, 3))
    pads = _pads(rng, image[:2], kernel, (stride, stride))
    channels = groups * int(rng.integers(1, 7))
    layer = conv2d(rng, rounding, image, channels, kernel, (stride, stride), pads=pads, groups=groups)
    return layer if rng.random() < 0.3 else as_models_are(rng, layer)


def _dilated(rng: Random, rounding: str) -> QLayer:
    """Each channel by itself, dilated along rows, several outputs for each."""
    image = (int(rng.integers(4, 12)), int(rng.integers(1, 9)), _channels(rng, 20))
    dilation = int(rng.integers(1, 4))
    multiplier = int(rng.integers(1, 4))
    kernel, span = (int(rng.integers(1, 4)), int(rng.integers(1, 4))), 2 * dilation
    pads = (span, span, span, span) if rng.random() < 0.7 else (span, span, span + 2, 0)
    layer = conv2d(
        rng, rounding, image, image[2] * multiplier, kernel, (1, 1), (dilation, dilation), pads, image[2]
    )
    return layer if rng.random() < 0.3 else as_models_are(rng, layer)


def _transposed(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng, 6), int(rng.integers(1, 13)))
    kernel, strides = (int(n) for n in rng.integers(1, 5, 2)), (int(n) for n in rng.integers(1, 4, 2))
    (height, width), (down, across) = kernel, strides
    pads = (int(rng.integers(height)), 0, 0, int(rng.integers(width)))
    extra = (int(rng.integers(down)) + pads[0], int(rng.integers(across)) + pads[3])
    return conv2d_transposed(
        rng, rounding, image, _channels(rng, 12), (height, width), (down, across), pads=pads, extra=extra
    )


def _unsigned(rng: Random, rounding: str) -> QLayer:
    """Whatever numbers and zero points there are."""
    kind = int(rng.integers(3))
    image = (*_sizes(rng, 8), _channels(rng, 20))
    if kind == 0:
        return dense(rng, rounding, int(rng.integers(1, 4)), _channels(rng, 300), _channels(rng, 12))
    kernel = _sizes(rng, 4)
    pads = _pads(rng, image[:2], kernel, (1, 1))
    groups = image[2] if kind == 1 else 1
    return conv2d(rng, rounding, image, groups * int(rng.integers(1, 3)), kernel, pads=pads, groups=groups)


def _large(rng: Random, rounding: str) -> QLayer:
    """Sums beyond 2^23; or weights of which many are -128."""
    layer = as_models_are(
        rng,
        dense(rng, rounding, int(rng.integers(1, 4)), int(rng.integers(400, 1500)), int(rng.integers(1, 8))),
    )
    assert isinstance(layer, QDense)
    low, high = (70, 128) if rng.random() < 0.6 else (-128, -100)
    return dataclasses.replace(layer, weights=rng.integers(low, high, layer.weights.shape).astype(np.int8))


def _reduction(rng: Random, rounding: str) -> QLayer:
    outer, count, inner = int(rng.integers(1, 4)), int(rng.integers(1, 400)), _channels(rng, 16)
    kind = str(rng.choice(REDUCTIONS))
    return reduce(rng, rounding, kind, outer, count, inner, same=bool(rng.random() < 0.3))


def _binary(rng: Random, rounding: str) -> QLayer:
    shape = (int(rng.integers(1, 9)), int(rng.integers(1, 9)), _channels(rng))
    other = [shape, shape, (1, 1, shape[2]), (1, 1, 1), (shape[0], shape[1], 1)][int(rng.integers(5))]
    kind = str(rng.choice(["add", "add", "sub", "mul", "mul", "max", "min"]))
    a, b = (shape, other) if rng.random() < 0.8 else (other, shape)
    layer = binary(rng, rounding, kind, a, b, constant=bool(rng.random() < 0.2))
    if kind in ("max", "min") or layer.constant is not None or rng.random() < 0.3:
        return layer
    y = _signed(layer.y)
    low, high = (limit - (128 if layer.y.dtype == "uint8" else 0) for limit in layer.clamp)
    return dataclasses.replace(layer, a=_signed(layer.a), b=_signed(layer.second), y=y, clamp=(low, high))


def _pool(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng, 9), _channels(rng))
    kind = str(rng.choice(["average", "max"]))
    if rng.random() < 0.4:
        return pool(rng, rounding, kind, image, image[:2])
    kernel = (min(image[0], int(rng.integers(1, 4))), min(image[1], int(rng.integers(1, 4))))
    strides = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    return pool(rng, rounding, kind, image, kernel, strides, same=bool(rng.random() < 0.7))


def _other(rng: Random, rounding: str) -> QLayer:
    kind = int(rng.integers(3))
    if kind == 0:
        return softmax(rng, "double", int(rng.integers(1, 4)), int(rng.integers(1, 60)))
    if kind == 1:
        batch, m, k, n = (int(size) for size in rng.integers(1, 20, 4))
        return matmul(rng, rounding, batch, m, k, n)
    return table(rng, "int8", int(rng.integers(1, 300)))


_MAKERS = (
    *(_pointwise, _square, _window, _window, _first, _line),
    *(_depthwise, _depthwise, _dense, _binary, _binary, _pool, _other),
    *(_grouped, _dilated, _transposed, _unsigned, _large, _reduction),
)


def input_values(rng: Random, dtype: str) -> tuple[int, int]:
    """The two values of an input that takes no others; equal for one that takes all."""
    low, high = (0, 255) if dtype == "uint8" else (0x80, 0x7F)
    return (low, high) if rng.random() < 0.25 else (0, 0)
