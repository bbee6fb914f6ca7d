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


def test_a_fused_operator_is_tied_where_it_differs_from_its_definition(tmp_path: Path) -> None:
    """onnxruntime's QLinearAdd adds an odd zero point before it rounds, so that halves go the other way."""
    head = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> g (int8[2] x) => (int8[2] y)'
    constants = "<float s = {0.5}, float u = {2.0}, int8 z = {0}, int8 one = {1}>"
    texts = {
        "fused": "y = com.microsoft.QLinearAdd(x, s, z, x, s, z, u, one)",
        "defined": "a = DequantizeLinear(x, s, z)\n b = Add(a, a)\n y = QuantizeLinear(b, u, one)",
    }
    paths = {name: tmp_path / f"{name}.onnx" for name in texts}
    for name, text in texts.items():
        onnx.save(parser.parse_model(f"{head} {constants} {{ {text} }}"), paths[name])
    assert is_tied(paths["fused"], {"x": np.array([1, 4], np.int8)}, paths["defined"])
    assert not is_tied(paths["fused"], {"x": np.array([2, 4], np.int8)}, paths["defined"])
