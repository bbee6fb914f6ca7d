"""Requantisation in two instructions, proved equal to the exact one for every sum that can occur.

An output never falls when its sum grows, so it is known by its thresholds: the least sum for each output.
Sought is, for each channel, a multiplier M, an addend C and a correction D of the bias such that

    saturate8(((sum + D) * M + C * 2^32 + 2^31 >> 32) >> shift)

has the same thresholds among the sums that can occur, with one `shift` for the whole layer. With
X = C * 2^32 + D * M, every threshold bounds X from both sides; a D is good if some C reaches between the
largest lower and the smallest upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..layers import Array
from .rescaled import Rescaling

LEVELS = np.arange(-127, 128, dtype=np.int64)
"""Outputs that have a threshold."""

WORD = 1 << 32
HALF = 1 << 31
CORRECTIONS = (
    np.array(sorted(range(-(1 << 12), 1 << 12), key=abs), np.int64),
    np.arange(-(1 << 17), 1 << 17, dtype=np.int64),
)
"""Corrections tried, the few small ones first."""

NEAR = np.array([0, 1, -1, 2, -2, 3, -3], np.int64)
"""Multipliers tried around the one of the right slope."""

SHIFTS = (4, 6, 2, 8, 0, 10, 5, 3, 7, 1, 9, 11)
"""Shifts in the order in which they are tried, so that layers share the code made for one."""

LESS_EXACT = 3
"""How far below the most exact shift others are tried."""


@dataclass(frozen=True, eq=False)
class Uniform:
    """int64 arrays by channel; add `corrections` to the bias."""

    shift: int
    multipliers: Array
    addends: Array
    corrections: Array


def uniform(
    rescaling: Rescaling, low: Array, high: Array, first: Array, last: Array, rounding: int = HALF
) -> Uniform | None:
    """A form for all channels, or None if there is none.

    Args:
        low, high: least and largest sum, int64 by channel; `first` and `last` are their outputs. Where these
            are equal, the output is always that one.
        rounding: what is added to products; 0 where a core rounds them down.
    """
    exact = rescaling.outputs
    if (first < -128).any() or (last > 127).any():
        return None
    slopes = rescaling.slopes
    moving = first != last
    if not moving.any():
        zeros = np.zeros(low.size, np.int64)
        return Uniform(0, zeros, first, zeros)
    thresholds = _thresholds(exact, slopes, rescaling.zero, low, high)
    steepest = float(slopes[moving].max())
    # The largest shift whose multipliers stay below 2^31 is the most exact.
    most = int(np.floor(np.log2((HALF - 8) / (steepest * WORD))))
    for shift in SHIFTS:
        if most - LESS_EXACT <= shift <= most:
            found = _search(thresholds, slopes, low, high, first, last, shift, rounding)
            if found is not None:
                return found
    return None


def _thresholds(exact: Callable[[Array], Array], slopes: Array, zero: int, low: Array, high: Array) -> Array:
    """The least sum for each level, [channels, levels], limited to [low, high + 1]."""
    least, most = low[:, None], high[:, None] + 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        guess = np.ceil((LEVELS - zero - 0.5) / slopes[:, None])
    centre = np.clip(np.nan_to_num(guess, nan=0.0, posinf=2.0**62, neginf=-(2.0**62)), least, most).astype(
        np.int64
    )
    below, above = np.maximum(centre - 4, least), np.minimum(centre + 4, most)
    reaches = exact(below) >= LEVELS
    below = np.where(reaches, least, below)  # the guess was too high
    short = (exact(np.minimum(above, high[:, None])) < LEVELS) | (above == most)
    above = np.where(short, most, above)
    # The threshold is in [below, above]: halve until it is found.
    while (below < above).any():
        middle = (below + above) >> 1
        enough = exact(middle) >= LEVELS
        above = np.where(enough, middle, above)
        below = np.where(enough, below, np.minimum(middle + 1, above))
    return above


def _search(
    thresholds: Array,
    slopes: Array,
    low: Array,
    high: Array,
    first: Array,
    last: Array,
    shift: int,
    rounding: int,
) -> Uniform | None:
    channels = low.size
    multipliers, corrections = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    addends = first << shift
    numerators = LEVELS * (1 << (shift + 32)) - rounding
    inside = (thresholds > low[:, None]) & (thresholds <= high[:, None])
    left = np.flatnonzero(first != last)
    for near in NEAR:
        if not left.size:
            break
        m = np.rint(slopes[left] * 2.0 ** (shift + 32)).astype(np.int64) + near
        m = np.clip(m, 1, HALF - 1)
        bounds = numerators - thresholds[left] * m[:, None]
        open_ = ~inside[left]
        least = np.where(open_, np.iinfo(np.int64).min, bounds).max(axis=1)
        most = np.where(open_, np.iinfo(np.int64).max, bounds).min(axis=1) + m
        # The two ends: no output beyond `first` and `last`, which saturation limits at -128 and 127.
        ends_first = first[left] * (1 << (shift + 32)) - rounding - low[left] * m
        ends_last = (last[left] + 1) * (1 << (shift + 32)) - rounding - high[left] * m
        least = np.where(first[left] > -128, np.maximum(least, ends_first), least)
        most = np.where(last[left] < 127, np.minimum(most, ends_last), most)
        room = np.clip(most - least, 0, WORD - 1)
        solved = np.zeros(left.size, bool)
        for place, channel in enumerate(left):
            if room[place] == 0:
                continue
            # C * 2^32 must lie in [least - D * M, most - D * M): by how much the next multiple is too far.
            for corrections_tried in CORRECTIONS:
                over = (corrections_tried * m[place] - least[place]) & (WORD - 1)
                good = int(np.argmax(over < room[place]))
                if over[good] < room[place]:
                    d = corrections_tried[good]
                    multipliers[channel], corrections[channel] = m[place], d
                    addends[channel] = (least[place] - d * m[place] + over[good]) >> 32
                    solved[place] = True
                    break
        left = left[~solved]
    if left.size or np.abs(addends).max() >= 1 << 30:
        return None
    return Uniform(shift, multipliers, addends, corrections)
