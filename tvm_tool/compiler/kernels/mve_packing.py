"""What the kernels for Helium have in common: packed weights and parameters."""

from __future__ import annotations

import numpy as np

from ..layers import Array
from .dsp_packing import Finish

LANES = 16
"""Inputs of a step."""

SUM_BITS = 30
"""Sums stay below 2^30, so that twice a sum fits 32 bits."""

FORMS = {"TVM_DOUBLE": "TVM_DOUBLE_MVE", "TVM_ANY": "TVM_ANY_MVE"}
PAIRS = (0, 2, 1, 3)
"""Channels in the order in which two at a time are computed."""


def form_of(finish: Finish) -> str:
    """The last two arguments of a block."""
    return f"{FORMS.get(finish.form, finish.form)}, {'true' if finish.limited else 'false'}"


def steps_of(matrix: Array, overlapping: bool) -> Array:
    """Weights [channels, depth] as the steps of a position: int8 [channels, steps, 16].

    Args:
        overlapping: whether the last step covers the last 16 inputs; else zeros stand behind the last one.
    """
    channels, depth = matrix.shape
    steps = -(-depth // LANES)
    padded = np.zeros((channels, steps * LANES), np.int8)
    padded[:, :depth] = matrix
    if overlapping and depth > LANES:
        rest = depth - (steps - 1) * LANES
        padded[:, (steps - 1) * LANES :] = 0
        padded[:, steps * LANES - rest :] = matrix[:, depth - rest :]
    return padded.reshape(channels, steps, LANES)


def by_two(steps: Array) -> Array:
    """[channels, steps, 16] in the order of tvm_gemm_2x4_mve: by two channels [steps][2][16]."""
    groups = _fours(steps).reshape(-1, 4, *steps.shape[1:])[:, PAIRS]
    ordered: Array = groups.reshape(-1, 2, *steps.shape[1:]).transpose(0, 2, 1, 3).ravel()
    return ordered


def by_four(steps: Array) -> Array:
    """[channels, steps, 16] in the order of tvm_gemv_1x4_mve: by four channels [steps][4][16]."""
    groups = _fours(steps).reshape(-1, 4, *steps.shape[1:])
    ordered: Array = groups.transpose(0, 2, 1, 3).ravel()
    return ordered


def words_of(finish: Finish) -> Array:
    """What turns sums into outputs: int64 [channels, n], biases first.

    The common shift rounds half up here, down in `Finish`; the shifts of each channel are negative.
    """
    words = finish.words.copy()
    if finish.form == "TVM_DOUBLE":
        words[:, 2] = -words[:, 2]
    elif finish.form != "TVM_ANY":
        words[:, 1] -= (1 << int(finish.form)) // 2
    return np.concatenate([finish.bias[:, None], words], axis=1)


def parameters_of(finish: Finish, once: bool = False) -> Array:
    """`words_of` by four channels: all four biases, then all four multipliers, and so on.

    With `once`, what follows the biases stands before them, once for all channels.
    """
    words = _fours(words_of(finish))
    if once:
        return np.concatenate([np.repeat(words[0, 1:], 4), words[:, 0]])
    ordered: Array = words.reshape(-1, 4, words.shape[1]).transpose(0, 2, 1).ravel()
    return ordered


def _fours(rows: Array) -> Array:
    """`rows` and zeros, so that there is a multiple of four of them."""
    padded = np.zeros((-(-len(rows) // 4) * 4, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    return padded
