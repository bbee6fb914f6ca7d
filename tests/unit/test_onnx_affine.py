"""Factors and offsets in the weights: the same numbers with fewer operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.unit.onnx_models import Net, load, operators, same
from tvm_tool.compiler.frontend.onnx_graph import attributes
from tvm_tool.errors import ModelError


def weights(model: onnx.ModelProto, operator: str) -> list[np.ndarray]:
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    node = next(n for n in model.graph.node if n.op_type == operator)
    return [values[name] for name in node.input[1:]]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("operator", "group", "rank"),
    [
        ("Conv", 1, 2),
        ("Conv", 2, 2),
        ("Conv", 4, 1),
        ("Conv", 1, 3),
        ("ConvTranspose", 1, 2),
        ("ConvTranspose", 2, 1),
    ],
)
def test_batch_norm_after_convolution(
    operator: str, group: int, rank: int, bias: bool, tmp_path: Path
) -> None:
    net = Net(17)
    shape = (8, 4 // group) if operator == "Conv" else (4, 8 // group)
    inputs = [net.input(1, 4, *[6, 5, 4][:rank]), net.weight(*shape, *[3, 2, 2][:rank])]
    inputs += [net.weight(8)] if bias else []
    y = net.batch_norm(net.op(operator, *inputs, group=group), 8)
    model = same(net.model(y), tmp_path)
    assert [name for name in operators(model) if name != "Reshape"] == [operator]
    assert len(weights(model.proto, operator)) == 2


def test_batch_norm_after_gemm(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Gemm", net.input(3, 5), net.weight(5, 7), net.weight(7), alpha=0.5, beta=3.0)
    assert operators(same(net.model(net.batch_norm(y, 7)), tmp_path)) == ["Gemm"]


def test_batch_norm_after_dense_without_bias(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Add", net.op("MatMul", net.input(3, 5), net.weight(5, 7)), net.weight(7))
    assert operators(same(net.model(net.batch_norm(y, 7)), tmp_path)) == ["Gemm"]


@pytest.mark.parametrize("shape", [(2, 4), (2, 4, 5), (2, 4, 5, 3)])
def test_lone_batch_norm(shape: tuple[int, ...], tmp_path: Path) -> None:
    net = Net(17)
    model = same(net.model(net.batch_norm(net.input(*shape), 4)), tmp_path)
    assert operators(model) == ["Mul", "Add"]


def test_batch_norm_of_a_value_that_is_read_twice(tmp_path: Path) -> None:
    net = Net(17)
    a = net.op("Conv", net.input(1, 3, 5, 5), net.weight(4, 3, 3, 3))
    model = same(net.model(net.op("Add", net.op("Relu", net.batch_norm(a, 4)), a)), tmp_path)
    assert operators(model) == ["Conv", "Mul", "Add", "Relu", "Add"]


def test_batch_norm_of_an_output(tmp_path: Path) -> None:
    net = Net(17)
    a = net.op("Conv", net.input(1, 3, 5, 5), net.weight(4, 3, 3, 3))
    assert operators(same(net.model(net.batch_norm(a, 4), a), tmp_path)) == ["Conv", "Mul", "Add"]


def test_batch_norm_with_computed_parameters(tmp_path: Path) -> None:
    net = Net(17)
    x, scale = net.input(1, 4, 3, 3), net.input(4, name="scale")
    y = net.op("BatchNormalization", x, scale, net.weight(4), net.weight(4), net.positive(4))
    assert operators(same(net.model(y), tmp_path)) == ["BatchNormalization"]


@pytest.mark.parametrize(
    ("shape", "folded"),
    [
        ((), True),
        ((1,), True),
        ((4, 1, 1), True),
        ((1, 4, 1, 1), True),
        ((1, 1, 1, 1), True),
        ((3,), False),
        ((4, 3, 3), False),
        ((3, 1), False),
        ((2, 1, 1, 1), False),
        ((1, 1, 4, 1, 1), False),
    ],
)
@pytest.mark.parametrize("operator", ["Mul", "Add"])
def test_constants_after_convolution(
    operator: str, shape: tuple[int, ...], folded: bool, tmp_path: Path
) -> None:
    net = Net(17)
    a = net.op("Conv", net.input(1, 2, 5, 5), net.weight(4, 2, 3, 3))
    c = net.constant(net.rng.standard_normal(shape).astype(np.float32))
    for pair in ((a, c), (c, a)):
        one = Net(17)
        one.nodes, one.constants, one.inputs, one.count = (
            list(net.nodes),
            net.constants,
            net.inputs,
            net.count,
        )
        names = operators(same(one.model(one.op(operator, *pair)), tmp_path))
        assert names == (["Conv"] if folded else ["Conv", operator])


@pytest.mark.parametrize("transA", [0, 1])
@pytest.mark.parametrize("transB", [0, 1])
@pytest.mark.parametrize("bias", [None, (), (1,), (6,), (1, 6), (4, 1), (4, 6)])
def test_gemm(transA: int, transB: int, bias: tuple[int, ...] | None, tmp_path: Path) -> None:  # noqa: N803
    net = Net(17)
    x = net.input(*((5, 4) if transA else (4, 5)))
    inputs = [x, net.weight(*((6, 5) if transB else (5, 6)))]
    if bias is not None:
        inputs.append(net.constant(net.rng.standard_normal(bias).astype(np.float32)))
    y = net.op("Gemm", *inputs, transA=transA, transB=transB, alpha=0.75, beta=-1.5)
    model = same(net.model(y), tmp_path)
    node = next(n for n in model.proto.graph.node if n.op_type == "Gemm")
    assert attributes(node) == {"transB": 1}
    packed, *rest = weights(model.proto, "Gemm")
    assert packed.shape == (6, 5)
    assert [r.shape for r in rest] == ([(6,)] if bias in ((), (1,), (6,), (1, 6)) else [])


@pytest.mark.parametrize("bias", [(6,), (4, 1)])
def test_gemm_with_computed_bias(bias: tuple[int, ...], tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Gemm", net.input(4, 5), net.weight(5, 6), net.input(*bias, name="bias"), beta=2.0)
    assert operators(same(net.model(y), tmp_path)) == ["Gemm", "Mul", "Add"]


def test_gemm_of_two_computed_matrices_is_left_alone(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Gemm", net.input(4, 5), net.input(6, 5, name="b"), transB=1, alpha=0.5)
    assert operators(same(net.model(y), tmp_path)) == ["Gemm"]


def test_gemm_with_a_bias_that_does_not_fit(tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Gemm", net.input(4, 5), net.weight(5, 6), net.weight(5))
    with pytest.raises(ModelError, match="its bias"):
        load(net.model(y), tmp_path)


@pytest.mark.parametrize(
    ("shape", "names"), [((4, 5), ["Gemm"]), ((2, 4, 5), ["MatMul", "Add"]), ((5,), ["MatMul", "Add"])]
)
def test_matmul(shape: tuple[int, ...], names: list[str], tmp_path: Path) -> None:
    net = Net(17)
    y = net.op("Add", net.op("MatMul", net.input(*shape), net.weight(5, 6)), net.weight(6))
    assert operators(same(net.model(y), tmp_path)) == names


def test_integer_products_are_left_alone(tmp_path: Path) -> None:
    net = Net(17)
    x = net.input(4, 5, elem=onnx.TensorProto.INT32)
    y = net.op("MatMul", x, net.constant(np.arange(30, dtype=np.int32).reshape(5, 6)))
    assert operators(same(net.model(y), tmp_path, tolerance=0)) == ["MatMul"]


def test_dense_layers_that_share_weights_store_them_once(tmp_path: Path) -> None:
    net = Net(17)
    w = net.weight(5, 5)
    y = net.op("MatMul", net.op("Relu", net.op("MatMul", net.input(2, 5), w)), w)
    model = same(net.model(y), tmp_path)
    assert operators(model) == ["Gemm", "Relu", "Gemm"]
    assert len(model.proto.graph.initializer) == 1


@pytest.mark.parametrize(("elem", "tolerance"), [(np.float64, 1e-12), (np.float16, 2e-2)])
def test_other_precisions(elem: Any, tolerance: float, tmp_path: Path) -> None:
    net = Net(17)
    x = net.input(3, 5, elem=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(elem)))
    w = net.constant((net.rng.standard_normal((5, 4)) * 0.2).astype(elem))
    parameters = [net.constant((net.rng.random(4) + 0.5).astype(elem)) for _ in range(4)]
    y = net.op("BatchNormalization", net.op("Gemm", x, w), *parameters)
    model = same(net.model(y), tmp_path, tolerance)
    # Half precision is how numbers are stored; they are computed with in single precision.
    half = elem is np.float16
    assert operators(model) == (["Cast", "Gemm", "Cast"] if half else ["Gemm"])
    assert {w.dtype for w in weights(model.proto, "Gemm")} == {np.dtype(np.float32 if half else elem)}
