"""Dense layer of any number of rows in the least code; also for cores without an FPU."""

from __future__ import annotations

from ..layers import Driver, Layer, Need
from .float32 import as_dense, clamp_arguments, floats, macs

RUNTIME = ("tvm_dense_small_f32.c", "tvm_dot_f32.c")


def dense_small(layer: Layer, _need: Need) -> Driver | None:
    """Every dense layer, and the convolutions that are one."""
    product = as_dense(layer)
    if product is None:
        return None
    channels, depth = product.weights.shape
    shape = f"{product.rows}, {depth}, {channels}"
    clamp = clamp_arguments(product.clamp)
    return Driver(
        kernel="dense_small_f32",
        body=f"tvm_dense_small_f32({shape}, input, @weights@, @bias@, {clamp}, output);",
        constants={"weights": floats(product.weights), "bias": floats(product.bias)},
        runtime=RUNTIME,
        macs=macs(product),
    )
