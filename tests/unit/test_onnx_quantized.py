"""Quantised operators become float operators between Q and DQ; bad parameters are refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.unit.onnx_models import Array, load, operators
from tvm_tool.errors import ModelError, TVMToolError, UnsupportedError

MICROSOFT = "com.microsoft"
Input = tuple[int, Sequence[int]] | Array | None
"""Element type and shape of an input of the model, or a constant, or nothing."""

BYTES = (TensorProto.INT8, (1, 2, 4, 4))
ROWS = (TensorProto.INT8, (3, 4))
REAL = (TensorProto.FLOAT, (1, 2, 4, 4))


def f32(*values: float) -> Array:
    return np.array(values if len(values) > 1 else values[0], np.float32)


def i8(*values: int) -> Array:
    return np.array(values if len(values) > 1 else values[0], np.int8)


def single(
    operator: str, inputs: Sequence[Input], domain: str = "", opset: int = 17, outputs: int = 1, **how: Any
) -> onnx.ModelProto:
    """A model of one node, called `it`."""
    graph = onnx.GraphProto(name="single")
    names = [f"in{i}" if value is not None else "" for i, value in enumerate(inputs)]
    for name, value in zip(names, inputs, strict=True):
        if isinstance(value, tuple):
            graph.input.append(helper.make_tensor_value_info(name, *value))
        elif value is not None:
            graph.initializer.append(numpy_helper.from_array(value, name))
    made = [f"out{i}" for i in range(outputs)]
    graph.node.append(helper.make_node(operator, names, made, "it", domain=domain, **how))
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=min(12, 8 if opset < 20 else 10))


def conv(**changed: Input) -> onnx.ModelProto:
    """A QLinearConv of three output channels; inputs by name may be changed."""
    inputs: dict[str, Input] = {
        "x": BYTES,
        "x_scale": f32(0.1),
        "x_zero": i8(3),
        "w": np.ones((3, 2, 1, 1), np.int8),
        "w_scale": f32(0.1, 0.2, 0.3),
        "w_zero": i8(0, 0, 0),
        "y_scale": f32(0.5),
        "y_zero": i8(-4),
        "bias": np.array([1, 2, 3], np.int32),
    }
    assert changed.keys() <= inputs.keys()
    return single("QLinearConv", list((inputs | changed).values()))


def refusal(model: onnx.ModelProto, folder: Path, kind: type[TVMToolError] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        load(model, folder)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert "node 'it" in message
    return message


# ---------------------------------------------------------------- what they become


def test_between_dequantize_and_quantize(tmp_path: Path) -> None:
    model = load(conv(), tmp_path)
    assert operators(model) == [*["DequantizeLinear"] * 3, "Conv", "QuantizeLinear"]
    assert model.proto.graph.node[3].name == "it/Conv"


def test_one_scale_is_a_scalar_however_it_is_written(tmp_path: Path) -> None:
    model = load(conv(x_scale=f32(0.1).reshape(1), y_zero=i8(-4).reshape(1)), tmp_path).proto
    constants = {t.name: list(t.dims) for t in model.graph.initializer}
    first, last = model.graph.node[0], model.graph.node[-1]
    assert [constants[name] for name in (*first.input[1:], *last.input[1:])] == [[]] * 4


def test_a_zero_point_serves_all_channels(tmp_path: Path) -> None:
    model = load(conv(w_zero=i8(5)), tmp_path).proto
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    weights = next(n for n in model.graph.node if constants.get(n.input[0], i8(0)).ndim == 4)
    assert constants[weights.input[2]].tolist() == [5, 5, 5]


def test_constants_are_requantised(tmp_path: Path) -> None:
    part = [np.array([[-128, 0, 127]], np.int8), f32(0.25), i8(0)]
    inputs: list[Input] = [f32(0.5), i8(1), (TensorProto.INT8, (1, 2)), f32(0.5), i8(1), *part]
    model = load(single("QLinearConcat", inputs, MICROSOFT, axis=1), tmp_path).proto
    constants = [numpy_helper.to_array(t) for t in model.graph.initializer]
    assert [-63, 1, 65] in [c.ravel().tolist() for c in constants]  # 63.5 goes to 64


def test_integer_sums_lose_their_zero_points(tmp_path: Path) -> None:
    inputs: list[Input] = [
        (TensorProto.UINT8, (2, 3)),
        np.full((3, 4), 200, np.uint8),
        np.array(7, np.uint8),
        np.array(100, np.uint8),
    ]
    model = load(single("MatMulInteger", inputs), tmp_path)
    assert operators(model) == ["Cast", "Sub", "MatMulInteger"]
    weights = next(t for t in model.proto.graph.initializer if t.name in model.proto.graph.node[-1].input)
    assert numpy_helper.to_array(weights).dtype == np.int8


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("scale", [0.0, -0.1, np.nan, np.inf])
@pytest.mark.parametrize("name", ["x_scale", "w_scale", "y_scale"])
def test_scales_that_mean_nothing(name: str, scale: float, tmp_path: Path) -> None:
    values = f32(0.1, scale, 0.3) if name == "w_scale" else f32(scale)
    message = refusal(conv(**{name: values}), tmp_path)
    assert f"is {np.float32(scale)}" in message and "positive" in message


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize("domain", ["", MICROSOFT])
def test_scales_that_mean_nothing_between_floats(operator: str, domain: str, tmp_path: Path) -> None:
    value = REAL if operator == "QuantizeLinear" else BYTES
    assert "is 0.0" in refusal(single(operator, [value, f32(0.0), i8(0)], domain), tmp_path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"x_scale": f32(0.1, 0.2)}, ("2 elements", "one scale")),
        ({"w_scale": f32(0.1, 0.2)}, ("2 elements", "one scale, or 3 along axis 0")),
        ({"w_zero": i8(0, 0)}, ("2 elements", "scale 3")),
        ({"y_scale": f32(0.1, 0.2, 0.3)}, ("[3]", "one scale and one zero point")),
        ({"x_zero": np.array(3, np.uint8)}, ("is uint8", "of the type of the value")),
        ({"x_zero": np.array(3, np.int32)}, ("is int32", "of the type of the value")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_parameters_that_do_not_fit(changed: dict[str, Input], words: Sequence[str], tmp_path: Path) -> None:
    message = refusal(conv(**changed), tmp_path)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"x": (TensorProto.INT16, (1, 2, 4, 4)), "x_zero": np.array(3, np.int16)}, "int16"),
        ({"y_zero": np.array(3, np.int16)}, "int16"),
        ({"x_scale": np.array(0.1, np.float64)}, "double"),
        ({"bias": f32(1, 2, 3)}, "float"),
    ],
)
def test_numbers_of_another_kind(changed: dict[str, Input], word: str, tmp_path: Path) -> None:
    message = refusal(conv(**changed), tmp_path, UnsupportedError)
    assert word in message and "expected:" in message


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT8E4M3FN])
def test_numbers_below_a_byte(kind: int, tmp_path: Path) -> None:
    message = refusal(
        single("DequantizeLinear", [(kind, (4, 4)), f32(0.1)], opset=21), tmp_path, UnsupportedError
    )
    assert TensorProto.DataType.Name(kind).lower() in message and "8 bits" in message


@pytest.mark.parametrize(
    ("scale", "zero", "word"),
    [
        (f32(0.1, 0.2, 0.3), i8(0, 0, 0), "or 2 along axis 1"),
        (f32(0.1, 0.2), i8(0), "differ in size"),
        (np.full((1, 2), 0.1, np.float32), np.zeros((1, 2), np.int8), "or 2 along axis 1"),
    ],
)
def test_parameters_by_channel_that_do_not_fit(scale: Array, zero: Array, word: str, tmp_path: Path) -> None:
    assert word in refusal(single("QuantizeLinear", [REAL, scale, zero]), tmp_path)
    assert word in refusal(single("DequantizeLinear", [BYTES, scale, zero]), tmp_path)


def test_a_zero_point_of_another_type(tmp_path: Path) -> None:
    model = single("DequantizeLinear", [BYTES, f32(0.1), np.array(1, np.uint8)])
    assert "is uint8, 'in0' is int8" in refusal(model, tmp_path)


def test_a_zero_point_in_32_bits(tmp_path: Path) -> None:
    inputs: list[Input] = [(TensorProto.INT32, (4,)), f32(0.1), np.array(7, np.int32)]
    assert "not 0" in refusal(single("DequantizeLinear", inputs), tmp_path)
    model = single("QuantizeLinear", [REAL, f32(0.1), np.array(7, np.int32)])
    assert "int32" in refusal(model, tmp_path, UnsupportedError)


def test_parameters_left_out(tmp_path: Path) -> None:
    inputs: list[Input] = [ROWS, None, i8(0), ROWS, f32(0.1), i8(0), f32(0.1), i8(0)]
    assert "a scale is missing" in refusal(single("QLinearAdd", inputs, MICROSOFT), tmp_path)
    inputs = [None, f32(0.1), i8(0), ROWS, f32(0.1), i8(0), f32(0.1), i8(0)]
    assert "an input is missing" in refusal(single("QLinearAdd", inputs, MICROSOFT), tmp_path)
    assert "a scale is missing" in refusal(single("QLinearSigmoid", [ROWS, f32(0.1)], MICROSOFT), tmp_path)


def test_half_of_the_parameters_of_the_output(tmp_path: Path) -> None:
    inputs: list[Input] = [ROWS, f32(0.1), i8(0), np.ones((4, 2), np.int8), f32(0.1), i8(0), None, f32(0.1)]
    assert "not both" in refusal(single("QGemm", inputs, MICROSOFT), tmp_path)


def test_a_concatenation_with_a_part_missing(tmp_path: Path) -> None:
    inputs: list[Input] = [f32(0.1), i8(0), ROWS, f32(0.1)]
    assert "2 inputs behind" in refusal(single("QLinearConcat", inputs, MICROSOFT, axis=0), tmp_path)


@pytest.mark.parametrize("operator", ["QAttention", "DynamicQuantizeLSTM", "MatMulNBits", "QOrderedMatMul"])
def test_fusions_are_refused_by_name(operator: str, tmp_path: Path) -> None:
    message = refusal(single(operator, [ROWS, ROWS], MICROSOFT), tmp_path, UnsupportedError)
    assert f"'{operator}' of the domain 'com.microsoft' is not supported" in message
    assert "QuantFormat.QDQ" in message
