"""Names of the kinds of random models, without what makes them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

KINDS = (
    "onnx_float",
    "onnx_quantised",
    "onnx_qoperator",
    "onnx_dynamic",
    "onnx_static",
    "tflite_float",
    "tflite_int8",
    "tflite_micro",
)

EXACT = frozenset(KINDS) - {"onnx_float", "onnx_static", "tflite_float"}
"""Those that must be equal to the bit; what onnxruntime quantises ends in float operators now and then."""

ROUNDED = frozenset({"onnx_quantised", "onnx_qoperator", "onnx_static"})
"""Those whose reference rounds floats, so that it may decide by their error."""

BOARDS: Mapping[str, str] = MappingProxyType({"mps2_an386": "_dsp"})
"""A board for each set of kernels that runs on this machine, and how the names of its C files end."""

WITH_KERNELS = ("onnx_quantised", "tflite_int8")
"""Kinds that such kernels compute."""
