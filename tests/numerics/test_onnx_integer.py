"""Single ONNX operators between Q/DQ through the whole compiler: in integers, with the bits of onnxruntime.

Scales are irregular: where a result lies exactly between two numbers, onnxruntime's own rounding
errors decide.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.numerics.onnx_cases import Case, Q, check, compare

RNG = np.random.default_rng(0)
ALL = Q((4, 64), 0.0473)  # every number once
PICTURE = Q((1, 4, 6, 7), 0.0473)
LINE = Q((1, 4, 19), 0.0473)
OUT = (Q(scale=0.0617, zero=-7),)
SAME = (Q(scale=0.0473),)


def fixed(*shape: int, axis: int | None = None, zero: int = 0) -> Q:
    """Constant numbers."""
    return Q(shape, 0.00813, zero, "int8", RNG.integers(-127, 128, shape), axis)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def test_convolutions_of_lines_and_transposed_ones(tmp_path: Path) -> None:
    unsigned, out = Q((1, 4, 19), 0.0473, 130, "uint8"), (Q((), 0.0617, 99, "uint8"),)
    check(
        [
            Case("Conv", [LINE, fixed(5, 4, 3, axis=0)], {"strides": [2], "pads": [1, 2]}, OUT),
            Case("Conv", [LINE, fixed(4, 1, 3, axis=0)], {"group": 4, "dilations": [2]}, OUT),
            Case("Conv", [unsigned, fixed(5, 4, 1, zero=3)], {}, out),
            Case(
                "ConvTranspose",
                [PICTURE, fixed(4, 3, 3, 3, axis=1)],
                {"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 0]},
                OUT,
            ),
            Case("ConvTranspose", [PICTURE, fixed(4, 3, 2, 3)], {"strides": [3, 1], "group": 2}, OUT),
            Case(
                "ConvTranspose", [PICTURE, fixed(4, 3, 3, 2)], {"strides": [1, 2], "dilations": [2, 1]}, OUT
            ),
            Case("ConvTranspose", [unsigned, fixed(4, 3, 3, zero=5)], {"strides": [2]}, OUT),
        ],
        tmp_path,
    )


def test_biases_between_two_units_of_the_sums(tmp_path: Path) -> None:
    """Sums are few and outputs fine, so that nearly every sum stands next to a threshold."""
    rng = np.random.default_rng(3)

    def few(*shape: int, axis: int | None = None) -> Q:
        return Q(shape, 0.00813, 0, "int8", rng.integers(-3, 4, shape), axis)

    out = (Q((), 0.0029, -7),)
    picture, rows = Q((8, 4, 9, 7), 0.0473), Q((300, 4), 0.0473)

    def bias(*shape: int) -> Any:
        return rng.uniform(-0.02, 0.02, shape).astype(np.float32)

    check(
        [
            Case("Conv", [picture, few(5, 4, 1, 1, axis=0)], {}, out, bias=bias(5, 1, 1)),
            Case(
                "Conv",
                [picture, few(4, 1, 3, 3)],
                {"group": 4, "pads": [1, 1, 1, 1]},
                out,
                bias=bias(4, 1, 1),
            ),
            Case("ConvTranspose", [picture, few(4, 6, 2, 2)], {"strides": [2, 2]}, out, bias=bias(6, 1, 1)),
            Case("Gemm", [rows, few(6, 4, axis=0)], {"transB": 1}, out, bias=bias(6)),
        ],
        tmp_path,
    )


def test_sums_that_are_no_biases(tmp_path: Path) -> None:
    """As long as the channels, but along another axis."""
    rng = np.random.default_rng(4)

    def vector(*shape: int) -> Any:
        return rng.uniform(-3, 3, shape).astype(np.float32)

    weights = fixed(4, 3, 1, 1)
    cases = [
        Case("Conv", [Q((1, 3, 5, 4), 0.0473), weights], {}, OUT, bias=vector(4)),
        Case("Conv", [Q((1, 3, 4, 5), 0.0473), weights], {}, OUT, bias=vector(4, 1)),
        Case("Conv", [Q((4, 3, 2, 5), 0.0473), weights], {}, OUT, bias=vector(4, 1, 1, 1)),
        Case("MatMul", [Q((2, 5, 4), 0.0473), fixed(4, 5)], {}, OUT, bias=vector(5, 1)),
    ]
    assert [one for one in compare(cases, tmp_path) if one.wrong] == []


def test_pools_and_reductions(tmp_path: Path) -> None:
    cases = [
        Case("AveragePool", [LINE], {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}, OUT),
        Case("MaxPool", [LINE], {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}, OUT),
        Case("GlobalAveragePool", [LINE], {}, OUT),
        Case("GlobalAveragePool", [PICTURE], {}, SAME),
        Case("GlobalMaxPool", [PICTURE], {}, OUT),
    ]
    for axes, keep in (((2, 3), 1), ((1,), 0), ((3,), 1), ((1, 3), 0), ((0, 1, 2, 3), 0)):
        cases += [
            Case(operator, [PICTURE, ints(*axes)], {"keepdims": keep}, out)
            for operator, out in (
                ("ReduceMean", OUT),
                ("ReduceMax", OUT),
                ("ReduceMin", OUT),
                ("ReduceMax", SAME),
                ("ReduceSum", (Q((), 0.5137),)),
            )
        ]
    check(cases, tmp_path)


def test_matrix_products(tmp_path: Path) -> None:
    left, right = Q((2, 3, 4), 0.0473), Q((2, 4, 5), 0.0213, 1)
    bias = RNG.integers(-500, 500, 5)
    exact = (bias * (np.float64(np.float32(0.0473)) * np.float32(0.0213))).astype(np.float32)
    check(
        [
            Case("MatMul", [left, Q((1, 4, 5), 0.0213)], {}, OUT),
            Case("MatMul", [Q((1, 3, 4), 0.0473), right], {}, OUT),
            Case("MatMul", [left, fixed(2, 4, 5)], {}, OUT),
            Case("MatMul", [left, fixed(4, 5, axis=1)], {}, OUT),
            Case("MatMul", [fixed(3, 4), right], {}, OUT),
            Case("MatMul", [left, Q((4, 5), 0.0213)], {}, OUT, bias=exact),
            Case("Gemm", [Q((2, 4), 0.0473), fixed(5, 4, axis=0)], {"transB": 1}, OUT),
        ],
        tmp_path,
    )


def test_operators_of_two_inputs(tmp_path: Path) -> None:
    whole = Q((2, 3, 5), 0.0473)
    cases = [
        Case(operator, [whole, Q(shape, 0.0213, -7)], {}, OUT)
        for operator in ("Add", "Sub", "Mul", "Max", "Min")
        for shape in ((2, 3, 5), (5,), (3, 1))
    ]
    cases += [Case(o, [fixed(3, 1), whole], {}, OUT) for o in ("Add", "Sub", "Mul", "Max", "Min")]
    cases += [
        Case(o, [whole, np.array(0.7, np.float32)], {}, OUT)
        for o in ("Add", "Sub", "Mul", "Div", "Max", "Min")
    ]
    cases += [Case("PRelu", [PICTURE, fixed(*shape)], {}, OUT) for shape in ((4, 1, 1), (1,), (4, 6, 7))]
    check(cases, tmp_path)


def test_functions_of_one_value(tmp_path: Path) -> None:
    operators = (
        "HardSwish LeakyRelu Elu Exp Sigmoid Tanh Erf Softplus Softsign Sqrt Reciprocal Log Neg Abs Sign "
        "HardSigmoid Selu Mish Celu Relu Floor Ceil Round Sin Cos Identity"
    ).split()
    cases = [Case(operator, [ALL], {}, OUT) for operator in operators]
    limits = [np.array(limit, np.float32) for limit in (-1.0, 2.0)]
    cases.append(Case("Clip", [ALL, *limits], {}, OUT))
    check(cases, tmp_path)


def test_moves(tmp_path: Path) -> None:
    cases = [
        Case("Slice", [PICTURE, ints(1, 0), ints(5, 7), ints(2, 3), ints(1, 2)], {}, OUT),
        Case("Transpose", [PICTURE], {"perm": [0, 2, 3, 1]}, OUT),
        Case("Tile", [PICTURE, ints(1, 2, 1, 3)], {}, OUT),
        Case("Gather", [PICTURE, ints(0, 2, 2)], {"axis": 2}, OUT),
        Case("Expand", [Q((1, 4, 1, 7), 0.0473), ints(2, 4, 3, 7)], {}, OUT),
        Case("DepthToSpace", [PICTURE], {"blocksize": 2}, OUT),
        Case("Pad", [PICTURE, ints(0, 0, 1, 2, 0, 1, 0, 3)], {}, OUT),
        Case("Pad", [PICTURE, ints(0, 0, 1, 2, 0, 1, 0, 3)], {}, SAME),
        Case("Concat", [ALL, Q((4, 4), 0.0213, 7), fixed(4, 1)], {"axis": 1}, OUT),
        Case("Split", [ALL, ints(20, 44)], {"axis": 1}, (*SAME, *OUT)),
        Case("Softmax", [Q((2, 9, 3), 0.0473)], {"axis": 1}, (Q((), 1 / 256, -128),)),
    ]
    for height, width in ((12, 14), (9, 5)):
        for where, mode in (("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")):
            attributes = {"coordinate_transformation_mode": where, "nearest_mode": mode}
            cases.append(Case("Resize", [PICTURE, None, None, ints(1, 4, height, width)], attributes, OUT))
    check(cases, tmp_path)


def test_what_stays_in_float_is_named(tmp_path: Path) -> None:
    vector = np.array([0.7, 0.2, -0.3, 0.4, 0.5], np.float32)
    pads = ints(0, 0, 1, 2, 0, 1, 0, 3)
    cases = {
        "not all that goes into add is quantised with one scale": Case(
            "Add", [Q((2, 3, 5), 0.0473), vector], {}, OUT
        ),
        "there is no integer kernel for pad": Case(
            "Pad", [PICTURE, pads, np.array(0.07, np.float32)], {}, OUT
        ),
        "there is no integer kernel for log_softmax": Case("LogSoftmax", [ALL], {"axis": 1}, OUT),
        "its output is not int8 or uint8 with one scale": Case(
            "Relu", [PICTURE], {}, (Q((), 0.0617, 0, "int8", np.zeros((1, 4, 1, 1)), axis=1),)
        ),
    }
    found = compare(list(cases.values()), tmp_path)
    assert [one.reason for one in found] == list(cases)
    assert max(one.worst for one in found) <= 1
