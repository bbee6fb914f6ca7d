"""What the kernels for the DSP extension have in common: packed weights, and how sums become outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..layers import Array
from ..quantized_layers import DOUBLE, QConv2D, QDense
from .declined import DeclinedError
from .q_common import CText, rescaling
from .rescaled import Rescaling, rescaling_of
from .uniform_shift import Uniform, uniform

SUM_BITS = 23
"""Sums of a product kernel stay below 2^23, those of a depthwise one below 2^30."""
DEPTHWISE_SUM_BITS = 30

ORDER = (0, 2, 1, 3)
"""How four neighbours stand in two words of 16-bit numbers."""

INT8 = (-128, 127)
MOST_RIGHT_SHIFT = 22


@dataclass(frozen=True, eq=False)
class Finish:
    """How the sums of a layer become outputs.

    Attributes:
        form: C expression of the form: a shift, or the name of an enumerator.
        limited: whether outputs need other limits than those of int8.
        low, high: these limits.
        bias: int64 by channel, in which the zero point of the input and all corrections are.
        words: int64 [channels, n]: what stands behind the biases.
        moving: by channel, whether its output is not always the same; where it is, `bias` is 0 and weights
            have to be.
        how: declaration of ``how`` for ``TVM_ANY``.
    """

    form: str
    limited: bool
    low: int
    high: int
    bias: Array
    words: Array
    moving: Array
    how: CText | None = None

    @property
    def alike(self) -> bool:
        """Whether all channels have the same words."""
        return self.words.size > 0 and bool((self.words == self.words[0]).all())

    @property
    def name(self) -> str:
        """A word for the names of blocks."""
        form = {"TVM_DOUBLE": "double", "TVM_ANY": "any"}.get(self.form, f"shift{self.form}")
        return f"{form}_limited" if self.limited else form

    @property
    def literals(self) -> str:
        """The last two arguments of a block."""
        return f"{self.form}, {'true' if self.limited else 'false'}"

    @property
    def declaration(self) -> list[str]:
        return [] if self.how is None else [self.how.text]

    @property
    def pointer(self) -> str:
        return "NULL" if self.how is None else "&how"

    @property
    def constants(self) -> Mapping[str, Array]:
        return {} if self.how is None else self.how.constants


def check_types(layer: QConv2D | QDense) -> None:
    """Decline numbers that the kernels do not know."""
    if layer.x.dtype != "int8":
        raise DeclinedError("the input is uint8")
    if layer.weights.dtype != np.int8 or layer.weight_zeros.any():
        raise DeclinedError("the weights have zero points")


def finish_of(layer: QConv2D | QDense, bits: int) -> Finish:
    """The fastest form that is exact for all sums of `layer`; declines sums of more than `bits` bits."""
    weights = layer.weights.reshape(layer.bias.size, -1).astype(np.int64)
    bias = layer.bias.astype(np.int64).ravel() - layer.x.zero_point * weights.sum(axis=1)
    least, most = INT8
    low = bias + np.where(weights > 0, weights * least, weights * most).sum(axis=1)
    high = bias + np.where(weights > 0, weights * most, weights * least).sum(axis=1)
    exact = rescaling_of(layer)
    moving = exact.outputs(low) != exact.outputs(high)
    if not _fits(low, high, moving, bits):
        raise DeclinedError(f"sums do not fit {bits + 1} bits")
    every = np.ones_like(moving)
    all_fit = _fits(low, high, every, bits)
    limits = (exact.low, exact.high)
    if layer.y.dtype == "int8":
        whole = dataclasses.replace(exact, low=least, high=most)
        first, last = whole.outputs(low), whole.outputs(high)
        if whole.alike and all_fit:
            # One form for all channels, which then need not be stored for each.
            moving = every
            found = _once(whole, low, high)
        else:
            first = np.where(moving, first, exact.outputs(low))
            last = np.where(moving, last, first)
            found = uniform(whole, np.where(moving, low, 0), np.where(moving, high, 0), first, last)
        limited = bool((first < exact.low).any() or (last > exact.high).any())
        if found is not None and _fits(low + found.corrections, high + found.corrections, moving, bits):
            words = np.stack([found.multipliers, found.addends], axis=1)
            bias = bias + found.corrections
            return Finish(str(found.shift), limited, *limits, bias * moving, words, moving)
        double = _double(whole, first, moving)
        if double is not None:
            return Finish("TVM_DOUBLE", limited, *limits, bias * moving, double, moving)
    if not all_fit:
        raise DeclinedError(f"sums do not fit {bits + 1} bits")
    how = rescaling(layer.rounding, layer.x.scale, layer.weight_scales, layer.fraction, layer.y, layer.clamp)
    return Finish("TVM_ANY", False, *limits, bias, np.zeros((bias.size, 0), np.int64), every, how)


def _once(whole: Rescaling, low: Array, high: Array) -> Uniform | None:
    """The form of channels that are rescaled alike, for the sums of all of them."""
    one = whole.first
    least, most = low.min(keepdims=True), high.max(keepdims=True)
    found = uniform(one, least, most, one.outputs(least), one.outputs(most))
    if found is None:
        return None
    repeated = (np.repeat(x, low.size) for x in (found.multipliers, found.addends, found.corrections))
    return Uniform(found.shift, *repeated)


def _fits(low: Array, high: Array, moving: Array, bits: int) -> bool:
    """Whether the sums of all channels that are `moving` stay below 2^bits."""
    reach = np.maximum(-low, high)[moving]
    return int(reach.max(initial=0)) < 1 << bits


def _double(exact: Rescaling, first: Array, moving: Array) -> Array | None:
    """Multiplier, addend and right shift by channel, if every channel has them; `first` where none moves."""
    right = -exact.shifts
    constant = ~moving
    if exact.rounding != DOUBLE or not (constant | ((right >= 1) & (right <= MOST_RIGHT_SHIFT))).all():
        return None
    shift = np.where(constant, 0, right)
    half = np.where(constant, 0, np.int64(1) << np.maximum(shift - 1, 0))
    addends = np.where(constant, first, half + (np.int64(exact.zero) << shift))
    return np.stack([np.where(constant, 0, exact.multipliers), addends, shift], axis=1)


def pack_weights(matrix: Array) -> Array:
    """Weights [channels, depth] as the words that the product kernels read, by four channels.

    `depth` is even and stands in the order of the inputs' 16-bit numbers. Declines weights that two channels
    cannot share a word for.
    """
    channels, depth = matrix.shape
    padded = np.zeros((-(-channels // 4) * 4, depth), np.int64)
    padded[:channels] = matrix
    shared = 256 * padded[1::2] + padded[0::2]
    if shared.min(initial=0) < -(1 << 15):
        raise DeclinedError("weights of -128 beside negative ones")
    words = (shared[:, 0::2] & 0xFFFF) | ((shared[:, 1::2] & 0xFFFF) << 16)
    return int32(words.reshape(-1, 2, depth // 2).transpose(0, 2, 1))


def pack_parameters(finish: Finish, once: bool = False) -> Array:
    """Biases and what follows them, by four channels, for the product kernels.

    With `once`, what follows stands before them, once for all channels.
    """
    channels, width = finish.words.shape
    padded = -(-channels // 4) * 4
    bias = np.zeros(padded, np.int64)
    bias[:channels] = finish.bias
    words = np.zeros((padded, width), np.int64)
    words[:channels] = finish.words
    even, odd = bias[0::2], bias[1::2]
    biases = np.stack([even, 256 * odd + even], axis=1).reshape(-1, 4)
    if once:
        return int32(np.concatenate([finish.words[0], biases.ravel()]))
    return int32(np.concatenate([biases, words.reshape(padded // 4, 4 * width)], axis=1))


def fours(depth: int) -> int:
    """`depth` rounded up to a multiple of four."""
    return -(-depth // 4) * 4


def in_order(matrix: Array) -> Array:
    """Weights [channels, depth] in the order of expanded inputs, zeros behind: depth a multiple of four."""
    channels, depth = matrix.shape
    padded = np.zeros((channels, fours(depth)), np.int64)
    padded[:, :depth] = matrix
    ordered: Array = padded.reshape(channels, fours(depth) // 4, 4)[:, :, ORDER].reshape(padded.shape)
    return ordered


def int32(values: Array) -> Array:
    """`values` modulo 2^32, flat."""
    words: Array = (np.asarray(values, np.int64).ravel() & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return words
