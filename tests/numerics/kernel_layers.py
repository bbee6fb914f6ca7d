"""Layers to test kernels with: chosen corners, and random shapes that come out the same every time."""

from __future__ import annotations

import numpy as np

from tests.numerics.kernel_host import Floats
from tvm_tool.compiler.layers import Clamp, Conv2D, Dense, Layer, Pool2D, Softmax

Random = np.random.Generator

CLAMPS = (Clamp(), Clamp(0.0), Clamp(0.0, 6.0), Clamp(None, 0.5), Clamp(-0.25, 0.75))


def values(rng: Random, *shape: int) -> Floats:
    return rng.standard_normal(shape).astype(np.float32)


def conv2d(
    rng: Random,
    image: tuple[int, int, int],
    channels: int,
    kernel: tuple[int, int] = (1, 1),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    groups: int = 1,
    clamp: Clamp = CLAMPS[0],
    batch: int = 1,
) -> Conv2D:
    height, width = (
        _outputs(image[i], kernel[i], strides[i], dilations[i], pads[i], pads[i + 2]) for i in (0, 1)
    )
    return Conv2D(
        input=image,
        output=(height, width, channels),
        weights=values(rng, channels, *kernel, image[2] // groups),
        bias=values(rng, channels),
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
        clamp=clamp,
        batch=batch,
    )


def dense(rng: Random, rows: int, depth: int, channels: int, clamp: Clamp = CLAMPS[0]) -> Dense:
    return Dense(rows, values(rng, channels, depth), values(rng, channels), clamp)


def corners(rng: Random) -> list[Layer]:
    """What goes wrong first."""
    return [
        conv2d(rng, (5, 7, 8), 8, clamp=CLAMPS[1]),  # 1x1, 35 positions
        conv2d(rng, (3, 3, 16), 4, batch=2),  # rows that shrink
        conv2d(rng, (3, 3, 4), 16),  # rows that grow
        conv2d(rng, (8, 8, 6), 5, strides=(2, 2)),  # 1x1 with a stride
        conv2d(rng, (1, 1, 5), 3, (3, 3), pads=(1, 1, 1, 1)),  # one position, the rest is padding
        conv2d(rng, (2, 2, 3), 4, (5, 5), pads=(2, 2, 2, 2)),  # a window larger than the image
        conv2d(rng, (2, 2, 9), 4, (5, 5), pads=(2, 2, 2, 2)),
        conv2d(rng, (4, 4, 2), 4, (2, 2), pads=(3, 3, 3, 3)),  # windows of nothing but padding
        conv2d(rng, (4, 4, 7), 4, (2, 2), pads=(3, 3, 3, 3)),
        conv2d(rng, (6, 6, 3), 10, (6, 6), batch=3),  # a window as large as the image
        conv2d(rng, (6, 6, 3), 10, (6, 6)),
        conv2d(rng, (1, 40, 1), 8, (1, 9), (1, 2), pads=(0, 4, 0, 4)),  # one dimension
        conv2d(rng, (1, 40, 12), 6, (1, 3), dilations=(1, 4), pads=(0, 8, 0, 0)),
        conv2d(rng, (9, 1, 2), 3, (3, 1), dilations=(2, 1), pads=(4, 0, 0, 0)),
        conv2d(rng, (49, 10, 1), 64, (10, 4), (2, 2), pads=(4, 1, 5, 1), clamp=CLAMPS[1]),
        conv2d(rng, (7, 5, 64), 64, (3, 3), pads=(1, 1, 1, 1), groups=64, clamp=CLAMPS[2]),
        conv2d(rng, (5, 5, 17), 17, (3, 3), (2, 2), pads=(0, 0, 1, 1), groups=17, batch=2),
        conv2d(rng, (5, 5, 3), 3, (5, 3), dilations=(1, 2), pads=(2, 2, 2, 2), groups=3),
        conv2d(rng, (4, 5, 6), 12, (3, 3), pads=(1, 1, 1, 1), groups=6),  # two outputs for each channel
        conv2d(rng, (4, 5, 10), 15, (2, 3), pads=(1, 1, 0, 1), groups=5, batch=2),
        dense(rng, 1, 1, 1),
        dense(rng, 1, 640, 128, CLAMPS[1]),
        dense(rng, 1, 7, 10),
        dense(rng, 3, 5, 9, CLAMPS[4]),
        dense(rng, 17, 33, 33),
        Softmax(1, 1),
        Softmax(1, 10),
        Softmax(5, 33),
        Pool2D("max", (7, 5, 3), (1, 1, 3), (7, 5), (1, 1)),
        Pool2D("average", (7, 5, 3), (1, 1, 3), (7, 5), (1, 1), batch=2),
        # The last windows hang over the padding: rounded up.
        Pool2D("max", (6, 6, 5), (3, 3, 5), (3, 3), (2, 2)),
        Pool2D("average", (6, 6, 5), (3, 3, 5), (3, 3), (2, 2)),
        Pool2D("average", (5, 6, 2), (3, 4, 2), (3, 3), (2, 2), pads=(1, 1, 0, 1), include_pad=True),
    ]


def random_layers(rng: Random, count: int) -> list[Layer]:
    """`count` convolutions, depthwise convolutions, dense layers and pools."""
    makers = (_random_conv2d, _random_conv2d, _random_depthwise, _random_dense, _random_pool2d)
    return [makers[i % len(makers)](rng) for i in range(count)]


def _outputs(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> int:
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


def _up_to(rng: Random, most: int, least: int = 1) -> int:
    return int(rng.integers(least, most + 1))


def _pair(rng: Random, most: int) -> tuple[int, int]:
    return _up_to(rng, most), _up_to(rng, most)


def _clamp(rng: Random) -> Clamp:
    return CLAMPS[_up_to(rng, len(CLAMPS) - 1, 0)]


def _geometry(
    rng: Random, kernel: tuple[int, int], dilations: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """Height and width of an image, and pads, so that at least one window fits."""
    spans = [dilations[i] * (kernel[i] - 1) for i in (0, 1)]
    top, left, bottom, right = (_up_to(rng, spans[i % 2], 0) for i in range(4))
    size = [max(_up_to(rng, 9), spans[i] + 1 - pads) for i, pads in enumerate((top + bottom, left + right))]
    return (size[0], size[1]), (top, left, bottom, right)


def _random_conv2d(rng: Random) -> Layer:
    kernel, dilations = _pair(rng, 4), _pair(rng, 3)
    size, pads = _geometry(rng, kernel, dilations)
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    image = (*size, groups * _up_to(rng, 17 // groups))
    channels = groups * _up_to(rng, 17 // groups)
    shape = (kernel, _pair(rng, 3), dilations, pads, groups, _clamp(rng), _up_to(rng, 2))
    return conv2d(rng, image, channels, *shape)


def _random_depthwise(rng: Random) -> Layer:
    kernel, dilations = _pair(rng, 5), _pair(rng, 2)
    size, pads = _geometry(rng, kernel, dilations)
    channels = _up_to(rng, 17, 2)
    shape = (kernel, _pair(rng, 2), dilations, pads, channels, _clamp(rng), _up_to(rng, 2))
    return conv2d(rng, (*size, channels), channels, *shape)


def _random_dense(rng: Random) -> Layer:
    return dense(rng, _up_to(rng, 9), _up_to(rng, 40), _up_to(rng, 17), _clamp(rng))


def _random_pool2d(rng: Random) -> Layer:
    kernel, dilations, strides = _pair(rng, 4), _pair(rng, 2), _pair(rng, 3)
    size, pads = _geometry(rng, kernel, dilations)
    pads = tuple(min(pad, kernel[i % 2] - 1) for i, pad in enumerate(pads))  # type: ignore[assignment]
    spans = [dilations[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    size = (max(size[0], spans[0]), max(size[1], spans[1]))
    out = [_outputs(size[i], kernel[i], strides[i], dilations[i], pads[i], pads[i + 2]) for i in (0, 1)]
    channels = _up_to(rng, 17)
    kind = str(rng.choice(["max", "average"]))
    image, output = (*size, channels), (out[0], out[1], channels)
    include_pad = bool(rng.integers(2))
    return Pool2D(kind, image, output, kernel, strides, dilations, pads, include_pad, _up_to(rng, 2))
