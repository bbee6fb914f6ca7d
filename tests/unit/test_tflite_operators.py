"""Single operators: the translation, run by onnxruntime, against LiteRT's reference kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

pytest.importorskip("tflite")

from tests.unit.tflite_files import Op, T, const, write
from tvm_tool.compiler.frontend.tflite_model import TRANSLATIONS, load_tflite
from tvm_tool.errors import ModelError, UnsupportedError

Array = npt.NDArray[Any]
RNG = np.random.default_rng(7)
PICTURE = (1, 6, 7, 4)


def run_onnx(proto: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return [np.asarray(a) for a in session.run(None, feeds)]


NOT_IN_REFERENCE = {"CEIL", "ELU", "ROUND", "LOCAL_RESPONSE_NORMALIZATION"}
"""LiteRT's reference set lacks them; its normalisation leaves out the last channel of each window."""


def run_litert(path: Path, feeds: dict[str, Array], outputs: Sequence[str], reference: bool) -> list[Array]:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    kinds = litert.OpResolverType
    resolver = kinds.BUILTIN_REF if reference else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(model_path=str(path), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    found = {d["name"]: interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()}
    return [found[name] for name in outputs]


def samples(tensor: T) -> Array:
    if tensor.dtype in ("int8", "uint8"):
        info = np.iinfo(tensor.dtype)
        return RNG.integers(info.min, info.max + 1, tensor.shape).astype(tensor.dtype)
    if tensor.dtype == "bool":
        return RNG.integers(0, 2, tensor.shape).astype(np.bool_)
    if tensor.dtype == "int32":
        return RNG.integers(-50, 50, tensor.shape).astype(np.int32)
    return RNG.standard_normal(tensor.shape).astype(tensor.dtype)


def check(
    tmp_path: Path,
    op: Op | Sequence[Op],
    tensors: Sequence[T],
    outputs: Sequence[str] = ("y",),
    lsb: int = 1,
    positive: bool = False,
) -> list[str]:
    """Compare; float outputs to 1e-5, integers to `lsb`. Returns the operators of the translation."""
    ops = [op] if isinstance(op, Op) else list(op)
    made = {name for o in ops for name in o.outputs}
    inputs = [t for t in tensors if t.data is None and t.name not in made]
    path = write(tmp_path / "m.tflite", tensors, ops, [t.name for t in inputs], outputs)
    model = load_tflite(path, {})
    onnx.checker.check_model(model.proto, full_check=True)
    for _ in range(3):
        feeds = {t.name: samples(t) for t in inputs}
        if positive:
            feeds = {name: np.abs(a) + np.float32(0.1) for name, a in feeds.items()}
        results = run_onnx(model.proto, feeds)
        reference = not NOT_IN_REFERENCE & {o.kind for o in ops}
        for got, want in zip(results, run_litert(path, feeds, outputs, reference), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            if want.dtype == np.float32:
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            else:
                assert np.abs(got.astype(np.int64) - want.astype(np.int64)).max() <= lsb
    return [n.op_type for n in model.proto.graph.node]


def q(name: str, shape: Sequence[int], scale: float = 0.05, zero: int = 3, dtype: str = "int8") -> T:
    return T(name, shape, dtype, scale=scale, zero=zero)


def quantised_weights(name: str, shape: Sequence[int], axis: int) -> T:
    data = RNG.integers(-127, 128, shape).astype(np.int8)
    scales = list(RNG.uniform(0.001, 0.01, shape[axis]))
    return T(name, shape, "int8", data, scale=scales, zero=[0] * len(scales), axis=axis)


def bias(count: int) -> T:
    return const("b", RNG.integers(-999, 999, count), scale=[1e-4] * count, zero=[0] * count)


def floats(name: str, shape: Sequence[int]) -> T:
    return T(name, shape, data=RNG.standard_normal(shape).astype(np.float32))


# Linear operators

CONV = {"StrideH": 2, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


@pytest.mark.parametrize(("padding", "rows", "columns"), [(0, 3, 7), (1, 2, 6)])
@pytest.mark.parametrize("activation", [0, 1, 2, 3])
@pytest.mark.parametrize("integer", [False, True])
def test_conv_2d(
    padding: int, rows: int, columns: int, activation: int, integer: bool, tmp_path: Path
) -> None:
    out = (1, rows, columns, 5)
    options = {**CONV, "Padding": padding, "FusedActivationFunction": activation}
    op = Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2D", options)
    if integer:
        weights = quantised_weights("w", (5, 3, 2, 4), 0)
        kinds = check(tmp_path, op, [q("x", PICTURE), weights, bias(5), q("y", out, 0.04, -9)])
        middle = {0: [], 1: ["Relu"]}.get(activation, ["Clip"])
        assert [k for k in kinds if k != "DequantizeLinear"] == [
            "Transpose", "Conv", *middle, "QuantizeLinear", "Transpose",
        ]  # fmt: skip
        assert kinds.count("DequantizeLinear") == 3
    else:
        tensors = [T("x", PICTURE), floats("w", (5, 3, 2, 4)), floats("b", (5,)), T("y", out)]
        check(tmp_path, op, tensors)


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("integer", [False, True])
def test_depthwise_conv_2d(multiplier: int, integer: bool, tmp_path: Path) -> None:
    channels = 4 * multiplier
    out, shape = (1, 6, 7, channels), (1, 3, 3, channels)
    options = {
        **CONV, "StrideH": 1, "Padding": 0, "DepthMultiplier": multiplier, "FusedActivationFunction": 1,
        "DilationHFactor": 2,
    }  # fmt: skip
    op = Op("DEPTHWISE_CONV_2D", ["x", "w", "b"], ["y"], "DepthwiseConv2D", options)
    if integer:
        weights = quantised_weights("w", shape, 3)
        check(tmp_path, op, [q("x", PICTURE), weights, bias(channels), q("y", out)])
    else:
        check(tmp_path, op, [T("x", PICTURE), floats("w", shape), floats("b", (channels,)), T("y", out)])


@pytest.mark.parametrize(("padding", "out"), [(0, (1, 12, 14, 3)), (0, (1, 11, 13, 3)), (1, (1, 13, 15, 3))])
@pytest.mark.parametrize("integer", [False, True])
def test_transpose_conv(padding: int, out: tuple[int, ...], integer: bool, tmp_path: Path) -> None:
    options = {"Padding": padding, "StrideH": 2, "StrideW": 2}
    op = Op("TRANSPOSE_CONV", ["s", "w", "x"], ["y"], "TransposeConv", options)
    weights = quantised_weights("w", (3, 3, 3, 4), 0) if integer else floats("w", (3, 3, 3, 4))
    x, y = (q("x", PICTURE), q("y", out)) if integer else (T("x", PICTURE), T("y", out))
    check(tmp_path, op, [const("s", out), weights, x, y])


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("make", [T, q])
def test_padding_of_pictures_goes_into_convolutions(padding: int, make: Any, tmp_path: Path) -> None:
    out = (1, 8, 9, 5) if padding == 0 else (1, 6, 7, 5)
    options = {**CONV, "StrideH": 1, "Padding": padding}
    ops = [Op("PAD", ["x", "p"], ["v"]), Op("CONV_2D", ["v", "w", "b"], ["y"], "Conv2D", options)]
    rest = [const("p", [[0, 0], [1, 1], [2, 0], [0, 0]]), make("v", (1, 8, 9, 4)), make("y", out)]
    linear = [quantised_weights("w", (5, 3, 3, 4), 0), bias(5)]
    if make is T:
        linear = [floats("w", (5, 3, 3, 4)), floats("b", (5,))]
    assert "Pad" not in check(tmp_path, ops, [make("x", PICTURE), *rest, *linear])


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("integer", [False, True])
def test_pools(kind: str, integer: bool, tmp_path: Path) -> None:
    options = {"Padding": 0, "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3}
    op = Op(kind, ["x"], ["y"], "Pool2D", {**options, "FusedActivationFunction": 1})
    make = q if integer else T
    check(tmp_path, op, [make("x", PICTURE), make("y", (1, 3, 4, 4))])


@pytest.mark.parametrize(("shape", "keep"), [((2, 8), False), ((2, 2, 4), False), ((2, 3, 8), True)])
@pytest.mark.parametrize("integer", [False, True])
def test_fully_connected(shape: tuple[int, ...], keep: bool, integer: bool, tmp_path: Path) -> None:
    out = (*shape[:-1], 5) if keep else (2, 5)
    op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnected", {"KeepNumDims": keep})
    if integer:
        weights = const("w", RNG.integers(-127, 128, (5, 8)), "int8", scale=0.004)
        acc = const("b", RNG.integers(-999, 999, 5), scale=2e-4)
        kinds = check(tmp_path, op, [q("x", shape), weights, acc, q("y", out)])
        assert kinds.count("DequantizeLinear") == 3
    else:
        check(tmp_path, op, [T("x", shape), floats("w", (5, 8)), floats("b", (5,)), T("y", out)])


def test_fully_connected_uint8(tmp_path: Path) -> None:
    weights = const("w", RNG.integers(0, 256, (5, 8)), "uint8", scale=0.004, zero=121)
    acc = const("b", RNG.integers(-999, 999, 5), scale=2e-4)
    op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnected")
    check(tmp_path, op, [q("x", (2, 8), 0.05, 130, "uint8"), weights, acc, q("y", (2, 5), 0.05, 99, "uint8")])


def test_weights_of_four_bits(tmp_path: Path) -> None:
    packed = RNG.integers(0, 256, 20).astype(np.uint8)
    weights = T("w", (5, 8), "INT4", packed, scale=0.1)
    op = Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnected")
    check(tmp_path, op, [q("x", (2, 8)), weights, q("y", (2, 5))])


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("integer", [False, True])
def test_batch_matmul(adjoint: bool, integer: bool, tmp_path: Path) -> None:
    make = q if integer else T
    right = (2, 5, 4) if adjoint else (2, 4, 5)
    op = Op("BATCH_MATMUL", ["x", "w"], ["y"], "BatchMatMul", {"AdjY": adjoint})
    check(tmp_path, op, [make("x", (2, 3, 4)), make("w", right), make("y", (2, 3, 5))])


def test_hybrid_weights_become_floats(tmp_path: Path) -> None:
    weights = const("w", RNG.integers(-127, 128, (5, 8)), "int8", scale=0.004)
    op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnected")
    path = tmp_path / "m.tflite"
    tensors = [T("x", (2, 8)), weights, floats("b", (5,)), T("y", (2, 5))]
    proto = load_tflite(write(path, tensors, [op], ["x"], ["y"]), {}).proto
    assert [n.op_type for n in proto.graph.node] == ["Gemm"]
    x = RNG.standard_normal((2, 8)).astype(np.float32)
    assert weights.data is not None and tensors[2].data is not None
    want = x @ (weights.data.astype(np.float32) * np.float32(0.004)).T + tensors[2].data
    np.testing.assert_allclose(run_onnx(proto, {"x": x})[0], want, rtol=1e-5, atol=1e-5)


def test_half_precision_weights(tmp_path: Path) -> None:
    half = const("h", RNG.standard_normal((5, 8)), "float16")
    ops = [
        Op("DEQUANTIZE", ["h"], ["w"]),
        Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnected", {"FusedActivationFunction": 0}),
    ]
    kinds = check(tmp_path, ops, [T("x", (2, 8)), half, T("w", (5, 8)), T("y", (2, 5))])
    assert kinds == ["Gemm"]


# Elementwise


@pytest.mark.parametrize(
    "kind",
    "ABS CEIL COS ELU EXP FLOOR HARD_SWISH LOGISTIC NEG RELU RELU6 RELU_0_TO_1".split()
    + "RELU_N1_TO_1 ROUND SIGN SIN SQUARE TANH".split(),
)
def test_unary_float(kind: str, tmp_path: Path) -> None:
    check(tmp_path, Op(kind, ["x"], ["y"]), [T("x", (2, 5)), T("y", (2, 5))])


@pytest.mark.parametrize("kind", ["LOG", "SQRT", "RSQRT"])
def test_unary_positive(kind: str, tmp_path: Path) -> None:
    check(tmp_path, Op(kind, ["x"], ["y"]), [T("x", (2, 5)), T("y", (2, 5))], positive=True)


@pytest.mark.parametrize(
    ("kind", "scale", "zero"),
    [
        ("HARD_SWISH", 0.04, -100), ("LOGISTIC", 1 / 256, -128), ("TANH", 1 / 128, 0), ("RELU", 0.05, -128),
        ("RELU6", 0.024, -128), ("ELU", 0.03, -90), ("ABS", 0.05, -128),
    ],
)  # fmt: skip
def test_unary_int8(kind: str, scale: float, zero: int, tmp_path: Path) -> None:
    kinds = check(tmp_path, Op(kind, ["x"], ["y"]), [q("x", (4, 50)), q("y", (4, 50), scale, zero)])
    assert kinds[0] == "DequantizeLinear" and kinds[-1] == "QuantizeLinear"


def test_leaky_relu(tmp_path: Path) -> None:
    op = Op("LEAKY_RELU", ["x"], ["y"], "LeakyRelu", {"Alpha": 0.3})
    check(tmp_path, op, [T("x", (2, 5)), T("y", (2, 5))])
    check(tmp_path, op, [q("x", (2, 50)), q("y", (2, 50))])


@pytest.mark.parametrize("shape", [(1, 1, 4), (6, 7, 4), (4,)])
def test_prelu(shape: tuple[int, ...], tmp_path: Path) -> None:
    op = Op("PRELU", ["x", "a"], ["y"])
    check(tmp_path, op, [T("x", PICTURE), floats("a", shape), T("y", PICTURE)])
    slopes = const("a", RNG.integers(-127, 128, shape), "int8", scale=0.01)
    check(tmp_path, op, [q("x", PICTURE), slopes, q("y", PICTURE)])


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool, tmp_path: Path) -> None:
    op = Op("GELU", ["x"], ["y"], "Gelu", {"Approximate": approximate})
    check(tmp_path, op, [T("x", (2, 5)), T("y", (2, 5))])
    check(tmp_path, op, [q("x", (2, 50)), q("y", (2, 50), 0.04, -100)])


BINARY = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "MAXIMUM": "MaximumMinimum",
          "MINIMUM": "MaximumMinimum", "SQUARED_DIFFERENCE": "SquaredDifference"}  # fmt: skip


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("right", [(2, 3, 5), (5,), (2, 1, 5)])
def test_binary_float(kind: str, right: tuple[int, ...], tmp_path: Path) -> None:
    op = Op(kind, ["x", "w"], ["y"], BINARY[kind])
    check(tmp_path, op, [T("x", (2, 3, 5)), T("w", right), T("y", (2, 3, 5))])


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("activation", [0, 1, 3])
def test_binary_int8(kind: str, activation: int, tmp_path: Path) -> None:
    op = Op(kind, ["x", "w"], ["y"], BINARY[kind], {"FusedActivationFunction": activation})
    tensors = [q("x", (2, 30)), q("w", (2, 30), 0.02, -7), q("y", (2, 30), 0.07, 11)]
    check(tmp_path, op, tensors)
    assert check(tmp_path, op, [q("x", (2, 3)), const("w", [[9]], "int8", scale=0.1), q("y", (2, 3))])


@pytest.mark.parametrize("kind", ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"])
def test_comparisons(kind: str, tmp_path: Path) -> None:
    check(tmp_path, Op(kind, ["x", "w"], ["y"]), [T("x", (9,)), T("w", (9,)), T("y", (9,), "bool")], lsb=0)


def test_logic_and_select(tmp_path: Path) -> None:
    flags = [T(name, (9,), "bool") for name in "pqrst"]
    ops = [
        Op("LOGICAL_AND", ["p", "q"], ["r"]),
        Op("LOGICAL_OR", ["r", "q"], ["s"]),
        Op("LOGICAL_NOT", ["s"], ["t"]),
        Op("SELECT_V2", ["t", "x", "w"], ["y"]),
    ]
    check(tmp_path, ops, [*flags, T("x", (9,)), T("w", (9,)), T("y", (9,))])


def test_select_and_power(tmp_path: Path) -> None:
    ops = [Op("SELECT", ["p", "x", "w"], ["v"]), Op("POW", ["v", "w"], ["y"], "Pow")]
    data = [T("x", (9,)), T("w", (9,)), T("v", (9,)), T("y", (9,))]
    check(tmp_path, ops, [const("p", [0, 1, 1] * 3, "bool"), *data], positive=True)


def test_floor_div_and_add_n(tmp_path: Path) -> None:
    ops = [Op("FLOOR_DIV", ["x", "w"], ["v"]), Op("ADD_N", ["v", "x", "w"], ["y"])]
    check(tmp_path, ops, [T(name, (9,)) for name in "xwvy"])


# Reductions


@pytest.mark.parametrize("kind", ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(kind: str, keep: bool, tmp_path: Path) -> None:
    out = (1, 1, 1, 4) if keep else (1, 4)
    op = Op(kind, ["x", "a"], ["y"], "Reducer", {"KeepDims": keep})
    check(tmp_path, op, [T("x", PICTURE), const("a", [1, -2]), T("y", out)])
    if kind == "MEAN":
        check(tmp_path, op, [q("x", PICTURE), const("a", [1, 2]), q("y", out, 0.01, -5)])


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_softmax(beta: float, tmp_path: Path) -> None:
    op = Op("SOFTMAX", ["x"], ["y"], "Softmax", {"Beta": beta})
    check(tmp_path, op, [T("x", (2, 9)), T("y", (2, 9))])
    kinds = check(tmp_path, op, [q("x", (2, 9)), q("y", (2, 9), 1 / 256, -128)])
    assert kinds == ["DequantizeLinear", "Softmax", "QuantizeLinear"]


@pytest.mark.parametrize(
    "op",
    [
        Op("LOG_SOFTMAX", ["x"], ["y"]),
        Op("L2_NORMALIZATION", ["x"], ["y"], "L2Norm"),
        Op("CUMSUM", ["x", "a"], ["y"], "Cumsum", {"Exclusive": True}),
        Op("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], "LocalResponseNormalization",
           {"Radius": 1, "Bias": 1.0, "Alpha": 0.3, "Beta": 0.5}),
    ],
    ids=lambda op: op.kind,
)  # fmt: skip
def test_along_an_axis(op: Op, tmp_path: Path) -> None:
    check(tmp_path, op, [T("x", PICTURE), const("a", 3), T("y", PICTURE)])


@pytest.mark.parametrize("kind", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("make", [T, q])
def test_arg(kind: str, make: Any, tmp_path: Path) -> None:
    table = "ArgMax" if kind == "ARG_MAX" else "ArgMin"
    op = Op(kind, ["x", "a"], ["y"], table, {"OutputType": 2})
    check(tmp_path, op, [make("x", (3, 9)), const("a", 1), T("y", (3,), "int32")], lsb=0)


def test_casts_and_requantising(tmp_path: Path) -> None:
    check(tmp_path, Op("CAST", ["x"], ["y"]), [T("x", (9,), "int32"), T("y", (9,))])
    check(tmp_path, Op("QUANTIZE", ["x"], ["y"]), [T("x", (9,)), q("y", (9,))])
    check(tmp_path, Op("DEQUANTIZE", ["x"], ["y"]), [q("x", (9,)), T("y", (9,))])
    check(tmp_path, Op("QUANTIZE", ["x"], ["y"]), [q("x", (90,)), q("y", (90,), 0.07, 128, "uint8")])


# Movement: integers stay integers

MOVES: dict[str, tuple[Op, list[T], tuple[int, ...]]] = {
    "reshape": (Op("RESHAPE", ["x", "s"], ["y"]), [const("s", [2, 84])], (2, 84)),
    "squeeze": (Op("SQUEEZE", ["x"], ["y"], "Squeeze"), [], (6, 7, 4)),
    "expand": (Op("EXPAND_DIMS", ["x", "a"], ["y"]), [const("a", 0)], (1, 1, 6, 7, 4)),
    "transpose": (Op("TRANSPOSE", ["x", "p"], ["y"]), [const("p", [0, 2, 3, 1])], (1, 7, 4, 6)),
    "pad": (Op("PAD", ["x", "p"], ["y"]), [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])], (1, 9, 10, 4)),
    "reflect": (Op("MIRROR_PAD", ["x", "p"], ["y"], "MirrorPad", {"Mode": 0}),
                [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])], (1, 9, 10, 4)),
    "symmetric": (Op("MIRROR_PAD", ["x", "p"], ["y"], "MirrorPad", {"Mode": 1}),
                  [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])], (1, 9, 10, 4)),
    "slice": (Op("SLICE", ["x", "i", "n"], ["y"]), [const("i", [0, 1, 2, 0]), const("n", [1, 3, -1, 2])],
              (1, 3, 5, 2)),
    "strided": (Op("STRIDED_SLICE", ["x", "i", "j", "k"], ["y"], "StridedSlice",
                   {"BeginMask": 1, "EndMask": 4, "ShrinkAxisMask": 8}),
                [const("i", [0, 5, 1, -1]), const("j", [1, 0, 0, 0]), const("k", [1, -2, 2, 1])], (1, 3, 3)),
    "reverse": (Op("REVERSE_V2", ["x", "a"], ["y"]), [const("a", [1])], PICTURE),
    "tile": (Op("TILE", ["x", "r"], ["y"]), [const("r", [1, 2, 1, 3])], (1, 12, 7, 12)),
    "broadcast": (Op("BROADCAST_TO", ["x", "s"], ["y"]), [const("s", [3, 6, 7, 4])], (3, 6, 7, 4)),
    "gather": (Op("GATHER", ["x", "i"], ["y"], "Gather", {"Axis": 2}), [const("i", [5, 0, 0])], (1, 6, 3, 4)),
    "gather_nd": (Op("GATHER_ND", ["x", "i"], ["y"]), [const("i", [[0, 5], [0, 1]])], (2, 7, 4)),
    "space_to_batch": (Op("SPACE_TO_BATCH_ND", ["x", "k", "p"], ["y"]),
                       [const("k", [2, 3]), const("p", [[0, 2], [1, 1]])], (6, 4, 3, 4)),
    "nearest": (Op("RESIZE_NEAREST_NEIGHBOR", ["x", "s"], ["y"], "ResizeNearestNeighbor"),
                [const("s", [12, 14])], (1, 12, 14, 4)),
    "nearest_odd": (Op("RESIZE_NEAREST_NEIGHBOR", ["x", "s"], ["y"], "ResizeNearestNeighbor",
                       {"HalfPixelCenters": True}), [const("s", [10, 5])], (1, 10, 5, 4)),
    "nearest_corners": (Op("RESIZE_NEAREST_NEIGHBOR", ["x", "s"], ["y"], "ResizeNearestNeighbor",
                           {"AlignCorners": True}), [const("s", [11, 4])], (1, 11, 4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("make", [T, q])
def test_moves(name: str, make: Any, tmp_path: Path) -> None:
    op, rest, out = MOVES[name]
    kinds = check(tmp_path, op, [make("x", PICTURE), *rest, make("y", out)], lsb=0)
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(kinds)


def test_an_output_that_is_another_one_unchanged(tmp_path: Path) -> None:
    tensors = [
        T("x", (4, 3)),
        const("s", [2, 6]),
        T("y", (2, 6)),
        const("p", [[0, 0], [0, 0]]),
        T("z", (2, 6)),
    ]
    ops = [Op("RESHAPE", ["x", "s"], ["y"]), Op("MIRROR_PAD", ["y", "p"], ["z"], "MirrorPad", {"Mode": 1})]
    path = write(tmp_path / "m.tflite", tensors, ops, ["x"], ["z", "y"])
    model = load_tflite(path, {})
    data = samples(tensors[0])
    z, y = run_onnx(model.proto, {"x": data})
    np.testing.assert_array_equal(y, data.reshape(2, 6))
    np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize(
    ("kind", "amount", "words"),
    [("MIRROR_PAD", 2, "mirrors more than axis 0 has"), ("PAD", -1, "are negative")],
)
def test_impossible_pads(kind: str, amount: int, words: str, tmp_path: Path) -> None:
    table = "MirrorPad" if kind == "MIRROR_PAD" else ""
    tensors = [T("x", (2,)), const("p", [[amount, 0]]), T("y", (4,))]
    path = write(tmp_path / "m.tflite", tensors, [Op(kind, ["x", "p"], ["y"], table)], ["x"], ["y"])
    with pytest.raises(ModelError, match=words):
        load_tflite(path, {})


@pytest.mark.parametrize("integer", [False, True])
def test_pad_with_a_value(integer: bool, tmp_path: Path) -> None:
    op = Op("PADV2", ["x", "p", "v"], ["y"])
    amounts = const("p", [[1, 0], [0, 2]])
    if integer:
        value = const("v", [-77], "int8", scale=0.05, zero=3)
        assert check(tmp_path, op, [q("x", (2, 3)), amounts, value, q("y", (3, 5))], lsb=0) == ["Pad"]
    else:
        check(tmp_path, op, [T("x", (2, 3)), amounts, const("v", [1.5], "float32"), T("y", (3, 5))])


@pytest.mark.parametrize("make", [T, q])
def test_moves_of_several(make: Any, tmp_path: Path) -> None:
    a, b, c = (make(name, (2, 3)) for name in "abc")
    split = Op("SPLIT", ["n", "x"], ["a", "b", "c"], "Split", {"NumSplits": 3})
    check(tmp_path, split, [const("n", 1), make("x", (2, 9)), a, b, c], ["a", "b", "c"], lsb=0)
    sized = Op("SPLIT_V", ["x", "s", "n"], ["a", "y"], "SplitV", {"NumSplits": 2})
    sizes = [const("s", [3, 6]), const("n", 1)]
    check(tmp_path, sized, [make("x", (2, 9)), *sizes, a, make("y", (2, 6))], ["a", "y"], lsb=0)
    concat = Op("CONCATENATION", ["a", "b", "c"], ["y"], "Concatenation", {"Axis": -1})
    check(tmp_path, concat, [a, b, c, make("y", (2, 9))], lsb=0)
    pack = Op("PACK", ["a", "b"], ["y"], "Pack", {"Axis": 1, "ValuesCount": 2})
    check(tmp_path, pack, [a, b, make("y", (2, 2, 3))], lsb=0)
    unpack = Op("UNPACK", ["x"], ["a", "b"], "Unpack", {"Axis": 1, "Num": 2})
    check(tmp_path, unpack, [make("x", (2, 2, 3)), a, b], ["a", "b"], lsb=0)


def test_blocks(tmp_path: Path) -> None:
    back = Op("BATCH_TO_SPACE_ND", ["x", "k", "p"], ["y"])
    rest = [const("k", [2, 3]), const("p", [[0, 2], [1, 1]])]
    check(tmp_path, back, [q("x", (6, 4, 3, 4)), *rest, q("y", (1, 6, 7, 4))], lsb=0)
    deep = Op("SPACE_TO_DEPTH", ["x"], ["y"], "SpaceToDepth", {"BlockSize": 2})
    check(tmp_path, deep, [q("x", (1, 4, 6, 3)), q("y", (1, 2, 3, 12))], lsb=0)
    wide = Op("DEPTH_TO_SPACE", ["x"], ["y"], "DepthToSpace", {"BlockSize": 2})
    check(tmp_path, wide, [q("x", (1, 2, 3, 12)), q("y", (1, 4, 6, 3))], lsb=0)


def test_concat_of_unequal_scales(tmp_path: Path) -> None:
    concat = Op("CONCATENATION", ["a", "b"], ["y"], "Concatenation", {"Axis": 1})
    tensors = [q("a", (2, 3), 0.1, 5, "uint8"), q("b", (2, 3), 0.05, 9, "uint8")]
    check(tmp_path, concat, [*tensors, q("y", (2, 6), 0.08, 30, "uint8")])


@pytest.mark.parametrize("options", [{}, {"HalfPixelCenters": True}, {"AlignCorners": True}])
@pytest.mark.parametrize("make", [T, q])
def test_resize_bilinear(options: dict[str, bool], make: Any, tmp_path: Path) -> None:
    op = Op("RESIZE_BILINEAR", ["x", "s"], ["y"], "ResizeBilinear", options)
    check(tmp_path, op, [make("x", PICTURE), const("s", [9, 14]), make("y", (1, 9, 14, 4))])


def test_shapes_are_constants(tmp_path: Path) -> None:
    ops = [
        Op("SHAPE", ["x"], ["s"], "Shape", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "i", "j", "k"], ["n"], "StridedSlice", {"ShrinkAxisMask": 1}),
        Op("PACK", ["n", "m"], ["t"], "Pack", {"ValuesCount": 2}),
        Op("RESHAPE", ["x", "t"], ["y"]),
    ]
    ends = [const("i", [0]), const("j", [1]), const("k", [1]), const("m", 168)]
    inside = [T("s", (4,), "int32"), T("n", (), "int32"), T("t", (2,), "int32")]
    assert check(tmp_path, ops, [T("x", PICTURE), *ends, *inside, T("y", (1, 168))]) == ["Reshape"]


def test_fill(tmp_path: Path) -> None:
    ops = [Op("FILL", ["s", "v"], ["f"]), Op("ADD", ["x", "f"], ["y"], "Add")]
    rest = [const("s", [2, 3]), const("v", 4.5, "float32"), T("f", (2, 3))]
    check(tmp_path, ops, [T("x", (2, 3)), *rest, T("y", (2, 3))])


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (Op("ADD", ["x", "x"], ["y"], "Add", {"FusedActivationFunction": 5}), "activation 5"),
        (Op("STRIDED_SLICE", ["x"], ["y"], "StridedSlice", {"NewAxisMask": 1}), "new axis"),
        (Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnected", {"WeightsFormat": 1}), "shuffled"),
        (Op("UNIDIRECTIONAL_SEQUENCE_LSTM", ["x"], ["y"]), "UNIDIRECTIONAL_SEQUENCE_LSTM cannot"),
    ],
)
def test_refused(op: Op, words: str, tmp_path: Path) -> None:
    tensors = [T("x", (2, 3)), floats("w", (3, 3)), T("y", (2, 3))]
    with pytest.raises(UnsupportedError, match=re.escape(words)):
        load_tflite(write(tmp_path / "m.tflite", tensors, [op], ["x"], ["y"]), {})


def test_every_translation_has_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [kind for kind in TRANSLATIONS if not re.search(rf"\b{kind}\b", text)] == []
