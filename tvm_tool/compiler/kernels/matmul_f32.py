"""Dense layer of many rows and 1x1 convolution: a blocked matrix product."""

from __future__ import annotations

from ..layers import Driver, Layer, Need
from .float32 import FLOAT, as_dense, blocked, clamp_arguments, floats, macs, pack

RUNTIME = ("tvm_matmul_f32.c", "tvm_gemm_f32.c", "tvm_gemv_f32.c", "tvm_dot_f32.c")


def matmul(layer: Layer, need: Need) -> Driver | None:
    """Dense layers of several rows, and convolutions that look at one position at a time.

    Where a row does not grow it is done in place: four rows are copied before they are overwritten.
    """
    product = as_dense(layer)
    if product is None or not blocked(need):
        return None
    channels, depth = product.weights.shape
    in_place = channels <= depth
    shape = f"{product.rows}, {depth}, {channels}"
    clamp = clamp_arguments(product.clamp)
    scratch = "scratch" if in_place else "NULL"
    return Driver(
        kernel="gemm4x4_f32",
        body=f"tvm_matmul_f32({shape}, input, @weights@, @bias@, {clamp}, output, {scratch});",
        constants={"weights": pack(product.weights), "bias": floats(product.bias)},
        scratch=4 * FLOAT * depth if in_place else 0,
        in_place=in_place,
        runtime=RUNTIME,
        macs=macs(product),
    )
