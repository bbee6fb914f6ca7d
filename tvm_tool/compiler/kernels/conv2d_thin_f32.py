"""Convolution for few input channels, as in the first layer of a network: windows are gathered."""

from __future__ import annotations

from ..layers import Conv2D, Driver, Layer, Need
from .float32 import FLOAT, blocked, clamp_arguments, floats, macs, pack, window_text

RUNTIME = ("tvm_conv2d_thin_f32.c", "tvm_gemm_f32.c", "tvm_gemv_f32.c", "tvm_dot_f32.c")
MOST_CHANNELS = 4
"""With more, a pointer to each tap costs less than a copy of its channels."""


def conv2d_thin(layer: Layer, need: Need) -> Driver | None:
    """Convolutions of one group with at most four input channels, undilated along the width."""
    if not isinstance(layer, Conv2D) or not blocked(need):
        return None
    if layer.input[2] > MOST_CHANNELS or layer.groups != 1 or layer.dilations[1] != 1:
        return None
    weights = layer.weights.reshape(layer.weights.shape[0], -1)
    clamp = clamp_arguments(layer.clamp)
    return Driver(
        kernel="gemm4x4_f32, gathered",
        body=f"{window_text(layer)}\n"
        f"tvm_conv2d_thin_f32(&window, input, @weights@, @bias@, {clamp}, output, scratch);",
        constants={"weights": pack(weights), "bias": floats(layer.bias)},
        scratch=4 * FLOAT * weights.shape[1],
        runtime=RUNTIME,
        macs=macs(layer),
    )
