"""What computes nothing disappears; the rest computes the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.onnx_models import load, operators, same


@pytest.mark.parametrize(
    "node",
    [
        "Identity(a)",
        "Dropout(a)",
        "Cast<to = 1>(a)",
        "CastLike(a, x)",
        "Reshape(a, shape)",
        "Expand(a, shape)",
        "Tile(a, ones)",
        "Transpose<perm = [0,1]>(a)",
        "Concat<axis = 0>(a)",
        "Sum(a)",
        "Max(a)",
        "Slice(a, zeros, large)",
        "Pad(a, none)",
    ],
)
def test_nodes_that_do_nothing(node: str, tmp_path: Path) -> None:
    constants = (
        "int64[2] shape = {2,3}, int64[2] ones = {1,1}, int64[2] zeros = {0,0}, int64[2] large = {9,9},"
    )
    constants += "int64[4] none = {0,0,0,0}"
    for inside in (f"a = Relu(x)\n b = {node}\n y = Neg(b)", f"a = Relu(x)\n y = {node}"):
        model = same(f"g (float[2,3] x) => (float[2,3] y) <{constants}> {{ {inside} }}", tmp_path)
        assert operators(model) == ["Relu", "Neg"][: 1 + ("Neg" in inside)]


@pytest.mark.parametrize(
    "node",
    [
        "Slice(a, last, back, both, minus)",
        "Transpose(a)",
        "Cast<to = 11>(a)",
        "Pad(a, shift)",
    ],
)
def test_nodes_that_only_look_like_it(node: str, tmp_path: Path) -> None:
    constants = (
        "int64[2] last = {1,1}, int64[2] back = {-9,-9}, int64[2] both = {0,1}, int64[2] minus = {-1,-1},"
    )
    constants += "int64[4] shift = {1,0,-1,0}"
    source = f"g (float[2,2] x) => (float[2,2] y) <{constants}> {{ a = Relu(x)\n y = {node} }}"
    assert len(operators(same(source, tmp_path))) == 2


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("y = Identity(x)", ["Identity"]),
        ("a = Identity(x)\n b = Identity(a)\n y = Neg(b)", ["Neg"]),
        ("a = Neg(x)\n b = Identity(a)\n y = Identity(b)", ["Neg"]),
        ("a = Neg(x)\n y = Identity(a)\n z = Identity(a)", ["Neg", "Identity"]),
        ("y = Neg(x)\n z = Identity(y)", ["Neg", "Identity"]),
        ("a = Neg(x)\n y = Identity(a)\n z = Exp(a)", ["Neg", "Exp"]),
    ],
)
def test_outputs_keep_their_names(body: str, left: list[str], tmp_path: Path) -> None:
    outputs = ["y", "z"][: 1 + ("z =" in body)]
    declared = ", ".join(f"float[2] {name}" for name in outputs)
    model = same(f"g (float[2] x) => ({declared}) {{ {body} }}", tmp_path)
    assert operators(model) == left
    assert list(model.outputs) == outputs


@pytest.mark.parametrize(
    "body",
    [
        "y = Flatten<axis = 2>(x)",
        "a = Unsqueeze(x, axes)\n b = Flatten<axis = 3>(a)\n y = Squeeze(b)",
        "a = Flatten(x)\n y = Reshape(a, wide)",
        "a = Reshape(x, guess)\n y = Reshape<allowzero = 0>(a, same)",
    ],
)
def test_all_changes_of_shape_become_one_reshape(body: str, tmp_path: Path) -> None:
    constants = (
        "int64[1] axes = {0}, int64[2] wide = {4,-1}, int64[3] guess = {-1,2,2}, int64[3] same = {0,0,2}"
    )
    source = f"g (float[2,3,4] x) => (float[?,?] y) <{constants}> {{ {body} }}"
    assert operators(same(source, tmp_path)) == ["Reshape"]


def test_a_reshape_that_another_node_reads_too(tmp_path: Path) -> None:
    source = "g (float[2,3] x) => (float[6] y, float[6] z) { a = Flatten<axis = 0>(x)\n b = Squeeze(a)"
    source += "\n y = Neg(b)\n z = Exp(b) }"
    assert operators(same(source, tmp_path)) == ["Reshape", "Neg", "Exp"]


def test_there_and_back(tmp_path: Path) -> None:
    source = "g (float[2,3] x) => (float[2,3] y) <int64[1] six = {6}, int64[2] shape = {2,3}>"
    source += " { a = Reshape(x, six)\n b = Reshape(a, shape)\n y = Neg(b) }"
    assert operators(same(source, tmp_path)) == ["Neg"]


@pytest.mark.parametrize(
    ("perms", "left"),
    [
        (["0,2,3,1", "0,3,1,2"], []),
        (["0,2,3,1", "0,2,3,1"], ["Transpose"]),
        (["0,2,3,1", "0,2,3,1", "0,2,3,1"], []),
        (["3,2,1,0", "1,0,2,3", "0,2,1,3"], ["Transpose"]),
    ],
)
def test_consecutive_transposes(perms: list[str], left: list[str], tmp_path: Path) -> None:
    body = "v0 = Neg(x)\n"
    for index, perm in enumerate(perms):
        body += f"v{index + 1} = Transpose<perm = [{perm}]>(v{index})\n"
    source = f"g (float[2,3,4,5] x) => (float[?,?,?,?] y) {{ {body} y = Exp(v{len(perms)}) }}"
    assert operators(same(source, tmp_path)) == ["Neg", *left, "Exp"]


def test_transpose_that_is_also_an_output(tmp_path: Path) -> None:
    source = "g (float[2,3] x) => (float[3,2] a, float[2,3] y)"
    source += " { a = Transpose(x)\n b = Transpose(a)\n y = Neg(b) }"
    assert operators(same(source, tmp_path)) == ["Transpose", "Neg"]


def test_parts_that_nobody_reads_are_not_split_off(tmp_path: Path) -> None:
    source = "g (float[2,6] x) => (float[2,3] y) <int64[3] n = {1,3,2}>"
    source += " { a, b, c = Split<axis = -1>(x, n)\n y = Neg(b) }"
    assert operators(same(source, tmp_path)) == ["Slice", "Neg"]


def test_empty_optional_outputs(tmp_path: Path) -> None:
    source = "g (float[1,1,2] x) => (float[1,1,3] h) <float[1,9,2] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9},"
    source += " float[1,9,3] r = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}>"
    source += ' { "", h = GRU<hidden_size = 3>(x, w, r) }'
    same(source, tmp_path)


def test_a_normal_model_stays_as_it_is(tmp_path: Path) -> None:
    """Normalising twice gives the same bytes as once."""
    source = "g (float[2,3] x) => (float[2,3] y) <float[3] b = {1,2,3}>"
    source += " { a = Dropout(x)\n c = Add(a, b)\n y = Neg(c) }"
    once = load(source, tmp_path).proto
    assert load(once, tmp_path).proto.SerializeToString() == once.SerializeToString()
