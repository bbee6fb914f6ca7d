"""Integer layers to test kernels with: chosen corners, and random shapes, the same every time."""

from __future__ import annotations

import dataclasses

import numpy as np

from tvm_tool.compiler.layers import Array
from tvm_tool.compiler.quantized_layers import (
    QBinary,
    QConv2D,
    QConvTranspose2D,
    QDense,
    QLayer,
    QMatMul,
    QPool2D,
    QReduce,
    QResize,
    QSoftmax,
    QTable,
    Quantization,
)

Random = np.random.Generator

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
TYPES = ("int8", "uint8")
KINDS = ("add", "sub", "mul", "squared_difference", "prelu", "max", "min")
REDUCTIONS = ("max", "min", "mean", "sum")


def f32(value: float) -> float:
    """`value` as models hold it: scales are float32."""
    return float(np.float32(value))


def numbers(rng: Random, dtype: str, *shape: int) -> Array:
    """Random numbers; in one of four arrays only the two ends."""
    low, high = LIMITS[dtype]
    if rng.random() < 0.25:
        return rng.choice(np.array([low, high]), shape).astype(dtype)
    return rng.integers(low, high + 1, shape).astype(dtype)


def quantization(rng: Random, dtype: str = "") -> Quantization:
    dtype = dtype or str(rng.choice(TYPES))
    low, high = LIMITS[dtype]
    zero = int(rng.choice([low, high, int(rng.integers(low, high + 1))], p=[0.2, 0.2, 0.6]))
    return Quantization(dtype, f32(np.exp(rng.uniform(-6, 0))), zero)


def clamp(rng: Random, y: Quantization) -> tuple[int, int]:
    low, high = LIMITS[y.dtype]
    kind = rng.integers(3)
    if kind == 0:
        return low, high
    return y.zero_point, high if kind == 1 else min(high, y.zero_point + int(rng.integers(200)))


def output_of(rng: Random, real: float) -> Quantization:
    """A quantisation of outputs whose reals are some `real`: most fit, some are far off."""
    y = quantization(rng)
    return dataclasses.replace(y, scale=f32(real * np.exp(rng.uniform(-2, 3)) / 128))


def weighted(rng: Random, shape: tuple[int, ...], rounding: str) -> dict[str, object]:
    """The attributes that convolutions and dense layers share; `shape` of the weights."""
    x = quantization(rng)
    dtype = str(rng.choice(TYPES, p=[0.8, 0.2]))
    channels, depth = shape[0], int(np.prod(shape[1:]))
    per_channel = rng.random() < 0.6
    scales = np.exp(rng.uniform(-7, -3, channels if per_channel else 1)).astype(np.float32)
    zeros = np.full(channels, 128 if dtype == "uint8" else 0, np.int32)
    if rng.random() < 0.3:
        zeros = rng.integers(*LIMITS[dtype], channels).astype(np.int32)
    bias = rng.integers(-(2**14), 2**14, channels)
    if rng.random() < 0.1:  # as far as sums stay in 32 bits
        bias = rng.choice(np.array([-1, 1]), channels) * (2**31 - 1 - 255 * 255 * depth)
    real = x.scale * float(scales.max()) * 128 * 128 * np.sqrt(depth)
    y = output_of(rng, real)
    fraction = None
    if rounding != "double" and rng.random() < 0.3:
        fraction = rng.choice([-0.5, 0.0, 0.5, 1 / 3], channels) + rng.uniform(-1e-3, 1e-3, channels)
        fraction = np.clip(fraction, -0.5, 0.5)
    return {
        "x": x,
        "y": y,
        "weights": numbers(rng, dtype, *shape),
        "weight_scales": np.broadcast_to(scales, channels).astype(np.float64),
        "weight_zeros": zeros,
        "bias": bias.astype(np.int32),
        "clamp": clamp(rng, y),
        "rounding": rounding,
        "fraction": fraction,
    }


