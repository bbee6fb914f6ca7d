"""External data of ONNX files are found without the onnx package, wherever they hang."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm_tool.external_data import external_files

ROOT = Path(__file__).parents[2]


def tensor(name: str, location: str | None) -> TensorProto:
    made = numpy_helper.from_array(np.arange(300, dtype=np.float32), name)
    if location is not None:
        onnx.external_data_helper.set_external_data(made, location, offset=0, length=1200)
        made.ClearField("raw_data")
    return made


def model(*locations: str | None) -> onnx.ModelProto:
    """A model with its constants as initialiser, in an attribute, in a list, and in an inner graph."""
    places = [tensor(f"t{i}", location) for i, location in enumerate(locations)]
    inner = helper.make_graph([], "inner", [], [], places[3:4])
    deep = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=place) for place in places[4:]], "deep", [], []
    )
    nodes = [helper.make_node("Constant", [], ["a"], value=place) for place in places[1:2]]
    nodes += [helper.make_node("Odd", [], ["b"], values=places[2:3])]
    nodes += [helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=deep)]
    graph = helper.make_graph(nodes, "g", [], [], places[:1])
    return helper.make_model(graph)


def test_every_place_is_found_and_each_file_named_once() -> None:
    data = model("w.bin", "sub/a.bin", "w.bin", "ä b.bin", "deep.bin").SerializeToString()
    assert external_files(data) == ["deep.bin", "sub/a.bin", "w.bin", "ä b.bin"]


def test_a_model_that_holds_its_weights_has_no_files() -> None:
    assert external_files(model(*[None] * 5).SerializeToString()) == []
    assert external_files((ROOT / "examples/digits/digits.onnx").read_bytes()) == []


def test_files_outside_of_the_folder_are_left_to_the_compiler() -> None:
    data = model("/etc/passwd", "../up.bin", "a/../../b.bin", "", "good.bin").SerializeToString()
    assert external_files(data) == ["good.bin"]


def test_damaged_files_have_no_files_and_raise_nothing() -> None:
    data = model("a.bin", "b.bin", "c.bin", "d.bin", "e.bin").SerializeToString()
    chooser = random.Random(1)
    for _ in range(300):
        damaged = bytearray(data[: chooser.randrange(len(data))])
        for _ in range(chooser.randrange(4)):
            if damaged:
                damaged[chooser.randrange(len(damaged))] = chooser.randrange(256)
        assert all(isinstance(name, str) for name in external_files(bytes(damaged)))
    assert external_files(b"location\xff\xff\xff\xff") == []
    assert external_files(b"scale 2\nlocation here\n") == []
