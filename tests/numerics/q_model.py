"""What integer layers compute, with numpy in 64 bits, written from the formulas and not from the C."""

from __future__ import annotations

import math
from typing import Any

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

F = np.float32
MOST = 2**31 - 1


def reference(layer: QLayer, inputs: tuple[Array, ...]) -> Array:
    """The output of `layer` as a flat array; `inputs` are flat."""
    functions: dict[type, Any] = {
        QConv2D: _conv2d,
        QConvTranspose2D: _conv2d_transposed,
        QDense: _dense,
        QMatMul: _matmul,
        QBinary: _binary,
        QPool2D: _pool2d,
        QReduce: _reduce,
        QResize: _resize,
        QSoftmax: _softmax,
        QTable: _table,
    }
    result: Array = functions[type(layer)](layer, *inputs)
    return result.ravel()


# ---------------------------------------------------------------- roundings


def multiplier(value: float) -> tuple[int, int]:
    mantissa, exponent = math.frexp(value)
    q = math.floor(mantissa * 2.0**31 + 0.5)
    if q == 2**31:
        q, exponent = 2**30, exponent + 1
    return (0, 0) if exponent < -31 else (q, exponent)


def double(sums: Array, value: float) -> Array:
    """The high half of the doubled product, half up; then the shift, half away from zero."""
    q, exponent = multiplier(value)
    return double_by(sums, q, exponent)


