"""`tvm_add_model` takes every option, as the one declaration says."""

from __future__ import annotations

import pytest

from tvm_tool.cmake.arguments import KEYWORDS, split_arguments
from tvm_tool.cmake.text import assignments, bracketed
from tvm_tool.errors import OptionError
from tvm_tool.options import OPTIONS, Option, parse_options

VALUES = {
    "name": ["kws"],
    "shapes": ["input=1,49,10,1", "state=1,4"],
    "optimize": ["size"],
    "winograd": ["true"],
    "quantize": ["int8"],
    "calibration": ["data.npz"],
    "io": ["int8"],
    "rounding": ["litert"],
    "weights": ["qspi", "flash"],
    "arena": ["ccm"],
    "workspace_io": ["true"],
    "state": ["h_out:h_in", "c_out:c_in"],
}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_a_keyword_and_means_what_it_means_elsewhere(option: Option) -> None:
    values = VALUES[option.name]
    found = split_arguments(["MODEL", "kws.onnx", option.name.upper(), *values], "call")
    assert found.pop("model") == "kws.onnx"
    assert KEYWORDS[option.name.upper()] == option.name
    given = values if option.many else values[0]
    assert found == {option.name: given}
    if option.name in ("quantize", "calibration", "io"):
        found |= {"quantize": "int8", "calibration": "data.npz"}
    assert getattr(parse_options("kws.onnx", found), option.name) == option.read(option.name, given)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["MODEL", "a.onnx", "b.onnx"], "there is no keyword 'b.onnx'"),
        (["WEIGHTS", "qspi", "ARENAS", "ccm"], "there is no keyword 'ARENAS'"),
        (["MODEL"], "MODEL has no value"),
        (["BOARD", "a", "BOARD", "b"], "BOARD is given twice"),
    ],
)
def test_what_is_not_understood_is_refused(words: list[str], problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        split_arguments(words, "call")
    assert raised.value.problem == problem and raised.value.where == "call"


def test_text_goes_through_cmake_unchanged() -> None:
    assert bracketed("a]=]b") == "[==[a]=]b]==]"
    assert bracketed("a]=") == "[==[a]=]==]"
    assert assignments({"X": ["a;b", "${c}"], "Y": ""}) == "set(X [=[a\\;b]=] [=[${c}]=])\nset(Y [=[]=])\n"
