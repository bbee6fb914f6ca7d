"""What counts as tied, and that nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import parser

from tests.fuzz.ties import is_tied


def misrounded() -> tuple[int, float, float]:
    """A number and two scales: float32 requantises it otherwise than exact arithmetic does."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 128, 1_000_000)
    x, y = rng.uniform(0.01, 0.02, (2, numbers.size)).astype(np.float32)
    rounded = np.rint(numbers.astype(np.float32) * x / y)
    exact = np.rint(numbers * x.astype(np.float64) / y)
    found = int(np.flatnonzero((rounded != exact) & (exact < 120))[0])
    return int(numbers[found]), float(x[found]), float(y[found])


def test_only_what_floats_misround_is_tied(tmp_path: Path) -> None:
    number, x, y = misrounded()
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (int8[2] x) => (int8[2] y) <float s = {{{x!r}}}, float t = {{{y!r}}}, int8 z = {{0}}>
        {{
            a = DequantizeLinear(x, s, z)
            y = QuantizeLinear(a, t, z)
        }}"""
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert is_tied(path, {"x": np.array([3, number], np.int8)})
    assert not is_tied(path, {"x": np.array([3, 0], np.int8)})
