"""Quantised operators, one by one, in generated C against onnxruntime's own kernels: equal to the bit.

Each operator is one model with several nodes: int8 and uint8, scalar and [1] parameters, by channel,
zero points away from the middle, optional inputs left out. No float may be left between integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from tests.support.host import Array, HostModel, build, error_of

MICROSOFT = "com.microsoft"
SAMPLES = 3


@dataclass(frozen=True)
class Given:
    """An input of the model; a plain array is a constant."""

    shape: tuple[int, ...]
    dtype: str = "int8"

    def sample(self, rng: np.random.Generator) -> Array:
        if self.dtype == "float32":
            return rng.standard_normal(self.shape).astype(np.float32)
        if self.dtype == "bool":
            return rng.integers(0, 2, self.shape).astype(np.bool_)
        return rng.integers(np.iinfo(self.dtype).min, np.iinfo(self.dtype).max + 1, self.shape).astype(
            self.dtype
        )


@dataclass(frozen=True)
class Node:
    """One node: its inputs in order, None where one is left out."""

    inputs: Sequence[Given | Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)


Nodes = Sequence[Node]
Inputs = list[Given | Array | None]


def f32(value: Any) -> Array:
    return np.asarray(value, np.float32)


def like(dtype: str, value: Any) -> Array:
    return np.asarray(value, dtype)


def model_of(
    operator: str, domain: str, nodes: Nodes, opset: int = 17, outputs: int = 1, has_kernel: bool = True
) -> onnx.ModelProto:
    """A model of `nodes`; onnxruntime knows the types of its outputs, if it has a kernel for them."""
    graph = onnx.GraphProto(name="nodes")
    for index, node in enumerate(nodes):
        names = [f"n{index}_{i}" if value is not None else "" for i, value in enumerate(node.inputs)]
        for name, value in zip(names, node.inputs, strict=True):
            if isinstance(value, Given):
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
                graph.input.append(helper.make_tensor_value_info(name, kind, value.shape))
            elif value is not None:
                graph.initializer.append(numpy_helper.from_array(value, name))
        made = [f"y{index}_{i}" for i in range(outputs)]
        graph.node.append(
            helper.make_node(operator, names, made, f"node{index}", domain=domain, **node.attributes)
        )
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return with_output_types(model) if has_kernel else model


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), settings)


def with_output_types(model: onnx.ModelProto) -> onnx.ModelProto:
    kinds = {"float": "float32", "int32": "int32", "int8": "int8", "uint8": "uint8"}
    for output, info in zip(model.graph.output, session_of(model).get_outputs(), strict=True):
        dtype = np.dtype(kinds[info.type[len("tensor(") : -1]])
        kind = helper.np_dtype_to_tensor_dtype(dtype)
        output.CopyFrom(helper.make_tensor_value_info(output.name, kind, info.shape))
    return model


def samples_of(model: onnx.ModelProto, count: int = SAMPLES) -> list[dict[str, Array]]:
    rng = np.random.default_rng(0)
    kinds = {value.name: value.type.tensor_type for value in model.graph.input}
    return [
        {
            name: Given(
                tuple(d.dim_value for d in kind.shape.dim),
                str(helper.tensor_dtype_to_np_dtype(kind.elem_type)),
            ).sample(rng)
            for name, kind in kinds.items()
        }
        for _ in range(count)
    ]


def check(model: onnx.ModelProto, folder: Path, tolerance: float = 0.0) -> HostModel:
    """Run `model` in C and in onnxruntime and compare; outputs must not be constant."""
    built = build(model, folder)
    data = samples_of(model)
    session = session_of(model)
    names = [output.name for output in model.graph.output]
    seen: dict[str, set[bytes]] = {name: set() for name in names}
    for sample, outputs in zip(data, built.run(data), strict=True):
        for name, got, want in zip(names, outputs, session.run(None, sample), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            if tolerance:
                assert error_of(got, want) <= tolerance, name
            else:
                wrong = np.flatnonzero(got.ravel() != want.ravel())
                assert not wrong.size, (name, got.ravel()[wrong][:8], want.ravel()[wrong][:8], wrong.size)
            seen[name].add(got.tobytes())
            assert got.size < 8 or len(np.unique(got)) > 2, f"{name} is saturated"
    assert all(len(values) == len(data) for values in seen.values())
    return built


def check_integer(model: onnx.ModelProto, folder: Path) -> HostModel:
    """The same; and all that the C computes are integers."""
    built = check(model, folder)
    program = built.compiled.program
    assert not program.left_in_float
    between = {program.tensors[i].dtype for call in program.calls for i in (*call.inputs, *call.outputs)}
    assert "float32" not in between
    return built


# ---------------------------------------------------------------- operators

PAIRS = (("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"))


def weights(rng: np.random.Generator, dtype: str, *shape: int) -> Array:
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def middle(dtype: str, offset: int = 0) -> Array:
    """A zero point `offset` away from the middle."""
    return like(dtype, (128 if dtype == "uint8" else 0) + offset)


def qlinear_conv(rng: np.random.Generator) -> Nodes:
    def node(x_type: str, w_type: str, shape: tuple[int, ...], w_shape: tuple[int, ...], **how: Any) -> Node:
        by_channel = how.pop("by_channel", False)
        bias = how.pop("bias", True)
        rank = how.pop("rank", 0)
        count = w_shape[0]
        w_scale = f32(rng.uniform(0.002, 0.02, count)) if by_channel else f32(0.011).reshape([1] * rank)
        # onnxruntime takes zero points of weights by channel only if they are all the same.
        w_zero = (
            np.full(count, middle(w_type), w_type) if by_channel else middle(w_type, 5).reshape([1] * rank)
        )
        depth = np.prod(w_shape[1:])
        inputs: Inputs = [
            Given(shape, x_type),
            f32(0.0213).reshape([1] * rank),
            middle(x_type, -11).reshape([1] * rank),
            weights(rng, w_type, *w_shape),
            w_scale,
            w_zero,
            f32(0.0173 * np.sqrt(depth)),
            middle(x_type, 9),
        ]
        if bias:
            inputs.append(rng.integers(-5000, 5000, count).astype(np.int32))
        return Node(inputs, how)

    same = {"auto_pad": "SAME_UPPER"}
    return [
        *(
            node(x, w, (1, 3, 7, 6), (5, 3, 3, 3), pads=[1, 0, 2, 1], rank=i % 2)
            for i, (x, w) in enumerate(PAIRS)
        ),
        *(node(x, w, (1, 3, 7, 6), (5, 3, 3, 2), by_channel=True, strides=[2, 1]) for x, w in PAIRS),
        *(node(x, w, (2, 4, 9), (6, 2, 3), group=2, dilations=[2], bias=False) for x, w in PAIRS),
        node("int8", "int8", (1, 4, 8, 8), (8, 1, 3, 3), group=4, by_channel=True, **same),
        node("uint8", "int8", (1, 5, 6, 6), (5, 1, 2, 3), group=5, **same),
        node("int8", "int8", (1, 2, 11), (3, 2, 4), by_channel=True, auto_pad="SAME_LOWER", strides=[3]),
        node("int8", "int8", (1, 16, 1, 1), (3, 16, 1, 1), bias=False),
    ]


def qlinear_conv_channels_last(rng: np.random.Generator) -> Nodes:
    def last(node: Node) -> Node:
        x = node.inputs[0]
        assert isinstance(x, Given)
        shape = (x.shape[0], *x.shape[2:], x.shape[1])
        return Node([Given(shape, x.dtype), *node.inputs[1:]], {**node.attributes, "channels_last": 1})

    return [last(node) for node in qlinear_conv(rng)[::3]]


def qlinear_matmul(rng: np.random.Generator) -> Nodes:
    def node(a_type: str, b_type: str, a: tuple[int, ...], b: tuple[int, ...], by: bool, fixed: bool) -> Node:
        columns = b[-1]
        scale = f32(rng.uniform(0.002, 0.02, columns)) if by else f32(0.013)
        zero = np.full(columns, middle(b_type, 3), b_type) if by else middle(b_type, -7)
        return Node(
            [
                Given(a, a_type),
                f32(0.0219),
                middle(a_type, 13),
                weights(rng, b_type, *b) if fixed else Given(b, b_type),
                scale,
                zero,
                f32([0.0171 * np.sqrt(b[-2])]),
                middle(a_type, -5).reshape(1),
            ]
        )

    return [
        *(node(a, b, (3, 10), (10, 4), by, True) for a, b in PAIRS for by in (False, True)),
        *(node(a, b, (2, 5, 7), (7, 3), False, True) for a, b in PAIRS),
        *(node(a, b, (2, 5, 7), (2, 7, 6), False, False) for a, b in PAIRS),
        node("int8", "int8", (1, 33), (33, 1), True, True),
    ]


def qgemm(rng: np.random.Generator) -> Nodes:
    def node(a_type: str, b_type: str, by: bool, bias: int | None, real: bool = False, **how: Any) -> Node:
        k, n = 12, 5
        a_shape, b_shape = (3, k), (n, k) if how.get("transB") else (k, n)
        if how.get("transA"):
            a_shape = (k, 3)
        inputs: Inputs = [
            Given(a_shape, a_type),
            f32(0.0217),
            middle(a_type, 21),
            weights(rng, b_type, *b_shape),
            f32(rng.uniform(0.002, 0.02, n)) if by else f32(0.017),
            np.full(n, middle(b_type, 2), b_type) if by else middle(b_type, 2),
            None
            if bias is None
            else rng.integers(-9000, 9000, (n,) if bias == 1 else (1, n)).astype(np.int32),
        ]
        return Node(inputs if real else [*inputs, f32(0.0613), middle(a_type, -4)], how)

    return [
        node("int8", "int8", True, 1, transB=1),
        node("uint8", "int8", False, 2),
        node("uint8", "uint8", False, None, transA=1),
        node("uint8", "int8", True, 1, transB=1, alpha=0.37),
        node("int8", "int8", False, 1, alpha=1.9),
        node("int8", "int8", True, None),
    ]


def binary(rng: np.random.Generator) -> Nodes:
    def node(dtype: str, a: tuple[int, ...], b: Given | Array) -> Node:
        zeros = [middle(dtype, offset) for offset in (-17, 30, 3)]
        return Node([Given(a, dtype), f32(0.0311), zeros[0], b, f32(0.0177), zeros[1], f32(0.0419), zeros[2]])

    return [
        node(dtype, a, b)
        for dtype in ("int8", "uint8")
        for a, b in (
            ((2, 3, 5), Given((2, 3, 5), dtype)),
            ((2, 3, 5), Given((5,), dtype)),
            ((3, 1), Given((2, 1, 4), dtype)),
            ((2, 3, 5), weights(rng, dtype, 3, 1)),
            ((2, 17), weights(rng, dtype, 1)),
        )
    ]


def unary(_rng: np.random.Generator, **how: Any) -> Nodes:
    return [
        Node([Given((1, 257), dtype), f32(scale), x_zero, f32(y_scale), y_zero], how)
        for dtype in ("int8", "uint8")
        for scale, y_scale, x_zero, y_zero in (
            (0.0317, 0.0041, middle(dtype, 10), middle(dtype, -100)),
            (0.1, 0.0231, middle(dtype, -1), middle(dtype)),
            (0.0471, 0.0173, None, None),
        )
    ]


def softmax(_rng: np.random.Generator) -> Nodes:
    def node(dtype: str, shape: tuple[int, ...], axis: int, opset: int) -> Node:
        zero = like(dtype, -128 if dtype == "int8" else 0)
        attributes = {"axis": axis, "opset": opset}
        return Node([Given(shape, dtype), f32(0.0213), middle(dtype, 9), f32(1 / 256), zero], attributes)

    return [
        node(dtype, shape, axis, opset)
        for dtype in ("int8", "uint8")
        for shape, axis, opset in (((3, 10), -1, 13), ((2, 5, 4), 1, 13), ((2, 3, 4), 1, 11))
    ]


def pool(shape: tuple[int, ...], dtype: str, last: bool, **how: Any) -> Node:
    if last:
        shape = (shape[0], *shape[2:], shape[1])
    parameters = [f32(0.0311), middle(dtype, 7), f32(0.0217), middle(dtype, -20)]
    return Node([Given(shape, dtype), *parameters], {**how, "channels_last": int(last)})


def average_pool(_rng: np.random.Generator) -> Nodes:
    windows: Sequence[dict[str, Any]] = (
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [1, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1},
        {"kernel_shape": [2, 3], "auto_pad": "SAME_UPPER"},
    )
    return [
        pool((1, 3, 7, 8), dtype, last, **how)
        for dtype in ("int8", "uint8")
        for last in (False, True)
        for how in windows
    ]


def global_pool(_rng: np.random.Generator) -> Nodes:
    return [pool((2, 5, 7, 6), dtype, last) for dtype in ("int8", "uint8") for last in (False, True)]


def concat(rng: np.random.Generator) -> Nodes:
    def node(dtype: str, axis: int, fixed: bool) -> Node:
        shapes = [[2, 3, 4] for _ in range(3)]
        shapes[0][axis], shapes[2][axis] = 1, 5
        inputs: Inputs = [f32(0.0313), middle(dtype, -9)]
        for index, shape in enumerate(shapes):
            constant = fixed and index == 1
            inputs.append(weights(rng, dtype, *shape) if constant else Given(tuple(shape), dtype))
            # The second is quantised as the output is.
            inputs += [f32((0.0471, 0.0313, 0.0213)[index]), middle(dtype, (3, -9, 40)[index])]
        return Node(inputs, {"axis": axis})

    return [
        node(dtype, axis, fixed)
        for dtype in ("int8", "uint8")
        for axis, fixed in ((1, False), (2, True), (0, False))
    ]


def where(rng: np.random.Generator) -> Nodes:
    def node(dtype: str, condition: tuple[int, ...], x: Given | Array, y: Given) -> Node:
        parameters = (
            [f32(0.0413), middle(dtype, 12)],
            [f32(0.0217), middle(dtype, -3)],
            [f32(0.05), middle(dtype, 1)],
        )
        return Node([Given(condition, "bool"), x, *parameters[0], y, *parameters[1], *parameters[2]])

    return [
        n
        for dtype in ("int8", "uint8")
        for n in (
            node(dtype, (2, 3, 4), Given((2, 3, 4), dtype), Given((2, 3, 4), dtype)),
            node(dtype, (2, 1, 4), Given((3, 1), dtype), Given((2, 3, 4), dtype)),
            node(dtype, (2, 3, 4), weights(rng, dtype, 1), Given((2, 3, 4), dtype)),
        )
    ]


def nhwc_max_pool(_rng: np.random.Generator) -> Nodes:
    return [
        Node([Given((1, 7, 8, 3), dtype)], how)
        for dtype in ("int8", "uint8")
        for how in (
            {"kernel_shape": [2, 2], "strides": [2, 2]},
            {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]},
        )
    ]


def max_pool(_rng: np.random.Generator) -> Nodes:
    return [
        Node([Given(shape, dtype)], {"kernel_shape": kernel, "strides": kernel})
        for dtype in ("int8", "uint8")
        for shape, kernel in (((1, 3, 8, 6), [2, 2]), ((2, 3, 9), [3]))
    ]


OPERATORS: Mapping[str, tuple[str, str, Callable[[np.random.Generator], Nodes]]] = {
    "QLinearConv": ("", "QLinearConv", qlinear_conv),
    "QLinearConv-channels-last": (MICROSOFT, "QLinearConv", qlinear_conv_channels_last),
    "QLinearMatMul": ("", "QLinearMatMul", qlinear_matmul),
    "QGemm": (MICROSOFT, "QGemm", qgemm),
    "QLinearAdd": (MICROSOFT, "QLinearAdd", binary),
    "QLinearMul": (MICROSOFT, "QLinearMul", binary),
    "QLinearSigmoid": (MICROSOFT, "QLinearSigmoid", unary),
    "QLinearLeakyRelu": (MICROSOFT, "QLinearLeakyRelu", lambda rng: unary(rng, alpha=0.13)),
    "QLinearSoftmax": (MICROSOFT, "QLinearSoftmax", softmax),
    "QLinearAveragePool": (MICROSOFT, "QLinearAveragePool", average_pool),
    "QLinearGlobalAveragePool": (MICROSOFT, "QLinearGlobalAveragePool", global_pool),
    "QLinearConcat": (MICROSOFT, "QLinearConcat", concat),
    "QLinearWhere": (MICROSOFT, "QLinearWhere", where),
    "NhwcMaxPool": (MICROSOFT, "NhwcMaxPool", nhwc_max_pool),
    "MaxPool": ("", "MaxPool", max_pool),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str, tmp_path: Path) -> None:
    domain, operator, nodes = OPERATORS[name]
    model = model_of(operator, domain, nodes(np.random.default_rng(7)))
    check_integer(model, tmp_path)


def test_biases_that_no_float_holds(tmp_path: Path) -> None:
    """Odd numbers beyond 2^24, from which the products take nearly all away again."""
    bias = np.array([-(2**24) - 1, -(2**24) - 3, 2**24 + 1, 2**24 + 5], np.int32)
    w = np.repeat(np.array([[127], [127], [-127], [-128]], np.int8), 1100, axis=1)[:, :, None, None]
    x, zero = Given((1, 1100, 2, 3)), like("int8", 0)
    nodes = [
        Node([x, f32(0.5), zero, w, f32(0.25), zero, f32(512), like("int8", -3), bias]),
        Node([x, f32(0.53), like("int8", -128), w, f32(0.27), zero, f32(4608), like("int8", -3), bias]),
    ]
    model = model_of("QLinearConv", "", nodes)
    rng = np.random.default_rng(0)
    data = [
        {name: np.clip(rng.normal(level, 6, x.shape), -128, 127).astype(np.int8) for name in ("n0_0", "n1_0")}
        for level in (60, 118, 120, 127)
    ]
    session, built = session_of(model), build(model, tmp_path)
    for sample, outputs in zip(data, built.run(data), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- integers without a scale, and floats


def conv_integer(rng: np.random.Generator) -> Nodes:
    def node(x: str, w: str, zeros: Sequence[Array | None], shape: tuple[int, ...], **how: Any) -> Node:
        return Node([Given(shape, x), weights(rng, w, 4, 3 // how.get("group", 1), 3, 3), *zeros], how)

    return [
        node("uint8", "uint8", [middle("uint8", -31), middle("uint8", 9)], (1, 3, 6, 7), pads=[1, 0, 2, 1]),
        node("uint8", "int8", [middle("uint8", 3)], (2, 3, 6, 7), strides=[2, 1]),
        node("uint8", "int8", [], (1, 3, 6, 7), auto_pad="SAME_UPPER"),
        Node(
            [Given((1, 3, 9), "uint8"), weights(rng, "int8", 4, 3, 2), middle("uint8", 5)], {"strides": [2]}
        ),
    ]


def matmul_integer(rng: np.random.Generator) -> Nodes:
    def node(a: str, b: Given | Array, *zeros: Array | None, shape: tuple[int, ...] = (3, 17)) -> Node:
        return Node([Given(shape, a), b, *zeros])

    by_column = weights(rng, "int8", 5)
    return [
        node("uint8", weights(rng, "int8", 17, 5), middle("uint8", -77), by_column),
        node("uint8", weights(rng, "uint8", 17, 5), middle("uint8", 40), middle("uint8", -3)),
        node("int8", weights(rng, "int8", 17, 5)),
        node("int8", Given((2, 17, 4), "int8"), middle("int8", 5), middle("int8", -6), shape=(2, 3, 17)),
        # 2,000 products of 255 by -128 are more than a float can count.
        node("uint8", np.full((2000, 2), -128, np.int8), middle("uint8", -128), shape=(1, 2000)),
    ]


@pytest.mark.parametrize(
    ("operator", "nodes"), [("ConvInteger", conv_integer), ("MatMulInteger", matmul_integer)]
)
def test_sums_are_exact(operator: str, nodes: Callable[[np.random.Generator], Nodes], tmp_path: Path) -> None:
    built = check_integer(model_of(operator, "", nodes(np.random.default_rng(7))), tmp_path)
    tensors = built.compiled.program.tensors
    stored = {t.dtype for t in tensors if t.data is not None and t.elements > 16}
    assert stored and stored <= {"int8", "uint8", "int16"}, "weights stay as narrow as they are"


def test_inputs_quantised_by_their_own_range(tmp_path: Path) -> None:
    nodes = [Node([Given(shape, "float32")]) for shape in ((1,), (3, 5), (2, 3, 4))]
    built = build(model_of("DynamicQuantizeLinear", "", nodes, outputs=3), tmp_path)
    model = onnx.load(tmp_path / "model.onnx")
    session = session_of(model)
    data = samples_of(model)
    data.append({name: np.abs(value) for name, value in data[0].items()})
    data.append({name: -np.abs(value) for name, value in data[0].items()})
    data.append({name: 0 * value for name, value in data[0].items()})  # 0 / 0 must not be computed
    for sample, outputs in zip(data, built.run(data), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            np.testing.assert_array_equal(got, want)


def matmul_to_float(rng: np.random.Generator) -> Nodes:
    b_zero = middle("int8", 4)
    return [
        Node(
            [
                Given((3, 16), "uint8"),
                weights(rng, "int8", 16, 5),
                f32(0.02),
                f32([0.013]),
                middle("uint8", 7),
            ]
        ),
        Node(
            [
                Given((2, 3, 16), "uint8"),
                weights(rng, "int8", 16, 5),
                f32(0.02),
                f32(rng.uniform(0.01, 0.02, 5)),
                middle("uint8", -7),
                np.full(5, b_zero, np.int8),
                f32(rng.standard_normal(5)),
            ]
        ),
        Node([Given((3, 16)), weights(rng, "int8", 16, 5), f32(0.02), f32(0.011), None, b_zero]),
    ]


def dynamic_matmul(rng: np.random.Generator) -> Nodes:
    x = Given((3, 16), "float32")
    return [
        Node([x, weights(rng, "int8", 16, 5), f32(0.013)]),
        Node(
            [
                x,
                weights(rng, "uint8", 16, 5),
                f32(rng.uniform(0.01, 0.02, 5)),
                np.full(5, 120, np.uint8),
                f32(rng.standard_normal(5)),
            ]
        ),
    ]


@pytest.mark.parametrize(
    ("operator", "nodes"),
    [("MatMulIntegerToFloat", matmul_to_float), ("DynamicQuantizeMatMul", dynamic_matmul)],
)
def test_products_with_real_results(
    operator: str, nodes: Callable[[np.random.Generator], Nodes], tmp_path: Path
) -> None:
    check(model_of(operator, MICROSOFT, nodes(np.random.default_rng(7))), tmp_path, tolerance=1e-6)


def test_gemm_with_a_real_result(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    node = Node(
        [Given((3, 12)), f32(0.02), middle("int8", 3), weights(rng, "int8", 12, 5), f32(0.01), middle("int8")]
    )
    check(model_of("QGemm", MICROSOFT, [node]), tmp_path, tolerance=1e-6)


def test_quantise_and_dequantise_of_onnxruntime(tmp_path: Path) -> None:
    by_channel = f32([0.01, 0.02, 0.03])
    zeros = np.array([1, -2, 3], np.int8)
    quantize = [
        Node([Given((2, 3, 4), "float32"), f32(0.021), middle("int8", 5)]),
        Node([Given((2, 3, 4), "float32"), by_channel, zeros], {"axis": 1}),
        Node([Given((2, 3, 4), "float32"), f32(0.021)]),
    ]
    check(model_of("QuantizeLinear", MICROSOFT, quantize), tmp_path / "q")
    dequantize = [
        Node([Given((2, 3, 4)), f32(0.021), middle("int8", 5)]),
        Node([Given((2, 3, 4)), by_channel, zeros], {"axis": 1}),
        Node([Given((2, 3, 4), "uint8"), f32(0.021)]),
    ]
    check(model_of("DequantizeLinear", MICROSOFT, dequantize), tmp_path / "dq")


# ---------------------------------------------------------------- halves


def as_qdq(model: onnx.ModelProto, operator: str) -> onnx.ModelProto:
    """`model`, whose operators take triples and then the parameters of y, by its definition."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    nodes = []
    for node in model.graph.node:
        reals = []
        for start in range(0, len(node.input) - 2, 3):
            reals.append(f"{node.name}/real{start}")
            nodes.append(helper.make_node("DequantizeLinear", node.input[start : start + 3], [reals[-1]]))
        wide = helper.make_node(operator, reals, [f"{node.name}/real"])
        wide.attribute.extend(node.attribute)
        nodes += [wide, helper.make_node("QuantizeLinear", [wide.output[0], *node.input[-2:]], node.output)]
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    return result


