"""What a kernel is asked to do, and what it answers.

The passes match parts of the graph to one of these layers; a kernel (one file in ``kernels/``)
answers with a `Driver`: the C statements of the layer, its packed constants and what it needs.
Activations are NHWC, one batch unless `batch` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Clamp:
    """Bounds applied to every output: ReLU is ``Clamp(0.0, None)``, ReLU6 ``Clamp(0.0, 6.0)``."""

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Conv2D:
    """Convolution: depthwise where ``groups`` equals the input channels.

    Attributes:
        input: height, width, channels.
        output: height, width, channels.
        weights: float32 [output channels, kernel height, kernel width, input channels / groups].
        bias: float32 [output channels].
        strides: along height, width.
        dilations: along height, width.
        pads: top, left, bottom, right.
    """

    input: tuple[int, int, int]
    output: tuple[int, int, int]
    weights: Array
    bias: Array
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    clamp: Clamp = Clamp()
    batch: int = 1


@dataclass(frozen=True, eq=False)
class Dense:
    """``output[rows, n] = input[rows, k] . weights[n, k] + bias[n]``, then the clamp."""

    rows: int
    weights: Array
    bias: Array
    clamp: Clamp = Clamp()


@dataclass(frozen=True)
class Pool2D:
    """Maximum or average of a window; padding never counts for the maximum.

    Attributes:
        kind: ``max`` or ``average``.
        include_pad: whether padding counts in the divisor of an average.
    """

    kind: str
    input: tuple[int, int, int]
    output: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    include_pad: bool = False
    batch: int = 1


@dataclass(frozen=True)
class Softmax:
    """Softmax over the last axis of float32 [rows, columns]."""

    rows: int
    columns: int


Layer = Conv2D | Dense | Pool2D | Softmax


@dataclass(frozen=True)
class Need:
    """What the kernels may assume of the target and what the user prefers."""

    isa: str = "scalar"
    """``scalar``, ``armv6m``, ``armv7m``, ``dsp``, ``mve`` or ``rv32``."""
    fpu: bool = False
    optimize: str = "speed"
    winograd: bool = False
    """Whether flash may be spent on weights for fewer products."""
    aligned: bool = False
    """Whether the first input lies at a multiple of 4 bytes; those of the caller need not."""


@dataclass(frozen=True, eq=False)
class Driver:
    """How one layer is computed.

    Attributes:
        kernel: name shown in the layer's comment and in the report, for example ``gemm4x4_f32``.
        body: C statements of the layer's function. They may use ``input``, ``output``, ``scratch``
            (a ``uint8_t *`` aligned to 16 bytes, only if `scratch` > 0) and ``@key@`` for each constant.
        constants: packed constants by key; float32, int8, int16 or int32.
        scratch: bytes of workspace that the layer needs while it runs.
        in_place: whether ``output`` may be the same memory as ``input``.
        runtime: files of ``runtime/`` that must be compiled with it.
        macs: multiply-accumulates of the layer.
        headers: headers of ``runtime/`` that `body` and `blocks` need besides ``tvm_kernels.h``.
        blocks: C functions, text by name, that `body` names: all layers of a model share them.
        declined: why no faster kernel took the layer; empty if this is the fastest one.
        over_input: whether ``scratch`` may begin where ``input`` does, if nobody needs that afterwards.
        roomy: the same with more scratch and fewer instructions, and with the same constants; None if there
            is no such thing.
    """

    kernel: str
    body: str
    constants: Mapping[str, Array] = field(default_factory=dict)
    scratch: int = 0
    in_place: bool = False
    runtime: tuple[str, ...] = ()
    macs: int = 0
    headers: tuple[str, ...] = ()
    blocks: Mapping[str, str] = field(default_factory=dict)
    declined: str = ""
    over_input: bool = False
    roomy: Driver | None = None
