"""Operators as old opsets wrote them: each computes what it computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.unit.onnx_models import Net, largest_error, load, operators, random_data, run, same, text
from tvm_tool.errors import UnsupportedError


@dataclass(frozen=True)
class Case:
    """One node: its operator, the opsets that write it so, shapes of its inputs, constants, attributes."""

    operator: str
    first: int
    last: int
    inputs: tuple[tuple[int, ...], ...] = ((1, 4, 6, 8),)
    constants: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1

    def __str__(self) -> str:
        return f"{self.operator}{self.first}-{self.last}"

    def model(self, opset: int) -> onnx.ModelProto:
        net = Net(opset)
        inputs = [net.input(*shape, name=f"x{index}") for index, shape in enumerate(self.inputs)]
        inputs += [net.constant(value) for value in self.constants]
        return net.model(*net.ops(self.operator, *inputs, outputs=self.outputs, **self.attributes))


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


FLAT = ((3, 4),)
FOUR = f32(0.5, 1.5, -1, 2)
CASES = [
    Case("Slice", 8, 9, attributes={"axes": [1, 3], "starts": [1, -5], "ends": [3, 1000]}),
    Case("Slice", 8, 9, attributes={"starts": [0, 1], "ends": [1, -1]}),
    Case("Slice", 10, 12, constants=([1, -1], [3, -8], [1, 3], [1, -2])),
    Case("Pad", 8, 10, attributes={"pads": [0, 0, 1, 2, 0, 0, 3, 1], "value": 0.5}),
    Case("Pad", 8, 10, attributes={"pads": [0, 0, 1, 2, 0, 0, 3, 1], "mode": "reflect"}),
    Case("Pad", 11, 12, constants=([0, 0, 1, 2, 0, 0, 3, 1], np.float32(0.5))),
    Case("Clip", 8, 10, attributes={"min": -0.5, "max": 0.7}),
    Case("Clip", 8, 10, attributes={"min": 0.0}),
    Case("Clip", 8, 10),
    Case("Clip", 11, 12, constants=(np.float32(0),)),
    Case("Dropout", 8, 11, attributes={"ratio": 0.3}),
    Case("Dropout", 12, 12),
    Case("BatchNormalization", 8, 8, constants=(FOUR, FOUR, FOUR, FOUR**2), attributes={"spatial": 1}),
    Case("BatchNormalization", 8, 8, ((2, 4),), (FOUR, FOUR, FOUR, FOUR**2), {"spatial": 0}),
    Case(
        "BatchNormalization",
        8,
        8,
        ((2, 2, 2),),
        (*[FOUR.reshape(2, 2)] * 3, f32(1, 2, 3, 4).reshape(2, 2)),
        {"spatial": 0, "epsilon": 0.01},
    ),
    Case("BatchNormalization", 9, 12, constants=(FOUR, FOUR, FOUR, FOUR**2), attributes={"epsilon": 0.01}),
    Case("MaxPool", 8, 12, attributes={"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    Case("AveragePool", 8, 9, attributes={"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    Case("AveragePool", 10, 12, attributes={"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Case("ArgMax", 8, 12, attributes={"axis": 1, "keepdims": 0}),
    Case("Concat", 8, 12, ((1, 2, 3), (1, 4, 3)), attributes={"axis": 1}),
    Case("Concat", 8, 12, ((1, 2, 3), (1, 2, 4)), attributes={"axis": -1}),
    Case("DepthToSpace", 8, 12, attributes={"blocksize": 2}),
    Case("Expand", 8, 12, FLAT, ([2, 3, 4],)),
    Case("Flatten", 8, 12, attributes={"axis": 2}),
    Case("Gather", 8, 12, constants=([3, 1],), attributes={"axis": 1}),
    Case("Gemm", 8, 12, FLAT, (FOUR.reshape(1, 4), f32(2)), {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("LRN", 8, 12, attributes={"size": 3, "alpha": 0.01}),
    Case("LeakyRelu", 8, 12, attributes={"alpha": 0.2}),
    Case("PRelu", 8, 12, constants=(FOUR.reshape(4, 1, 1),)),
    Case("Sum", 8, 12, ((2, 3), (2, 3), (3,))),
    Case("Max", 8, 12, ((2, 3), (1, 3))),
    Case("Pow", 8, 12, FLAT, (np.float32(2),)),
    Case("Reshape", 8, 12, constants=([0, -1, 8],)),
    Case("ScatterElements", 11, 12, FLAT, ([[0, 1, 2, 1]], np.ones((1, 4), np.float32))),
    Case("Split", 8, 12, attributes={"axis": 1, "split": [1, 3]}, outputs=2),
    Case("Split", 8, 12, attributes={"axis": 1}, outputs=2),
    Case("Squeeze", 8, 12, attributes={"axes": [0]}),
    Case("Squeeze", 8, 12),
    Case("Unsqueeze", 8, 12, attributes={"axes": [0, 3]}),
    Case("Tile", 8, 12, FLAT, ([2, 3],)),
    Case("TopK", 8, 9, FLAT, (), {"k": 2, "axis": 1}, 2),
    Case("TopK", 10, 12, FLAT, ([2],), {"axis": 1}, 2),
    Case("Transpose", 8, 12, attributes={"perm": [0, 2, 3, 1]}),
    Case("InstanceNormalization", 8, 12, constants=(FOUR, FOUR)),
    Case(
        "Conv", 8, 12, constants=(np.ones((2, 4, 3, 3), np.float32),), attributes={"auto_pad": "SAME_UPPER"}
    ),
    Case(
        "ConvTranspose", 8, 12, constants=(np.ones((4, 2, 3, 3), np.float32),), attributes={"strides": [2, 2]}
    ),
    Case("ThresholdedRelu", 10, 12, attributes={"alpha": 0.3}),
    Case(
        "LSTM",
        8,
        12,
        ((2, 1, 2),),
        (np.ones((1, 4, 2), np.float32), np.ones((1, 4, 1), np.float32)),
        {"hidden_size": 1},
        3,
    ),
]
CASES += [
    Case(operator, 8, 12, (shape,), attributes={} if axis is None else {"axis": axis})
    for operator in ("Softmax", "LogSoftmax", "Hardmax")
    for shape, axis in [((1, 4, 6, 8), None), ((2, 5, 7), 1), ((2, 5, 7), 2), ((1, 4, 6, 8), 3), ((3, 4), 1)]
]
CASES += [Case("Hardmax", 11, 12, attributes={"axis": -2})]
CASES += [
    Case(f"Reduce{how}", 8, 12, attributes=attributes)
    for how in ("L1", "L2", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare", "LogSumExp")
    for attributes in ({"axes": [2, 3], "keepdims": 0}, {"axes": [1]}, {})
]
# Upsample and Resize-10: nearest neighbours round down where an axis grows, up where it shrinks.
GROWING = [(1.0, 1.0, 2.0, 3.0), (1.0, 1.0, 1.5, 2.5), (1.0, 1.0, 1.3, 1.7)]
SHRINKING = [(1.0, 1.0, 0.5, 0.5), (1.0, 1.0, 0.33, 0.77)]
MIXED = [(1.0, 1.0, 0.6, 1.7), (1.0, 1.0, 2.2, 0.5)]
CASES += [
    case
    for mode in ("nearest", "linear")
    for case in (
        *(Case("Upsample", 8, 8, attributes={"mode": mode, "scales": list(scales)}) for scales in GROWING),
        *(Case("Upsample", 9, 9, constants=(f32(*scales),), attributes={"mode": mode}) for scales in GROWING),
        *(
            Case("Resize", 10, 10, constants=(f32(*scales),), attributes={"mode": mode})
            for scales in GROWING + SHRINKING + MIXED
        ),
    )
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_old_operators(case: Case, tmp_path: Path) -> None:
    for opset in range(case.first, case.last + 1):
        model = case.model(opset)
        new = load(model, tmp_path)
        assert new.opset == opset
        assert new.proto.opset_import[0].version == 17
        assert not {"Upsample", "Dropout", "BatchNormalization"} & set(operators(new))
        onnx.checker.check_model(new.proto, full_check=True)
        data = random_data(new.proto)
        assert largest_error(run(model, data), run(new.proto, data)) <= 1e-6


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_new_opsets_stay(opset: int, tmp_path: Path) -> None:
    net = Net(opset)
    model = load(net.model(net.op("Relu", net.input(2))), tmp_path)
    assert (model.opset, model.proto.opset_import[0].version) == (opset, opset)


@pytest.mark.parametrize("opset", [12, 16])
def test_layer_normalization_before_it_was_in_onnx(opset: int, tmp_path: Path) -> None:
    """onnxruntime's exporter writes it in any opset."""
    net = Net(opset)
    y = net.op("LayerNormalization", net.input(2, 3, 4), net.positive(4), net.weight(4), epsilon=1e-3)
    model = same(net.model(net.op("Relu", y)), tmp_path)
    assert operators(model) == ["LayerNormalization", "Relu"]
    assert model.proto.opset_import[0].version == 17


@pytest.mark.parametrize("operator", ["Gelu", "QuickGelu", "BiasGelu"])
@pytest.mark.parametrize("opset", [11, 17])
def test_activations_of_onnxruntime(operator: str, opset: int, tmp_path: Path) -> None:
    net = Net(opset)
    inputs = [net.input(2, 4), *([net.weight(4)] if operator == "BiasGelu" else [])]
    y = net.op("Neg", net.op(operator, *inputs, domain="com.microsoft", name="act"))
    model = net.model(y)
    model.opset_import.add(domain="com.microsoft", version=1)
    new = same(model, tmp_path)
    assert all(not n.domain for n in new.proto.graph.node)
    assert all(n.name.startswith("act/") for n in new.proto.graph.node[:-1])


def test_scales_that_are_computed(tmp_path: Path) -> None:
    source = (
        'g (float[1,1,2,2] x, float[4] s) => (float[?,?,?,?] y) { [up] y = Upsample<mode = "nearest">(x, s) }'
    )
    with pytest.raises(UnsupportedError, match="node 'up'"):
        load(text(source, '<ir_version: 4, opset_import: ["": 9]>\n'), tmp_path)
