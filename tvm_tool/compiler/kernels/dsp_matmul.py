"""Products of two inputs for the DSP extension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..layers import Driver, Need
from ..quantized_layers import DOUBLE, FLOAT, QMatMul, Quantization
from .dsp_packing import INT8, MOST_RIGHT_SHIFT
from .dsp_signed import lift, signed
from .q_common import LIMITS, flip, full, offset, quantize_multiplier, rescaling
from .rescaled import Rescaling
from .uniform_shift import uniform

SUM_BITS = 30
MOST_DOUBLE_SHIFT = MOST_RIGHT_SHIFT - 2
"""128 in units of the last place of an output leaves room for sums of 30 bits."""


@dataclass(frozen=True)
class Form:
    """How the sums of all outputs become outputs; names as of ``struct tvm_matmul_dsp``."""

    form: str
    correction: int = 0
    multiplier: int = 0
    addend: int = 0
    shift: int = 0


def matmul(layer: QMatMul, _need: Need) -> Driver:
    """Every product of two inputs."""
    clamp = full(layer.y) if layer.clamp is None else layer.clamp
    form = _form(layer)
    how = rescaling(layer.rounding, layer.a.scale, np.array([layer.b.scale]), None, layer.y, clamp)
    needs_how = form.form == "TVM_ANY"
    bias = {} if layer.bias is None else {"bias": layer.bias.astype(np.int32)}
    a = signed(layer.a)
    rows: list[tuple[str, str | int]] = [
        ("batch", layer.batch),
        ("m", layer.m),
        ("k", layer.k),
        ("n", layer.n),
        ("a_flip", "0x80808080" if lift(layer.a) else "0"),
        ("a_zero", a.zero_point),
        ("b_flip", f"0x{flip(layer.b.dtype):02x}"),
        ("b_offset", offset(layer.b)),
        ("bias", "@bias@" if bias else "NULL"),
        ("form", form.form),
        ("correction", form.correction),
        ("multiplier", form.multiplier),
        ("addend", form.addend),
        ("shift", form.shift),
        ("low", clamp[0]),
        ("high", clamp[1]),
        ("how", "&how" if needs_how else "NULL"),
    ]
    fields = "\n".join(f"    .{name} = {value}," for name, value in rows)
    declaration = f"static const struct tvm_matmul_dsp product = {{\n{fields}\n}};"
    call = "tvm_matmul_s8_dsp(&product, input0, input1, output, scratch);"
    return Driver(
        kernel="matmul_dsp",
        body="\n".join([*([how.text] if needs_how else []), declaration, call]),
        constants={**bias, **(how.constants if needs_how else {})},
        scratch=16 + 8 * (-(-layer.k // 4) * 4),
        runtime=("tvm_matmul_dsp.c", *(("tvm_rescale_s8.c",) if needs_how else ())),
        macs=layer.batch * layer.m * layer.k * layer.n,
        headers=("tvm_gemm_dsp.h", "tvm_kernels_dsp.h"),
    )


def _form(layer: QMatMul) -> Form:
    """The fastest form that is exact for every sum."""
    low, high = _reach(layer)
    if max(-low, high) >= 1 << SUM_BITS:
        return Form("TVM_ANY")
    up, zero = lift(layer.y), layer.y.zero_point
    rest = (zero - up, *INT8)
    if layer.rounding == FLOAT:
        scale = np.float32(layer.a.scale) * np.float32(layer.b.scale) / np.float32(layer.y.scale)
        exact = Rescaling(layer.rounding, np.array([scale]), np.zeros(1, np.int64), np.zeros(1), *rest)
    else:
        double = float(np.float64(layer.a.scale) * np.float64(layer.b.scale) / np.float64(layer.y.scale))
        q, right = quantize_multiplier(double)
        exact = Rescaling(layer.rounding, np.array([q]), np.array([right]), np.array([0]), *rest)
    least, most = np.array([low]), np.array([high])
    found = uniform(exact, least, most, exact.outputs(least), exact.outputs(most))
    if found is not None and max(-low, high) + abs(int(found.corrections[0])) < 1 << SUM_BITS:
        addend = int(found.addends[0]) + (up << found.shift)
        return Form(
            str(found.shift), int(found.corrections[0]), int(found.multipliers[0]), addend, found.shift
        )
    shift = -int(exact.shifts[0])
    if layer.rounding == DOUBLE and 1 <= shift <= MOST_DOUBLE_SHIFT:
        addend = (1 << (shift - 1)) + (zero << shift)
        return Form("TVM_DOUBLE", 0, int(exact.multipliers[0]), addend, shift)
    return Form("TVM_ANY")


def _reach(layer: QMatMul) -> tuple[int, int]:
    """Least and largest sum."""
    products = [x * y for x in _ends(layer.a) for y in _ends(layer.b)]
    bias = np.zeros(1, np.int64) if layer.bias is None else layer.bias.astype(np.int64)
    return layer.k * min(products) + int(bias.min()), layer.k * max(products) + int(bias.max())


def _ends(x: Quantization) -> tuple[int, int]:
    least, most = LIMITS[x.dtype]
    return least - x.zero_point, most - x.zero_point
