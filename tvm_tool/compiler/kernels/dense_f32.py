"""Dense layer of one row, four channels at a time."""

from __future__ import annotations

from ..layers import Driver, Layer, Need
from .float32 import as_dense, blocked, clamp_arguments, floats, macs, pack

RUNTIME = ("tvm_dense_f32.c", "tvm_gemv_f32.c", "tvm_dot_f32.c")


def dense(layer: Layer, need: Need) -> Driver | None:
    """Dense layers of one row, and convolutions whose window is the whole image."""
    product = as_dense(layer)
    if product is None or product.rows != 1 or not blocked(need):
        return None
    channels, depth = product.weights.shape
    clamp = clamp_arguments(product.clamp)
    return Driver(
        kernel="gemv1x4_f32",
        body=f"tvm_dense_f32({depth}, {channels}, input, @weights@, @bias@, {clamp}, output);",
        constants={"weights": pack(product.weights), "bias": floats(product.bias)},
        runtime=RUNTIME,
        macs=macs(product),
    )
