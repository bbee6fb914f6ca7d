"""Convolutions of one group and dense layers for the DSP extension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QDense, QLayer
from . import dsp_blocks as blocks
from .declined import DeclinedError
from .dsp_packing import (
    SUM_BITS,
    Finish,
    check_types,
    fast_finish_of,
    fours,
    in_order,
    pack_parameters,
    pack_weights,
)
from .float32 import POINTER
from .q_common import window_of
from .q_conv2d import as_dense

ALIGN = 16
WORD = 4
STACK_SCRATCH = 32
"""Bytes that `tvm_pointwise_dsp` takes from the stack instead."""

MOST_OFFSET = 4095
"""Bytes that a load reaches over: both positions are read from one pointer."""

PASS = 8
"""Inputs that a pass of the products of one position takes."""

FEW_CHANNELS = 16
"""For so few, expanding the inputs of one position takes more than it saves."""


def dense(layer: QLayer, need: Need) -> Driver:
    """Dense layers of one row, and convolutions that are one.

    Inputs that are expanded once, in scratch, cost the least for many channels.
    """
    product = layer if isinstance(layer, QDense) else as_dense(layer) if isinstance(layer, QConv2D) else None
    if product is None or product.rows != 1:
        raise DeclinedError("not one row")
    check_types(product)
    finish = fast_finish_of(product, SUM_BITS)
    channels, depth = product.weights.shape
    passes = -(-depth // PASS)
    unroll = next(n for n in (4, 2, 1) if passes % n == 0)
    matrix = np.zeros((channels, passes * PASS), np.int64)
    matrix[:, : fours(depth)] = in_order(product.weights)

    def call(block: Mapping[str, str], arguments: str) -> str:
        gemm = gemm_of(finish, "NULL", 1, passes * PASS, channels)
        return f"{gemm}\n{next(iter(block))}(&gemm, {arguments});"

    words = blocks.gemv("words", unroll, channels, finish)
    expanding = Driver(
        kernel="dense_dsp",
        body=call(words, f"{depth}, input, output, scratch"),
        constants=_constants(matrix, finish, once=finish.alike),
        scratch=passes * PASS // 2 * WORD,
        in_place=channels <= depth,
        macs=product.weights.size,
        headers=("tvm_gemv_dsp.h",),
        blocks=words,
        over_input=True,
    )
    if depth % PASS:
        return expanding
    read = blocks.gemv("bytes" if need.aligned else "loose_bytes", unroll, channels, finish)
    direct = replace(
        expanding,
        kernel="dense_direct_dsp",
        body=call(read, "input, output"),
        scratch=0,
        in_place=False,
        blocks=read,
        over_input=False,
    )
    return direct if channels <= FEW_CHANNELS else replace(direct, roomy=expanding)


def pointwise(layer: QLayer, _need: Need) -> Driver:
    """Dense layers of several rows, and 1x1 convolutions of stride 1."""
    product = layer if isinstance(layer, QDense) else as_dense(layer) if isinstance(layer, QConv2D) else None
    if product is None:
        raise DeclinedError("not a product of matrices")
    check_types(product)
    finish = fast_finish_of(product, SUM_BITS)
    channels, depth = product.weights.shape
    steps, unroll = blocks.unrolled(fours(depth) // 2, pad=True)
    matrix = np.zeros((channels, 2 * steps), np.int64)
    matrix[:, : fours(depth)] = in_order(product.weights)
    block = blocks.gemm(1, steps, unroll, channels, finish)
    scratch = "NULL" if 2 * steps * WORD <= STACK_SCRATCH else "scratch"
    return Driver(
        kernel="pointwise_dsp",
        body="\n".join(
            [
                gemm_of(finish, next(iter(block)), 1, 2 * steps, channels),
                f"tvm_pointwise_dsp(&gemm, {product.rows}, {depth}, input, output, {scratch});",
            ]
        ),
        constants=_constants(matrix, finish),
        scratch=0 if scratch == "NULL" else 2 * steps * WORD,
        in_place=channels <= depth,
        runtime=("tvm_pointwise_dsp.c",),
        macs=product.rows * product.weights.size,
        headers=("tvm_gemm_dsp.h", "tvm_kernels_dsp.h"),
        blocks=block,
    )


def conv2d_rows(layer: QLayer, need: Need) -> Driver:
    """Convolutions whose rows can stand expanded in a ring."""
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    channels, height, width, depth = layer.weights.shape
    if depth % 4 or layer.dilations[1] != 1 or layer.output[1] < 2:
        raise DeclinedError("rows cannot be shared")
    if (layer.strides[1] * depth // 2 + PASS) * WORD > MOST_OFFSET:
        raise DeclinedError("more channels than an offset reaches over")
    if need.optimize != "speed" or height * width == 1:
        raise DeclinedError("columns take less code")
    check_types(layer)
    finish = fast_finish_of(layer, SUM_BITS)
    steps, unroll = blocks.unrolled(width * depth // 2, pad=False)
    columns = (layer.output[1] - 1) * layer.strides[1] + width
    slots = (height - 1) * layer.dilations[0] + 1
    block = blocks.gemm(layer.strides[1] * depth // 2, steps, unroll, channels, finish)
    call = f"tvm_conv2d_rows_dsp(&window, &gemm, {layer.x.zero_point}, input, output, scratch);"
    return Driver(
        kernel="conv2d_rows_dsp",
        body="\n".join(
            [window_of(layer), gemm_of(finish, next(iter(block)), height, 2 * steps, channels), call]
        ),
        constants=_constants(in_order(layer.weights.reshape(channels, -1)), finish),
        scratch=pointer_bytes(height) + slots * columns * depth // 2 * WORD,
        in_place=stays_behind(layer, slots),
        runtime=("tvm_conv2d_rows_dsp.c",),
        macs=macs_of(layer),
        headers=("tvm_gemm_dsp.h", "tvm_kernels_dsp.h"),
        blocks=block,
    )


def conv2d_columns(layer: QLayer, _need: Need) -> Driver:
    """Every convolution of one group."""
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    check_types(layer)
    finish = fast_finish_of(layer, SUM_BITS)
    channels, height, width, depth = layer.weights.shape
    found = gathered(layer.weights, neighbours=layer.dilations[1] == 1)
    steps, unroll = blocks.unrolled(-(-found.shape[1] // 2), pad=True)
    matrix = np.zeros((channels, 2 * steps), np.int64)
    matrix[:, : found.shape[1]] = found
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    slots = (height - 1) * layer.dilations[0] + 1
    ring = slots * columns * depth if any(layer.pads) else 0
    block = blocks.gemm(1, steps, unroll, channels, finish)
    pieces = 1 if layer.dilations[1] == 1 else width
    gather = blocks.gather(height, pieces, width * depth // pieces)
    arguments = f"&window, &gemm, {next(iter(gather))}, {layer.x.zero_point}, input, output, scratch"
    call = f"tvm_conv2d_columns_dsp({arguments});"
    return Driver(
        kernel="conv2d_columns_dsp",
        body="\n".join([window_of(layer), gemm_of(finish, next(iter(block)), 1, 2 * steps, channels), call]),
        constants=_constants(matrix, finish),
        scratch=pointer_bytes(height) + 2 * steps * WORD + ring,
        in_place=ring > 0 and stays_behind(layer, slots),
        runtime=("tvm_conv2d_columns_dsp.c",),
        macs=macs_of(layer),
        headers=("tvm_expand_dsp.h", "tvm_kernels_dsp.h"),
        blocks={**block, **gather},
    )


def stays_behind(layer: QConv2D, slots: int) -> bool:
    """Whether output rows may take the place of the input: a ring of `slots` rows has all they cover."""
    height, row = layer.input[0], layer.input[1] * layer.input[2]
    result = layer.output[1] * layer.output[2]
    return all(
        (y + 1) * result <= min(height, y * layer.strides[0] + slots - layer.pads[0]) * row
        for y in range(layer.output[0])
    )


def gathered(weights: Array, neighbours: bool) -> Array:
    """Weights in the order in which inputs are gathered: whole fours of all pieces, then what is left."""
    channels, _, width, depth = weights.shape
    length = width * depth if neighbours else depth
    pieces = weights.reshape(channels, -1, length).astype(np.int64)
    whole = length // 4 * 4
    front = pieces[:, :, :whole].reshape(channels, -1)
    return np.concatenate([in_order(front), pieces[:, :, whole:].reshape(channels, -1)], axis=1)


def gemm_of(finish: Finish, block: str, segments: int, length: int, channels: int) -> str:
    """A C declaration of ``gemm``."""
    shape = f"{segments}, {length}, {channels}"
    fields = f"{block}, @weights@, @parameters@, {shape}, {finish.low}, {finish.high}, {finish.pointer}"
    return "\n".join([*finish.declaration, f"static const struct tvm_gemm_dsp gemm = {{{fields}}};"])


def _constants(matrix: Array, finish: Finish, once: bool = False) -> dict[str, Array]:
    weights = pack_weights(matrix * finish.moving[:, None])
    return {"weights": weights, "parameters": pack_parameters(finish, once), **finish.constants}


def pointer_bytes(count: int) -> int:
    return -(-count * POINTER // ALIGN) * ALIGN


def macs_of(layer: QConv2D) -> int:
    return int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size)
