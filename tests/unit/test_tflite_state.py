"""TFLite's variables: which of them become states, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.numerics import state_models as models
from tests.numerics.state_models import ONCE, RESOURCE, assign, first_values, handle, read
from tests.unit.tflite_files import Op, T, const, write
from tvm_tool.compiler.frontend.tflite_model import load_tflite
from tvm_tool.errors import ModelError, OptionError, TVMToolError, UnsupportedError

FIRST = first_values(v=const("first", np.arange(4).reshape(1, 4), "float32"))


def model(
    folder: Path,
    ops: Sequence[Op],
    more: Sequence[tuple[list[T], list[Op]]] = (FIRST,),
    old: T | None = None,
    subgraphs: int = 1,
) -> Path:
    """x -> `ops` -> y, with a variable behind handle h and a place to read it to."""
    tensors = [T("x", (1, 4)), T("h", (), RESOURCE), old or T("old", (1, 4)), T("y", (1, 4))]
    return write(folder / "m.tflite", tensors, ops, ["x"], ["y"], subgraphs=subgraphs, more=more)


ADD = Op("ADD", ["x", "old"], ["y"], "Add")


def test_hidden_pairs_follow_the_interface(tmp_path: Path) -> None:
    found = load_tflite(models.counter(tmp_path / "m.tflite"), {})
    assert (found.inputs, found.outputs) == (("x",), ("y", "z"))
    assert [v.name for v in found.proto.graph.input] == ["x", "sum"]
    assert [v.name for v in found.proto.graph.output] == ["y", "z", "new"]
    assert [(s.name, s.initial.tolist()) for s in found.states] == [("sum", [[0, 1, 2, 3]])]


def test_a_variable_that_is_only_read_is_a_constant(tmp_path: Path) -> None:
    found = load_tflite(model(tmp_path, [ONCE, handle("h", "v"), read("h", "old"), ADD]), {})
    assert found.states == ()
    assert [v.name for v in found.proto.graph.input] == ["x"]


def test_a_variable_that_is_assigned_first_is_no_state(tmp_path: Path) -> None:
    ops = [handle("h", "v"), assign("h", "x"), read("h", "old"), ADD]
    assert load_tflite(model(tmp_path, ops, ()), {}).states == ()


def test_a_variable_that_nothing_reads_is_none(tmp_path: Path) -> None:
    ops = [ONCE, handle("h", "v"), Op("ADD", ["x", "x"], ["y"], "Add"), assign("h", "x")]
    assert load_tflite(model(tmp_path, ops), {}).states == ()


def test_the_container_is_a_part_of_the_name(tmp_path: Path) -> None:
    tensors, _ = FIRST
    first = [handle("v_handle", "v", "box"), assign("v_handle", "first")]
    ops = [ONCE, handle("h", "v", "box"), read("h", "old"), ADD, assign("h", "x")]
    assert load_tflite(model(tmp_path, ops, [(tensors, first)]), {}).states[0].name == "box/v"
    ops[1] = handle("h", "v", "another")
    with pytest.raises(ModelError, match="'another/v' is read before"):
        load_tflite(model(tmp_path, ops, [(tensors, first)]), {})


def test_first_values_may_be_computed_from_constants(tmp_path: Path) -> None:
    tensors = [
        T("v_handle", (), RESOURCE),
        const("shape", [1, 4]),
        const("value", 2.5, "float32"),
        T("all", (1, 4)),
    ]
    ops = [handle("v_handle", "v"), Op("FILL", ["shape", "value"], ["all"]), assign("v_handle", "all")]
    work = [ONCE, handle("h", "v"), read("h", "old"), ADD, assign("h", "y")]
    found = load_tflite(model(tmp_path, work, [(tensors, ops)]), {})
    assert found.states[0].initial.tolist() == [[2.5] * 4]


READING = [handle("h", "v"), read("h", "old"), ADD, assign("h", "y")]


@pytest.mark.parametrize(
    ("ops", "error", "words"),
    [
        ([*READING, ONCE], UnsupportedError, ["comes after a variable is used"]),
        (
            [ONCE, handle("h", "w"), *READING[1:]],
            ModelError,
            ["variable 'w' is read before", "'old' (READ_VARIABLE)"],
        ),
        ([ONCE, read("h", "old"), ADD], ModelError, ["tensor 'h', is no variable"]),
        (
            [Op("CALL_ONCE", [], [], "CallOnce", {"InitSubgraphIndex": 2}), *READING],
            ModelError,
            ["names subgraph 2 of 2", "CALL_ONCE"],
        ),
        ([Op("CALL_ONCE", [], [], "CallOnce"), *READING], ModelError, ["names subgraph 0 of 2"]),
        ([Op("WHILE", ["x"], ["y"], "While")], UnsupportedError, ["WHILE cannot be compiled", "'y' (WHILE)"]),
        ([ONCE, *READING[:2], Op("MyOp", ["x"], ["y"])], UnsupportedError, ["custom operator MyOp cannot"]),
        ([Op("SVDF", ["x"], ["y"], "SVDF")], UnsupportedError, ["SVDF cannot be compiled"]),
        (
            [Op("UNIDIRECTIONAL_SEQUENCE_LSTM", ["x"], ["y"])],
            UnsupportedError,
            ["UNIDIRECTIONAL_SEQUENCE_LSTM cannot be compiled"],
        ),
        ([Op("LSTM", ["x"], ["y"], "LSTM")], UnsupportedError, ["LSTM cannot be compiled"]),
    ],
)
def test_what_is_refused(ops: list[Op], error: type[TVMToolError], words: list[str], tmp_path: Path) -> None:
    with pytest.raises(error) as found:
        load_tflite(model(tmp_path, ops), {})
    assert str(found.value).startswith(str(tmp_path / "m.tflite"))
    for word in words:
        assert word in str(found.value)


@pytest.mark.parametrize("old", [T("old", (4, 1)), T("old", (1, 4), "int32")])
def test_a_variable_keeps_its_type_and_shape(old: T, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="same type and shape for all the life") as error:
        load_tflite(model(tmp_path, [ONCE, *READING], old=old), {})
    assert "variable 'v' is float32[1, 4]" in str(error.value)


def test_other_subgraphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="holds 3 subgraphs"):
        load_tflite(model(tmp_path, [ONCE, *READING], subgraphs=2), {})


def test_an_operator_of_the_first_values_that_is_unknown_is_named(tmp_path: Path) -> None:
    tensors, ops = FIRST
    with pytest.raises(UnsupportedError, match="custom operator MyOp"):
        load_tflite(
            model(tmp_path, [ONCE, *READING], [(tensors, [*ops, Op("MyOp", ["first"], ["first"])])]), {}
        )


def test_pairs_of_a_tflite_model(tmp_path: Path) -> None:
    def pair(scale: float) -> Path:
        tensors = [T("x", (1, 4), "int8", scale=0.1), T("s", (1, 4), "int8", scale=0.1, zero=1)]
        tensors += [T("t", (1, 4), "int8", scale=scale, zero=1), T("y", (1, 4), "int8", scale=0.3)]
        ops = [Op("ADD", ["x", "s"], ["t"], "Add"), Op("ADD", ["x", "t"], ["y"], "Add")]
        return write(tmp_path / "m.tflite", tensors, ops, ["x", "s"], ["y", "t"])

    found = load_tflite(pair(0.1), {}, ["t:s"])
    assert (found.inputs, found.outputs, len(found.states)) == (("x",), ("y",), 1)
    with pytest.raises(OptionError, match="quantised with different scales"):
        load_tflite(pair(0.2), {}, ["t:s"])
    with pytest.raises(OptionError, match="no input 'ss'"):
        load_tflite(pair(0.1), {}, ["t:ss"])
    with pytest.raises(OptionError, match="no LSTM, GRU or RNN"):
        load_tflite(pair(0.1), {}, ["persistent"])
