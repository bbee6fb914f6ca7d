"""The option `state` on ONNX models: what becomes of inputs and outputs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.numerics.state_models import recurrent
from tests.unit.onnx_models import text
from tvm_tool.compiler.frontend.onnx_model import OnnxModel, load_onnx
from tvm_tool.compiler.frontend.onnx_state import find_pairs
from tvm_tool.errors import OptionError
from tvm_tool.options import option_arguments, parse_options

PAIRS = """g (float[2] x, float[2] h_in, float[3] c_in, int32[2] n)
    => (float[2] y, float[2] h_out, float[3] c_out)
    { h_out = Add(x, h_in)
      c_out = Relu(c_in)
      m = Cast<to = 1>(n)
      y = Mul(h_out, m) }"""


def load(source: str | onnx.ModelProto, folder: Path, *state: str) -> OnnxModel:
    path = folder / "model.onnx"
    onnx.save(text(source) if isinstance(source, str) else source, path)
    return load_onnx(path, {}, state)


def names(model: OnnxModel) -> tuple[list[str], list[str]]:
    graph = model.proto.graph
    return [v.name for v in graph.input], [v.name for v in graph.output]


def test_pairs_stand_at_the_end(tmp_path: Path) -> None:
    model = load(PAIRS, tmp_path, "h_out:h_in", "c_out:c_in")
    assert (model.inputs, model.outputs) == (("x", "n"), ("y",))
    assert names(model) == (["x", "n", "h_in", "c_in"], ["y", "h_out", "c_out"])
    assert [(s.name, s.initial.shape) for s in model.states] == [("h_in", (2,)), ("c_in", (3,))]
    assert not any(s.initial.any() for s in model.states)


def test_nothing_is_kept_without_the_option(tmp_path: Path) -> None:
    model = load(PAIRS, tmp_path)
    assert model.states == ()
    assert model.inputs == ("x", "h_in", "c_in", "n")


def test_recurrent_states_start_from_the_initial_ones(tmp_path: Path) -> None:
    source = recurrent("LSTM", initial=True)
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in source.graph.initializer}
    model = load(source, tmp_path, "persistent")
    assert [s.name for s in model.states] == ["cell/h", "cell/c"]
    for state, name in zip(model.states, ("h0", "c0"), strict=True):
        np.testing.assert_array_equal(state.initial, constants[name])
    assert model.inputs == ("x",)
    assert model.outputs == ("y",)


def test_layout_1_has_the_batch_first(tmp_path: Path) -> None:
    source = recurrent("GRU", layout=1, batch=2, steps=3)
    dimensions = source.graph.input[0].type.tensor_type.shape.dim
    dimensions[0].dim_value, dimensions[1].dim_value = 2, 3
    assert load(source, tmp_path, "persistent").states[0].initial.shape == (2, 1, 4)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (["h_put:h_in"], ["no output 'h_put'", "did you mean 'h_out'"]),
        (["h_out:hin"], ["no input 'hin'", "did you mean 'h_in'"]),
        (["h_in:h_out"], ["no output 'h_in'", "OUTPUT:INPUT"]),
        (["h_out:c_in"], ["float32[2]", "float32[3]", "same type and shape"]),
        (["h_out:n"], ["float32[2]", "int32[2]"]),
        (["h_out:h_in", "h_out:x"], ["'h_out' stands in two pairs"]),
        (["h_out:h_in", "y:h_in"], ["'h_in' stands in two pairs"]),
        (["persistent"], ["no LSTM, GRU or RNN", "OUTPUT:INPUT"]),
    ],
)
def test_what_cannot_be_kept(state: list[str], words: list[str], tmp_path: Path) -> None:
    with pytest.raises(OptionError) as error:
        load(PAIRS, tmp_path, *state)
    assert "model.onnx: option 'state'" in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_an_output_must_be_left(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no output is left"):
        load("g (float[2] x) => (float[2] y) { y = Relu(x) }", tmp_path, "y:x")


def test_a_computed_initial_state_is_refused(tmp_path: Path) -> None:
    source = recurrent("GRU")
    node = source.graph.node[0]
    node.input.append("h0")
    source.graph.input.append(onnx.helper.make_tensor_value_info("h0", 1, [1, 1, 4]))
    with pytest.raises(OptionError, match="its initial state is computed, or an input") as error:
        load(source, tmp_path, "persistent")
    assert "node 'cell' (GRU)" in str(error.value)


def test_names_may_hold_colons() -> None:
    assert find_pairs(["h:0:c:0"], ["c:0"], ["h:0"]) == [("h:0", "c:0")]
    with pytest.raises(OptionError, match="can be read in 2 ways"):
        find_pairs(["a:b:c"], ["b:c", "c"], ["a", "a:b"])


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("persistent", ("persistent",)),
        ("a:b, c:d", ("a:b", "c:d")),
        (["persistent", "a:b"], ("persistent", "a:b")),
        ("", ()),
        ({"a": "b", "c:0": "d:0"}, ("a:b", "c:0:d:0")),
    ],
)
def test_text_and_values_mean_the_same(given: Any, read: tuple[str, ...]) -> None:
    options = parse_options("m.onnx", {"state": given})
    assert options.state == read
    words = option_arguments(options)
    assert ("--state" in words) == bool(read)
    again = words[words.index("--state") + 1] if read else ""
    assert parse_options("m.onnx", {"state": again}).state == read


@pytest.mark.parametrize("given", ["persist", "a", "a:", ":b", 3, ["persistent", 3], True])
def test_what_names_no_state(given: Any) -> None:
    with pytest.raises(OptionError, match="names no state") as error:
        parse_options("m.onnx", {"state": given})
    assert "'persistent', or OUTPUT:INPUT pairs" in str(error.value)
