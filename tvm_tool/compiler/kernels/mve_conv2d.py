"""Convolutions of one group and dense layers for Helium."""

from __future__ import annotations

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QDense, QLayer
from . import mve_blocks as blocks
from .declined import DeclinedError
from .dsp_packing import Finish, check_types, finish_of, int32
from .float32 import POINTER
from .mve_packing import LANES, SUM_BITS, by_four, by_two, parameters_of, steps_of
from .q_common import window_of
from .q_conv2d import as_dense

FINISH = ("tvm_finish_mve.c", "tvm_rescale_s8.c")


def dense(layer: QLayer, need: Need) -> Driver:
    """Dense layers of one row, and convolutions that are one."""
    product = _product(layer)
    if product.rows != 1:
        raise DeclinedError("not one row")
    finish = finish_of(product, SUM_BITS)
    channels, depth = product.weights.shape
    steps, unroll = blocks.unrolled(-(-depth // LANES), need.optimize, pad=False)
    block = blocks.gemv(unroll, finish)
    matrix = _moving(product.weights, finish)
    scratch = steps * LANES if depth % LANES else 0
    arguments = f"&gemm, {depth}, input, output, {'scratch' if scratch else 'NULL'}"
    return Driver(
        kernel="dense_mve",
        body="\n".join(
            [
                _gemm(finish, "NULL", steps * LANES, channels),
                f"{next(iter(block))}({arguments});",
            ]
        ),
        constants=_constants(by_four(steps_of(matrix, overlapping=False)), finish, once=finish.alike),
        scratch=scratch,
        runtime=FINISH,
        macs=product.weights.size,
        headers=("tvm_gemv_mve.h",),
        blocks=block,
    )


def pointwise(layer: QLayer, need: Need) -> Driver:
    """Dense layers of several rows, and 1x1 convolutions of stride 1; in place if square."""
    product = _product(layer)
    finish = finish_of(product, SUM_BITS)
    channels, depth = product.weights.shape
    matrix = _moving(product.weights, finish)
    long = depth > blocks.MOST_STEPS[need.optimize] * LANES
    copied = channels == depth or (long and depth % LANES != 0)
    if copied:
        matrix, known = _padded(matrix, need.optimize)
        arguments = f"{product.rows}, {depth}, input, output, scratch"
    else:
        known = -blocks.unrolled(depth // LANES, need.optimize, pad=False)[1] if long else depth
        arguments = f"{product.rows}, input, output"
    block = blocks.gemm(known, finish)
    call = f"tvm_pointwise{'_copied' if copied else ''}_mve(&gemm, {arguments});"
    return Driver(
        kernel="pointwise_mve",
        body="\n".join([_gemm(finish, next(iter(block)), matrix.shape[1], channels), call]),
        constants=_constants(by_two(steps_of(matrix, overlapping=not copied)), finish),
        scratch=2 * matrix.shape[1] if copied else 0,
        in_place=channels == depth,
        runtime=("tvm_pointwise_mve.c", *FINISH),
        macs=product.rows * product.weights.size,
        headers=("tvm_kernels_mve.h",),
        blocks=block,
    )


def conv2d(layer: QLayer, need: Need) -> Driver:
    """Every convolution of one group."""
    if not isinstance(layer, QConv2D) or layer.groups != 1:
        raise DeclinedError("not a convolution of one group")
    check_types(layer)
    finish = finish_of(layer, SUM_BITS)
    channels, height, width, depth = layer.weights.shape
    matrix, known = _padded(_moving(layer.weights.reshape(channels, -1), finish), need.optimize)
    columns = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    slots = (height - 1) * layer.dilations[0] + 1
    ring = slots * columns * depth if any(layer.pads) else 0
    block = blocks.gemm(known, finish)
    pieces = 1 if layer.dilations[1] == 1 else width
    gather = blocks.gather(height, pieces, layer.dilations[1] * depth, width * depth // pieces)
    arguments = f"&window, &gemm, {next(iter(gather))}, {layer.x.zero_point}, input, output, scratch"
    return Driver(
        kernel="conv2d_mve",
        body="\n".join(
            [
                window_of(layer),
                _gemm(finish, next(iter(block)), matrix.shape[1], channels),
                f"tvm_conv2d_mve({arguments});",
            ]
        ),
        constants=_constants(by_two(steps_of(matrix, overlapping=False)), finish),
        scratch=-(-height * POINTER // LANES) * LANES + 2 * matrix.shape[1] + LANES + ring,
        runtime=("tvm_conv2d_mve.c", *FINISH),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_gather_mve.h", "tvm_kernels_mve.h"),
        blocks={**block, **gather},
    )


def _product(layer: QLayer) -> QDense:
    """`layer` as a dense layer; declines what is none."""
    product = layer if isinstance(layer, QDense) else as_dense(layer) if isinstance(layer, QConv2D) else None
    if product is None:
        raise DeclinedError("not a product of matrices")
    check_types(product)
    return product


def _moving(matrix: Array, finish: Finish) -> Array:
    """Weights, zeros for channels whose output is always the same."""
    weights: Array = matrix * finish.moving[:, None].astype(np.int8)
    return weights


def _padded(matrix: Array, optimize: str) -> tuple[Array, int]:
    """Weights with zeros for whole passes, and the depth that a block is made for."""
    channels, depth = matrix.shape
    steps, known = -(-depth // LANES), -(-depth // LANES) * LANES
    if steps > blocks.MOST_STEPS[optimize]:
        steps, unroll = blocks.unrolled(steps, optimize, pad=True)
        known = -unroll
    padded = np.zeros((channels, steps * LANES), np.int8)
    padded[:, :depth] = matrix
    return padded, known


def _gemm(finish: Finish, block: str, depth: int, channels: int) -> str:
    """A C declaration of ``gemm``."""
    fields = f"{block}, @weights@, @parameters@, {depth}, {channels}, {finish.low}, {finish.high}"
    return "\n".join(
        [*finish.declaration, f"static const struct tvm_gemm_mve gemm = {{{fields}, {finish.pointer}}};"]
    )


def _constants(weights: Array, finish: Finish, once: bool = False) -> dict[str, Array]:
    return {"weights": weights, "parameters": int32(parameters_of(finish, once)), **finish.constants}
