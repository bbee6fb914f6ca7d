"""ONNX Runtime, which computes what both models say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import onnx

from ...errors import ModelError, ToolchainError
from ..layers import Array

Run = Callable[[Mapping[str, Array]], dict[str, Array]]


def import_runtime() -> Any:
    """The module, told to keep its warnings. Raises `ToolchainError` where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        raise ToolchainError(
            "onnxruntime is not installed, and it does the quantising",
            where="option 'quantize'",
            remedy="pip install onnxruntime",
        ) from None
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


def first_line(error: BaseException) -> str:
    """What onnxruntime's messages begin with; the rest are traces."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def runner(model: onnx.ModelProto, values: Iterable[str] = ()) -> Run:
    """A function that runs `model` on one sample; it gives the outputs and the computed `values` by name.

    Nothing is optimised: the numbers are those of the model as it stands, and one thread adds them in the
    same order every time.
    """
    ort = import_runtime()
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    known = {value.name for value in (*watched.graph.input, *watched.graph.output)}
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in values if name not in known)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = [value.name for value in watched.graph.output]
    try:
        session = ort.InferenceSession(
            watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # noqa: BLE001 - onnxruntime's own classes have no common base
        raise ModelError(f"onnxruntime does not take the model: {first_line(error)}") from None

    def run(sample: Mapping[str, Array]) -> dict[str, Array]:
        try:
            return dict(zip(names, session.run(names, dict(sample)), strict=True))
        except Exception as error:  # noqa: BLE001 - as above
            raise ModelError(f"onnxruntime cannot run the model: {first_line(error)}") from None

    return run