def halves(operator: str, rng: np.random.Generator, odd: bool) -> Nodes:
    """Nodes whose results lie half way between two numbers more often than not."""
    shape = (1, 3, 9, 8)
    nodes: list[Node] = []
    for dtype in ("int8", "uint8"):
        zero, half = middle(dtype, 1 if odd else 2), f32(0.5)
        x: Inputs = [Given(shape, dtype), half, middle(dtype, 3)]
        w: Inputs = [weights(rng, "int8", 5, 3, 3, 3), f32(0.25), like("int8", 0)]
        rows: Inputs = [
            Given((9, 16), dtype),
            half,
            middle(dtype, 3),
            weights(rng, "int8", 16, 30),
            f32(0.25),
            like("int8", 0),
        ]
        nodes += {
            "QLinearConv": [Node([*x, *w, f32(4), zero])],
            "QLinearMatMul": [Node([*rows, f32(4), zero])],
            "QGemm": [Node([*rows, None, f32(4), zero])],
            "QLinearAdd": [Node([*x, *x, f32(1), zero])],
            "QLinearMul": [Node([*x, *x, f32(16), zero])],
            "QLinearLeakyRelu": [Node([*x, f32(1), zero], {"alpha": 0.5})],
            "QLinearAveragePool": [Node([*x, half, zero], {"kernel_shape": [2, 2]})],
            "QLinearGlobalAveragePool": [Node([Given((5, 20, 2, 2), dtype), *x[1:], half, zero])],
            "QLinearConcat": [Node([f32(1), zero, *x, Given(shape, dtype), f32(0.25), zero], {"axis": 1})],
            "QLinearWhere": [
                Node([Given(shape, "bool"), *x, Given(shape, dtype), f32(0.25), zero, f32(1), zero])
            ],
        }[operator]
    return nodes


