"""Depthwise convolution in the least code; also for cores without an FPU."""

from __future__ import annotations

from ..layers import Driver, Layer, Need
from .float32 import clamp_arguments, floats, is_depthwise, macs, window_text

RUNTIME = ("tvm_depthwise_small_f32.c",)


def depthwise_small(layer: Layer, _need: Need) -> Driver | None:
    """Convolutions with a group for each channel, and as many output as input channels."""
    if not is_depthwise(layer):
        return None
    clamp = clamp_arguments(layer.clamp)
    return Driver(
        kernel="depthwise_small_f32",
        body=f"{window_text(layer)}\n"
        f"tvm_depthwise_small_f32(&window, input, @weights@, @bias@, {clamp}, output);",
        constants={"weights": floats(layer.weights.transpose(3, 1, 2, 0)), "bias": floats(layer.bias)},
        runtime=RUNTIME,
        macs=macs(layer),
    )
