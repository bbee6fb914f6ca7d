"""Maximum and average of windows for the DSP extension."""

from __future__ import annotations

import dataclasses

from ..layers import Driver, Need
from ..quantized_layers import QPool2D
from .declined import DeclinedError
from .q_pool2d import pool2d

MOST_ELEMENTS = 255
"""As many 8-bit numbers as add up in 16 bits."""


def pool(layer: QPool2D, _need: Need) -> Driver:
    """The scalar kernel with other loops."""
    scalar = pool2d(layer)
    if layer.x.dtype != "int8" or layer.input[2] < 4:
        raise DeclinedError("not four channels of int8")
    if scalar.kernel == "average_pool_float_s8":
        raise DeclinedError("a sum in single precision")
    average = layer.kind == "average"
    if average and layer.kernel[0] * layer.kernel[1] > MOST_ELEMENTS:
        raise DeclinedError("a large window")
    call = f"tvm_{scalar.kernel}(&window, &how, input, output);"
    fast = f"tvm_pool2d_s8_dsp(&window, &how, {'true' if average else 'false'}, input, output);"
    assert call in scalar.body
    return dataclasses.replace(
        scalar,
        kernel=f"{layer.kind}_pool_dsp",
        body=scalar.body.replace(call, fast),
        runtime=("tvm_pool2d_dsp.c", *scalar.runtime),
        headers=("tvm_kernels_dsp.h",),
    )
