"""The kinds of random models: how one is made, and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.fuzz import onnx_cases, tflite_cases
from tests.fuzz.case import Case
from tests.fuzz.reference import run_litert, run_micro, run_onnx
from tests.support.host import Array

Make = Callable[[int, Path, Collection[int]], Case]
Reference = Callable[[Path, Sequence[dict[str, Array]]], list[list[Array]]]

KINDS: Mapping[str, tuple[Make, Reference]] = MappingProxyType(
    {
        "onnx_float": (onnx_cases.float_case, run_onnx),
        "onnx_quantised": (onnx_cases.quantised_case, run_onnx),
        "onnx_qoperator": (onnx_cases.operator_case, run_onnx),
        "onnx_dynamic": (onnx_cases.dynamic_case, run_onnx),
        "onnx_static": (onnx_cases.static_case, run_onnx),
        "tflite_float": (tflite_cases.float_case, run_litert),
        "tflite_int8": (tflite_cases.int8_case, run_litert),
        "tflite_micro": (tflite_cases.micro_case, run_micro),
    }
)
