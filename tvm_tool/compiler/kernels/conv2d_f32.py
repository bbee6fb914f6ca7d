"""Convolution of any shape as a blocked matrix product."""

from __future__ import annotations

import numpy as np

from ..layers import Conv2D, Driver, Layer, Need
from .float32 import blocked, clamp_arguments, floats, macs, pack, taps_scratch, window_text

RUNTIME = ("tvm_conv2d_f32.c", "tvm_taps_f32.c", "tvm_gemm_f32.c", "tvm_gemv_f32.c", "tvm_dot_f32.c")


def conv2d(layer: Layer, need: Need) -> Driver | None:
    """Every convolution."""
    if not isinstance(layer, Conv2D) or not blocked(need):
        return None
    weights = layer.weights.reshape(layer.groups, layer.weights.shape[0] // layer.groups, -1)
    clamp = clamp_arguments(layer.clamp)
    return Driver(
        kernel="gemm4x4_f32",
        body=f"{window_text(layer)}\n"
        f"tvm_conv2d_f32(&window, input, @weights@, @bias@, {clamp}, output, scratch);",
        constants={"weights": np.concatenate([pack(group) for group in weights]), "bias": floats(layer.bias)},
        scratch=taps_scratch(layer),
        runtime=RUNTIME,
        macs=macs(layer),
    )
