"""What the integer kernels have in common: multipliers from scales, and C text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..layers import Array, Conv2D, Pool2D
from ..quantized_layers import DOUBLE, FLOAT, QConv2D, QConvTranspose2D, QDense, QPool2D, Quantization
from .float32 import window_text

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}

SIGN_BIT = 0x80


def quantize_multiplier(value: float) -> tuple[int, int]:
    """``(q, shift)`` with ``value = q * 2**(shift - 31)`` nearly and ``2**30 <= q < 2**31``, or zeros."""
    mantissa, shift = math.frexp(value)
    q = math.floor(mantissa * 2**31 + 0.5)
    if q == 2**31:
        q, shift = q // 2, shift + 1
    if shift < -31:
        return 0, 0
    return (2**31 - 1, 30) if shift > 30 else (q, shift)


def fixed_point(values: Sequence[float]) -> tuple[Array, Array]:
    """Multipliers (int32) and shifts (int8) of `values`."""
    pairs = [quantize_multiplier(value) for value in values]
    return np.array([q for q, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def multiplied(fraction: Array, multipliers: Array) -> Array:
    """What `fraction` of a unit adds to a sum times its multiplier; of the multipliers' type."""
    exact = fraction * multipliers.astype(np.float64)
    return np.asarray(exact if multipliers.dtype == np.float32 else np.rint(exact), multipliers.dtype)


def flip(dtype: str) -> int:
    """What turns a byte of `dtype` into a number from 0 to 255 of the same order."""
    return SIGN_BIT if dtype == "int8" else 0


def offset(x: Quantization) -> int:
    """The flipped byte that stands for 0.0."""
    return x.zero_point + flip(x.dtype)


def limits(y: Quantization, clamp: tuple[int, int]) -> tuple[int, int]:
    """`clamp` within the numbers of `y`, minus its zero point."""
    least, most = LIMITS[y.dtype]
    return max(clamp[0], least) - y.zero_point, min(clamp[1], most) - y.zero_point


def full(y: Quantization) -> tuple[int, int]:
    """The clamp that leaves all numbers of `y`."""
    return LIMITS[y.dtype]


@dataclass(frozen=True, eq=False)
class CText:
    """C text and the constants that it names."""

    text: str
    constants: Mapping[str, Array] = field(default_factory=dict)


def rescaling(
    rounding: str,
    x_scale: float,
    w_scales: Array,
    fraction: Array | None,
    y: Quantization,
    clamp: tuple[int, int],
) -> CText:
    """A C declaration of ``how``: from sums of products to outputs.

    Args:
        w_scales: scale of the second factor, for each output channel.
        fraction: what the sums are off, for each output channel, or None.
    """
    low, high = limits(y, clamp)
    rest = f"{y.zero_point}, {low}, {high}, {'NULL' if fraction is None else '@fractions@'}"
    if rounding == FLOAT:
        scales = np.float32(x_scale) * np.asarray(w_scales, np.float32) / np.float32(y.scale)
        head = "tvm_rescale_float_s8, @multipliers@, NULL"
        constants: dict[str, Array] = {"multipliers": np.asarray(scales, np.float32).ravel()}
    else:
        doubles = np.float64(x_scale) * np.asarray(w_scales, np.float64) / np.float64(y.scale)
        multipliers, shifts = fixed_point(doubles.ravel().tolist())
        name = "double" if rounding == DOUBLE else "single"
        head = f"tvm_rescale_{name}_s8, @multipliers@, @shifts@"
        constants = {"multipliers": multipliers, "shifts": shifts}
    if fraction is not None:
        constants["fractions"] = multiplied(fraction, constants["multipliers"])
    return CText(f"static const struct tvm_rescaling_s8 how = {{{head}, {rest}}};", constants)


def weights_of(
    layer: QConv2D | QConvTranspose2D | QDense, order: Sequence[int], whole_windows: bool
) -> CText:
    """A C declaration of ``weights``.

    Args:
        order: axes of the weights in the order in which the kernel reads them.
        whole_windows: whether the input's zero point goes into the bias.
    """
    weights, zeros = layer.weights.astype(np.int32), layer.weight_zeros.astype(np.int32).ravel()
    if layer.weights.dtype == np.uint8:
        weights, zeros = weights - SIGN_BIT, zeros - SIGN_BIT
    bias = layer.bias.astype(np.int64).ravel()
    if whole_windows:
        per_channel = weights.reshape(zeros.size, -1).astype(np.int64)
        bias = bias - layer.x.zero_point * (per_channel - zeros[:, None]).sum(axis=1)
    constants: dict[str, Array] = {
        "weights": weights.transpose(order).astype(np.int8).ravel(),
        "bias": bias.astype(np.uint64).astype(np.uint32).view(np.int32),  # sums count modulo 2**32
    }
    if zeros.any():
        constants["zeros"] = zeros
    pointers = f"@weights@, @bias@, {'@zeros@' if zeros.any() else 'NULL'}"
    numbers = f"{layer.x.zero_point}, {'true' if layer.x.dtype == 'uint8' else 'false'}"
    text = f"static const struct tvm_weights_s8 weights = {{{pointers}, {numbers}}};"
    return CText(text, constants)


def window_of(layer: QConv2D | QConvTranspose2D | QPool2D) -> str:
    """A C declaration of ``window``, the shape of `layer`."""
    if isinstance(layer, QPool2D):
        shape: Conv2D | Pool2D = Pool2D(
            layer.kind,
            layer.input,
            layer.output,
            layer.kernel,
            layer.strides,
            pads=layer.pads,
            batch=layer.batch,
        )
    else:
        shape = Conv2D(
            layer.input,
            layer.output,
            layer.weights,
            layer.bias,
            layer.strides,
            layer.dilations,
            layer.pads,
            layer.groups,
            batch=layer.batch,
        )
    return window_text(shape)
