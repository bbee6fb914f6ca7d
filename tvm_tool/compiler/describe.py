"""Layers in words, for identifiers, comments and reports."""

from __future__ import annotations

from .layers import Conv2D, Dense, Layer, Pool2D, Softmax
from .quantized_layers import (
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
)


def describe(layer: Layer | QLayer) -> tuple[str, str]:
    """A word for identifiers and a description for readers."""
    if isinstance(layer, (Conv2D, QConv2D)):
        kernel = f"{layer.weights.shape[1]}x{layer.weights.shape[2]}"
        depthwise = layer.groups > 1 and layer.groups == layer.input[2]
        word = "depthwise" if depthwise else "conv2d"
        stride = "" if layer.strides == (1, 1) else " stride " + "x".join(map(str, layer.strides))
        return word, f"{word} {kernel}{stride}"
    if isinstance(layer, (Dense, QDense)):
        return "dense", "dense"
    if isinstance(layer, (Pool2D, QPool2D)):
        return f"{layer.kind}_pool", f"{layer.kind} pool {layer.kernel[0]}x{layer.kernel[1]}"
    if isinstance(layer, (Softmax, QSoftmax)):
        return "softmax", "softmax"
    if isinstance(layer, QConvTranspose2D):
        return "conv2d_transposed", f"transposed conv2d {layer.weights.shape[1]}x{layer.weights.shape[2]}"
    if isinstance(layer, QReduce):
        return f"reduce_{layer.kind}", f"{layer.kind} of {layer.count}"
    if isinstance(layer, QResize):
        return "resize", "bilinear resize"
    if isinstance(layer, QBinary):
        return layer.kind, layer.kind.replace("_", " ")
    if isinstance(layer, QMatMul):
        return "matmul", "matmul"
    return "table", "table of one value"


def shape_text(layer: Layer | QLayer) -> str:
    """Input and output of a layer, as ``25x5x64 -> 25x5x64``."""
    if isinstance(layer, (Conv2D, Pool2D, QConv2D, QConvTranspose2D, QPool2D, QResize)):
        return "x".join(map(str, layer.input)) + " -> " + "x".join(map(str, layer.output))
    if isinstance(layer, (Dense, QDense)):
        rows = f"{layer.rows} x " if layer.rows > 1 else ""
        return f"{rows}{layer.weights.shape[1]} -> {layer.weights.shape[0]}"
    if isinstance(layer, (Softmax, QSoftmax)):
        return f"{layer.rows} x {layer.columns}" if layer.rows > 1 else f"{layer.columns}"
    if isinstance(layer, QBinary):
        return "x".join(map(str, layer.y_shape))
    if isinstance(layer, QReduce):
        return f"{layer.outer} x {layer.count} x {layer.inner}"
    if isinstance(layer, QMatMul):
        return f"{layer.batch} x {layer.m} x {layer.k} x {layer.n}"
    return f"{layer.elements}"
