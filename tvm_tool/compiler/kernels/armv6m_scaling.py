"""From sums to outputs with products of 32 bits, proved equal to the exact way for every sum that can occur.

An output never falls when its sum grows, so it is known by its thresholds: the least sum for each output. A
sum counts from just below its channel's first threshold and is limited to what lies between the first and the
last one; it becomes an output by

    (sum * M / 2^SPLIT + C) / 2^OUTPUT_BITS, rounded down, the lowest byte

where M is two numbers, each short enough that its product with the sum fits 32 bits. Ties that are rounded
away from zero need another C below zero. M is sought so that all thresholds stand where they should.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..layers import Array
from ..quantized_layers import QConv2D, QDense
from .declined import DeclinedError
from .q_common import LIMITS, CText, rescaling
from .rescaled import Rescaling, rescaling_of

SPLIT = 12
"""Bits of the lower part of a multiplier."""

SUM_BITS = 32 - SPLIT
"""Sums between a channel's first and last threshold stay below 2^20."""

HIGH_BITS = 30
"""Bits of the upper part of a multiplier."""

OUTPUT_BITS = 24
UNIT = 1 << (OUTPUT_BITS + SPLIT)
"""One output, in units of what is shifted out."""

WORD_BITS = 30
"""Sums as they are stay below 2^30, so that 32 bits hold them whatever is taken off."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How the sums of a layer become outputs.

    Attributes:
        bias: int64 by channel; the zero point of the input and the first threshold are in it.
        words: int64 [channels, n]: the rest of M, limit, M / 2^SPLIT, C; if `sided`, also what C is more
            below the sum 0, and where that is. Three zeros if there is `how`.
        moving: by channel, whether its output is not always the same; where it is, weights have to be 0.
        how: declaration of ``how`` if there is no such form.
    """

    bias: Array
    words: Array
    moving: Array
    sided: bool = False
    how: CText | None = None

    @property
    def form(self) -> str:
        """The C enumerator."""
        return "TVM_EXACT" if self.how is not None else "TVM_SIDED" if self.sided else "TVM_SPLIT"

    @property
    def alike(self) -> bool:
        """Whether all channels have the same words."""
        return self.how is None and bool((self.words == self.words[0]).all())


def scaling_of(layer: QConv2D | QDense) -> Scaling:
    """The fastest form that is exact for all sums of `layer`."""
    weights = layer.weights.reshape(layer.bias.size, -1).astype(np.int64)
    bias = layer.bias.astype(np.int64).ravel() - layer.x.zero_point * weights.sum(axis=1)
    least, most = LIMITS["int8"]
    low = bias + np.where(weights > 0, weights * least, weights * most).sum(axis=1)
    high = bias + np.where(weights > 0, weights * most, weights * least).sum(axis=1)
    reach = np.maximum(-low, high)
    exact = rescaling_of(layer)
    moving: Array = exact.outputs(low) != exact.outputs(high)
    if reach.max() >= 1 << 31 or reach[moving].max(initial=0) >= 1 << WORD_BITS:
        raise DeclinedError("sums are too large")
    if exact.alike and reach.max() < 1 << WORD_BITS:
        # One form for all channels, which then need not be stored for each.
        one = _one(exact)
        found = _search(one, low.min(keepdims=True), high.max(keepdims=True))
        if found is not None:
            words, start, sided = found
            every = np.ones_like(moving)
            return Scaling(bias - start, np.repeat(words, bias.size, axis=0), every, sided)
    found = _search(exact, np.where(moving, low, 0), np.where(moving, high, 0), moving, exact.outputs(low))
    if found is not None:
        words, start, sided = found
        return Scaling((bias - start) * moving, words, moving, sided)
    if reach.max() >= 1 << WORD_BITS:
        raise DeclinedError("sums are too large")
    how = rescaling(layer.rounding, layer.x.scale, layer.weight_scales, layer.y, layer.clamp)
    return Scaling(bias, np.zeros((bias.size, 3), np.int64), np.ones_like(moving), how=how)


def _one(exact: Rescaling) -> Rescaling:
    """How the first channel alone is rescaled."""
    parts: dict[str, Any] = {}
    for field in dataclasses.fields(exact):
        value = getattr(exact, field.name)
        if isinstance(value, np.ndarray):
            parts[field.name] = value[:1]
    return dataclasses.replace(exact, **parts)


