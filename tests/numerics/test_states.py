"""States that survive between runs: generated C against reference runtimes that step with the same state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.numerics import state_models as models
from tests.numerics.state_models import LiteRT, Sample, Stepped, Stepper, recurrent
from tests.support.host import build
from tests.support.stepping import Handle, Library
from tvm_tool.compiler.frontend.tflite_file import read_tflite

OK, ESTATE = 0, -5
CALLS = 20
TFLITE: dict[str, Callable[[Path], Path]] = {
    "counter": models.counter,
    "ring": models.ring,
    "ring_int8": lambda path: models.ring(path, "int8"),
    "delay": models.delay,
    "swap": models.swap,
}


def samples(path: Path, count: int = CALLS, seed: int = 0) -> list[Sample]:
    rng = np.random.default_rng(seed)
    data = []
    for _ in range(count):
        sample: Sample = {}
        for tensor in read_tflite(path).inputs:
            if tensor.dtype == np.int8:
                sample[tensor.name] = rng.integers(-128, 128, tensor.shape).astype(np.int8)
            else:
                sample[tensor.name] = rng.standard_normal(tensor.shape).astype(np.float32)
        data.append(sample)
    return data


def check(got: list[Any], want: list[Any]) -> None:
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-6)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", TFLITE)
def test_tflite_variables_step_as_in_litert(name: str, tmp_path: Path) -> None:
    path = TFLITE[name](tmp_path / "m.tflite")
    data = samples(path)
    reference = LiteRT(path)
    # Under AddressSanitizer; everything but the states is overwritten between two runs.
    for sample, got in zip(data, build(path, tmp_path / "c", rounding="litert").run(data), strict=True):
        check(got, reference(sample))


@pytest.mark.parametrize("name", TFLITE)
def test_reset_starts_again(name: str, tmp_path: Path) -> None:
    path = TFLITE[name](tmp_path / "m.tflite")
    library = Library(path, tmp_path / "c", rounding="litert")
    data = samples(path, 7)
    for _ in range(2):
        reference = LiteRT(path)
        for sample in data:
            status, got = library.run(sample)
            assert status == OK
            check(got, reference(sample))
        assert library.function("reset")() == OK


def test_the_first_run_needs_no_reset_and_a_workspace_without_one_is_refused(tmp_path: Path) -> None:
    path = models.counter(tmp_path / "m.tflite")
    library = Library(path, tmp_path / "c")
    sample = samples(path, 1)[0]
    workspace = library.workspace()
    assert library.run(sample, workspace)[0] == ESTATE
    workspace[:] = 0
    assert library.run(sample, workspace)[0] == ESTATE
    assert library.reset_in(workspace) == OK
    assert library.run(sample, workspace)[0] == OK
    workspace[:4] ^= 1  # whoever overwrites the head is told
    assert library.run(sample, workspace)[0] == ESTATE
    assert library.function("reset_in")(None) == -1
    assert library.reset_in(library.workspace()[4:]) == -2


def interleaved(first: Stepper, second: Stepper, path: Path) -> None:
    """Two instances in turn, each against a reference of its own."""
    turns = [(first, LiteRT(path), samples(path, 6, 1)), (second, LiteRT(path), samples(path, 6, 2))]
    for step in range(6):
        for run, reference, data in turns:
            for sample in data[step:] if step == 5 else data[step : step + 1]:
                check(run(sample), reference(sample))


@pytest.mark.parametrize("name", ["counter", "ring_int8", "delay"])
def test_two_workspaces_have_states_of_their_own(name: str, tmp_path: Path) -> None:
    path = TFLITE[name](tmp_path / "m.tflite")
    library = Library(path, tmp_path / "c", rounding="litert")

    def instance() -> Stepper:
        workspace = library.workspace()
        assert library.reset_in(workspace) == OK
        return lambda sample: library.run(sample, workspace)[1]

    interleaved(instance(), instance(), path)


@pytest.mark.parametrize("workspace_io", [False, True])
@pytest.mark.parametrize("name", ["counter", "ring_int8", "swap"])
def test_two_handles_have_states_of_their_own(name: str, workspace_io: bool, tmp_path: Path) -> None:
    path = TFLITE[name](tmp_path / "m.tflite")
    library = Library(path, tmp_path / "c", rounding="litert", workspace_io=workspace_io)
    first, second = Handle(library), Handle(library)
    interleaved(first.run, second.run, path)
    first.init()
    reference, other = LiteRT(path), samples(path, 3, 3)
    for sample in other:
        check(first.run(sample), reference(sample))


# ONNX

RECURRENT: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("LSTM", {"initial": True, "outputs": "yhc", "batch": 2}),
    ("LSTM", {"steps": 1, "outputs": "h"}),
    ("LSTM", {"direction": "bidirectional", "initial": True}),
    ("GRU", {"outputs": "yh", "linear_before_reset": 1}),
    ("GRU", {"initial": True, "steps": 3}),
    ("RNN", {"outputs": "yh", "batch": 3}),
    ("RNN", {"direction": "reverse", "opset": 9}),
]


@pytest.mark.parametrize(("operator", "details"), RECURRENT)
def test_persistent_states_are_those_fed_back_by_hand(
    operator: str, details: dict[str, Any], tmp_path: Path
) -> None:
    model = recurrent(operator, **details)
    data, reference = stepped(model)
    got = build(model, tmp_path, state="persistent").run(data)
    for sample, found in zip(data, got, strict=True):
        check(found, reference(sample))


def stepped(model: onnx.ModelProto, count: int = CALLS) -> tuple[list[Sample], Stepper]:
    """Samples, and the reference that steps over them."""
    letters = "hc" if model.graph.node[0].op_type == "LSTM" else "h"
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    opened = models.opened(model)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in opened.graph.input}
    first = {f"{c}_in": constants.get(f"{c}0", np.zeros(shapes[f"{c}_in"], np.float32)) for c in letters}
    rng = np.random.default_rng(5)
    data = [{"x": rng.standard_normal(shapes["x"]).astype(np.float32)} for _ in range(count)]
    return data, Stepped(opened, {f"{c}_new": f"{c}_in" for c in letters}, first)


def test_without_the_option_every_run_starts_from_the_initial_state(tmp_path: Path) -> None:
    model = recurrent("LSTM", initial=True)
    data, _ = stepped(model, 3)
    host = build(model, tmp_path)
    assert host.metadata["states"] == []
    assert "reset" not in host.compiled.files["model.h"]
    reference = Stepped(model, {}, {})
    for sample, found in zip(data, host.run(data), strict=True):
        check(found, reference(sample))


def test_pairs_of_an_exported_streaming_model(tmp_path: Path) -> None:
    model = models.opened(recurrent("LSTM", outputs="y"))
    data, reference = stepped(recurrent("LSTM", outputs="y"))
    host = build(model, tmp_path, state="h_new:h_in,c_new:c_in")
    assert [t["name"] for t in host.metadata["inputs"]] == ["x"]
    assert [t["name"] for t in host.metadata["outputs"]] == ["y"]
    assert [s["name"] for s in host.metadata["states"]] == ["h_in", "c_in"]
    for sample, found in zip(data, host.run(data), strict=True):
        check(found, reference(sample))


def test_a_pair_and_persistent_states_together(tmp_path: Path) -> None:
    model = models.opened(recurrent("GRU", outputs="y"))
    with_sum = onnx.parser.parse_graph(
        "g (float[1] n) => (float[1] m) <float[1] one = {1.0}> { m = Add(n, one)\n twice = Add(m, m) }"
    )
    model.graph.node.extend(with_sum.node)
    model.graph.initializer.extend(with_sum.initializer)
    model.graph.input.extend(with_sum.input)
    model.graph.output.extend([*with_sum.output, onnx.helper.make_tensor_value_info("twice", 1, [1])])
    host = build(model, tmp_path, state={"h_new": "h_in", "m": "n"})
    data, reference = stepped(recurrent("GRU", outputs="y"))
    for count, (sample, found) in enumerate(zip(data, host.run(data), strict=True)):
        check(found[:1], reference(sample))
        assert found[1].tolist() == [2.0 * (count + 1)]


@pytest.mark.parametrize(
    "nodes",
    [
        "b_out = Identity(a)  a_out = Identity(b)  y = Add(a, x)",  # they change places
        "a_out = Identity(b)  b_out = Identity(x)  y = Sub(a, b)",  # a line
        "a_out = Identity(x)  b_out = Identity(a)  y = Sub(b, a)",  # the other way round
        "a_out = Identity(x)  b_out = Identity(x)  y = Sub(b, a)",  # the same value twice
        "a_out = Identity(a)  b_out = Mul(b, x)  y = Sub(b_out, a)",  # one that stays
        "y = Add(a, b)  a_out = Identity(y)  b_out = Relu(x)",  # an output is a state as well
        "a_out = Add(a, x)  t = Mul(a, b)  b_out = Add(b, t)  y = Sub(t, a_out)",  # the old one read later
        "t = Reshape(b, s)  a_out = Reshape(t, s)  b_out = Neg(a_out)  y = Add(a, x)",  # other names for one
    ],
)
@pytest.mark.parametrize("workspace_io", [False, True])
def test_new_values_never_overtake_old_ones(nodes: str, workspace_io: bool, tmp_path: Path) -> None:
    text = "g (float[3] x, float[3] a, float[3] b) => (float[3] y, float[3] a_out, float[3] b_out)\n"
    text += "<int64[1] s = {3}> {" + nodes.replace("  ", "\n") + "}"
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(onnx.parser.parse_graph(text), opset_imports=opset, ir_version=8)
    zeros = np.zeros(3, np.float32)
    reference = Stepped(model, {"a_out": "a", "b_out": "b"}, {"a": zeros, "b": zeros})
    rng = np.random.default_rng(2)
    data = [{"x": rng.integers(-3, 4, 3).astype(np.float32)} for _ in range(6)]
    host = build(model, tmp_path, state="a_out:a,b_out:b", workspace_io=workspace_io)
    for sample, found in zip(data, host.run(data), strict=True):
        check(found, reference(sample))


def test_halves_and_integers_can_be_states(tmp_path: Path) -> None:
    text = (
        "g (float16[3] x, float16[3] a, int64[1] n) => (float16[3] y, float16[3] b, int64[1] m)\n"
        "<int64[1] one = {1}> { b = Add(a, x)\n y = Mul(b, a)\n m = Add(n, one) }"
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(onnx.parser.parse_graph(text), opset_imports=opset, ir_version=8)
    host = build(model, tmp_path, state="b:a,m:n")
    assert [(s["dtype"], s["bytes"]) for s in host.metadata["states"]] == [("float16", 6), ("int64", 8)]
    data = [{"x": np.full(3, 0.5 * step, np.float16)} for step in range(6)]
    a = np.zeros(3, np.float16)
    for sample, found in zip(data, host.run(data), strict=True):
        b = a + sample["x"]
        np.testing.assert_array_equal(found[0], b * a)
        a = b
