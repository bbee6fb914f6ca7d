"""The interface of a model: shapes that are fixed, inputs and outputs that stay what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.unit.onnx_models import load, operators, run, text
from tvm_tool.errors import ModelError, OptionError, UnsupportedError

FREE = "g (float[N,3,224,224] image, float[1,K] context) => (float[N] y) { a = Relu(image)\n y = Flatten(a) }"


def free(folder: Path, shapes: dict[str, tuple[int, ...]]) -> str:
    with pytest.raises((ModelError, OptionError)) as caught:
        load(FREE, folder, shapes)
    return str(caught.value)


def test_free_dimensions_are_named_with_the_remedy(tmp_path: Path) -> None:
    message = free(tmp_path, {})
    assert "input 'image'" in message
    assert "['N', 3, 224, 224]" in message
    assert "shapes={'image': [1, 3, 224, 224], 'context': [1, 1]}" in message


def test_only_the_missing_input_is_asked_for(tmp_path: Path) -> None:
    message = free(tmp_path, {"image": (1, 3, 224, 224)})
    assert "input 'context'" in message
    assert "shapes={'context': [1, 1]}" in message


def test_shapes_of_an_unknown_input(tmp_path: Path) -> None:
    message = free(tmp_path, {"imag": (1, 3, 224, 224)})
    assert "no input 'imag'" in message
    assert "did you mean 'image'?" in message


@pytest.mark.parametrize("shape", [(1, 3, 224, 100), (1, 3, 224), (1, 3, 224, 224, 1)])
def test_shapes_that_contradict_the_model(shape: tuple[int, ...], tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        load(FREE, tmp_path, {"image": shape})
    assert str(list(shape)) in str(caught.value)
    assert "['N', 3, 224, 224]" in str(caught.value)


def test_shapes_reach_every_value(tmp_path: Path) -> None:
    model = load(FREE, tmp_path, {"image": (2, 3, 224, 224), "context": (1, 5)})
    values = [*model.proto.graph.input, *model.proto.graph.value_info, *model.proto.graph.output]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    assert shapes["image"] == [2, 3, 224, 224]
    assert shapes["y"] == [2, 3 * 224 * 224]


@pytest.mark.parametrize("dimensions", [["N", 4], [None, 4], [-1, 4], [0, 4]])
def test_ways_to_leave_a_dimension_free(dimensions: list[str | int | None], tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dimensions)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(ModelError, match="every dimension fixed"):
        load(model, tmp_path)
    assert load(model, tmp_path, {"x": (3, 4)}).inputs == ("x",)


def test_input_without_rank(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(ModelError, match="not known at all"):
        load(model, tmp_path)
    assert load(model, tmp_path, {"x": (2, 2)}).outputs == ("y",)


def test_a_batch_that_the_model_has_baked_in(tmp_path: Path) -> None:
    source = "g (float[N,6] x) => (float[1,2,3] y) <int64[3] s = {1,2,3}> { [re] y = Reshape(x, s) }"
    with pytest.raises(ModelError, match="node 're'"):
        load(source, tmp_path, {"x": (2, 6)})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("seq(float[4])", "a sequence"),
        ("optional(float[4])", "an optional"),
        ("map(int64, float[4])", "a map"),
        ("string[4]", "a tensor of text"),
        ("complex64[4]", "a tensor of complex numbers"),
        ("sparse_tensor(float[4])", "a sparse tensor"),
    ],
)
def test_inputs_that_are_no_tensors(kind: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        load(f"g ({kind} thing, float[4] x) => (float[4] y) {{ y = Relu(x) }}", tmp_path)
    assert "input 'thing'" in str(caught.value)
    assert words in str(caught.value)


def test_output_that_is_no_tensor(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="output 'y': it is a sequence"):
        load("g (float[4] x) => (seq(float[4]) y) { y = SequenceConstruct(x) }", tmp_path)


@pytest.mark.parametrize("version", [3, 8])
def test_inputs_with_a_default_are_constants(version: int, tmp_path: Path) -> None:
    head = f'<ir_version: {version}, opset_import: ["": 9]>\n'
    source = "g (float[2] w, float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }"
    model = load(text(source, head), tmp_path)
    assert model.inputs == ("x",)
    with pytest.raises(OptionError, match="'w' is a constant"):
        load(text(source, head), tmp_path, {"w": (2,)})


def test_inputs_that_nothing_reads_stay(tmp_path: Path) -> None:
    model = load(
        "g (float[2] a, float[N] b, float[2] c) => (float[2] y) { y = Relu(c) }", tmp_path, {"b": (7,)}
    )
    assert model.inputs == ("a", "b", "c")


def test_scalar_input(tmp_path: Path) -> None:
    model = load("g (float x, float[2] z) => (float[2] y) { y = Add(x, z) }", tmp_path)
    assert model.inputs == ("x", "z")


def test_every_output_is_computed(tmp_path: Path) -> None:
    """Outputs that are inputs, constants or doubles become copies."""
    source = "g (float[2] x) => (float[2] y, float[2] x, float[2] y, float[2] k, float[2] same)"
    source += " <float[2] k = {1,2}> { y = Relu(x)\n same = Identity(x) }"
    original = text(source)
    model = load(original, tmp_path)
    onnx.checker.check_model(model.proto, full_check=True)
    assert model.outputs == ("y", "x_2", "y_2", "k", "same")
    assert [o for n in model.proto.graph.node for o in n.output] == ["y", "same", "x_2", "y_2", "k"]
    data = {"x": np.array([-1, 2], np.float32)}
    for want, got in zip(run(original, data), run(model.proto, data), strict=True):
        assert np.array_equal(want, got)


def test_old_models_with_such_outputs(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y, float[2] x, float[2] k) <float[2] k = {1,2}> { y = Relu(x) }"
    model = load(text(source, '<ir_version: 4, opset_import: ["": 9]>\n'), tmp_path)
    assert model.outputs == ("y", "x_2", "k")
    assert operators(model) == ["Relu", "Identity", "Identity"]


def test_outputs_need_no_declared_type(tmp_path: Path) -> None:
    model = text("g (float[2] x) => (int64[9,9] y) { y = Relu(x) }")
    model.graph.output[0].ClearField("type")
    assert load(model, tmp_path).proto.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