def double_by(sums: Array, q: int, exponent: int) -> Array:
    shifted = np.clip(sums * 2 ** max(exponent, 0), -(2**31), MOST)
    high = (shifted * q + 2**30) // 2**31
    divisor = 2 ** max(-exponent, 0)
    result: Array = np.sign(high) * ((2 * np.abs(high) + divisor) // (2 * divisor))
    return result


def single(sums: Array, value: float, fraction: float = 0.0) -> Array:
    q, exponent = multiplier(value)
    result: Array = (sums * q + round(fraction * q) + 2 ** (30 - exponent)) >> (31 - exponent)
    return result


def rescale(rounding: str, sums: Array, x: float, w: float, y: float, fraction: float = 0.0) -> Array:
    if rounding == "float":
        scale = F(x) * F(w) / F(y)
        rounded: Array = np.rint(sums.astype(F) * scale + F(fraction * scale)).astype(np.int64)
        return rounded
    value = float(np.float64(x) * np.float64(w) / np.float64(y))
    return double(sums, value) if rounding == "double" else single(sums, value, fraction)


def finish(values: Array, y: Quantization, clamp: tuple[int, int]) -> Array:
    result: Array = np.clip(values + y.zero_point, *clamp).astype(y.dtype)
    return result


def full(y: Quantization) -> tuple[int, int]:
    return (-128, 127) if y.dtype == "int8" else (0, 255)


# ---------------------------------------------------------------- layers


def _rescaled(layer: QConv2D | QConvTranspose2D | QDense, sums: Array) -> Array:
    """`sums` [..., channels]."""
    channels = sums.shape[-1]
    fraction = np.zeros(channels) if layer.fraction is None else layer.fraction
    scales = (layer.x.scale, layer.weight_scales, layer.y.scale)
    columns = [
        rescale(layer.rounding, sums[..., c], scales[0], float(scales[1][c]), scales[2], float(fraction[c]))
        for c in range(channels)
    ]
    return finish(np.stack(columns, axis=-1), layer.y, layer.clamp)


def _conv2d(layer: QConv2D, data: Array) -> Array:
    height, width, channels = layer.input
    top, left, bottom, right = layer.pads
    x = data.reshape(layer.batch, height, width, channels).astype(np.int64) - layer.x.zero_point
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    weights = layer.weights.astype(np.int64) - layer.weight_zeros.reshape(-1, 1, 1, 1)
    out_channels, kernel_height, kernel_width, depth = weights.shape
    per_group = out_channels // layer.groups
    out_height, out_width, _ = layer.output
    sums = np.zeros((layer.batch, out_height, out_width, out_channels), np.int64) + layer.bias.astype(
        np.int64
    )
    for ky in range(kernel_height):
        for kx in range(kernel_width):
            y0, x0 = ky * layer.dilations[0], kx * layer.dilations[1]
            y1 = y0 + (out_height - 1) * layer.strides[0] + 1
            x1 = x0 + (out_width - 1) * layer.strides[1] + 1
            tap = x[:, y0 : y1 : layer.strides[0], x0 : x1 : layer.strides[1]]
            for group in range(layer.groups):
                outs = slice(group * per_group, (group + 1) * per_group)
                ins = slice(group * depth, (group + 1) * depth)
                sums[..., outs] += tap[..., ins] @ weights[outs, ky, kx].T
    assert np.abs(sums).max() < 2**31
    return _rescaled(layer, sums)


def _conv2d_transposed(layer: QConvTranspose2D, data: Array) -> Array:
    """Each input spreads over the outputs under its window; what lies on the pads is cut off."""
    height, width, channels = layer.input
    x = data.reshape(layer.batch, height, width, channels).astype(np.int64) - layer.x.zero_point
    weights = layer.weights.astype(np.int64) - layer.weight_zeros.reshape(-1, 1, 1, 1)
    out_channels, kernel_height, kernel_width, depth = weights.shape
    per_group = out_channels // layer.groups
    top, left, _, _ = layer.pads
    out_height, out_width, _ = layer.output
    spread = [
        (n - 1) * s + (k - 1) * d + 1 + out
        for n, s, k, d, out in zip(
            layer.input,
            layer.strides,
            (kernel_height, kernel_width),
            layer.dilations,
            layer.output,
            strict=False,
        )
    ]
    sums = np.zeros((layer.batch, *spread, out_channels), np.int64) + layer.bias.astype(np.int64)
    for y in range(height):
        for column in range(width):
            for ky in range(kernel_height):
                for kx in range(kernel_width):
                    place = (
                        slice(None),
                        y * layer.strides[0] + ky * layer.dilations[0],
                        column * layer.strides[1] + kx * layer.dilations[1],
                    )
                    for group in range(layer.groups):
                        outs = slice(group * per_group, (group + 1) * per_group)
                        ins = slice(group * depth, (group + 1) * depth)
                        sums[(*place, outs)] += x[:, y, column, ins] @ weights[outs, ky, kx].T
    return _rescaled(layer, sums[:, top : top + out_height, left : left + out_width])


def _dense(layer: QDense, data: Array) -> Array:
    x = data.reshape(layer.rows, -1).astype(np.int64) - layer.x.zero_point
    weights = layer.weights.astype(np.int64) - layer.weight_zeros.reshape(-1, 1)
    sums = x @ weights.T + layer.bias.astype(np.int64)
    assert np.abs(sums).max() < 2**31
    return _rescaled(layer, sums)


def _matmul(layer: QMatMul, a: Array, b: Array) -> Array:
    left = a.reshape(layer.batch, layer.m, layer.k).astype(np.int64) - layer.a.zero_point
    right = b.reshape(layer.batch, layer.k, layer.n).astype(np.int64) - layer.b.zero_point
    sums = left @ right + (0 if layer.bias is None else layer.bias.astype(np.int64))
    values = rescale(layer.rounding, sums, layer.a.scale, layer.b.scale, layer.y.scale)
    return finish(values, layer.y, layer.clamp or full(layer.y))


def _binary(layer: QBinary, a: Array, b: Array | None = None) -> Array:
    second = layer.constant if b is None else b
    assert second is not None
    x = a.reshape(layer.a_shape).astype(np.int64) - layer.a.zero_point
    y = second.reshape(layer.b_shape).astype(np.int64) - layer.b.zero_point
    if layer.kind in ("max", "min"):
        chosen = {"max": np.maximum, "min": np.minimum}[layer.kind](x, y)
        return finish(chosen, layer.y, full(layer.y))
    if layer.rounding != "double":
        left, right = x.astype(F) * F(layer.a.scale), y.astype(F) * F(layer.b.scale)
        functions: dict[str, Any] = {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "squared_difference": lambda a, b: (a - b) * (a - b),
            "prelu": lambda a, b: np.where(a < 0, a * b, a),
        }
        value = functions[layer.kind](left, right)
        return finish(np.rint(value / F(layer.y.scale)).astype(np.int64), layer.y, layer.clamp)
    if layer.kind == "mul":
        return finish(double(x * y, layer.a.scale * layer.b.scale / layer.y.scale), layer.y, layer.clamp)
    if layer.kind == "prelu":
        ratio, slope = F(layer.a.scale) / F(layer.y.scale), F(layer.a.scale) * F(layer.b.scale)
        sloped = double(x * y, float(slope / F(layer.y.scale)))
        return finish(np.where(x >= 0, double(x, float(ratio)), sloped), layer.y, layer.clamp)
    twice = 2.0 * max(layer.a.scale, layer.b.scale)
    if layer.kind == "squared_difference":
        difference = double(x * 2**7, layer.a.scale / twice) - double(y * 2**7, layer.b.scale / twice)
        values = double(difference**2, twice**2 / (2.0**14 * layer.y.scale))
        return finish(values, layer.y, layer.clamp)
    left = double(x * 2**20, layer.a.scale / twice)
    right = double(y * 2**20, layer.b.scale / twice)
    total = left + right if layer.kind == "add" else left - right
    return finish(double(total, twice / (2.0**20 * layer.y.scale)), layer.y, layer.clamp)


def _pool2d(layer: QPool2D, data: Array) -> Array:
    height, width, channels = layer.input
    x = data.reshape(layer.batch, height, width, channels).astype(np.int64)
    out_height, out_width, _ = layer.output
    result = np.zeros((layer.batch, out_height, out_width, channels), np.int64)
    for out_y in range(out_height):
        for out_x in range(out_width):
            y0, x0 = (out_y * layer.strides[0] - layer.pads[0], out_x * layer.strides[1] - layer.pads[1])
            window = x[:, max(y0, 0) : y0 + layer.kernel[0], max(x0, 0) : x0 + layer.kernel[1]]
            result[:, out_y, out_x] = _pooled(layer, window)
    limited: Array = np.clip(result, *layer.clamp).astype(layer.y.dtype)
    return limited


def _pooled(layer: QPool2D, window: Array) -> Array:
    """One output for each image and channel, before the clamp; `window` [batch, rows, columns, channels]."""
    sums: Array = window.sum(axis=(1, 2))
    count = window.shape[1] * window.shape[2]
    if layer.kind == "max":
        sums, count = window.max(axis=(1, 2)), 1
        if layer.x == layer.y:
            return sums
    if layer.x == layer.y and layer.rounding == "double":
        result: Array = np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))
        return result
    sums = sums - count * layer.x.zero_point
    if layer.rounding == "double":
        q, exponent = multiplier(layer.x.scale / layer.y.scale)
        bits = min(count.bit_length() - 1, 31 + exponent)
        return double_by(sums, (q << bits) // count, exponent - bits) + layer.y.zero_point
    real = sums.astype(F) * F(layer.x.scale)
    if layer.kind == "average":
        values = (window - layer.x.zero_point).astype(F) * F(layer.x.scale)
        if layer.kernel == layer.input[:2] and layer.strides == (1, 1) and not any(layer.pads):
            real = _sum_of_image(values)
        elif layer.strides[1] <= 2 and max(layer.kernel) <= 32:
            real = _in_order(_in_order(values))
        else:
            real = _in_order(values.reshape(values.shape[0], count, -1))
    rounded: Array = np.rint(real / F(count) / F(layer.y.scale)).astype(np.int64) + layer.y.zero_point
    return rounded


def _in_order(values: Array) -> Array:
    """Sum over the second axis, one element after the other."""
    total = np.zeros_like(values[:, 0])
    for i in range(values.shape[1]):
        total = total + values[:, i]
    return total


def _sum_of_image(values: Array) -> Array:
    """In four lanes, as onnxruntime adds."""
    flat = values.reshape(values.shape[0], -1, values.shape[-1])
    whole = flat.shape[1] // 4 * 4
    lanes = (
        [_in_order(flat[:, lane:whole:4]) for lane in range(4)] if whole else [np.zeros_like(flat[:, 0])] * 4
    )
    total: Array = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    for i in range(whole, flat.shape[1]):
        total = total + flat[:, i]
    return total


def _reduce(layer: QReduce, data: Array) -> Array:
    x = data.reshape(layer.outer, layer.count, layer.inner).astype(np.int64)
    if layer.kind in ("max", "min"):
        extreme: Array = {"max": np.max, "min": np.min}[layer.kind](x, axis=1).astype(layer.y.dtype)
        return extreme
    sums = (x - layer.x.zero_point).sum(axis=1)
    count = layer.count if layer.kind == "mean" else 1
    if layer.rounding == "double":
        q, exponent = multiplier(layer.x.scale / layer.y.scale)
        bits = min(count.bit_length() - 1, 31 + exponent)
        return finish(double_by(sums, (q << bits) // count, exponent - bits), layer.y, layer.clamp)
    real = sums.astype(F) * F(layer.x.scale) / F(count) / F(layer.y.scale)
    return finish(np.rint(real).astype(np.int64), layer.y, layer.clamp)


def _resize(layer: QResize, data: Array) -> Array:
    """Both neighbours along each axis, with weights in units of 1 / 1024."""
    height, width, channels = layer.input
    x = data.reshape(layer.batch, height, width, channels).astype(np.int64)
    sides = []
    for size, out in zip((height, width), layer.output, strict=True):
        step = (1024 * size + out // 2) // out
        if layer.align_corners and out > 1:
            step = (1024 * (size - 1) + (out - 1) // 2) // (out - 1)
        place = np.arange(out) * step + (step // 2 - 512 if layer.half_pixels else 0)
        lower = np.clip(place // 1024, 0, size - 1)
        upper = np.clip(-(-place // 1024), 0, size - 1)
        sides.append((lower, upper, place - 1024 * lower))
    (top, bottom, down), (left, right, across) = sides
    across, down = across.reshape(-1, 1), down.reshape(-1, 1, 1)
    rows = [
        x[:, row][:, :, left] * (1024 - across) + x[:, row][:, :, right] * across for row in (top, bottom)
    ]
    total = rows[0] * (1024 - down) + rows[1] * down
    rounded: Array = np.sign(total) * ((np.abs(total) + 2**19) // 2**20)
    return rounded.astype(layer.x.dtype)


def _table(layer: QTable, data: Array) -> Array:
    result: Array = layer.table[data.astype(np.int64) + (128 if layer.x_dtype == "int8" else 0)]
    return result


# ---------------------------------------------------------------- softmax


def _softmax(layer: QSoftmax, data: Array) -> Array:
    x = data.reshape(layer.rows, layer.columns).astype(np.int64)
    if layer.rounding == "double":
        rows = [_fixed(layer.x.scale, row.tolist()) for row in x]
        fixed: Array = (np.clip(np.array(rows), 0, 255) + layer.y.zero_point).astype(layer.y.dtype)
        return fixed
    exponentials = np.exp((x - x.max(axis=1, keepdims=True)) * np.float64(layer.x.scale))
    real = exponentials / exponentials.sum(axis=1, keepdims=True)
    return finish(np.rint(real / layer.y.scale).astype(np.int64), layer.y, full(layer.y))


def _high(a: int, b: int) -> int:
    return min((a * b + 2**30) // 2**31, MOST)


def _away(value: int, exponent: int) -> int:
    half = 1 << exponent
    away = (2 * abs(value) + half) // (2 * half)
    return away if value >= 0 else -away


def _exp(scale: float, difference: int) -> int:
    """gemmlowp's exponential of a scaled difference with 5 integer bits, as a fraction of 2^31."""
    q, shift = multiplier(min(scale * 2.0**26, 2.0**31 - 1))
    if difference < -math.floor(31.0 * 2.0**26 / 2.0**shift):
        return 0
    a = _high(difference * 2**shift, q)
    if a == 0:
        return MOST
    fraction = a % 2**24 - 2**24
    x = fraction * 32 + 2**28
    x2 = _high(x, x)
    x3, x4 = _high(x2, x), _high(x2, x2)
    t = _away(_high(_away(x4, 2) + x3, 715827883) + x2, 1)
    result = 1895147668 + _high(1895147668, x + t)
    for bit, factor in enumerate((1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)):
        if (fraction - a) >> (24 + bit) & 1:
            result = _high(result, factor)
    return result


def _fixed(scale: float, row: list[int]) -> list[int]:
    exponentials = [_exp(scale, value - max(row)) for value in row]
    total = sum(_away(value, 12) for value in exponentials)
    headroom = 32 - total.bit_length()
    half = ((total << headroom) - 2**31 + 2**31) // 2
    x = 1515870810 + _high(half, -1010580540)
    for _ in range(3):
        x += min(_high(x, 2**29 - _high(half, x)) * 4, MOST)
    inverse = min(x * 2, MOST)
    return [_away(_high(inverse, value), 12 - headroom + 23) for value in exponentials]
