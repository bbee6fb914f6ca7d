"""Depthwise convolution, four positions by four channels at a time."""

from __future__ import annotations

from ..layers import Driver, Layer, Need
from .float32 import blocked, clamp_arguments, floats, is_depthwise, macs, pack, taps_scratch, window_text

RUNTIME = ("tvm_depthwise_f32.c", "tvm_taps_f32.c", "tvm_gemv_f32.c", "tvm_dot_f32.c")


def depthwise(layer: Layer, need: Need) -> Driver | None:
    """Convolutions with a group for each channel, and as many output as input channels."""
    if not is_depthwise(layer) or not blocked(need):
        return None
    clamp = clamp_arguments(layer.clamp)
    return Driver(
        kernel="depthwise4x4_f32",
        body=f"{window_text(layer)}\n"
        f"tvm_depthwise_f32(&window, input, @weights@, @bias@, {clamp}, output, scratch);",
        constants={"weights": pack(layer.weights.reshape(layer.groups, -1)), "bias": floats(layer.bias)},
        scratch=taps_scratch(layer),
        runtime=RUNTIME,
        macs=macs(layer),
    )
