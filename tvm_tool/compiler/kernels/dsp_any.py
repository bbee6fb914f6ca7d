"""Convolutions and dense layers of every kind for the DSP extension: what the special kernels do not take.

The inputs of two positions are gathered into columns. Whatever does not fit the products of `dsp_conv2d`
becomes further inputs at the end of a column:

- zero points of weights: sums of the inputs, with the zero points for weights;
- weights of two channels that do not fit one word: the input once more, with what is left of the weight.

Sums of more than 24 bits are added up piece by piece. Groups are computed one after the other.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..layers import Array, Driver, Need
from ..quantized_layers import QConv2D, QConvTranspose2D, QDense, QLayer
from . import dsp_blocks as blocks
from .declined import DeclinedError
from .dsp_conv2d import WORD, gathered, gemm_of, pointer_bytes
from .dsp_packing import DEPTHWISE_SUM_BITS, SUM_BITS, Finish, int32, pack_parameters, pack_weights
from .dsp_signed import finish_any, lift, signed_weights
from .q_common import window_of
from .q_conv2d import as_conv2d

WIDE_SUM_BITS = DEPTHWISE_SUM_BITS
PIECE = 128
"""Words of inputs whose sum fits 16 bits."""

STEP = 4
"""Words of a column that a pass of the loop for large sums takes."""

GROUP = 192
"""Bytes of scratch for what belongs to a group."""

LARGEST_SUM = 1 << 15
LEAST, MOST = -128, 127


@dataclass(frozen=True, eq=False)
class Columns:
    """The inputs of a position and their weights.

    Attributes:
        matrix: int64 [channels, n]: for each 16-bit number of a column.
        reach: largest size of each number of a column, int64 [n].
        words: of inputs that are gathered.
        sums: whether sums of them come next.
        repeated: places of numbers that come once more behind these; an even count.
    """

    matrix: Array
    reach: Array
    words: int
    sums: bool
    repeated: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where the outputs of a part of a layer lie: the first one, and the distances of others."""

    first: int
    step: int
    line: int
    image: int


def convolution(layer: QLayer, need: Need) -> Driver:
    """Every convolution and every dense layer."""
    if isinstance(layer, QDense):
        layer = as_conv2d(layer)
    assert isinstance(layer, QConv2D)
    height, width, channels = layer.output
    return _driver(
        layer, "conv2d_any_dsp", Place(0, channels, width * channels, height * width * channels), need
    )


def transposed(layer: QConvTranspose2D, need: Need) -> Driver:
    """Every transposed convolution without dilation: a convolution for each remainder of the strides."""
    if layer.dilations != (1, 1):
        raise DeclinedError("dilated")
    height, width, channels = layer.output
    parts = []
    for row in range(min(layer.strides[0], height)):
        for column in range(min(layer.strides[1], width)):
            place = Place(
                (row * width + column) * channels,
                layer.strides[1] * channels,
                layer.strides[0] * width * channels,
                height * width * channels,
            )
            parts.append(_driver(_part(layer, (row, column)), "conv2d_transposed_dsp", place, need))
    return _joined(parts)


