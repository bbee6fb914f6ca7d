"""Convolutions and poolings: explicit windows, pads merged, one dimension made two."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.unit.onnx_models import Net, operators, random_data, run, same
from tvm_tool.compiler.frontend.onnx_graph import attributes
from tvm_tool.compiler.frontend.onnx_model import OnnxModel

MODES = ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")


def find(model: OnnxModel, operator: str) -> onnx.NodeProto:
    nodes: list[onnx.NodeProto] = list(model.proto.graph.node)
    return next(n for n in nodes if n.op_type == operator)


def windowed(
    operator: str, size: tuple[int, ...], kernel: int, opset: int = 17, **values: Any
) -> onnx.ModelProto:
    """One node on [1, 4, *size]; the kernel has the same size on each axis."""
    net = Net(opset)
    x = net.input(1, 4, *size)
    rank = len(size)
    window = [kernel] * rank
    if operator in ("Conv", "ConvTranspose"):
        group = values.get("group", 1)
        weights = net.weight(*((6, 4 // group) if operator == "Conv" else (4, 6 // group)), *window)
        return net.model(net.op(operator, x, weights, **values))
    return net.model(net.op(operator, x, kernel_shape=window, **values))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(
    ("operator", "more"),
    [
        ("Conv", {}),
        ("Conv", {"group": 2}),
        ("MaxPool", {}),
        ("AveragePool", {}),
        ("AveragePool", {"count_include_pad": 1}),
        ("LpPool", {}),
        ("ConvTranspose", {"group": 2}),
        ("ConvTranspose", {"dilations": [2, 1]}),
    ],
)
def test_auto_pad(operator: str, more: dict[str, Any], stride: int, mode: str, tmp_path: Path) -> None:
    for size, kernel in itertools.product([(7, 8), (6, 9)], [2, 3]):
        if stride > kernel and mode.startswith("SAME"):
            continue  # onnxruntime refuses
        values = {"auto_pad": mode, "strides": [stride, stride], **more}
        model = same(windowed(operator, size, kernel, **values), tmp_path)
        found = attributes(find(model, operator))
        assert "auto_pad" not in found
        assert {"kernel_shape", "strides", "pads"} <= set(found)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("opset", [11, 17, 22])
def test_ceil_mode(operator: str, opset: int, tmp_path: Path) -> None:
    """A window never starts in the padding at the end, whatever the opset's own inference says."""
    for kernel, stride, pads, counted in itertools.product(
        (2, 3, 4), (1, 3, 4), ((0, 0), (1, 0), (1, 1), (2, 1)), (0, 1)
    ):
        if max(pads) >= kernel or (counted and operator == "MaxPool"):
            continue
        values: dict[str, Any] = {"strides": [stride] * 2, "pads": [pads[0], 0, pads[1], 1], "ceil_mode": 1}
        if counted:
            values["count_include_pad"] = 1
        model = same(windowed(operator, (9, 6), kernel, opset, **values), tmp_path)
        assert "ceil_mode" not in attributes(find(model, operator))


@pytest.mark.parametrize("mode", MODES[:2] + MODES[3:])
def test_output_shape_of_transposed_convolution(mode: str, tmp_path: Path) -> None:
    for stride, kernel, change in itertools.product((1, 2, 3), (2, 3, 4), (-2, -1, 0, 1)):
        out = [(n - 1) * stride + kernel + change for n in (5, 6)]
        if change >= stride or out[0] < 5:
            continue  # more than onnxruntime can append, less than ONNX can infer
        values: dict[str, Any] = {"auto_pad": mode, "strides": [stride] * 2, "output_shape": out}
        model = same(windowed("ConvTranspose", (5, 6), kernel, **values), tmp_path)
        assert "output_shape" not in attributes(find(model, "ConvTranspose"))


def test_max_pool_with_indices(tmp_path: Path) -> None:
    net = Net(17)
    y, where = net.ops(
        "MaxPool",
        net.input(1, 2, 7, 7),
        outputs=2,
        kernel_shape=[3, 3],
        strides=[2, 2],
        auto_pad="SAME_UPPER",
    )
    same(net.model(y, where), tmp_path)


# Pads before convolutions


def padded(pads: list[int], opset: int = 17, value: float = 0.0, mode: str = "constant") -> Net:
    net = Net(opset)
    x = net.input(1, 3, 6, 7)
    net.op("Pad", x, net.constant(np.array(pads)), net.constant(np.float32(value)), mode=mode)
    return net


