"""How the integers of a quantised model's interface stand for real values: in the header and in NAME.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.unit.tflite_files import Op, T, write
from tvm_tool.compiler.driver import Compiled, compile_model
from tvm_tool.options import parse_options

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}


def onnx_model(path: Path, dtype: str, scale: Any = 0.5, axis: int | None = None) -> Path:
    """x (0.25, 3) -> Relu -> y (`scale`, 7)."""
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["real"]),
        helper.make_node("Relu", ["real"], ["positive"]),
        helper.make_node("QuantizeLinear", ["positive", "ys", "yz"], ["moved"], **along),
        helper.make_node("Reshape", ["moved", "shape"], ["y"]),
    ]
    scales = np.array(scale, np.float32)
    constants = {
        "xs": np.array(0.25, np.float32),
        "xz": np.array(3, dtype),
        "ys": scales,
        "yz": np.full(scales.shape, 7, dtype),
        "shape": np.array([1, 4], np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TYPES[dtype], [1, 2, 2])],
        [helper.make_tensor_value_info("y", TYPES[dtype], [1, 4])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def tflite_model(path: Path, dtype: str) -> Path:
    tensors = [T("x", (1, 2, 2), dtype, scale=0.25, zero=3), T("y", (1, 2, 2), dtype, scale=0.5, zero=7)]
    return write(path, tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y"])


def compiled(path: Path, **options: Any) -> Compiled:
    return compile_model(path, parse_options(str(path), {"name": "m", **options}))


@pytest.mark.parametrize("workspace_io", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("ending", ["onnx", "tflite"])
def test_a_model_that_came_quantised_tells_its_scales(
    ending: str, dtype: str, workspace_io: bool, tmp_path: Path
) -> None:
    make = {"onnx": onnx_model, "tflite": tflite_model}[ending]
    files = compiled(make(tmp_path / f"m.{ending}", dtype), workspace_io=workspace_io).files
    macros = re.findall(r"^#define TVMGEN_M_(\w+_(?:SCALE|ZERO_POINT)) (\S+)", files["m.h"], re.MULTILINE)
    wanted = {"X_SCALE": "0.25f", "X_ZERO_POINT": "3", "Y_SCALE": "0.5f", "Y_ZERO_POINT": "7"}
    assert dict(macros) == wanted and len(macros) == len(wanted)
    assert "0.25f, 3}" in files["m.c"] and "0.5f, 7}" in files["m.c"]
    told = json.loads(files["m.json"])
    [x], [y] = told["inputs"], told["outputs"]
    assert (x["dtype"], x["scale"], x["zero_point"]) == (dtype, 0.25, 3)
    assert (y["dtype"], y["scale"], y["zero_point"]) == (dtype, 0.5, 7)


def test_one_scale_for_each_channel_is_not_told_as_one(tmp_path: Path) -> None:
    files = compiled(onnx_model(tmp_path / "m.onnx", "int8", [0.5, 0.25], axis=2)).files
    assert "TVMGEN_M_X_SCALE 0.25f" in files["m.h"] and "TVMGEN_M_Y_SCALE" not in files["m.h"]
    [y] = json.loads(files["m.json"])["outputs"]
    assert y.get("scale") is None


def test_floats_have_no_scale(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.tflite", [T("x", (1, 4)), T("y", (1, 4))], [Op("RELU", ["x"], ["y"])], ["x"], ["y"]
    )
    assert "_SCALE" not in compiled(path).files["m.h"]
