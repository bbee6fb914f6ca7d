"""Layers in words, for identifiers, comments and reports."""

from __future__ import annotations

from .layers import Conv2D, Dense, Layer, Pool2D


def describe(layer: Layer) -> tuple[str, str]:
    """A word for identifiers and a description for readers."""
    if isinstance(layer, Conv2D):
        kernel = f"{layer.weights.shape[1]}x{layer.weights.shape[2]}"
        depthwise = layer.groups > 1 and layer.groups == layer.input[2]
        word = "depthwise" if depthwise else "conv2d"
        stride = "" if layer.strides == (1, 1) else " stride " + "x".join(map(str, layer.strides))
        return word, f"{word} {kernel}{stride}"
    if isinstance(layer, Dense):
        return "dense", "dense"
    if isinstance(layer, Pool2D):
        return f"{layer.kind}_pool", f"{layer.kind} pool {layer.kernel[0]}x{layer.kernel[1]}"
    return "softmax", "softmax"


def shape_text(layer: Layer) -> str:
    """Input and output of a layer, as ``25x5x64 -> 25x5x64``."""
    if isinstance(layer, (Conv2D, Pool2D)):
        return "x".join(map(str, layer.input)) + " -> " + "x".join(map(str, layer.output))
    if isinstance(layer, Dense):
        rows = f"{layer.rows} x " if layer.rows > 1 else ""
        return f"{rows}{layer.weights.shape[1]} -> {layer.weights.shape[0]}"
    return f"{layer.rows} x {layer.columns}" if layer.rows > 1 else f"{layer.columns}"