@pytest.mark.parametrize(
    ("pads", "value", "mode", "merged"),
    [
        ([0, 0, 1, 2, 0, 0, 3, 0], 0.0, "constant", True),
        ([0, 0, 1, 2, 0, 0, 3, 0], 0.5, "constant", False),
        ([0, 0, 1, 2, 0, 0, 3, 0], 0.0, "edge", False),
        ([0, 1, 1, 2, 0, 0, 3, 0], 0.0, "constant", False),
        ([0, 0, 1, -1, 0, 0, 3, 0], 0.0, "constant", False),
    ],
)
def test_pad_before_convolution(
    pads: list[int], value: float, mode: str, merged: bool, tmp_path: Path
) -> None:
    net = padded(pads, value=value, mode=mode)
    channels = 3 + pads[1] + pads[5]
    y = net.op("Conv", net.nodes[0].output[0], net.weight(4, channels, 3, 3), pads=[1, 0, 0, 1])
    model = same(net.model(y), tmp_path)
    assert operators(model) == (["Conv"] if merged else ["Pad", "Conv"])
    if merged:
        assert attributes(find(model, "Conv"))["pads"] == [2, 2, 3, 1]


def test_pad_of_some_axes(tmp_path: Path) -> None:
    net = Net(18)
    x = net.input(1, 3, 6, 7)
    a = net.op("Pad", x, net.constant(np.array([1, 2])), "", net.constant(np.array([-1])))
    model = same(net.model(net.op("Conv", a, net.weight(4, 3, 3, 3))), tmp_path)
    assert operators(model) == ["Conv"]
    assert attributes(find(model, "Conv"))["pads"] == [0, 1, 0, 2]


def test_pad_that_another_node_reads(tmp_path: Path) -> None:
    net = padded([0, 0, 1, 1, 0, 0, 1, 1])
    a = net.nodes[0].output[0]
    model = same(net.model(net.op("Conv", a, net.weight(4, 3, 3, 3)), net.op("Neg", a)), tmp_path)
    assert operators(model) == ["Pad", "Conv", "Neg"]


# One dimension


def wide(model: OnnxModel) -> list[str]:
    """Operators, after a check that no spatial one has one dimension."""
    spatial = (
        "Conv",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "LpPool",
        "GlobalAveragePool",
        "GlobalMaxPool",
    )
    graph = model.proto.graph
    ranks = {
        v.name: len(v.type.tensor_type.shape.dim) for v in (*graph.input, *graph.value_info, *graph.output)
    }
    for node in graph.node:
        if node.op_type in spatial:
            assert ranks[node.input[0]] == 4
            if "kernel_shape" in attributes(node):
                assert attributes(node)["kernel_shape"][0] == 1
    return operators(model)


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("Conv", {"strides": [2], "pads": [1, 2], "dilations": [2]}),
        ("Conv", {"group": 2}),
        ("ConvTranspose", {"strides": [2], "pads": [1, 0], "output_padding": [1], "group": 2}),
        ("MaxPool", {"strides": [2], "pads": [1, 1], "dilations": [2]}),
        ("AveragePool", {"strides": [2], "pads": [1, 1], "count_include_pad": 1}),
        ("LpPool", {"strides": [2], "p": 1}),
    ],
)
def test_one_dimension(operator: str, values: dict[str, Any], tmp_path: Path) -> None:
    assert wide(same(windowed(operator, (11,), 3, **values), tmp_path)) == ["Reshape", operator, "Reshape"]


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pools(operator: str, tmp_path: Path) -> None:
    net = Net(17)
    model = same(net.model(net.op(operator, net.input(2, 3, 9))), tmp_path)
    assert wide(model) == ["Reshape", operator, "Reshape"]


def test_computed_weights(tmp_path: Path) -> None:
    net = Net(17)
    x, w = net.input(1, 4, 9), net.input(5, 4, 3, name="w")
    assert wide(same(net.model(net.op("Conv", x, w)), tmp_path)) == ["Reshape", "Reshape", "Conv", "Reshape"]


