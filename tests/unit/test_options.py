"""Options: declared once, read from text and from Python values alike."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tvm_tool.errors import OptionError
from tvm_tool.options import OPTIONS, ModelOptions, identifier_from, option_arguments, parse_options


def test_every_option_is_a_field_and_every_field_an_option() -> None:
    assert [o.name for o in OPTIONS] == [f.name for f in fields(ModelOptions)]


def test_text_and_values_mean_the_same() -> None:
    text = parse_options("a.onnx", {"shapes": "x=1,2;y=3", "weights": "qspi,flash", "workspace_io": "true"})
    values = parse_options(
        "a.onnx", {"shapes": {"y": [3], "x": (1, 2)}, "weights": ["qspi", "flash"], "workspace_io": True}
    )
    assert text == values


def test_arguments_read_back_as_the_same_options() -> None:
    options = parse_options("m.onnx", {"name": "kws", "optimize": "size", "shapes": {"a:0": [1, 2]}})
    words = option_arguments(options)
    given = {words[i].lstrip("-").replace("-", "_"): words[i + 1] for i in range(0, len(words), 2)}
    assert parse_options("other.onnx", given) == options


def test_how_to_quantise_reads_back_too() -> None:
    given = {"quantize": "int8", "calibration": Path("a b/x.npz"), "io": "int8"}
    options = parse_options("m.onnx", given)
    words = option_arguments(options)
    read = {words[i].lstrip("-").replace("-", "_"): words[i + 1] for i in range(0, len(words), 2)}
    assert read == {"name": "m", "quantize": "int8", "calibration": str(Path("a b/x.npz")), "io": "int8"}
    assert parse_options("m.onnx", read) == options
    assert parse_options("m.onnx", {"quantize": "none", "calibration": None, "io": "float"}).io == "float"


def test_a_tensor_name_may_hold_the_signs_that_separate() -> None:
    assert parse_options("m.onnx", {"shapes": "a=b=1,2"}).shapes == {"a=b": (1, 2)}
    assert parse_options("m.onnx", {"shapes": "x;y=1,2;z=3"}).shapes == {"x;y": (1, 2), "z": (3,)}


@pytest.mark.parametrize(
    ("file", "name"),
    [("model.onnx", "model"), ("a b-ü.onnx", "a_b__"), ("1st.onnx", "model_1st"), ("_x.onnx", "model_x")],
)
def test_names_come_from_files(file: str, name: str) -> None:
    assert identifier_from(file) == name
    assert parse_options(file, {}).name == name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"optimise": "size"}, ["no option 'optimise'", "did you mean 'optimize'"]),
        ({"optimize": "sped"}, ["'sped'", "did you mean 'speed'"]),
        ({"name": "2 x"}, ["'2 x'", "C identifier"]),
        ({"shapes": "x"}, ["'x'", "INPUT=D0,D1"]),
        ({"shapes": {"x": [0, 2]}}, ["input 'x'", "at least 1"]),
        ({"shapes": {"x": [1.5]}}, ["input 'x'", "whole numbers"]),
        ({"weights": "a b"}, ["'a b'", "region"]),
        ({"workspace_io": "maybe"}, ["'maybe'", "true or false"]),
        ({"quantize": "int8"}, ["option 'quantize'", "no calibration data"]),
        ({"quantize": "int8", "calibration": 5}, ["'5' is not a path"]),
        ({"quantize": "uint8", "calibration": "x"}, ["'uint8'", "did you mean 'int8'"]),
        ({"calibration": "x.npz"}, ["option 'calibration'", "quantize='int8'"]),
        ({"io": "int8"}, ["option 'io'", "quantize='int8'"]),
    ],
)
def test_bad_options_say_what_to_do(given: dict[str, object], words: list[str]) -> None:
    with pytest.raises(OptionError) as error:
        parse_options("dir/m.onnx", given)
    assert str(error.value).startswith("dir/m.onnx")
    for word in words:
        assert word in str(error.value)
