"""Layers in integers: what an integer kernel is asked to do.

Real values are ``scale * (q - zero_point)``. Accumulators are exact in 32 bits; how an accumulator
becomes an output is the layer's `rounding`:

- ``double``: as TensorFlow Lite Micro and CMSIS-NN: a rounding doubling high multiplication, then a
  rounding shift (half away from zero);
- ``single``: one 64-bit multiplication and one rounding shift (half up);
- ``float``: the accumulator times a float32 scale, rounded half to even.

A profile, what the user chooses, says which layers round how: ``tflm`` doubly everywhere, ``litert``
as LiteRT's reference kernels (dense layers singly), ``onnx`` singly everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from .layers import Array

DOUBLE, SINGLE, FLOAT = "double", "single", "float"

PROFILES = ("tflm", "litert", "onnx")


def rounding_of(profile: str, dense: bool = False) -> str:
    """How layers round under `profile`; `dense` asks for dense layers."""
    if profile == "onnx" or (profile == "litert" and dense):
        return SINGLE
    return DOUBLE


@dataclass(frozen=True)
class Quantization:
    """How the numbers of a tensor stand for real values; `dtype` is ``int8`` or ``uint8``."""

    dtype: str
    scale: float
    zero_point: int


@dataclass(frozen=True, eq=False)
class QConv2D:
    """Convolution, NHWC; depthwise where ``groups`` equals the input channels. Padding is the zero point.

    Attributes:
        input: height, width, channels.
        output: height, width, channels.
        weights: int8 or uint8 [output channels, kernel height, kernel width, input channels / groups].
        weight_scales: float64 [output channels].
        weight_zeros: int32 [output channels].
        bias: int32 [output channels], in units of the input's scale times the weight's scale.
        fraction: float64 [output channels], at most 1/2: what the bias is off in these units; None for
            nothing. Double rounding has none.
        pads: top, left, bottom, right.
        clamp: least and largest output, in the output's numbers.
    """

    x: Quantization
    y: Quantization
    input: tuple[int, int, int]
    output: tuple[int, int, int]
    weights: Array
    weight_scales: Array
    weight_zeros: Array
    bias: Array
    clamp: tuple[int, int]
    rounding: str
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    batch: int = 1
    fraction: Array | None = None


@dataclass(frozen=True, eq=False)
class QDense:
    """``y[rows, n] = x[rows, k] . weights[n, k] + bias[n]``; attributes as of `QConv2D`."""

    x: Quantization
    y: Quantization
    rows: int
    weights: Array
    weight_scales: Array
    weight_zeros: Array
    bias: Array
    clamp: tuple[int, int]
    rounding: str
    fraction: Array | None = None


@dataclass(frozen=True, eq=False)
class QConvTranspose2D:
    """Transposed convolution, NHWC; attributes as of `QConv2D`, pads are cut off the output."""

    x: Quantization
    y: Quantization
    input: tuple[int, int, int]
    output: tuple[int, int, int]
    weights: Array
    weight_scales: Array
    weight_zeros: Array
    bias: Array
    clamp: tuple[int, int]
    rounding: str
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    batch: int = 1
    fraction: Array | None = None


@dataclass(frozen=True, eq=False)
class QMatMul:
    """``y[batch, m, n] = a[batch, m, k] . b[batch, k, n] + bias[n]`` of two inputs.

    Attributes:
        clamp: least and largest output; None for all numbers.
        bias: int32, in units of the product of the scales; None for none.
    """

    a: Quantization
    b: Quantization
    y: Quantization
    batch: int
    m: int
    k: int
    n: int
    rounding: str
    clamp: tuple[int, int] | None = None
    bias: Array | None = None


@dataclass(frozen=True, eq=False)
class QBinary:
    """An operator of two inputs with broadcasting of equal ranks.

    Attributes:
        kind: ``add``, ``sub``, ``mul``, ``squared_difference``, ``prelu`` (`b` are the slopes), or ``max``
            or ``min`` of numbers that are all quantised alike.
        a_shape: shape of the first operand; `b_shape`, `y_shape` likewise, of one rank.
        constant: values of `b`, if it is no input.
        clamp: least and largest output.
    """

    kind: str
    a: Quantization
    b: Quantization
    y: Quantization
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    y_shape: tuple[int, ...]
    clamp: tuple[int, int]
    rounding: str
    constant: Array | None = None


@dataclass(frozen=True)
class QPool2D:
    """Maximum or average, NHWC. Padding never counts.

    Averages round half away from zero under ``double``; otherwise they are those of the real values,
    in the order in which onnxruntime adds them up.
    """

    kind: str
    x: Quantization
    y: Quantization
    input: tuple[int, int, int]
    output: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    clamp: tuple[int, int]
    rounding: str
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    batch: int = 1


@dataclass(frozen=True)
class QReduce:
    """``max``, ``min``, ``mean`` or ``sum`` of x[outer, count, inner] over `count`.

    Maxima and minima are of numbers; means and sums are rescaled from exact sums.
    """

    kind: str
    x: Quantization
    y: Quantization
    outer: int
    count: int
    inner: int
    clamp: tuple[int, int]
    rounding: str


@dataclass(frozen=True)
class QResize:
    """Bilinear resizing of pictures, NHWC, in TensorFlow Lite's fixed point.

    Attributes:
        x: how both input and output are quantised.
        input: height, width, channels.
        output: height, width.
    """

    x: Quantization
    input: tuple[int, int, int]
    output: tuple[int, int]
    align_corners: bool
    half_pixels: bool
    batch: int = 1


@dataclass(frozen=True)
class QSoftmax:
    """Softmax over the last axis of [rows, columns], in gemmlowp's fixed point (``double``) or by a table."""

    x: Quantization
    y: Quantization
    rows: int
    columns: int
    rounding: str


@dataclass(frozen=True, eq=False)
class QTable:
    """``y = table[x]`` for each of `elements` numbers: any function of one quantised value.

    Attributes:
        x_dtype: ``int8`` or ``uint8``.
        table: 256 entries of the output's dtype, by ``x`` as an unsigned byte (int8: ``x + 128``).
    """

    x_dtype: str
    table: Array
    elements: int


QLayer = (
    QConv2D | QConvTranspose2D | QDense | QMatMul | QBinary | QPool2D | QReduce | QResize | QSoftmax | QTable
)


def input_dtypes(layer: QLayer) -> tuple[str, ...]:
    """Element types of the inputs, in order."""
    if isinstance(layer, QTable):
        return (layer.x_dtype,)
    if isinstance(layer, QMatMul):
        return (layer.a.dtype, layer.b.dtype)
    if isinstance(layer, QBinary):
        return (layer.a.dtype, layer.b.dtype) if layer.constant is None else (layer.a.dtype,)
    return (layer.x.dtype,)


def output_dtype(layer: QLayer) -> str:
    """Element type of the output."""
    if isinstance(layer, QTable):
        return str(layer.table.dtype)
    return layer.x.dtype if isinstance(layer, QResize) else layer.y.dtype
