"""Maxima and averages of windows and along axes for the DSP extension."""

from __future__ import annotations

import dataclasses

from ..layers import Driver, Need, Pool2D
from ..quantized_layers import QPool2D, QReduce
from .declined import DeclinedError
from .float32 import window_text
from .q_pool2d import pool2d
from .q_reduce import reduce as scalar_reduce

LANES = 4


def pool(layer: QPool2D, _need: Need) -> Driver:
    """The scalar kernel with other loops."""
    scalar = pool2d(layer)
    if layer.input[2] < LANES:
        raise DeclinedError("less than four channels")
    if scalar.kernel == "average_pool_float_s8":
        raise DeclinedError("a sum in single precision")
    call = f"tvm_{scalar.kernel}(&window, &how, input, output);"
    average = "true" if layer.kind == "average" else "false"
    return _instead(scalar, f"{layer.kind}_pool_dsp", call, _pool_call(average), "tvm_pool2d_dsp.c")


def reduction(layer: QReduce, _need: Need) -> Driver:
    """Axes with at least four neighbours: maxima, minima, and sums as averages of windows."""
    scalar = scalar_reduce(layer)
    if layer.inner < LANES:
        raise DeclinedError("less than four neighbours along the axis")
    if scalar.kernel == "most_s8":
        faster = scalar.body.replace("tvm_most_s8(", "tvm_most_s8_dsp(")
        return _instead(scalar, "most_dsp", scalar.body, faster, "tvm_reduce_dsp.c")
    divisor = layer.count if layer.kind == "mean" else 1
    fixed = "tvm_pool_rescaled_s8" in scalar.body
    if divisor != layer.count and not fixed:
        raise DeclinedError("a sum in single precision")
    axis = f"static const struct tvm_axis_s8 axis = {{{layer.outer}, {layer.count}, {layer.inner}}};"
    shape = (1, layer.count, layer.inner)
    one = Pool2D("average", shape, (1, 1, layer.inner), shape[:2], (1, 1), batch=layer.outer)
    window = window_text(one)
    # The multiplier is found by the number of elements, which a sum does not divide by.
    body = scalar.body.replace(axis, window).replace(f".first = {divisor},", f".first = {layer.count},")
    call = f"tvm_sum_s8(&axis, &how, {divisor}, input, output);"
    return _instead(
        dataclasses.replace(scalar, body=body), "sum_dsp", call, _pool_call("true"), "tvm_pool2d_dsp.c"
    )


def _pool_call(average: str) -> str:
    return f"tvm_pool2d_s8_dsp(&window, &how, {average}, input, output);"


def _instead(scalar: Driver, kernel: str, call: str, faster: str, file: str) -> Driver:
    """The scalar driver with another call."""
    assert call in scalar.body
    return dataclasses.replace(
        scalar,
        kernel=kernel,
        body=scalar.body.replace(call, faster),
        runtime=(file, *scalar.runtime),
        headers=("tvm_kernels_dsp.h",),
    )
