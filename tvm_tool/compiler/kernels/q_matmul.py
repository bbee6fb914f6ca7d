"""Integer product of two inputs."""

from __future__ import annotations

import numpy as np

from ..layers import Driver
from ..quantized_layers import QMatMul
from .q_common import flip, full, offset, rescaling

RUNTIME = ("tvm_matmul_s8.c", "tvm_rescale_s8.c")


def matmul(layer: QMatMul) -> Driver:
    """Every product of two inputs."""
    clamp = full(layer.y) if layer.clamp is None else layer.clamp
    how = rescaling(layer.rounding, layer.a.scale, np.array([layer.b.scale]), None, layer.y, clamp)
    shape = f"{layer.batch}, {layer.m}, {layer.k}, {layer.n}"
    operands = ", ".join(f"0x{flip(x.dtype):02x}, {offset(x)}" for x in (layer.a, layer.b))
    bias = {} if layer.bias is None else {"bias": layer.bias.astype(np.int32)}
    fields = f"{shape}, {operands}, {'@bias@' if bias else 'NULL'}"
    return Driver(
        kernel="matmul_s8",
        body=f"static const struct tvm_product_s8 product = {{{fields}}};\n"
        f"{how.text}\n"
        "tvm_matmul_s8(&product, &how, input0, input1, output);",
        constants={**how.constants, **bias},
        runtime=RUNTIME,
        macs=layer.batch * layer.m * layer.k * layer.n,
    )
