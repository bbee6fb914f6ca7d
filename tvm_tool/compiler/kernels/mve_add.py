"""Sums and differences of two tensors for Helium."""

from __future__ import annotations

import dataclasses

from ..layers import Driver, Need
from ..quantized_layers import QBinary
from .dsp_add import add as add_dsp


def add(layer: QBinary, need: Need) -> Driver:
    """The kernel for the DSP extension with another loop."""
    driver = add_dsp(layer, need)
    assert "tvm_add_s8_dsp(" in driver.body
    return dataclasses.replace(
        driver,
        kernel="add_mve",
        body=driver.body.replace("tvm_add_s8_dsp(", "tvm_add_s8_mve("),
        runtime=("tvm_add_mve.c",),
        headers=("tvm_kernels_dsp.h", "tvm_kernels_mve.h"),
    )
