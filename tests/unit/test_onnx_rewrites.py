"""Operators written in other ones compute the same, by onnxruntime's word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.onnx_models import Net, largest_error, load, operators, random_data, run, same, text
from tvm_tool.compiler.frontend.onnx_rewrites import REWRITES, TABLES
from tvm_tool.compiler.frontend.onnx_rewrites_ngrams import tf_idf
from tvm_tool.compiler.frontend.onnx_rewrites_signal import inverse_of_real


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 3]},
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]},
        {"kernel_shape": [3, 2], "pads": [0, 1, 2, 0], "dilations": [2, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [2, 2], "storage_order": 1},
    ],
    ids=str,
)
def test_places_of_maxima(attributes: dict[str, object], tmp_path: Path) -> None:
    net = Net(17)
    model = same(net.model(*net.ops("MaxPool", net.input(2, 3, 7, 8), outputs=2, **attributes)), tmp_path)
    assert all(len(node.output) == 1 for node in model.proto.graph.node)


def test_the_first_of_equal_maxima(tmp_path: Path) -> None:
    net = Net(17)
    source = net.model(
        *net.ops("MaxPool", net.input(1, 1, 4, 4), outputs=2, kernel_shape=[3, 3], pads=[1] * 4)
    )
    data = {"x": np.full((1, 1, 4, 4), -np.inf, np.float32)}
    (_, wanted), (_, got) = run(source, data), run(load(source, tmp_path).proto, data)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("length", [7, 8])
def test_inverse_of_a_real_transform(length: int) -> None:
    spectrum = np.random.default_rng(0).standard_normal((length // 2 + 1, 2))
    want = np.fft.irfft(spectrum[:, 0] + 1j * spectrum[:, 1], length)
    np.testing.assert_allclose(spectrum.reshape(-1) @ inverse_of_real(length), want, atol=1e-12)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize(("least", "most", "skip"), [(1, 1, 0), (1, 2, 3), (2, 2, 5), (2, 3, 1)])
def test_ngrams(mode: str, least: int, most: int, skip: int, tmp_path: Path) -> None:
    net = Net(17)
    x = net.input(2, 9, elem=6)
    attributes = {
        "mode": mode, "min_gram_length": least, "max_gram_length": most, "max_skip_count": skip,
        "ngram_counts": [0, 3, 7], "ngram_indexes": [4, 0, 2, 1, 5, 3],
        "pool_int64s": [0, 1, 2, 0, 1, 1, 1, 0, 0, 1],
        "weights": [0.5, 1.0, 2.0, 3.0, 4.0, 0.25],
    }  # fmt: skip
    model = same(net.model(net.op("TfIdfVectorizer", x, **attributes)), tmp_path)
    assert "TfIdfVectorizer" not in operators(model), tf_idf.__doc__


@pytest.mark.parametrize("opset", [8, 11, 13])
def test_the_mask_of_a_dropout(opset: int, tmp_path: Path) -> None:
    net = Net(opset)
    model = load(net.model(*net.ops("Dropout", net.input(2, 3), outputs=2)), tmp_path)
    assert set(operators(model)) == {"Identity"}
    data = random_data(model.proto)
    y, mask = run(model.proto, data)
    np.testing.assert_array_equal(y, data["x"])
    assert mask.all() and mask.dtype == (np.bool_ if opset >= 10 else np.float32)


@pytest.mark.parametrize("perm", [[0, 3, 1, 2], [3, 1, 0, 2], [1, 3, 0, 2]])
def test_transposes_that_move_nothing(perm: list[int], tmp_path: Path) -> None:
    net = Net(17)
    x = net.input(1, 4, 5, 1)
    model = same(net.model(net.op("Relu", net.op("Transpose", x, perm=perm))), tmp_path)
    assert operators(model) == ["Reshape", "Relu"]


def test_transposes_that_move_something_stay(tmp_path: Path) -> None:
    net = Net(17)
    model = same(net.model(net.op("Transpose", net.input(1, 4, 5, 1), perm=[0, 2, 1, 3])), tmp_path)
    assert operators(model) == ["Transpose"]


def test_blocks_of_scales(tmp_path: Path) -> None:
    head = '<ir_version: 10, opset_import: ["": 21]>\n'
    constants = "<float[2,2] s = {0.5, 0.25, 1, 2}, int8[2,2] z = {1, 2, 3, -4}>"
    blocks = "<axis = 1, block_size = 3>"
    body = f"q = QuantizeLinear{blocks}(x, s, z)\n y = DequantizeLinear{blocks}(q, s, z)"
    model = same(
        text(f"g (float[2,5] x) => (int8[2,5] q, float[2,5] y) {constants} {{ {body} }}", head), tmp_path
    )
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(operators(model))


def test_a_split_with_an_empty_part(tmp_path: Path) -> None:
    constants = "<int64[3] n = {2, 0, 3}>"
    body = "a, b, c = Split<axis = 1>(x, n)\n y = Concat<axis = 1>(c, b, a)"
    model = same(text(f"g (float[2,5] x) => (float[2,5] y) {constants} {{ {body} }}"), tmp_path)
    assert operators(model) == ["Split", "Concat"]
    assert len(model.proto.graph.node[0].output) == 2


def test_deformed_windows(tmp_path: Path) -> None:
    """Without offsets and with a mask of ones it is an ordinary convolution."""
    net = Net(19)
    x, w, b = net.input(2, 4, 6, 7), net.weight(6, 2, 3, 3), net.weight(6)
    shared = {
        "pads": [1, 0, 1, 2],
        "strides": [1, 2],
        "dilations": [2, 1],
        "group": 2,
        "kernel_shape": [3, 3],
    }
    zeros = net.constant(np.zeros((2, 2 * 18, 4, 4), np.float32))
    ones = net.constant(np.ones((2, 2 * 9, 4, 4), np.float32))
    bent = net.op("DeformConv", x, w, zeros, b, ones, offset_group=2, **shared)
    model = load(net.model(bent, net.op("Conv", x, w, b, **shared)), tmp_path)
    got, want = run(model.proto, random_data(model.proto))
    assert largest_error([want], [got]) < 1e-5


def test_no_rewrite_hides_another() -> None:
    assert sum(map(len, TABLES)) == len(REWRITES)


@pytest.mark.parametrize("axes", [None, [1], [-1, 0]], ids=str)
def test_a_pad_with_a_number_that_comes_in(axes: list[int] | None, tmp_path: Path) -> None:
    """The importer takes only constants to fill with."""
    net = Net(19)
    x, fill = net.input(2, 5), net.input(name="fill")
    amounts = [1, 0, 2, 3] if axes is None or len(axes) == 2 else [2, 1]
    more = [] if axes is None else [net.constant(np.array(axes, np.int64))]
    padded = net.op("Pad", x, net.constant(np.array(amounts, np.int64)), fill, *more)
    model = same(net.model(padded), tmp_path)
    assert operators(model).count("Where") == 1
