"""Opsets 1 to 6 compute what their equivalent in opset 7 computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.onnx_models import largest_error, load, random_data, run, text
from tvm_tool.errors import UnsupportedError

SEVEN = '<ir_version: 3, opset_import: ["": 7]>\n'
HEAD = "g (float[2,3,4,5] x, float[3,4] b, float[2,3,4,5] c, float[3,1] s) => (float[2,3,4,5] y) "


def opset(version: int) -> str:
    return f'<ir_version: 3, opset_import: ["": {version}]>\n'


ONES = "[0,0,1,1,0,0,1,1]"
PAIRS = [
    (6, "y = Add<broadcast = 1, axis = 1>(x, b)", "y = Add(x, w)"),
    (1, "y = Mul<broadcast = 1, axis = -3, consumed_inputs = [0, 0]>(x, b)", "y = Mul(x, w)"),
    (6, "y = Sub(x, c)", "y = Sub(x, c)"),
    (6, "y = Div<broadcast = 1>(x, five)", "y = Div(x, five)"),
    (1, "y = Relu<consumed_inputs = [0]>(x)", "y = Relu(x)"),
    (1, "y = Clip<min = -0.5, max = 0.5>(x)", "y = Clip<min = -0.5, max = 0.5>(x)"),
    (1, "y = Selu(x)", "y = Selu<alpha = 1.6732, gamma = 1.0507>(x)"),
    (6, "y = Selu(x)", "y = Selu(x)"),
    (6, "y = Dropout<is_test = 1>(x)", "y = Dropout(x)"),
    (1, "h = Reshape<shape = [2, 60]>(x)\n y = Reshape<shape = [2, 3, 4, 5]>(h)", "y = Identity(x)"),
    (5, "n = Constant<value = int64[2] {6, 20}>()\n h = Reshape(x, n)\n y = Neg(h)", None),
    (1, 'h = Cast<to = "INT32">(x)\n y = Cast<to = "FLOAT">(h)', "h = Cast<to = 6>(x)\n y = Cast<to = 1>(h)"),
    (1, "y = Concat(x, c)", "y = Concat<axis = 1>(x, c)"),
    (1, f"y = Pad<paddings = {ONES}, value = 2.0>(x)", f"y = Pad<pads = {ONES}, value = 2.0>(x)"),
    (
        1,
        "y = Upsample<height_scale = 2.0, width_scale = 3.0>(x)",
        "y = Upsample<scales = [1.0, 1.0, 2.0, 3.0]>(x)",
    ),
    (1, "y = Tile(x, two, one)", "y = Tile(x, repeats)"),
    (1, "y, z = Split<axis = 1>(x, parts)", "y, z = Split<axis = 1, split = [1, 2]>(x)"),
    (1, "y = LpPool<p = 2.0, kernel_shape = [2, 2]>(x)", "y = LpPool<p = 2, kernel_shape = [2, 2]>(x)"),
    (
        6,
        "y = BatchNormalization<is_test = 1>(x, three, three, three, three)",
        "y = BatchNormalization(x, three, three, three, three)",
    ),
    (6, "m = Less<broadcast = 1>(x, five)\n y = Cast<to = 1>(m)", "m = Less(x, five)\n y = Cast<to = 1>(m)"),
]  # fmt: skip
CONSTANTS = (
    "<float[5] five = {1, 2, 3, 4, 5}, float[3] three = {1, 2, 3}, float two = {2}, float one = {1}, "
    "int64[2] parts = {1, 2}, int64[4] repeats = {1, 2, 1, 1}> "
)


@pytest.mark.parametrize(("version", "old", "new"), PAIRS)
def test_old_words(version: int, old: str, new: str | None, tmp_path: Path) -> None:
    model = load(text(f"{HEAD} {CONSTANTS} {{ {old} }}", opset(version)), tmp_path)
    assert model.opset == version
    new = f"w = Reshape(b, wide)\n {new or old}"
    constants = CONSTANTS.replace("> ", ", int64[3] wide = {3, 4, 1}> ")
    modern = load(text(f"{HEAD} {constants} {{ {new} }}", SEVEN), tmp_path)
    data = random_data(model.proto)
    assert largest_error(run(modern.proto, data), run(model.proto, data)) == 0


@pytest.mark.parametrize(
    ("version", "body", "words"),
    [
        (6, "y = Dropout(x)", "training mode"),
        (6, "y = BatchNormalization(x, three, three, three, three)", "training mode"),
        (6, "y = Add(x, b)", r"shapes \[2, 3, 4, 5\] and \[3, 4\] differ"),
        (1, "y = LpPool<p = 1.5, kernel_shape = [2, 2]>(x)", "its p is 1.5"),
        (1, "y = Tile(x, b, one)", "its repeats are computed at run time"),
    ],
)
def test_refused(version: int, body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=words):
        load(text(f"{HEAD} {CONSTANTS} {{ {body} }}", opset(version)), tmp_path)


def test_shapes_of_before_are_used(tmp_path: Path) -> None:
    """What broadcasts has a shape that only the inference knows."""
    body = "h = Transpose<perm = [0, 1]>(b)\n y = Add<broadcast = 1, axis = 1>(x, h)"
    model = load(text(f"{HEAD} {CONSTANTS} {{ {body} }}", opset(6)), tmp_path)
    data = random_data(model.proto)
    (result,) = run(model.proto, data)
    np.testing.assert_array_equal(result, data["x"] + data["b"][:, :, None])
