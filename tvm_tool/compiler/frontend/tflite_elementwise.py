"""TFLite's arithmetic, activations and reductions in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
from onnx import helper

from ...errors import UnsupportedError
from .tflite_builder import TO_NHWC, Builder, needs_scales
from .tflite_linear import picture
from .tflite_tensors import Operator

Translate = Callable[[Builder, Operator], None]

UNARY: Mapping[str, str] = MappingProxyType(
    {
        "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "ELU": "Elu", "EXP": "Exp", "FLOOR": "Floor",
        "HARD_SWISH": "HardSwish", "LOG": "Log", "LOGISTIC": "Sigmoid", "NEG": "Neg", "RELU": "Relu",
        "ROUND": "Round", "SIGN": "Sign", "SIN": "Sin", "SQRT": "Sqrt", "TANH": "Tanh",
    }
)  # fmt: skip
BINARY: Mapping[str, str] = MappingProxyType(
    {
        "ADD": "Add", "DIV": "Div", "MAXIMUM": "Max", "MINIMUM": "Min", "MUL": "Mul", "POW": "Pow",
        "SUB": "Sub", "EQUAL": "Equal", "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual",
        "LESS": "Less", "LESS_EQUAL": "LessOrEqual",
    }
)  # fmt: skip
REDUCTIONS: Mapping[str, str] = MappingProxyType(
    {"MEAN": "ReduceMean", "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin", "REDUCE_PROD": "ReduceProd"}
)


def _unary(kind: str, b: Builder, op: Operator) -> None:
    b.store(op, b.node(kind, [b.real(op, op.x)], op.name))


def _binary(kind: str, b: Builder, op: Operator) -> None:
    b.store(op, b.node(kind, [b.real(op, op.x), b.real(op, op.input(1))], op.name))


def _logical(kind: str, b: Builder, op: Operator) -> None:
    inputs = [b.value(op.input(index)) for index in range(len(op.inputs))]
    b.store(op, b.node(kind, inputs, op.name))


def _clip(kind: str, b: Builder, op: Operator) -> None:
    b.store(op, b.activate(kind, b.real(op, op.x), op.name))


def not_equal(b: Builder, op: Operator) -> None:
    equal = b.node("Equal", [b.real(op, op.x), b.real(op, op.input(1))], f"{op.name}/equal")
    b.store(op, b.node("Not", [equal], op.name))


def square(b: Builder, op: Operator) -> None:
    x = b.real(op, op.x)
    b.store(op, b.node("Mul", [x, x], op.name))


def rsqrt(b: Builder, op: Operator) -> None:
    root = b.node("Sqrt", [b.real(op, op.x)], f"{op.name}/sqrt")
    b.store(op, b.node("Reciprocal", [root], op.name))


def squared_difference(b: Builder, op: Operator) -> None:
    difference = b.node("Sub", [b.real(op, op.x), b.real(op, op.input(1))], f"{op.name}/sub")
    b.store(op, b.node("Mul", [difference, difference], op.name))


def floor_div(b: Builder, op: Operator) -> None:
    _floats_only(op)
    quotient = b.node("Div", [b.real(op, op.x), b.real(op, op.input(1))], f"{op.name}/div")
    b.store(op, b.node("Floor", [quotient], op.name))


def _floats_only(op: Operator) -> None:
    if op.x.dtype != np.float32:
        raise UnsupportedError(f"it computes in {op.x.dtype}", where=op.label, expected="float32")


def add_n(b: Builder, op: Operator) -> None:
    inputs = [b.real(op, op.input(index)) for index in range(len(op.inputs))]
    b.store(op, b.node("Sum", inputs, op.name))


def leaky_relu(b: Builder, op: Operator) -> None:
    b.store(op, b.node("LeakyRelu", [b.real(op, op.x)], op.name, alpha=float(op.option("Alpha"))))


def prelu(b: Builder, op: Operator) -> None:
    """PRELU: the slopes have a value for each channel, or one more for each place."""
    slopes = op.input(1)
    if op.x.rank != 4 or slopes.rank not in (1, 3):
        b.store(op, b.node("PRelu", [b.real(op, op.x), b.real(op, slopes)], op.name))
        return
    array = b.contents(op, 1).reshape((1,) * (3 - slopes.rank) + slopes.shape).transpose(2, 0, 1)
    x = picture(b, op)
    b.store(op, b.node("PRelu", [x, b.weights(op, slopes, array, 0)], op.name), TO_NHWC)


def gelu(b: Builder, op: Operator) -> None:
    """GELU, by the error function or by its approximation with tanh."""

    def number(value: float, name: str) -> str:
        return b.literal(value, f"{op.name}/{name}", np.float32)

    def node(kind: str, *inputs: str) -> str:
        return b.node(kind, list(inputs), f"{op.name}/{kind.lower()}")

    x = b.real(op, op.x)
    if op.option("Approximate"):
        cube = node("Mul", node("Mul", node("Mul", x, x), x), number(0.044715, "cubic"))
        gate = node("Tanh", node("Mul", node("Add", x, cube), number(np.sqrt(2 / np.pi), "factor")))
    else:
        gate = node("Erf", node("Mul", x, number(np.sqrt(0.5), "factor")))
    half = node("Mul", x, number(0.5, "half"))
    b.store(op, b.node("Mul", [half, node("Add", gate, number(1.0, "one"))], op.name))


def softmax(b: Builder, op: Operator) -> None:
    beta, scales = np.float32(op.option("Beta")), op.x.scales
    if beta == 1.0:
        x = b.real(op, op.x)
    elif scales is not None and needs_scales(op, op.x):  # a factor of the scale, as TFLite takes it
        scaled = replace(op.x, scales=replace(scales, scale=scales.scale * beta))
        x = b.dequantise(op, scaled, b.value(op.x))
    else:
        factor = b.literal(beta, f"{op.name}/beta", np.float32)
        x = b.node("Mul", [b.real(op, op.x), factor], f"{op.name}/scale")
    b.store(op, b.node("Softmax", [x], op.name, axis=-1))


def log_softmax(b: Builder, op: Operator) -> None:
    b.store(op, b.node("LogSoftmax", [b.real(op, op.x)], op.name, axis=-1))


def _reduction(kind: str, b: Builder, op: Operator) -> None:
    axes = [op.checked_axis(int(a), op.x.rank) for a in b.contents(op, 1).reshape(-1)]
    keep = int(bool(op.option("KeepDims")))
    b.store(op, b.node(kind, [b.real(op, op.x)], op.name, axes=axes, keepdims=keep))


def sum_(b: Builder, op: Operator) -> None:
    axes = b.literal(b.contents(op, 1).reshape(-1), f"{op.name}/axes")
    keep = int(bool(op.option("KeepDims")))
    b.store(op, b.node("ReduceSum", [b.real(op, op.x), axes], op.name, keepdims=keep))


def _arg(kind: str, b: Builder, op: Operator) -> None:
    """Compares the numbers themselves: scales are positive."""
    axis = op.checked_axis(int(b.contents(op, 1).reshape(())), op.x.rank)
    index = b.node(kind, [b.value(op.x)], op.name, axis=axis, keepdims=0)
    assert op.y.dtype is not None
    elem = helper.np_dtype_to_tensor_dtype(op.y.dtype)
    b.keep(op.y, b.node("Cast", [index], f"{op.name}/cast", to=elem))


def l2_normalization(b: Builder, op: Operator) -> None:
    x = b.real(op, op.x)
    norm = b.node("ReduceL2", [x], f"{op.name}/norm", axes=[op.x.rank - 1], keepdims=1)
    least = b.node("Max", [norm, b.literal(1e-6, f"{op.name}/least", np.float32)], f"{op.name}/max")
    b.store(op, b.node("Div", [x, least], op.name))


def local_response_normalization(b: Builder, op: Operator) -> None:
    size = 2 * int(op.option("Radius")) + 1
    value = b.node(
        "LRN",
        [picture(b, op)],
        op.name,
        size=size,
        alpha=float(op.option("Alpha")) * size,
        beta=float(op.option("Beta")),
        bias=float(op.option("Bias")),
    )
    b.store(op, value, TO_NHWC)


def cumsum(b: Builder, op: Operator) -> None:
    axis = b.literal(op.checked_axis(int(b.contents(op, 1).reshape(())), op.x.rank), f"{op.name}/axis")
    flags = {"exclusive": int(op.option("Exclusive")), "reverse": int(op.option("Reverse"))}
    b.store(op, b.node("CumSum", [b.real(op, op.x), axis], op.name, **flags))


def cast(b: Builder, op: Operator) -> None:
    """CAST converts the numbers as they stand."""
    if op.y.dtype is None:
        raise UnsupportedError(op.y.unusable or "it is no number", where=op.y.label)
    elem = helper.np_dtype_to_tensor_dtype(op.y.dtype)
    b.keep(op.y, b.node("Cast", [b.value(op.x)], op.name, to=elem))


def dequantize(b: Builder, op: Operator) -> None:
    """DEQUANTIZE; of a constant: weights kept in few bits, which are float constants from here on."""
    if op.x.dtype == np.float16:
        b.constants[op.y.index] = b.contents(op, 0).astype(np.float32)
    else:
        b.store(op, b.real(op, op.x))


def quantize(b: Builder, op: Operator) -> None:
    b.store(op, b.real(op, op.x))


TRANSLATIONS: Mapping[str, Translate] = MappingProxyType(
    {
        **{name: partial(_unary, kind) for name, kind in UNARY.items()},
        **{name: partial(_binary, kind) for name, kind in BINARY.items()},
        **{name: partial(_reduction, kind) for name, kind in REDUCTIONS.items()},
        **{name: partial(_clip, name) for name in ("RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")},
        "ADD_N": add_n,
        "ARG_MAX": partial(_arg, "ArgMax"),
        "ARG_MIN": partial(_arg, "ArgMin"),
        "CAST": cast,
        "CUMSUM": cumsum,
        "DEQUANTIZE": dequantize,
        "FLOOR_DIV": floor_div,
        "GELU": gelu,
        "L2_NORMALIZATION": l2_normalization,
        "LEAKY_RELU": leaky_relu,
        "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
        "LOGICAL_AND": partial(_logical, "And"),
        "LOGICAL_NOT": partial(_logical, "Not"),
        "LOGICAL_OR": partial(_logical, "Or"),
        "LOG_SOFTMAX": log_softmax,
        "NOT_EQUAL": not_equal,
        "PRELU": prelu,
        "QUANTIZE": quantize,
        "RSQRT": rsqrt,
        "SOFTMAX": softmax,
        "SQUARE": square,
        "SQUARED_DIFFERENCE": squared_difference,
        "SUM": sum_,
    }
)
"""Operators by their names in the TFLite schema."""
