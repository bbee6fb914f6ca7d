"""Operators that cannot be compiled are named; those that ONNX defines by others are replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.unit.onnx_models import Net, largest_error, load, operators, random_data, run
from tvm_tool.compiler.frontend.onnx_model import OnnxModel, expand_functions
from tvm_tool.compiler.frontend.onnx_operators import check_operators
from tvm_tool.errors import UnsupportedError

BASIC = frozenset(
    "Add Cast Div Min Elu Exp Gather Identity MatMul Max Mul Neg Pow ReduceMean ReduceSum Relu Reshape "
    "Sigmoid Slice Sqrt Sub Transpose Concat Where Less Greater Equal Clip Softmax".split()
)


def refusal(model: OnnxModel, supported: frozenset[str]) -> str:
    with pytest.raises(UnsupportedError) as caught:
        check_operators(model.proto, supported)
    return str(caught.value)


def celu(folder: Path, count: int = 1) -> OnnxModel:
    net = Net(17)
    x = net.input(1, 4)
    for index in range(count):
        x = net.op("Celu", x, name=f"act{index}", alpha=2.0)
    return load(net.model(net.op("Relu", x, name="last")), folder)


def test_everything_supported(tmp_path: Path) -> None:
    check_operators(celu(tmp_path).proto, {"Celu", "Relu"})


def test_unsupported_operator_with_node_and_alternative(tmp_path: Path) -> None:
    message = refusal(celu(tmp_path), frozenset({"Relu", "Elu"}))
    assert "operator Celu cannot be compiled" in message
    assert "node 'act0' (Celu)" in message
    assert "replace Celu by Elu" in message


def test_alternatives_that_are_not_supported_are_not_advised(tmp_path: Path) -> None:
    assert "Elu," not in refusal(celu(tmp_path), frozenset({"Relu"})).replace("Celu", "")


def test_several_operators(tmp_path: Path) -> None:
    message = refusal(celu(tmp_path, 2), frozenset({"Abs"}))
    assert "operators Celu, Relu cannot be compiled" in message
    assert "nodes 'act0' (Celu), 'act1' (Celu), 'last' (Relu)" in message


def test_long_lists_are_cut(tmp_path: Path) -> None:
    message = refusal(celu(tmp_path, 50), frozenset({"Relu"}))
    assert "and 38 more" in message
    assert "'act49'" not in message


def expanded(net: Net, output: str, folder: Path) -> list[str]:
    """Operators after the expansion, which computes the same."""
    original = net.model(output)
    model = load(original, folder)
    new = expand_functions(model, BASIC)
    onnx.checker.check_model(new.proto, full_check=True)
    data = random_data(new.proto)
    assert largest_error(run(original, data), run(new.proto, data)) <= 1e-6
    assert (new.inputs, new.outputs, new.sha256) == (model.inputs, model.outputs, model.sha256)
    return operators(new)


@pytest.mark.parametrize(
    ("operator", "opset", "attributes"),
    [
        ("Celu", 17, {"alpha": 2.0}),
        ("Celu", 17, {}),
        ("HardSwish", 17, {}),
        ("Softsign", 17, {}),
        ("ReduceSumSquare", 18, {}),
        ("ReduceL2", 18, {"keepdims": 0}),
        ("LayerNormalization", 17, {}),
        ("MeanVarianceNormalization", 17, {"axes": [0, 2]}),
    ],
)
def test_functions(operator: str, opset: int, attributes: dict[str, object], tmp_path: Path) -> None:
    net = Net(opset)
    x = net.input(2, 3, 4)
    inputs = [x, net.positive(4), net.weight(4)] if operator == "LayerNormalization" else [x]
    names = expanded(net, net.op(operator, *inputs, name="it", **attributes), tmp_path)
    assert operator not in names


def test_functions_of_functions(tmp_path: Path) -> None:
    """HardSwish is defined by HardSigmoid, which is defined by simpler ones."""
    net = Net(17)
    names = expanded(net, net.op("HardSwish", net.input(2, 3)), tmp_path)
    assert set(names) <= BASIC


def test_names_tell_where_nodes_come_from(tmp_path: Path) -> None:
    model = expand_functions(celu(tmp_path), BASIC)
    assert all(n.name.startswith("act0/") for n in model.proto.graph.node[:-1])


def test_nothing_to_expand(tmp_path: Path) -> None:
    model = celu(tmp_path)
    assert expand_functions(model, {"Celu", "Relu"}) is model


def test_what_has_no_body_is_left_for_the_check(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Celu", net.op("Cosh", net.input(2, 3), name="c"))
    model = expand_functions(load(net.model(y), tmp_path), BASIC)
    assert "Cosh" in operators(model)
    assert "'c' (Cosh)" in refusal(model, BASIC)


def test_windows_become_constants(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Mul", net.input(1, 8), net.op("HannWindow", net.constant(np.array(8))))
    assert expanded(net, y, tmp_path) == ["Mul"]