def conv2d(
    rng: Random,
    rounding: str,
    image: tuple[int, int, int],
    channels: int,
    kernel: tuple[int, int] = (1, 1),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    groups: int = 1,
    batch: int = 1,
) -> QConv2D:
    height, width = (
        (image[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in (0, 1)
    )
    assert height > 0
    assert width > 0
    return QConv2D(
        **weighted(rng, (channels, *kernel, image[2] // groups), rounding),  # type: ignore[arg-type]
        input=image,
        output=(height, width, channels),
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
        batch=batch,
    )


def conv2d_transposed(
    rng: Random,
    rounding: str,
    image: tuple[int, int, int],
    channels: int,
    kernel: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    extra: tuple[int, int] = (0, 0),
    groups: int = 1,
    batch: int = 1,
) -> QConvTranspose2D:
    height, width = (
        (image[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + extra[i] - pads[i] - pads[i + 2]
        for i in (0, 1)
    )
    assert height > 0
    assert width > 0
    return QConvTranspose2D(
        **weighted(rng, (channels, *kernel, image[2] // groups), rounding),  # type: ignore[arg-type]
        input=image,
        output=(height, width, channels),
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
        batch=batch,
    )


def reduce(
    rng: Random, rounding: str, kind: str, outer: int, count: int, inner: int, same: bool = False
) -> QReduce:
    x = quantization(rng)
    real = 128 * x.scale * (np.sqrt(count) if kind == "sum" else 1)
    y = x if same or kind in ("max", "min") else output_of(rng, float(real))
    return QReduce(kind, x, y, outer, count, inner, clamp(rng, y), rounding)


def resize(
    rng: Random,
    image: tuple[int, int, int],
    output: tuple[int, int],
    align_corners: bool = False,
    half_pixels: bool = False,
    batch: int = 1,
) -> QResize:
    return QResize(quantization(rng), image, output, align_corners, half_pixels, batch)


def dense(rng: Random, rounding: str, rows: int, depth: int, channels: int) -> QDense:
    return QDense(rows=rows, **weighted(rng, (channels, depth), rounding))  # type: ignore[arg-type]


def matmul(rng: Random, rounding: str, batch: int, m: int, k: int, n: int, finished: bool = False) -> QMatMul:
    """`finished`: with a bias and a clamp."""
    a, b = quantization(rng), quantization(rng)
    y = output_of(rng, a.scale * b.scale * 128 * 128 * np.sqrt(k))
    bias = rng.integers(-(2**14), 2**14, n).astype(np.int32)
    rest = (clamp(rng, y), bias) if finished else (None, None)
    return QMatMul(a, b, y, batch, m, k, n, rounding, *rest)


def binary(
    rng: Random,
    rounding: str,
    kind: str,
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
    constant: bool = False,
) -> QBinary:
    a, b = quantization(rng), quantization(rng)
    real = a.scale * b.scale * 128 * 128 if kind == "mul" else 128 * max(a.scale, b.scale)
    y = output_of(rng, real**2 if kind == "squared_difference" else real)
    if kind in ("max", "min"):
        a = b = y
    y_shape = tuple(max(pair) for pair in zip(a_shape, b_shape, strict=True))
    values = numbers(rng, b.dtype, *b_shape) if constant else None
    limits = LIMITS[y.dtype] if kind in ("max", "min") else clamp(rng, y)
    return QBinary(kind, a, b, y, a_shape, b_shape, y_shape, limits, rounding, values)


def pool(
    rng: Random,
    rounding: str,
    kind: str,
    image: tuple[int, int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    same: bool = True,
    batch: int = 1,
) -> QPool2D:
    height, width = ((image[i] + pads[i] + pads[i + 2] - kernel[i]) // strides[i] + 1 for i in (0, 1))
    x = quantization(rng)
    y = x if same else output_of(rng, 128 * x.scale)
    return QPool2D(
        kind, x, y, image, (height, width, image[2]), kernel, strides, clamp(rng, y), rounding, pads, batch
    )


def softmax(rng: Random, rounding: str, rows: int, columns: int) -> QSoftmax:
    x = quantization(rng)
    dtype = str(rng.choice(TYPES))
    return QSoftmax(x, Quantization(dtype, 2.0**-8, LIMITS[dtype][0]), rows, columns, rounding)


def table(rng: Random, dtype: str, elements: int) -> QTable:
    values: Array = numbers(rng, str(rng.choice(TYPES)), 256)
    if rng.random() < 0.3:
        values = rng.standard_normal(256).astype(np.float32)
    return QTable(dtype, values, elements)


def corners(rng: Random, rounding: str) -> list[QLayer]:
    """What goes wrong first."""
    same = (1, 1, 1, 1)
    return [
        conv2d(rng, rounding, (5, 7, 8), 8),
        conv2d(rng, rounding, (8, 8, 6), 5, strides=(2, 2)),
        conv2d(rng, rounding, (1, 1, 5), 3, (3, 3), pads=same),
        conv2d(rng, rounding, (2, 2, 3), 4, (5, 5), pads=(2, 2, 2, 2)),
        conv2d(rng, rounding, (4, 4, 7), 4, (2, 2), pads=(3, 3, 3, 3)),  # windows of nothing but padding
        conv2d(rng, rounding, (3, 3, 2), 2, (3, 3), dilations=(3, 3), pads=(7, 7, 7, 7)),
        conv2d(rng, rounding, (6, 6, 3), 10, (6, 6), batch=3),
        conv2d(rng, rounding, (1, 40, 12), 6, (1, 3), dilations=(1, 4), pads=(0, 8, 0, 0)),
        conv2d(rng, rounding, (49, 10, 1), 4, (10, 4), (2, 2), pads=(4, 1, 5, 1)),
        conv2d(rng, rounding, (5, 5, 17), 17, (3, 3), (2, 2), pads=(0, 0, 1, 1), groups=17, batch=2),
        conv2d(rng, rounding, (4, 5, 6), 12, (3, 3), pads=same, groups=6),
        conv2d(rng, rounding, (4, 4, 3), 3, (2, 2), pads=(3, 3, 3, 3), groups=3),
        conv2d(rng, rounding, (4, 5, 10), 15, (2, 3), pads=(1, 1, 0, 1), groups=5, batch=2),
        dense(rng, rounding, 1, 640, 16),
        dense(rng, rounding, 1, 1, 1),
        pool(rng, rounding, "average", (25, 5, 8), (25, 5)),
        pool(rng, rounding, "average", (5, 5, 3), (3, 3), pads=same),
        pool(rng, rounding, "average", (5, 5, 3), (3, 3), pads=same, same=False),
        pool(rng, rounding, "max", (5, 5, 3), (3, 3), (2, 2), pads=same, same=False),
        binary(rng, rounding, "add", (2, 1, 3, 1, 5, 1), (1, 2, 1, 3, 1, 2)),
        binary(rng, rounding, "sub", (1, 1, 1), (4, 3, 2)),
        binary(rng, rounding, "mul", (1,), (1,), constant=True),
        *(binary(rng, rounding, kind, (2, 1, 30), (1, 5, 30)) for kind in KINDS),
        matmul(rng, rounding, 2, 3, 64, 5),
        matmul(rng, rounding, 2, 3, 17, 5, finished=True),
        conv2d_transposed(rng, rounding, (3, 4, 5), 3, (3, 3), (2, 2), pads=(0, 1, 1, 0), extra=(1, 0)),
        conv2d_transposed(rng, rounding, (3, 2, 6), 4, (2, 1), (3, 2), groups=2, batch=2),
        conv2d_transposed(rng, rounding, (1, 7, 2), 1, (1, 4), (1, 3), dilations=(1, 2), extra=(0, 2)),
        conv2d_transposed(rng, rounding, (2, 2, 1), 1, (1, 1), (4, 4), extra=(3, 3)),
        *(reduce(rng, rounding, kind, 2, 7, 3) for kind in REDUCTIONS),
        reduce(rng, rounding, "mean", 1, 1000, 1, same=True),
        resize(rng, (1, 1, 3), (7, 5), half_pixels=True),
        resize(rng, (6, 5, 2), (1, 1), align_corners=True, batch=2),
        resize(rng, (3, 3, 1), (111, 111)),
        softmax(rng, rounding, 1, 1),
        softmax(rng, rounding, 2, 1000),
        table(rng, "int8", 300),
        table(rng, "uint8", 300),
    ]


def random_layers(rng: Random, rounding: str, count: int) -> list[QLayer]:
    """Half of them convolutions."""
    makers = (_conv2d, _conv2d, _depthwise, _depthwise, _dense, _binary, _pool, _other)
    return [makers[i % len(makers)](rng, rounding) for i in range(count)]


def _window(rng: Random, image: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    kernel = tuple(int(k) for k in rng.integers(1, 5, 2))
    dilations = tuple(int(d) for d in rng.integers(1, 4, 2)) if rng.random() < 0.3 else (1, 1)
    spans = [(kernel[i] - 1) * dilations[i] + 1 for i in (0, 1)]
    before = [int(rng.integers(0, span)) for span in spans]
    after = [max(int(rng.integers(0, spans[i])), spans[i] - image[i] - before[i]) for i in (0, 1)]
    if rng.random() < 0.3 and all(spans[i] <= image[i] for i in (0, 1)):
        before, after = [0, 0], [0, 0]
    strides = tuple(int(s) for s in rng.integers(1, 4, 2))
    return {"kernel": kernel, "dilations": dilations, "strides": strides, "pads": (*before, *after)}


def _sizes(rng: Random, most: int = 9) -> tuple[int, int]:
    height, width = rng.integers(1, most, 2)
    return int(height), int(width)


def _conv2d(rng: Random, rounding: str) -> QLayer:
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    image = (*_sizes(rng), groups * int(rng.integers(1, 18 // groups)))
    channels = groups * int(rng.integers(1, 18 // groups))
    window = _window(rng, image)
    return conv2d(rng, rounding, image, channels, **window, groups=groups, batch=int(rng.integers(1, 3)))  # type: ignore[arg-type]


def _depthwise(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng), int(rng.integers(1, 18)))
    window = _window(rng, image)
    channels = image[2] * int(rng.choice([1, 1, 2, 3]))
    return conv2d(rng, rounding, image, channels, **window, groups=image[2], batch=int(rng.integers(1, 3)))  # type: ignore[arg-type]


def _dense(rng: Random, rounding: str) -> QLayer:
    return dense(rng, rounding, *(int(n) for n in rng.integers(1, 18, 3)))


def _binary(rng: Random, rounding: str) -> QLayer:
    shape = [int(n) for n in rng.integers(1, 6, rng.integers(1, 5))]
    a, b = (tuple(1 if rng.random() < 0.2 else n for n in shape) for _ in range(2))
    return binary(rng, rounding, str(rng.choice(KINDS)), a, b, bool(rng.random() < 0.3))


def _pool(rng: Random, rounding: str) -> QLayer:
    image = (*_sizes(rng), int(rng.integers(1, 18)))
    kernel = tuple(int(rng.integers(1, min(5, size + 1))) for size in image[:2])
    pads = tuple(int(rng.integers(0, kernel[i % 2])) for i in range(4))
    strides = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    kind = str(rng.choice(["max", "average"]))
    same = bool(rng.random() < 0.6)
    batch = int(rng.integers(1, 3))
    return pool(rng, rounding, kind, image, kernel, strides, pads, same, batch)  # type: ignore[arg-type]


def _other(rng: Random, rounding: str) -> QLayer:
    makers = (_softmax, _matmul, _table, _reduce, _resize, _conv2d_transposed)
    return makers[int(rng.integers(len(makers)))](rng, rounding)


def _softmax(rng: Random, rounding: str) -> QLayer:
    return softmax(rng, rounding, int(rng.integers(1, 4)), int(rng.integers(1, 40)))


def _matmul(rng: Random, rounding: str) -> QLayer:
    batch, m, k, n = (int(size) for size in rng.integers(1, 10, 4))
    return matmul(rng, rounding, batch, m, k, n, finished=bool(rng.random() < 0.5))


def _table(rng: Random, _rounding: str) -> QLayer:
    return table(rng, str(rng.choice(TYPES)), int(rng.integers(1, 50)))


def _reduce(rng: Random, rounding: str) -> QLayer:
    a, b, c = (int(size) for size in rng.integers(1, 12, 3))
    return reduce(rng, rounding, str(rng.choice(REDUCTIONS)), a, b, c, same=bool(rng.random() < 0.3))


def _resize(rng: Random, _rounding: str) -> QLayer:
    image = (*_sizes(rng), int(rng.integers(1, 5)))
    aligned = bool(rng.random() < 0.3)
    return resize(rng, image, _sizes(rng, 20), aligned, not aligned and bool(rng.random() < 0.5))


def _conv2d_transposed(rng: Random, rounding: str) -> QLayer:
    groups = int(rng.choice([1, 1, 2]))
    image = (*_sizes(rng, 5), groups * int(rng.integers(1, 6)))
    kernel, strides = ((int(a), int(b)) for a, b in (rng.integers(1, 4, 2), rng.integers(1, 4, 2)))
    extra = (int(rng.integers(strides[0])), int(rng.integers(strides[1])))
    channels = groups * int(rng.integers(1, 6))
    return conv2d_transposed(rng, rounding, image, channels, kernel, strides, extra=extra, groups=groups)
