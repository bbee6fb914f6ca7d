"""How sums become outputs with the DSP extension, for numbers and weights of any kind."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from ..layers import Array
from ..quantized_layers import QConv2D, QDense, Quantization
from .declined import DeclinedError
from .dsp_packing import SUM_BITS, Finish, finish_of
from .q_common import SIGN_BIT, how_of

MOST_SHIFT = 20
"""Where sums may have 30 bits: then 128 in units of the last place of an output leaves room for them."""

AnyLayer = TypeVar("AnyLayer", QConv2D, QDense)


def lift(q: Quantization) -> int:
    """How much more a number of `q` is than its int8 one."""
    return SIGN_BIT if q.dtype == "uint8" else 0


def signed(q: Quantization) -> Quantization:
    """The same with int8 numbers."""
    return Quantization("int8", q.scale, q.zero_point - lift(q))


def signed_weights(layer: QConv2D | QDense) -> tuple[Array, Array]:
    """Weights and their zero points, int64, as int8 would hold them."""
    less = SIGN_BIT if layer.weights.dtype == np.uint8 else 0
    return layer.weights.astype(np.int64) - less, layer.weight_zeros.astype(np.int64).ravel() - less


def finish_any(layer: AnyLayer, bits: int) -> Finish:
    """`finish_of` for inputs, weights and outputs of any kind; inputs count as int8."""
    up = lift(layer.y)
    weights, zeros = signed_weights(layer)
    plain = dataclasses.replace(
        layer,
        x=signed(layer.x),
        y=signed(layer.y),
        weights=weights - zeros.reshape(-1, *(1,) * (weights.ndim - 1)),
        weight_zeros=np.zeros_like(zeros),
        clamp=(layer.clamp[0] - up, layer.clamp[1] - up),
    )
    finish = finish_of(plain, bits)
    if not up:
        return finish
    if finish.form == "TVM_ANY":
        how = how_of(layer)
        return dataclasses.replace(finish, how=how)
    words = finish.words.copy()
    shifts = words[:, 2] if finish.form == "TVM_DOUBLE" else np.int64(finish.form)
    if bits > SUM_BITS and (shifts > MOST_SHIFT).any():
        raise DeclinedError("large sums become uint8")
    words[:, 1] += SIGN_BIT << shifts
    low, high = finish.low + up, finish.high + up
    return dataclasses.replace(finish, words=words, limited=True, low=low, high=high)
