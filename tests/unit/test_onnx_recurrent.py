"""Recurrent operators and loops, written out step by step: the same values, by onnxruntime's word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.numerics.state_models import recurrent
from tests.unit.onnx_models import load, operators, run, same, text
from tvm_tool.compiler.frontend.onnx_operators import check_operators
from tvm_tool.compiler.frontend.onnx_rewrites_recurrent import MOST_STEPS
from tvm_tool.errors import UnsupportedError

GATED = ["LSTM", "GRU", "RNN"]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("initial", [False, True], ids=["zeros", "initial"])
@pytest.mark.parametrize("operator", GATED)
def test_directions(operator: str, initial: bool, direction: str, tmp_path: Path) -> None:
    outputs = "yhc" if operator == "LSTM" else "yh"
    model = recurrent(operator, 4, 2, initial=initial, outputs=outputs, direction=direction)
    assert operator not in operators(same(model, tmp_path, 1e-5))


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"linear_before_reset": 1, "direction": "bidirectional", "initial": True}),
        ("GRU", {"activations": ["Tanh", "Relu"]}),
        ("LSTM", {"clip": 0.4}),
        ("LSTM", {"activations": ["Relu", "Tanh", "Sigmoid"]}),
        ("RNN", {"activations": ["Relu", "Tanh"], "direction": "bidirectional"}),
        ("RNN", {"opset": 9}),
        ("LSTM", {"opset": 8, "initial": True}),
    ],
)
def test_attributes(operator: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    same(recurrent(operator, 3, outputs="yh", **attributes), tmp_path, 1e-5)


@pytest.mark.parametrize("operator", GATED)
def test_the_batch_first(operator: str, tmp_path: Path) -> None:
    """onnxruntime knows no layout 1: the onnx package is the judge."""
    model = recurrent(operator, 3, 3, outputs="yh", layout=1)
    data = {"x": np.random.default_rng(1).standard_normal((3, 3, 3)).astype(np.float32)}
    want = ReferenceEvaluator(model).run(None, data)
    for a, b in zip(run(load(model, tmp_path).proto, data), want, strict=True):
        np.testing.assert_allclose(a, b.reshape(a.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", GATED)
@pytest.mark.parametrize("lengths", [[4, 4], [4, 2]])
def test_constant_lengths(operator: str, lengths: list[int], tmp_path: Path) -> None:
    model = recurrent(operator, 4, 2, outputs="yh")
    model.graph.node[0].input[4] = "lengths"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(lengths, np.int32), "lengths"))
    found = load(model, tmp_path)
    if operator in operators(found):  # shorter ones are refused by name
        assert lengths != [4, 4]
        with pytest.raises(UnsupportedError, match=f"node 'cell' .*{operator}"):
            check_operators(found.proto, {"Relu"})
    else:
        same(model, tmp_path, 1e-5)


def test_too_many_steps_are_refused_by_name(tmp_path: Path) -> None:
    model = recurrent("RNN", MOST_STEPS + 1)
    with pytest.raises(UnsupportedError, match="node 'cell'"):
        check_operators(load(model, tmp_path).proto, {"Relu"})


LOOP = """g (float[2] x) => (float[2] last, float[3,2] all)
    <int64 n = {3}, bool yes = {1}> {
    last, all = Loop(n, yes, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] u)
        { d = Identity(c)
          t = Cast<to = 1>(i)
          w = Add(v, t)
          u = Mul(w, w) }>
    }"""


def test_a_loop_with_a_constant_number_of_steps(tmp_path: Path) -> None:
    assert "Loop" not in operators(same(LOOP, tmp_path))


SCAN = """g (float[2] x, float[4,2] rows) => (float[2] last, float[4,2] all) {
    last, all = Scan<num_scan_inputs = 1, %s body = b (float[2] v, float[2] r) => (float[2] w, float[2] u)
        { w = Add(v, r)
          u = Neg(w) }>(x, rows)
    }"""


@pytest.mark.parametrize("more", ["", "scan_input_directions = [1],", "scan_output_directions = [1],"])
def test_a_scan(more: str, tmp_path: Path) -> None:
    assert "Scan" not in operators(same(SCAN % more, tmp_path))


@pytest.mark.parametrize(
    ("steps", "problem"), [("int64 n", "known only at run time"), ("float[2] z", "too many")]
)
def test_loops_that_cannot_be_written_out(steps: str, problem: str, tmp_path: Path) -> None:
    source = LOOP.replace("(float[2] x)", f"(float[2] x, {steps})")
    if problem == "too many":
        source = source.replace("n = {3}", "n = {5000}").replace("float[3,2] all", "float[5000,2] all")
    else:
        source = source.replace("int64 n = {3}, ", "")
    with pytest.raises(UnsupportedError, match=problem):
        load(text(source), tmp_path)