def test_a_chain_has_reshapes_at_its_ends_only(tmp_path: Path) -> None:
    """Channels last outside, as Keras exports it: the Reshapes stand outside the Transposes."""
    net = Net(17)
    x = net.op("Transpose", net.input(1, 20, 6), perm=[0, 2, 1])
    x = net.op("Elu", net.op("Conv", x, net.weight(8, 6, 3), net.weight(8), pads=[1, 1]))
    branch = net.op("Conv", x, net.weight(8, 8, 3), auto_pad="SAME_UPPER")
    x = net.op("Concat", net.op("Add", net.op("Relu", branch), x), x, axis=-2)
    x = net.op("PRelu", net.op("MaxPool", x, kernel_shape=[2], strides=[2]), net.weight(16, 1))
    x = net.op("Where", net.op("Less", net.constant(np.float32(0)), x), x, net.weight(1, 16, 10))
    x = net.op("Clip", net.op("Mul", x, net.weight(10)), net.constant(np.float32(-1)))
    x = net.op("Transpose", net.op("ConvTranspose", x, net.weight(16, 3, 2), strides=[2]), perm=[0, 2, 1])
    model = same(net.model(net.op("Sigmoid", x)), tmp_path)
    names = wide(model)
    # Less has no twin: the value that it compares goes through one Reshape there and back.
    assert names[:2] == ["Reshape", "Transpose"]
    assert names[-1] == "Reshape"
    assert names.count("Reshape") <= 5


def test_transposes_of_twins(tmp_path: Path) -> None:
    for first, last in itertools.product(itertools.permutations(range(3)), repeat=2):
        net = Net(17)
        x = net.op("Transpose", net.input(2, 3, 4), perm=first)
        shape = [(2, 3, 4)[axis] for axis in first]
        x = net.op("Relu", net.op("Conv", x, net.weight(5, shape[1], 2)))
        x = net.op("Neg", net.op("Transpose", x, perm=last))
        names = wide(same(net.model(x), tmp_path))
        # A Transpose of a twin that moves only its unit dimension is a Reshape, too.
        assert names.count("Reshape") + names.count("Transpose") <= 4
        assert names[0] == names[-1] == "Reshape"


def quantized(opset: int, per_channel: bool) -> onnx.ModelProto:
    """Input -> Q -> DQ -> Conv with int8 weights -> Relu -> Q -> DQ -> Conv -> Q -> DQ."""
    net = Net(opset)

    def through(x: str) -> str:
        scale, zero = net.constant(np.float32(0.05)), net.constant(np.int8(3))
        return net.op("DequantizeLinear", net.op("QuantizeLinear", x, scale, zero), scale, zero)

    def convolution(x: str, outputs: int, inputs: int) -> str:
        weights = net.constant(net.rng.integers(-128, 128, (outputs, inputs, 3)).astype(np.int8))
        scales = net.rng.random(outputs if per_channel else ()) * 0.01 + 0.01
        zeros = np.zeros(scales.shape, np.int8)
        parameters = net.constant(scales.astype(np.float32)), net.constant(zeros)
        w = net.op("DequantizeLinear", weights, *parameters, **({"axis": 0} if per_channel else {}))
        return net.op("Conv", x, w, pads=[1, 1])

    x = through(net.op("Transpose", net.input(1, 12, 3), perm=[0, 2, 1]))
    x = through(net.op("Relu", convolution(x, 4, 3)))
    return net.model(net.op("Transpose", through(convolution(x, 2, 4)), perm=[0, 2, 1]))


@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_chains_stay_whole(per_channel: bool, tmp_path: Path) -> None:
    """Integers are reshaped, not what is dequantised; Q and DQ stay beside the convolutions."""
    model = same(quantized(17, per_channel), tmp_path, tolerance=0)
    names = wide(model)
    assert names.count("Reshape") == 2
    assert names[0] == names[-1] == "Reshape"
    producers = {o: n for n in model.proto.graph.node for o in n.output}
    for node in model.proto.graph.node:
        if node.op_type == "Conv":
            assert [producers[name].op_type for name in node.input] == ["DequantizeLinear"] * 2


def test_quantized_convolution_operator(tmp_path: Path) -> None:
    net = Net(17)
    scale, zero = net.constant(np.float32(0.1)), net.constant(np.uint8(128))
    x = net.op("QuantizeLinear", net.input(1, 3, 9), scale, zero)
    w = net.constant(net.rng.integers(0, 255, (4, 3, 3)).astype(np.uint8))
    y = net.op("QLinearConv", x, scale, zero, w, scale, zero, scale, zero)
    model = same(net.model(net.op("DequantizeLinear", y, scale, zero)), tmp_path, tolerance=0)
    assert operators(model).count("Reshape") == 2


def test_data_of_the_helpers_is_random() -> None:
    """A test of the tests: zeros would hide everything."""
    model = windowed("Conv", (5, 5), 3)
    assert len(np.unique(run(model, random_data(model))[0])) > 10