def _part(layer: QConvTranspose2D, remainder: tuple[int, int]) -> QConv2D:
    """The convolution that gives every output whose place has this remainder."""
    pads, sizes = [], []
    weights = layer.weights
    for axis in (0, 1):
        stride, kernel = layer.strides[axis], layer.weights.shape[1 + axis]
        tap, base = (
            (remainder[axis] + layer.pads[axis]) % stride,
            (remainder[axis] + layer.pads[axis]) // stride,
        )
        taps = np.arange(tap, kernel, stride)[::-1]
        weights = np.take(weights, taps, axis=1 + axis)
        if not taps.size:  # these outputs are the bias alone
            nothing = layer.weight_zeros.astype(weights.dtype).reshape(-1, 1, 1, 1)
            shape = [*weights.shape]
            shape[1 + axis] = 1
            weights = np.broadcast_to(nothing, shape)
        pads.append(max(taps.size, 1) - 1 - base)
        sizes.append(-(-(layer.output[axis] - remainder[axis]) // stride))
    return QConv2D(
        x=layer.x,
        y=layer.y,
        input=layer.input,
        output=(sizes[0], sizes[1], layer.output[2]),
        weights=weights,
        weight_scales=layer.weight_scales,
        weight_zeros=layer.weight_zeros,
        bias=layer.bias,
        fraction=layer.fraction,
        clamp=layer.clamp,
        rounding=layer.rounding,
        pads=(pads[0], pads[1], 1, 1),  # what lies behind is padded anyway
        groups=layer.groups,
        batch=layer.batch,
    )


def _driver(layer: QConv2D, kernel: str, place: Place, need: Need) -> Driver:
    finish, wide = _finish(layer)
    wide = wide or need.isa == "mve"  # whose compiler keeps no four channels in registers
    _, height, width, depth = layer.weights.shape
    groups = layer.groups
    pieces = 1 if layer.dilations[1] == 1 else width
    ring = any(layer.pads) or groups > 1
    columns = _columns(layer, finish, pieces == 1)
    single = layer.batch * layer.output[0] * layer.output[1] == 1
    if wide or single:
        products = _wide(columns, finish, groups, not single)
    else:
        products = _packed(columns, finish, groups)
    gather = blocks.gather(height, pieces, width * depth // pieces, lift(layer.x) != 0)
    row = (layer.output[1] - 1) * layer.strides[1] + (width - 1) * layer.dilations[1] + 1
    slots = (height - 1) * layer.dilations[0] + 1
    ring_bytes = slots * row * depth if ring else 0
    sums = 2 * layer.output[2] // groups if finish.how else 0
    again = {"again": int32(np.array(columns.repeated))} if columns.repeated else {}
    rows: list[tuple[str, str | int]] = [
        ("gather", next(iter(gather))),
        ("words", products.words),
        ("inputs", columns.words),
        ("piece", PIECE if columns.sums else 0),
        ("again", "@again@" if again else "NULL"),
        ("again_count", len(columns.repeated)),
        ("zero", layer.x.zero_point),
        ("width", row),
        ("ring", "true" if ring else "false"),
        ("depth", depth),
        ("weights", products.weights.size // groups),
        ("parameters", products.parameters.size // groups),
        *dataclasses.asdict(place).items(),
    ]
    text = "\n".join(f"    .{name} = {value}," for name, value in rows)
    return Driver(
        kernel=kernel,
        body=f"{window_of(layer)}\n{products.declaration}\n"
        f"static const struct tvm_columns_dsp columns = {{\n{text}\n}};\n"
        "tvm_conv2d_any_dsp(&window, &gemm, &columns, input, output, scratch);",
        constants={
            "weights": products.weights,
            "parameters": products.parameters,
            **again,
            **finish.constants,
        },
        scratch=GROUP + pointer_bytes(height) + (2 * products.words + sums) * WORD + ring_bytes,
        runtime=("tvm_conv2d_any_dsp.c", *(("tvm_rescale_s8.c",) if finish.how else ())),
        macs=int(layer.batch * layer.output[0] * layer.output[1] * layer.weights.size),
        headers=("tvm_expand_dsp.h", "tvm_gemm_wide_dsp.h", "tvm_kernels_dsp.h"),
        blocks={**products.block, **gather},
    )


def _finish(layer: QConv2D) -> tuple[Finish, bool]:
    """How sums become outputs; whether they need more than 24 bits, or are finished by themselves."""
    try:
        finish = finish_any(layer, SUM_BITS)
    except DeclinedError:
        return finish_any(layer, WIDE_SUM_BITS), True
    return finish, finish.form == "TVM_ANY"


def _columns(layer: QConv2D, finish: Finish, neighbours: bool) -> Columns:
    weights, zeros = signed_weights(layer)
    weights = weights * finish.moving[:, None, None, None]
    zeros = zeros * finish.moving
    matrix = _even(gathered(weights, neighbours))
    words = matrix.shape[1] // 2
    reach = np.full(matrix.shape[1], -LEAST, np.int64)
    sums = bool(zeros.any())
    if sums:
        pieces = -(-words // PIECE)
        matrix = np.concatenate([matrix, _even(np.tile(-zeros[:, None], (1, pieces)))], axis=1)
        reach = np.concatenate([reach, np.full(matrix.shape[1] - reach.size, LARGEST_SUM)])
    matrix, places = _divided(matrix, layer.groups)
    return Columns(matrix, np.concatenate([reach, reach[list(places)]]), words, sums, places)


def _even(matrix: Array) -> Array:
    """An even number of columns: zeros behind."""
    return np.pad(matrix, ((0, 0), (0, matrix.shape[1] % 2)))


def _divided(matrix: Array, groups: int) -> tuple[Array, tuple[int, ...]]:
    """Weights that do not fit into words less what does not; behind them, for these places, the rest."""
    channels = matrix.shape[0] // groups
    fit: Array = matrix.reshape(groups, channels, -1).copy()
    odd, even = fit[:, 1::2], fit[:, 0::2][:, : channels // 2]
    np.minimum(fit, MOST, out=fit)
    # 256 * odd + even is at least -2^15.
    odd[(odd == LEAST) & (even < 0)] = LEAST + 1
    fit = fit.reshape(matrix.shape)
    places = np.flatnonzero((fit != matrix).any(axis=0))
    rest = _even((matrix - fit)[:, places])
    numbers = [int(place) for place in places]
    numbers += numbers[:1] if len(numbers) % 2 else []
    return np.concatenate([fit, rest], axis=1), tuple(numbers)


@dataclass(frozen=True, eq=False)
class Products:
    """How the products of columns are computed.

    Attributes:
        words: of a column, what no product reads included.
        declaration: of ``gemm``.
    """

    weights: Array
    parameters: Array
    words: int
    block: Mapping[str, str]
    declaration: str


def _packed(columns: Columns, finish: Finish, groups: int) -> Products:
    """Four channels at a time, sums below 2^23."""
    channels = finish.bias.size // groups
    steps, unroll = blocks.unrolled(columns.matrix.shape[1] // 2, pad=True)
    matrix = np.zeros((finish.bias.size, 2 * steps), np.int64)
    matrix[:, : columns.matrix.shape[1]] = columns.matrix
    block = blocks.gemm(1, steps, unroll, channels, finish)
    parts = [slice(channels * group, channels * (group + 1)) for group in range(groups)]
    return Products(
        weights=np.concatenate([pack_weights(matrix[part]) for part in parts]),
        parameters=np.concatenate([pack_parameters(_of_part(finish, part)) for part in parts]),
        words=steps,
        block=block,
        declaration=gemm_of(finish, next(iter(block)), 1, 2 * steps, channels),
    )


def _wide(columns: Columns, finish: Finish, groups: int, pair: bool) -> Products:
    """Two channels at a time, sums below 2^23 only within a segment of the column."""
    channels = finish.bias.size // groups
    size = np.abs(columns.matrix) * columns.reach
    steps = columns.matrix.shape[1] // 2
    for segments in range(1, steps + 1):
        length = -(-steps // (segments * STEP)) * STEP
        ends = np.add.reduceat(size, np.arange(0, 2 * steps, 2 * length), axis=1)
        if ends.max() < 1 << SUM_BITS:
            break
    else:
        raise DeclinedError("sums of few products do not fit 24 bits")
    matrix: Array = np.zeros((groups, -(-channels // 2) * 2, 2 * length * segments), np.int64)
    matrix[:, :channels, : 2 * steps] = columns.matrix.reshape(groups, channels, -1)
    shared = 256 * matrix[:, 1::2] + matrix[:, 0::2]
    words = (shared[..., 0::2] & 0xFFFF) | ((shared[..., 1::2] & 0xFFFF) << 16)
    behind = np.concatenate([finish.bias[:, None], finish.words], axis=1).reshape(groups, channels, -1)
    pairs = np.pad(behind, ((0, 0), (0, channels % 2), (0, 0))).reshape(groups, matrix.shape[1] // 2, 2, -1)
    parameters = np.concatenate([pairs[..., 0], pairs[..., 1:].reshape(*pairs.shape[:2], -1)], axis=2)
    block = blocks.gemm_wide(pair, finish)
    return Products(
        weights=int32(words),
        parameters=int32(parameters),
        words=length * segments,
        block=block,
        declaration=gemm_of(finish, next(iter(block)), segments, length, channels),
    )


def _of_part(finish: Finish, part: slice) -> Finish:
    return dataclasses.replace(finish, bias=finish.bias[part], words=finish.words[part])


def _joined(parts: list[Driver]) -> Driver:
    """One driver for the parts of a layer."""
    constants, bodies = {}, []
    for number, part in enumerate(parts):
        body = part.body
        for key, value in part.constants.items():
            constants[f"{key}{number}"] = value
            body = body.replace(f"@{key}@", f"@{key}{number}@")
        bodies.append("{\n" + textwrap.indent(body, "    ") + "\n}")
    return dataclasses.replace(
        parts[0],
        body="\n".join(bodies),
        constants=constants,
        scratch=max(part.scratch for part in parts),
        macs=sum(part.macs for part in parts),
        blocks={name: text for part in parts for name, text in part.blocks.items()},
    )
