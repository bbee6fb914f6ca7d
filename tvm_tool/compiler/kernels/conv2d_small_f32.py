"""Convolution of any shape in the least code; also for cores without an FPU."""

from __future__ import annotations

from ..layers import Conv2D, Driver, Layer, Need
from .float32 import clamp_arguments, floats, macs, window_text

RUNTIME = ("tvm_conv2d_small_f32.c", "tvm_dot_f32.c")


def conv2d_small(layer: Layer, _need: Need) -> Driver | None:
    """Every convolution."""
    if not isinstance(layer, Conv2D):
        return None
    clamp = clamp_arguments(layer.clamp)
    return Driver(
        kernel="conv2d_small_f32",
        body=f"{window_text(layer)}\n"
        f"tvm_conv2d_small_f32(&window, input, @weights@, @bias@, {clamp}, output);",
        constants={"weights": floats(layer.weights), "bias": floats(layer.bias)},
        runtime=RUNTIME,
        macs=macs(layer),
    )
