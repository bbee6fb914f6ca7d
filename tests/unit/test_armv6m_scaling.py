"""The search for requantisation with 32-bit products: what it finds is right for every sum, one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tvm_tool.compiler.kernels.armv6m_scaling import OUTPUT_BITS, SPLIT, Scaling, scaling_of
from tvm_tool.compiler.kernels.declined import DeclinedError
from tvm_tool.compiler.kernels.rescaled import rescaling_of
from tvm_tool.compiler.layers import Array
from tvm_tool.compiler.quantized_layers import DOUBLE, FLOAT, SINGLE, QDense, Quantization

CHANNELS = 5
MODULUS = 1 << 32


def random_layer(rng: np.random.Generator, rounding: str, zero: int, dtype: str = "int8") -> QDense:
    """Few inputs, so that all sums can be tried; outputs that saturate and outputs that do not."""
    weights = rng.integers(-127, 128, (CHANNELS, 3)).astype(np.int8)
    least = 0 if dtype == "uint8" else -128
    return QDense(
        x=Quantization("int8", 0.1, int(rng.integers(-128, 128))),
        y=Quantization(dtype, float(np.exp(rng.uniform(1, 5))), zero),
        rows=1,
        weights=weights,
        weight_scales=np.exp(rng.uniform(-1, 1, CHANNELS)),
        weight_zeros=np.zeros(CHANNELS, np.int32),
        bias=rng.integers(-9999, 9999, CHANNELS).astype(np.int32),
        clamp=(least, least + 255) if rng.random() < 0.5 else (max(zero, least), zero + 100),
        rounding=rounding,
    )


def folded(layer: QDense) -> Array:
    sums: Array = layer.bias.astype(np.int64) - layer.x.zero_point * layer.weights.astype(np.int64).sum(1)
    return sums


def outputs(form: Scaling, channel: int, products: Array) -> Array:
    """As the kernels compute them, of sums without bias; products of 32 bits must not overflow."""
    low, limit, high, addend, *sides = form.words[channel].tolist()
    sums = np.clip(products + int(form.bias[channel]), 0, limit)
    assert (sums * low < MODULUS).all()
    values = sums * high + (sums * low >> SPLIT) + addend
    if sides:
        values = np.where(sums < sides[1], values + sides[0], values)
    found: Array = values % MODULUS >> OUTPUT_BITS
    return found


@pytest.mark.parametrize(
    ("rounding", "zero", "dtype", "least"),
    [
        (DOUBLE, -128, "int8", 12),
        (DOUBLE, 5, "int8", 10),
        (SINGLE, -128, "int8", 12),
        (SINGLE, 5, "int8", 12),
        (FLOAT, 5, "int8", 10),
        (DOUBLE, 77, "uint8", 10),
    ],
)
def test_every_sum_gets_its_output(rounding: str, zero: int, dtype: str, least: int) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(12):
        layer = random_layer(rng, rounding, zero, dtype)
        form = scaling_of(layer)
        if form.how is not None:
            continue
        found += 1
        exact = rescaling_of(layer)
        reach = int(np.abs(layer.weights.astype(np.int64)).sum(1).max()) * 128
        products = np.arange(-reach, reach + 1)
        wanted = exact.outputs(products + folded(layer)[:, None]) % 256
        for channel in range(CHANNELS):
            weights = layer.weights[channel].astype(np.int64)
            low = np.where(weights > 0, weights * -128, weights * 127).sum()
            high = np.where(weights > 0, weights * 127, weights * -128).sum()
            if not form.moving[channel]:
                low = high = 0
                assert form.bias[channel] == 0
                wanted[channel] = (
                    exact.outputs(folded(layer)[channel : channel + 1].repeat(CHANNELS))[channel] % 256
                )
            inside = (products >= low) & (products <= high)
            assert np.array_equal(outputs(form, channel, products[inside]), wanted[channel][inside])
    assert found >= least


def coarse_layer(bias: int) -> QDense:
    """One output for 2^24 sums."""
    layer = random_layer(np.random.default_rng(2), SINGLE, 0)
    return dataclasses.replace(
        layer,
        y=Quantization("int8", 0.1 * 2.0**24, 0),
        weights=np.full((CHANNELS, 4000), 127, np.int8),
        weight_scales=np.ones(CHANNELS),
        bias=np.full(CHANNELS, bias, np.int32),
        clamp=(-128, 127),
    )


def test_sums_that_are_too_large_are_declined() -> None:
    with pytest.raises(DeclinedError, match="too large"):
        scaling_of(coarse_layer(2**30))


def test_no_form_is_better_than_a_wrong_one() -> None:
    # From the first threshold to the last one there are more than 2^20 sums.
    assert scaling_of(coarse_layer(0)).how is not None
