"""Models that make no sense, or that no microcontroller can run, are refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.unit.onnx_models import HEAD, load, operators, text
from tvm_tool.errors import ModelError, UnsupportedError


def refusal(source: str, folder: Path, head: str = HEAD) -> str:
    with pytest.raises(ModelError) as caught:
        load(text(source, head), folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[one] y = Add(x, z)\n [two] z = Relu(y)", "'one' -> 'two' -> 'one' wait for each other"),
        ("[a] y = Add(x, q)\n [b] q = Relu(q)", "'b' -> 'b' wait for each other"),
        ("[a] y = Relu(nothing)", "node 'a' (Relu): it reads 'nothing', which nothing computes"),
        ("[a] y = Relu(x)\n [b] y = Neg(x)", "node 'b' (Neg): the name 'y' is defined twice"),
        ("[a] x = Relu(x)\n y = Neg(x)", "the name 'x' is defined twice"),
        ("[a] z = Relu(x)", "nothing computes the output 'y'"),
        ("[a] y = Frobnicate(x)", "ONNX has no operator 'Frobnicate'"),
        ("[a] y = Rellu(x)", "did you mean 'Relu'?"),
        ("[a] y = Gelu(x)", "export the network with opset 20"),
        ("[a] y = Relu(x, x)", "node 'a': it is not valid ONNX"),
        ("[a] y = Relu<alpha = 1>(x)", "node 'a': it is not valid ONNX"),
        ("[a] y = MatMul(x, x)", "node 'a' (MatMul): its inputs do not fit together"),
        ("[a] n = NonZero(x)\n y = Cast<to = 1>(n)", "node 'a' (NonZero): the shape of its output 'n'"),
        (
            "[a] s = SequenceConstruct(x)\n i = Constant<value_int=0>()\n y = SequenceAt(s, i)",
            "is a sequence",
        ),
        ('[a] t = Constant<value_string = "no">()\n y = Relu(x)', "node 'a' (Constant): it holds no numbers"),
        ('[a] t = Constant<value = string {"no"}>()\n y = Relu(x)', "it holds text"),
    ],
)
def test_refusals(body: str, words: str, tmp_path: Path) -> None:
    assert words in refusal(f"g (float[2,3] x) => (float[2,3] y) {{ {body} }}", tmp_path)


@pytest.mark.parametrize("opset", [0, 99])
def test_opsets_out_of_range(opset: int, tmp_path: Path) -> None:
    head = f'<ir_version: 8, opset_import: ["": {opset}]>\n'
    message = refusal("g (float[2] x) => (float[2] y) { y = Relu(x) }", tmp_path, head)
    assert f"opset {opset}" in message
    assert f"opset 1 to {onnx.defs.onnx_opset_version()}" in message


def test_newer_file_format(tmp_path: Path) -> None:
    head = '<ir_version: 99, opset_import: ["": 17]>\n'
    assert "version 99" in refusal("g (float[2] x) => (float[2] y) { y = Relu(x) }", tmp_path, head)


def test_no_onnx_opset(tmp_path: Path) -> None:
    head = '<ir_version: 8, opset_import: ["ai.onnx.ml": 3]>\n'
    source = "g (float[2] x) => (float[2] y) { y = ai.onnx.ml.Scaler(x) }"
    assert "does not use the ONNX operator set" in refusal(source, tmp_path, head)


def test_foreign_domains_are_named(tmp_path: Path) -> None:
    head = '<ir_version: 8, opset_import: ["": 17, "my.lab": 1]>\n'
    message = refusal("g (float[2] x) => (float[2] y) { [n] y = my.lab.Magic(x) }", tmp_path, head)
    assert "operator 'Magic' of the domain 'my.lab'" in message
    assert "node 'n'" in message


def test_unused_domains_do_not_matter(tmp_path: Path) -> None:
    head = '<ir_version: 8, opset_import: ["ai.onnx": 17, "my.lab": 1]>\n'
    model = load(text("g (float[2] x) => (float[2] y) { y = ai.onnx.Relu(x) }", head), tmp_path)
    assert [(o.domain, o.version) for o in model.proto.opset_import] == [("", 17)]


def test_nodes_in_any_order(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) { [c] y = Exp(b)\n [b] b = Neg(a)\n [a] a = Relu(x) }"
    assert [n.name for n in load(source, tmp_path).proto.graph.node] == ["a", "b", "c"]


def test_recursive_functions(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "f": 1]>\n'
        "g (float[2] x) => (float[2] y) { y = f.loop(x) }\n"
        '<domain: "f", opset_import: ["": 17, "f": 1]> loop (a) => (b) { c = Relu(a)\n b = f.loop(c) }'
    )
    with pytest.raises(ModelError, match="functions cannot be expanded"):
        load(model, tmp_path)


def test_functions_are_inlined(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "f": 1]>\n'
        "g (float[2] x) => (float[2] y) { y = f.outer<slope = 0.5>(x) }\n"
        '<domain: "f", opset_import: ["": 17, "f": 1]> outer <slope> (a) => (b)'
        " { c = LeakyRelu<alpha: float = @slope>(a)\n b = f.inner(c) }\n"
        '<domain: "f", opset_import: ["": 17]> inner <slope: float = 0.25> (a) => (b)'
        " { b = LeakyRelu<alpha: float = @slope>(a) }"
    )
    graph = load(model, tmp_path).proto.graph
    assert [(n.op_type, n.attribute[0].f) for n in graph.node] == [("LeakyRelu", 0.5), ("LeakyRelu", 0.25)]


TRAINED = (
    "g (float[1,2,3] x) => (float[1,2,3] y) <float[2] s = {1,1}>"
    " { [n] y, a, b = BatchNormalization<training_mode = 1>(x, s, s, s, s) }"
)


@pytest.mark.parametrize(
    "source",
    [
        TRAINED,
        "g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { [n] y = Dropout(x, r, t) }",
        "g (float[2] x, bool t) => (float[2] y) <float r = {0.5}> { [n] y = Dropout(x, r, t) }",
    ],
)
def test_training_mode(source: str, tmp_path: Path) -> None:
    message = refusal(source, tmp_path)
    assert "node 'n'" in message
    assert "training" in message


def test_loops_are_named(tmp_path: Path) -> None:
    source = """
    g (float[2] x, int64 n, bool c) => (float[2] y)
    { [again] y = Loop(n, c, x) <body = b (int64 i, bool p, float[2] v) => (bool q, float[2] w)
      { q = Identity(p)
        w = Neg(v) }> }"""
    with pytest.raises(UnsupportedError, match=r"node 'again' \(Loop\)"):
        load(source, tmp_path)


@pytest.mark.parametrize(
    ("operands", "node"),
    [
        ("float[4,3,3,3] w = {0}", "Conv(x, w)"),
        ("float[4,2,3,3] w = {0}, float[3] b = {1,2,3}", "Conv(x, w, b)"),
        ("float[3,1,3,3] w = {0}", "Conv<group = 2>(x, w)"),
        ("float[3,1,3,3] w = {0}", "ConvTranspose(x, w)"),
        ("float[2] s = {1,1}, float[3] t = {1,1,1}", "BatchNormalization(x, s, s, s, t)"),
    ],
)
def test_channels_that_do_not_fit(operands: str, node: str, tmp_path: Path) -> None:
    model = text(f"g (float[1,2,8,8] x) => (float[1,4,6,6] y) <{operands}> {{ [n] y = {node} }}")
    for tensor in model.graph.initializer:
        if len(tensor.dims) > 1:
            tensor.CopyFrom(numpy_helper.from_array(np.ones(tensor.dims, np.float32), tensor.name))
    with pytest.raises(ModelError, match="node 'n'"):
        load(model, tmp_path)


def test_values_that_cannot_be_addressed(tmp_path: Path) -> None:
    source = (
        "g (float[100000,1] x, float[1,100000] z) => (float[1] y) { [big] a = Add(x, z)\n y = ReduceMax(a) }"
    )
    assert "node 'big' (Add)" in refusal(source, tmp_path)


def test_names_of_nodes(tmp_path: Path) -> None:
    """Given names stay, others say operator and place; all differ."""
    source = (
        "g (float[2] x) => (float[2] y) { a = Relu(x)\n [same] b = Neg(a)\n [same] c = Abs(b)\n y = Exp(c) }"
    )
    names = [n.name for n in load(source, tmp_path).proto.graph.node]
    assert names == ["Relu_0", "same", "same_2", "Exp_3"]


def test_messages_are_short(tmp_path: Path) -> None:
    message = refusal("g (float[2,3] x) => (float[2,3] y) { [a] y = MatMul(x, x) }", tmp_path)
    assert "ShapeInferenceError" not in message
    assert len(message) < 200


def test_operators_keep_their_order(tmp_path: Path) -> None:
    source = "g (float[2] x) => (float[2] y) { a = Relu(x)\n b = Neg(x)\n c = Abs(x)\n y = Sum(c, b, a) }"
    assert operators(load(source, tmp_path)) == ["Relu", "Neg", "Abs", "Sum"]