HALVES = {
    "QLinearConv": "",
    "QLinearMatMul": "",
    **dict.fromkeys(
        (
            "QGemm QLinearAdd QLinearMul QLinearLeakyRelu QLinearAveragePool QLinearGlobalAveragePool "
            "QLinearConcat QLinearWhere"
        ).split(),
        MICROSOFT,
    ),
}


@pytest.mark.parametrize("operator", HALVES)
def test_halves_go_to_the_even_number(operator: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    check_integer(model_of(operator, HALVES[operator], halves(operator, rng, odd=False)), tmp_path)


@pytest.mark.parametrize(
    ("operator", "by"), [("QLinearAdd", "Add"), ("QLinearMul", "Mul"), ("QLinearAveragePool", "AveragePool")]
)
def test_the_zero_point_is_added_after_rounding(operator: str, by: str, tmp_path: Path) -> None:
    """These three kernels of onnxruntime add it before, so that an odd one makes halves go the other way.

    QuantizeLinear, by which the operators are defined, adds it after; so do all other kernels.
    """
    rng = np.random.default_rng(7)
    model = model_of(operator, MICROSOFT, halves(operator, rng, odd=True))
    built = build(model, tmp_path)
    fused, defined = session_of(model), session_of(as_qdq(model, by))
    differences = 0
    data = samples_of(model)
    for sample, outputs in zip(data, built.run(data), strict=True):
        for got, want, other in zip(outputs, defined.run(None, sample), fused.run(None, sample), strict=True):
            np.testing.assert_array_equal(got, want)
            off = np.abs(got.astype(int) - other.astype(int))
            assert off.max() <= 1
            differences += int(off.sum())
    assert differences, "onnxruntime has changed: this test and its reason can go"


def test_a_mean_that_onnxruntime_only_declares(tmp_path: Path) -> None:
    """QLinearReduceMean has no kernel there: it is compared with its definition."""
    nodes = [
        Node(
            [Given((2, 3, 5, 7), "int8"), f32(0.031), middle("int8", 9), f32(0.013), middle("int8", -3)], how
        )
        for how in ({"axes": [2, 3]}, {"axes": [1], "keepdims": 0}, {"axes": [-1]})
    ]
    defined = model_of("QLinearReduceMean", MICROSOFT, nodes, 13, has_kernel=False)
    session = session_of(as_qdq(defined, "ReduceMean"))
    for opset in (13, 18):
        model = model_of("QLinearReduceMean", MICROSOFT, nodes, opset, has_kernel=False)
        built = build(model, tmp_path / str(opset))
        data = samples_of(model)
        for sample, outputs in zip(data, built.run(data), strict=True):
            for got, want in zip(outputs, session.run(None, sample), strict=True):
                np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- where the parameters come from


def test_old_operator_sets(tmp_path: Path) -> None:
    """Opset 10 knows no scales by channel outside of its quantised operators."""
    rng = np.random.default_rng(7)
    check_integer(model_of("QLinearConv", "", qlinear_conv(rng), opset=10), tmp_path / "conv")
    check_integer(model_of("QGemm", MICROSOFT, qgemm(rng), opset=11), tmp_path / "gemm")
    check_integer(model_of("QLinearSoftmax", MICROSOFT, softmax(rng), opset=12), tmp_path / "softmax")
    check(model_of("MatMulInteger", "", matmul_integer(rng), opset=10), tmp_path / "integer")
    dynamic = [Node([Given((3, 5), "float32")])]
    check(model_of("DynamicQuantizeLinear", "", dynamic, opset=11, outputs=3), tmp_path / "dynamic")


def test_parameters_of_the_input(tmp_path: Path) -> None:
    """Scales and zero points that come at run time: floats then, within a number of the integers."""
    scale = Given((), "scale")
    inputs = [Given((3, 10)), scale, Given(()), Given((10, 4)), scale, Given(()), scale, Given(())]
    model = model_of(
        "QLinearMatMul", "", [Node([Given(g.shape, "float32") if g is scale else g for g in inputs])]
    )
    built = build(model, tmp_path)
    session = session_of(model)
    data = samples_of(model)
    for sample in data:
        for index, value in ((1, 0.02), (4, 0.03), (6, 0.5)):
            sample[f"n0_{index}"] = f32(value)
    for sample, (got,) in zip(data, built.run(data), strict=True):
        want = session.run(None, sample)[0]
        assert np.abs(got.astype(int) - want.astype(int)).max() <= 1
