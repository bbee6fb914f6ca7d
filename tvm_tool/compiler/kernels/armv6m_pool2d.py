"""Maximum and average of windows for Cortex-M0 and M0+."""

from __future__ import annotations

import dataclasses

from ..layers import Driver, Need
from ..quantized_layers import QPool2D
from .declined import DeclinedError
from .q_pool2d import pool2d


def pool(layer: QPool2D, _need: Need) -> Driver:
    """The scalar kernel with other loops."""
    scalar = pool2d(layer)
    if layer.input[2] < 4:
        raise DeclinedError("less than four channels")
    if scalar.kernel == "average_pool_float_s8":
        raise DeclinedError("a sum in single precision")
    average = "true" if layer.kind == "average" else "false"
    call = f"tvm_{scalar.kernel}(&window, &how, input, output);"
    assert call in scalar.body
    return dataclasses.replace(
        scalar,
        kernel=f"{layer.kind}_pool_armv6m",
        body=scalar.body.replace(call, f"tvm_pool2d_armv6m(&window, &how, {average}, input, output);"),
        runtime=("tvm_pool2d_armv6m.c", *scalar.runtime),
        headers=("tvm_kernels_armv6m.h",),
    )
