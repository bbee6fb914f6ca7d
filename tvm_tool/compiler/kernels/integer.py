"""The integer kernels: which one computes a layer on a core.

Each instruction set has its candidates, from the most special to the most general. A candidate answers with
a `Driver` or raises `DeclinedError` with the reason; the scalar kernels, which come last, take everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ..layers import Driver, Need
from ..quantized_layers import (
    QBinary,
    QConv2D,
    QConvTranspose2D,
    QDense,
    QLayer,
    QMatMul,
    QPool2D,
    QReduce,
    QResize,
    QSoftmax,
    QTable,
)
from .armv6m_add import add as add_by_table
from .armv6m_depthwise import depthwise as depthwise_of_halves
from .armv6m_gemm import conv2d as conv2d_of_four
from .armv6m_gemm import dense as dense_of_one
from .armv6m_pool2d import pool as pool_of_four
from .declined import DeclinedError
from .dsp_add import add
from .dsp_any import convolution, transposed
from .dsp_binary import binary as sums_and_products
from .dsp_binary import table as bytewise
from .dsp_conv2d import conv2d_columns, conv2d_rows, pointwise
from .dsp_conv2d import dense as dense_row
from .dsp_depthwise import depthwise
from .dsp_depthwise_direct import depthwise_direct
from .dsp_matmul import matmul as product_of_two
from .dsp_pool2d import pool, reduction
from .dsp_winograd import conv2d_winograd
from .mve_add import add as add_mve
from .mve_conv2d import conv2d as conv2d_mve
from .mve_conv2d import dense as dense_mve
from .mve_conv2d import pointwise as pointwise_mve
from .mve_depthwise import depthwise as depthwise_mve
from .pair_conv2d import conv2d as conv2d_of_pairs
from .pair_conv2d import dense as dense_of_eight
from .pair_depthwise import depthwise as depthwise_of_pairs
from .q_binary import binary
from .q_conv2d import conv2d
from .q_conv2d_transposed import conv2d_transposed
from .q_dense import dense
from .q_matmul import matmul
from .q_pool2d import pool2d
from .q_reduce import reduce
from .q_resize import resize
from .q_softmax import softmax
from .q_table import table

Candidate = Callable[[Any, Need], Driver]

DSP: Mapping[type, tuple[Candidate, ...]] = {
    QConv2D: (
        *(dense_row, pointwise, depthwise, depthwise_direct),
        *(conv2d_winograd, conv2d_rows, conv2d_columns, convolution),
    ),
    QConvTranspose2D: (transposed,),
    QDense: (dense_row, pointwise, convolution),
    QBinary: (add, sums_and_products),
    QMatMul: (product_of_two,),
    QPool2D: (pool,),
    QReduce: (reduction,),
    QTable: (bytewise,),
}

ARMV6M: Mapping[type, tuple[Candidate, ...]] = {
    QConv2D: (dense_of_one, depthwise_of_halves, conv2d_of_four),
    QDense: (dense_of_one, conv2d_of_four),
    QBinary: (add_by_table,),
    QPool2D: (pool_of_four,),
}

PAIR: Mapping[type, tuple[Candidate, ...]] = {
    QConv2D: (dense_of_eight, depthwise_of_pairs, conv2d_of_pairs),
    QDense: (dense_of_eight, conv2d_of_pairs),
    QBinary: (add,),
}

MVE: Mapping[type, tuple[Candidate, ...]] = {
    **DSP,
    QConv2D: (dense_mve, pointwise_mve, depthwise_mve, conv2d_mve, *DSP[QConv2D]),
    QDense: (dense_mve, pointwise_mve, *DSP[QDense]),
    QBinary: (add_mve, *DSP[QBinary]),
}

CANDIDATES: Mapping[str, Mapping[type, tuple[Candidate, ...]]] = {
    "armv6m": ARMV6M,
    "armv7m": PAIR,
    "rv32": PAIR,
    "dsp": DSP,
    "mve": MVE,
}
"""By instruction set and layer; a core with Helium has the DSP extension too."""

GENERAL: tuple[Candidate, ...] = (depthwise_direct, convolution)
"""Candidates that take what the faster ones before them decline."""

SCALAR: Mapping[type, Callable[[Any], Driver]] = {
    QConv2D: conv2d,
    QConvTranspose2D: conv2d_transposed,
    QDense: dense,
    QMatMul: matmul,
    QBinary: binary,
    QPool2D: pool2d,
    QReduce: reduce,
    QResize: resize,
    QSoftmax: softmax,
    QTable: table,
}


def drive_integer(layer: QLayer, need: Need) -> Driver:
    """The first kernel of the core's that takes `layer`."""
    reason = ""
    for candidate in CANDIDATES.get(need.isa, {}).get(type(layer), ()):
        answer = _ask(candidate, layer, need)
        if isinstance(answer, Driver):
            return dataclasses.replace(answer, declined=reason) if candidate in GENERAL else answer
        reason = answer
    return dataclasses.replace(SCALAR[type(layer)](layer), declined=reason)


def _ask(candidate: Candidate, layer: QLayer, need: Need) -> Driver | str:
    """What `candidate` answers, or why it declines."""
    try:
        return candidate(layer, need)
    except DeclinedError as declined:
        return str(declined)