def _search(
    exact: Rescaling, low: Array, high: Array, moving: Array | None = None, still: Array | None = None
) -> tuple[Array, Array, bool] | None:
    """Words, the sum that counts as 0, and whether zero has two sides; None if a channel has no form.

    Args:
        low, high: least and greatest sum, by channel.
        moving: channels to look at; the others always have the output `still`.
    """
    channels = low.size
    first, last = exact.outputs(low), exact.outputs(high)
    levels = first[:, None] + np.arange(1, 256)
    thresholds = _thresholds(exact, low, high, levels)
    for sided in (False, True):
        words, start = np.zeros((channels, 6), np.int64), np.zeros(channels, np.int64)
        for channel in range(channels):
            if moving is not None and still is not None and not moving[channel]:
                words[channel, 3] = int(still[channel]) << OUTPUT_BITS
                continue
            count = int(last[channel] - first[channel])
            if not count:
                words[channel, 3] = int(first[channel]) << OUTPUT_BITS
                continue
            points = thresholds[channel, :count]
            line = _line(points, float(exact.slopes[channel]), sided)
            if line is None:
                break
            multiplier, addend, below = line
            start[channel] = points[0] - 1
            words[channel] = (
                multiplier & ((1 << SPLIT) - 1),
                int(points[-1] - start[channel]),
                multiplier >> SPLIT,
                addend + (int(first[channel]) << OUTPUT_BITS),
                below - addend,
                int(np.clip(-start[channel], 0, (1 << SUM_BITS))),
            )
        else:
            return words if sided else words[:, :4], start, sided
    return None


def _thresholds(exact: Rescaling, low: Array, high: Array, levels: Array) -> Array:
    """The least sum in [low, high + 1] for each level: [channels, levels]."""
    below = np.repeat(low[:, None], levels.shape[1], axis=1)
    above = np.repeat(high[:, None] + 1, levels.shape[1], axis=1)
    while (below < above).any():
        middle = (below + above) >> 1
        enough = exact.outputs(middle) >= levels
        above = np.where(enough, middle, above)
        below = np.where(enough, below, np.minimum(middle + 1, above))
    return above


def _line(points: Array, slope: float, sided: bool) -> tuple[int, int, int] | None:
    """Multiplier, addend at and above zero, addend below it; None if no line has these thresholds.

    Args:
        points: the least sum of the second, third, ... output.
    """
    start = int(points[0]) - 1
    if int(points[-1]) - start >= 1 << SUM_BITS:
        return None
    # At these sums an output is reached; at those before them, and at the last sum, the next one is not yet.
    reached, missed = np.append(points, start), np.append(points - 1, points[-1])
    zero = np.iinfo(np.int64).min
    if sided:
        zero = 0
        if points[0] <= 0 <= points[-1]:
            reached, missed = np.append(reached, 0), np.append(missed, -1)
    sides = [
        (*_numbered(reached[inside], points, start), *_numbered(missed[outside], points, start, 1))
        for inside, outside in ((reached >= zero, missed >= zero), (reached < zero, missed < zero))
    ]

    def room(multiplier: int) -> int:
        return min(most - least for least, most in (_between(side, multiplier) for side in sides))

    guess = round(slope * UNIT)
    low, high = max(guess - (guess >> 8) - 256, 1), guess + (guess >> 8) + 256
    if (high << SUM_BITS) >= 1 << 62:
        return None
    # The room is concave: a third of the interval that is worse at its edge can go.
    while high - low > 2:
        third = (high - low) // 3
        if room(low + third) < room(high - third):
            low += third
        else:
            high -= third
    multiplier = max(range(low, high + 1), key=room)
    if multiplier >> SPLIT >= 1 << HIGH_BITS:
        return None
    addends = []
    for side in sides:
        least, most = _between(side, multiplier)
        addend = -(-least >> SPLIT)
        if addend << SPLIT >= most:
            return None
        addends.append(addend)
    return multiplier, addends[0], addends[1]


def _numbered(sums: Array, points: Array, start: int, more: int = 0) -> tuple[Array, Array]:
    """What is shifted out below the outputs of `sums`, or `more` of them, and the sums from `start` on."""
    outputs = np.searchsorted(points, sums, side="right") + more
    return outputs * UNIT, sums - start


def _between(side: tuple[Array, Array, Array, Array], multiplier: int) -> tuple[int, int]:
    """What C * 2^SPLIT must at least be, and stay below, for the sums on one side of zero."""
    levels, reached, ends, missed = side
    if not reached.size and not missed.size:
        return 0, UNIT
    least = int((levels - reached * multiplier).max()) if reached.size else None
    most = int((ends - missed * multiplier).min()) if missed.size else None
    if most is None:
        assert least is not None
        return least, least + UNIT
    return most - UNIT if least is None else least, most
