"""What layers compute, in float64 and as plainly as possible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tvm_tool.compiler.layers import Clamp, Conv2D, Dense, Layer, Pool2D, Softmax

Doubles = npt.NDArray[np.float64]


def reference(layer: Layer, data: npt.NDArray[np.float32]) -> Doubles:
    """The output of `layer` for the flat input `data`, flat."""
    x = data.astype(np.float64)
    if isinstance(layer, Conv2D):
        return _conv2d(layer, x).ravel()
    if isinstance(layer, Dense):
        rows = x.reshape(layer.rows, -1)
        return _clamp(rows @ layer.weights.T.astype(np.float64) + layer.bias, layer.clamp).ravel()
    if isinstance(layer, Pool2D):
        return _pool2d(layer, x).ravel()
    rows = x.reshape(layer.rows, layer.columns)
    e: Doubles = np.exp(rows - rows.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e.ravel()


def input_size(layer: Layer) -> int:
    if isinstance(layer, Dense):
        return layer.rows * int(layer.weights.shape[1])
    if isinstance(layer, Softmax):
        return layer.rows * layer.columns
    return layer.batch * int(np.prod(layer.input))


def _clamp(x: Doubles, clamp: Clamp) -> Doubles:
    low = -np.inf if clamp.low is None else np.float32(clamp.low)
    high = np.inf if clamp.high is None else np.float32(clamp.high)
    return np.clip(x, low, high)


def _taps(layer: Conv2D | Pool2D, x: Doubles, kernel: tuple[int, int], fill: float) -> Doubles:
    """[batch, output height, output width, kernel height, kernel width, channels], padding is `fill`."""
    height, width, channels = layer.input
    top, left, bottom, right = layer.pads
    image = x.reshape(layer.batch, height, width, channels)
    # Rounded up, the last window may hang over the padding.
    over = [(layer.output[i] - 1) * layer.strides[i] + (kernel[i] - 1) * layer.dilations[i] for i in (0, 1)]
    bottom = max(bottom, over[0] + 1 - height - top)
    right = max(right, over[1] + 1 - width - left)
    padded = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    out = np.empty((layer.batch, *layer.output[:2], *kernel, channels))
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            y, x0 = ky * layer.dilations[0], kx * layer.dilations[1]
            rows = slice(y, y + (layer.output[0] - 1) * layer.strides[0] + 1, layer.strides[0])
            columns = slice(x0, x0 + (layer.output[1] - 1) * layer.strides[1] + 1, layer.strides[1])
            out[:, :, :, ky, kx] = padded[:, rows, columns]
    return out


def _conv2d(layer: Conv2D, x: Doubles) -> Doubles:
    out_channels, kernel_height, kernel_width, depth = layer.weights.shape
    taps = _taps(layer, x, (kernel_height, kernel_width), 0.0)
    groups = taps.reshape(*taps.shape[:5], layer.groups, depth)
    weights = layer.weights.reshape(
        layer.groups, out_channels // layer.groups, kernel_height, kernel_width, depth
    )
    out: Doubles = np.einsum("byxhwgd,gohwd->byxgo", groups, weights.astype(np.float64), optimize=True)
    return _clamp(out.reshape(layer.batch, *layer.output) + layer.bias, layer.clamp)


def _pool2d(layer: Pool2D, x: Doubles) -> Doubles:
    if layer.kind == "max":
        most: Doubles = _taps(layer, x, layer.kernel, -np.inf).max(axis=(3, 4))
        return most
    total: Doubles = _taps(layer, x, layer.kernel, 0.0).sum(axis=(3, 4))
    ones = np.ones(layer.batch * int(np.prod(layer.input)))
    counted = _taps(layer, ones, layer.kernel, 0.0)
    if layer.include_pad:
        height, width, channels = layer.input
        top, left, bottom, right = layer.pads
        size = (height + top + bottom, width + left + right, channels)
        whole = Pool2D(layer.kind, size, layer.output, layer.kernel, layer.strides, layer.dilations)
        counted = _taps(whole, np.ones(int(np.prod(size))), layer.kernel, 0.0)
    total /= counted.sum(axis=(3, 4))
    return total
