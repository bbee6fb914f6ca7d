"""Types of all values, shape arithmetic that dissolves, constants that are computed or left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.unit.onnx_models import Net, load, operators, same
from tvm_tool.errors import UnsupportedError


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def test_shape_arithmetic_dissolves(tmp_path: Path) -> None:
    net = Net(17)
    x = net.input(2, 3, 4)
    shape = net.op("Shape", x)
    first = net.op("Gather", shape, net.constant(np.array(0)), axis=0)
    rest = net.op("ReduceProd", net.op("Slice", shape, net.constant([1]), net.constant([3])), keepdims=0)
    target = net.op("Concat", net.unsqueeze(first, [0]), net.unsqueeze(rest, [0]), axis=0)
    model = same(net.model(net.op("Reshape", x, target)), tmp_path)
    assert operators(model) == ["Reshape"]
    assert [list(v) for v in constants(model.proto).values()] == [[2, 12]]


@pytest.mark.parametrize(
    ("attributes", "want"), [("", [2, 3, 4]), ("<start = 1>", [3, 4]), ("<start = -2, end = -1>", [3])]
)
def test_slices_of_shapes(attributes: str, want: list[int], tmp_path: Path) -> None:
    model = load(f"g (float[2,3,4] x) => (int64[?] y) {{ y = Shape{attributes}(x) }}", tmp_path)
    assert list(constants(model.proto)["y/value"]) == want


def test_size(tmp_path: Path) -> None:
    model = load("g (float[2,3,4] x) => (int64 y) { y = Size(x) }", tmp_path)
    assert constants(model.proto)["y/value"] == 24


def test_every_value_has_a_static_type(tmp_path: Path) -> None:
    model = same(
        "g (float[1,2,8,8] x) => (float[1,4,3,3] y) <float[4,2,3,3] w = {" + ",".join(["0.5"] * 72) + "}>"
        " { a = Conv(x, w)\n b = MaxPool<kernel_shape = [2,2], strides = [2,2]>(a)\n y = Relu(b) }",
        tmp_path,
    )
    graph = model.proto.graph
    known = {v.name for v in (*graph.value_info, *graph.output) if v.type.tensor_type.HasField("shape")}
    assert {o for n in graph.node for o in n.output} == known


def test_chains_of_constants_are_computed(tmp_path: Path) -> None:
    source = "g (float[3] x) => (float[3] y) <float[3] a = {1,2,3}>"
    source += " { b = Mul(a, a)\n c = Sqrt(b)\n d = Neg(c)\n y = Add(x, d) }"
    model = same(source, tmp_path)
    assert operators(model) == ["Add"]
    assert list(constants(model.proto)["d"]) == [-1, -2, -3]


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("value = float[2] {1, 2}", [1, 2]),
        ("value_float = 3.0", 3),
        ("value_floats = [4.0, 5.0]", [4, 5]),
    ],
)
def test_constant_nodes(form: str, value: object, tmp_path: Path) -> None:
    model = same(f"g (float[2] x) => (float[2] y) {{ c = Constant<{form}>()\n y = Add(x, c) }}", tmp_path)
    assert operators(model) == ["Add"]
    assert np.array_equal(constants(model.proto)["c"], np.array(value, np.float32))


@pytest.mark.parametrize(
    ("node", "folded"),
    [
        ("Expand(w, few)", True),
        ("Expand(w, many)", False),
        ("Tile(w, many)", False),
        ("ConstantOfShape(many)", False),
        ("ConstantOfShape(huge)", False),
    ],
)
def test_repetition_is_not_stored(node: str, folded: bool, tmp_path: Path) -> None:
    head = "g (float x) => (float y) <float[1,4] w = {1,2,3,4}, int64[2] few = {3,4},"
    head += " int64[2] many = {3000,4}, int64[2] huge = {20000,20000}>"
    body = f"{{ a = {node}\n b = ReduceMax<keepdims = 0>(a)\n y = Add(x, b) }}"
    names = operators(load(head + body, tmp_path))
    assert (names == ["Add"]) is folded
    assert folded or names[0] == node.partition("(")[0]


def test_integer_weights_stay_integers(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) <int8[2] w = {1,2}, float s = {0.5}, int8 z = {0}>"
    source += " { a = DequantizeLinear(w, s, z)\n y = Add(x, a) }"
    assert operators(same(source, tmp_path)) == ["DequantizeLinear", "Add"]


def test_random_numbers_are_not_constants(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) { r = RandomNormal<shape = [2]>()\n y = Add(x, r) }"
    assert operators(load(source, tmp_path)) == ["RandomNormal", "Add"]


IF = """
g (float[1,2] x) => (float[?,?] y, float z) {
    s = Shape(x)
    i = Constant<value_int = 0>()
    d = Gather(s, i)
    one = Constant<value_int = 1>()
    c = @test@(d, one)
    r = Relu(x)
    y, z = If(c) <
        then_branch = t () => (float[?,?] u, float k) <float k = {4.0}> {
            r2 = Neg(r)
            u = Sub(r2, x)
        },
        else_branch = e () => (float[?,?] r2, float q) {
            r2 = Abs(x)
            q = ReduceSum<keepdims = 0>(r2)
        }
    >
}"""


@pytest.mark.parametrize(
    ("test", "names"),
    [("Equal", ["Relu", "Neg", "Sub", "Identity"]), ("Greater", ["Abs", "ReduceSum"])],
)
def test_if_that_depends_on_shapes(test: str, names: list[str], tmp_path: Path) -> None:
    assert operators(same(IF.replace("@test@", test), tmp_path)) == names


def test_if_inside_if(tmp_path: Path) -> None:
    source = """
    g (float[2] x) => (float[2] y) <bool yes = {1}, bool no = {0}> {
        y = If(yes) <
            then_branch = a () => (float[2] u) {
                h = Neg(x)
                u = If(no) <then_branch = b () => (float[2] v) { v = Relu(h) },
                            else_branch = c () => (float[2] v) { v = Exp(h) }>
            },
            else_branch = d () => (float[2] u) { u = Abs(x) }
        >
    }"""
    assert operators(same(source, tmp_path)) == ["Neg", "Exp"]


def test_branch_that_gives_a_value_twice(tmp_path: Path) -> None:
    source = """
    g (float[2] x) => (float[2] y, float[2] z) <bool yes = {1}> {
        y, z = If(yes) <then_branch = a () => (float[2] v, float[2] v) { v = Relu(x) },
                        else_branch = b () => (float[2] u, float[2] u) { u = Neg(x) }>
    }"""
    assert operators(load(source, tmp_path)) == ["Relu", "Identity"]


def test_if_that_depends_on_values(tmp_path: Path) -> None:
    source = """
    g (float[2] x, bool c) => (float[2] y) {
        [fork] y = If(c) <then_branch = a () => (float[2] u) { u = Neg(x) },
                          else_branch = b () => (float[2] u) { u = Relu(x) }>
    }"""
    with pytest.raises(UnsupportedError, match=r"node 'fork' \(If\): its condition"):
        load(source, tmp_path)


def test_equal_constants_are_stored_once(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) <float[2] a = {1,2}, float[2] b = {1,2}, int32[2] c = {1,2}>"
    source += " { u = Add(x, a)\n v = Mul(u, b)\n d = Cast<to = 1>(c)\n y = Div(v, d) }"
    assert list(constants(same(source, tmp_path).proto)) == ["a"]


def test_unused_nodes_and_constants_are_dropped(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) <float[2] a = {1,2}, float[2] b = {3,4}>"
    source += " { dead = Add(x, a)\n deader = Exp(dead)\n y = Add(x, b) }"
    model = same(source, tmp_path)
    assert operators(model) == ["Add"]
    assert list(constants(model.proto)) == ["b"]
