"""Quantised ONNX models in integers, on this machine, against onnxruntime without its optimisations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

from tests.models import mlperf_tiny
from tests.support.host import Array, HostModel, build
from tvm_tool.compiler.frontend.onnx_model import load_onnx


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Random inputs for calibration."""

    def __init__(self, model: onnx.ModelProto) -> None:
        tensor = model.graph.input[0]
        shape = [d.dim_value for d in tensor.type.tensor_type.shape.dim]
        rng = np.random.default_rng(0)
        self.samples: Iterator[dict[str, Array]] = iter(
            [{tensor.name: rng.standard_normal(shape).astype(np.float32)} for _ in range(4)]
        )

    def get_next(self) -> dict[str, Array] | None:
        return next(self.samples, None)


def quantized(model: onnx.ModelProto, folder: Path, **options: Any) -> Path:
    """`model` quantised by onnxruntime."""
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    onnx.save(model, source)
    # Batch normalisation must be in the weights before they are quantised.
    onnx.save(load_onnx(source, {}).proto, source)
    quantize_static(source, target, Reader(model), quant_format=QuantFormat.QDQ, **options)
    return target


def compare(path: Path, built: HostModel, samples: int = 5) -> list[float]:
    """Largest difference of each sample from onnxruntime without optimisations."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), settings)
    rng = np.random.default_rng(1)
    # Loud and quiet, noise and steps: a network that was trained hears something else in each.
    data = [
        {
            i["name"]: (
                rng.choice([0.2, 1.0, 5.0])
                * rng.standard_normal(i["shape"]).cumsum(-1)
                / rng.choice([1, 5, 30])
                + rng.choice([-3, 0, 3])
            ).astype(i["dtype"])
            for i in built.metadata["inputs"]
        }
        for _ in range(samples)
    ]
    worst, seen = [], set()
    for sample, outputs in zip(data, built.run(data), strict=True):
        wanted = session.run(None, sample)
        worst.append(max(float(np.abs(g - w).max()) for g, w in zip(outputs, wanted, strict=True)))
        seen.add(outputs[0].tobytes())
    assert len(seen) > 1, "a network that always answers the same proves nothing"
    return worst


def floats_left(built: HostModel) -> list[str]:
    """Operators on float tensors, apart from the first and the last: they are the interface."""
    program = built.compiled.program
    floats = []
    for call in program.calls:
        kinds = {program.tensors[i].dtype for i in (*call.inputs, *call.outputs)}
        if kinds == {"float32"}:
            floats.append(call.operator)
    return floats


@pytest.mark.parametrize("name", ["kws", "ic", "ad"])
@pytest.mark.parametrize(
    "options",
    [
        {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8, "per_channel": True},
        {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": False},
    ],
    ids=["s8s8-channel", "u8s8-tensor"],
)
def test_models_quantised_by_onnxruntime(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = quantized(getattr(mlperf_tiny, name)(), tmp_path, **options)
    built = build(path, tmp_path / "built")
    assert not floats_left(built)
    assert max(compare(path, built)) == 0.0
