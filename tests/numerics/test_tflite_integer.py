"""Single int8 TFLite operators through the whole compiler: in integers, with the bits of LiteRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")

from tests.numerics.tflite_cases import Case, check, compare, q
from tests.support.host import build
from tests.unit.tflite_files import Op, T, const, write
from tvm_tool.target.tflm import tflm_outputs

RNG = np.random.default_rng(7)
ALL = (4, 64)  # every number once
PICTURE = (1, 6, 7, 4)
Scales = Sequence[tuple[float, int, float, int]]

# Scale and zero point of input and output.
USUAL: Scales = (
    (0.05, 3, 0.04, -10),
    (0.02, -128, 0.011, -128),
    (0.1, 10, 0.03, 0),
    (0.0235, -5, 0.0235, -5),
    (1 / 256, -128, 1 / 640, -128),  # halves, and no clamp of RELU6
)
POSITIVE: Scales = ((0.05, -128, 0.02, -128), (0.5, -128, 0.0123, -100), (0.001, -128, 0.13, 5))


def into(scale: float, zero: int) -> Scales:
    """To a quantisation that the operator prescribes."""
    return [
        (0.05, 3, scale, zero),
        (0.02, -128, scale, zero),
        (0.11, 17, scale, zero),
        (0.004, 0, scale, zero),
    ]


UNARY: Mapping[str, tuple[Scales, str, Mapping[str, Any]]] = {
    "LOGISTIC": (into(1 / 256, -128), "", {}),
    "TANH": (into(1 / 128, 0), "", {}),
    "HARD_SWISH": (USUAL, "", {}),
    "LEAKY_RELU": (USUAL, "LeakyRelu", {"Alpha": 0.3}),
    "RELU": (USUAL, "", {}),
    "RELU6": (USUAL, "", {}),
    "RELU_N1_TO_1": (USUAL, "", {}),
    "RELU_0_TO_1": (USUAL, "", {}),
    "GELU": (USUAL, "Gelu", {"Approximate": False}),
    "EXP": (USUAL, "", {}),
    "LOG": (POSITIVE, "", {}),
    "SQRT": (POSITIVE, "", {}),
    "RSQRT": (POSITIVE, "", {}),
    "ABS": (USUAL, "", {}),
    "QUANTIZE": (USUAL, "", {}),
}


def test_functions_of_one_value(tmp_path: Path) -> None:
    cases = [
        Case(Op(kind, ["x"], ["y"], table, options), [q("x", ALL, xs, xz), q("y", ALL, ys, yz)])
        for kind, (scales, table, options) in UNARY.items()
        for xs, xz, ys, yz in scales
    ]
    for alpha in (0.01, -0.7, 1.5):
        op = Op("LEAKY_RELU", ["x"], ["y"], "LeakyRelu", {"Alpha": alpha})
        cases.append(Case(op, [q("x", ALL), q("y", ALL, 0.031, 5)]))
    approximate = Op("GELU", ["x"], ["y"], "Gelu", {"Approximate": True})
    cases.append(Case(approximate, [q("x", ALL), q("y", ALL, 0.031, 5)]))
    # Rounded twice: 121 times 0.4 is 49.
    cases.append(Case(Op("ABS", ["x"], ["y"]), [q("x", ALL, 0.0416667, -3), q("y", ALL, 0.104167, -3)]))
    check(cases, tmp_path)


def two(kind: str, table: str, left: tuple[int, ...], right: tuple[int, ...], code: int = 0) -> Case:
    options = {"FusedActivationFunction": code} if code else {}
    out = tuple(np.broadcast_shapes(left, right))
    tensors = [q("x", left), q("w", right, 0.02, -7), q("y", out, 0.07, 11)]
    if table == "MaximumMinimum":  # TFLite wants them alike
        tensors = [q("x", left), q("w", right), q("y", out)]
    return Case(Op(kind, ["x", "w"], ["y"], table, options), tensors)


def test_operators_of_two_inputs(tmp_path: Path) -> None:
    tables = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "SQUARED_DIFFERENCE": "SquaredDifference"}
    shapes = [((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (5,)), ((1, 5), (4, 3, 1)), ((2, 1, 5), (1, 3, 1))]
    cases = [two(kind, table, *pair) for kind, table in tables.items() for pair in shapes]
    cases += [two(kind, "MaximumMinimum", *pair) for kind in ("MAXIMUM", "MINIMUM") for pair in shapes[:2]]
    cases += [two(kind, kind.capitalize(), *shapes[0], code=c) for kind in ("ADD", "MUL") for c in (1, 2, 3)]
    for shape in ((1, 1, 4), (6, 7, 4)):
        slopes = const("a", RNG.integers(-127, 128, shape), "int8", scale=0.01, zero=2)
        tensors = [q("x", PICTURE), slopes, q("y", PICTURE, 0.06, -3)]
        cases.append(Case(Op("PRELU", ["x", "a"], ["y"]), tensors))
    check(cases, tmp_path)


def reductions(kinds: Sequence[str]) -> list[Case]:
    axes: list[tuple[list[int], bool, tuple[int, ...]]] = [
        ([1, 2], True, (1, 1, 1, 4)),
        ([1, 2], False, (1, 4)),
        ([3], False, (1, 6, 7)),
        ([1], True, (1, 1, 7, 4)),
        ([1, 3], False, (1, 7)),
        ([1, 2, 3], False, (1,)),
    ]
    cases = []
    for kind in kinds:
        for over, keep, out in axes:
            for scale, zero in [(0.05, 3)] if "REDUCE" in kind else [(0.05, 3), (0.031, -9), (0.4, 1)]:
                op = Op(kind, ["x", "a"], ["y"], "Reducer", {"KeepDims": keep})
                cases.append(Case(op, [q("x", PICTURE), const("a", over), q("y", out, scale, zero)]))
    return cases


def test_reductions(tmp_path: Path) -> None:
    check(reductions(["MEAN", "REDUCE_MAX", "REDUCE_MIN"]), tmp_path)


def test_sums(tmp_path: Path) -> None:
    """The reference kernel answers -1 whatever it is given."""
    cases = [c for c in reductions(["SUM"]) if c.tensors[-1].scale != 0.05]
    found = compare(cases, tmp_path, optimised=True)
    assert [one for one in found if one.reason or one.worst > 1] == []


@pytest.mark.parametrize(("aligned", "half"), [(0, 0), (1, 0), (0, 1)])
def test_resizing(aligned: int, half: int, tmp_path: Path) -> None:
    options = {"AlignCorners": aligned, "HalfPixelCenters": half}
    cases = []
    for kind, table in (
        ("RESIZE_BILINEAR", "ResizeBilinear"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"),
    ):
        for height, width in ((12, 14), (5, 3), (6, 7), (13, 9)):
            tensors = [q("x", PICTURE), const("s", [height, width]), q("y", (1, height, width, 4))]
            cases.append(Case(Op(kind, ["x", "s"], ["y"], table, options), tensors))
    check(cases, tmp_path)


def weights(shape: tuple[int, ...], axis: int) -> T:
    count = shape[axis]
    data = RNG.integers(-127, 128, shape).astype(np.int8)
    return T("w", shape, "int8", data, list(RNG.uniform(0.001, 0.01, count)), [0] * count, axis)


def test_transposed_convolutions(tmp_path: Path) -> None:
    """Padding 0 is SAME, 1 is VALID."""
    cases = []
    for padding, out, strides, kernel in (
        (0, (12, 14), (2, 2), (2, 2)),
        (0, (12, 14), (2, 2), (3, 3)),
        (0, (11, 14), (2, 2), (3, 3)),
        (0, (18, 28), (3, 4), (3, 3)),
        (1, (13, 15), (2, 2), (3, 3)),
        (1, (19, 8), (3, 1), (4, 2)),
        (1, (18, 27), (3, 4), (3, 3)),
    ):
        shape = (1, *out, 3)
        options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
        tensors = [const("s", shape), weights((3, *kernel, 4), 0), q("x", PICTURE), q("y", shape, 0.03, -4)]
        cases.append(Case(Op("TRANSPOSE_CONV", ["s", "w", "x"], ["y"], "TransposeConv", options), tensors))
    packed = cases[1].tensors[1]
    assert isinstance(packed.scale, list)
    scales = [float(np.float32(0.05) * np.float32(s)) for s in packed.scale]
    bias = const("b", RNG.integers(-999, 999, 3), scale=scales, zero=[0] * 3)
    op = Op("TRANSPOSE_CONV", ["s", "w", "x", "b"], ["y"], "TransposeConv", dict(cases[1].op.options))
    cases.append(Case(op, [*cases[1].tensors, bias]))
    check(cases, tmp_path)


def test_matrix_products(tmp_path: Path) -> None:
    def product(adjoint: bool, left: Sequence[int], right: T, out: Sequence[int]) -> Case:
        op = Op("BATCH_MATMUL", ["x", "w"], ["y"], "BatchMatMul", {"AdjX": False, "AdjY": adjoint})
        return Case(op, [q("x", left), right, q("y", out, 0.1, 1)])

    def fixed(*shape: int) -> T:
        return const("w", RNG.integers(-127, 128, shape), "int8", scale=0.02)

    cases = [
        product(False, (2, 3, 4), q("w", (2, 4, 5), 0.02, -7), (2, 3, 5)),
        product(True, (2, 3, 4), q("w", (2, 5, 4), 0.02, -7), (2, 3, 5)),
        product(False, (2, 3, 4), q("w", (1, 4, 5), 0.02, -7), (2, 3, 5)),
        product(False, (1, 3, 3, 4), q("w", (2, 1, 4, 5), 0.02, -7), (2, 3, 3, 5)),
        product(False, (2, 3, 4), fixed(4, 5), (2, 3, 5)),
        product(False, (2, 3, 4), fixed(2, 4, 5), (2, 3, 5)),
        Case(
            Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnected"),
            [q("x", (2, 8)), q("w", (5, 8), 0.02, 0), q("y", (2, 5), 0.1, 1)],
        ),
    ]
    check(cases, tmp_path)


def test_pieces_and_borders(tmp_path: Path) -> None:
    window = {"Padding": 0, "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3}
    pads = const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])
    unsigned = [q("x", (2, 3, 5), 0.05, 120, "uint8"), q("w", (2, 4, 5), 0.02, 7, "uint8")]
    along = Op("CONCATENATION", ["x", "w"], ["y"], "Concatenation", {"Axis": 1})
    cases = [
        Case(along, [q("x", (2, 3, 5)), q("w", (2, 4, 5)), q("y", (2, 7, 5))]),
        Case(along, [*unsigned, q("y", (2, 7, 5), 0.06, 1, "uint8")]),
        Case(
            Op("SPLIT", ["a", "x"], ["y", "z"], "Split", {"NumSplits": 2}),
            [const("a", 1), q("x", (2, 6)), q("y", (2, 3)), q("z", (2, 3))],
        ),
        Case(Op("PAD", ["x", "p"], ["y"]), [q("x", PICTURE), pads, q("y", (1, 9, 10, 4))]),
        Case(
            Op("PADV2", ["x", "p", "v"], ["y"]),
            [q("x", PICTURE), pads, const("v", -7, "int8", scale=0.05, zero=3), q("y", (1, 9, 10, 4))],
        ),
        *(
            Case(
                Op(kind, ["x"], ["y"], "Pool2D", {**window, "FusedActivationFunction": code}),
                [q("x", PICTURE), q("y", (1, 3, 4, 4))],
            )
            for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
            for code in (0, 1, 3)
        ),
        Case(
            Op("SOFTMAX", ["x"], ["y"], "Softmax", {"Beta": 1.0}),
            [q("x", ALL), q("y", ALL, 1 / 256, -128)],
        ),
    ]
    check(cases, tmp_path)


def test_what_stays_in_float_is_named(tmp_path: Path) -> None:
    cases = [
        Case(Op("LOG_SOFTMAX", ["x"], ["y"]), [q("x", ALL), q("y", ALL, 16 / 256, 127)]),
        Case(Op("L2_NORMALIZATION", ["x"], ["y"], "L2Norm"), [q("x", ALL), q("y", ALL, 1 / 128, 0)]),
    ]
    found = compare(cases, tmp_path)
    assert [one.reason for one in found] == [
        "there is no integer kernel for log_softmax",
        "there is no integer kernel for divide",
    ]
    assert max(one.worst for one in found) <= 1


DIVISION = {
    ("LOGISTIC", (1 / 128, 0), (1 / 256, -128), 1): (1, 0),
    ("TANH", (1 / 256, 5), (1 / 128, 0), 4): (-1, 0),
    ("RELU", (0.125, 0), (0.05, -128), 1): (-126, -125),
    ("LEAKY_RELU", (0.03125, -128), (0.0125, -39), -127): (-37, -36),
    ("ABS", (0.011544158582340973, 127), (0.004617663432936389, 0), 78): (122, 123),
}
"""Where TensorFlow Lite Micro, which comes first, and LiteRT give other numbers; recorded from both."""


@pytest.mark.parametrize(("case", "wanted"), DIVISION.items(), ids=[c[0] for c in DIVISION])
def test_micro_and_litert_differ(
    case: tuple[str, tuple[float, int], tuple[float, int], int], wanted: tuple[int, int], tmp_path: Path
) -> None:
    kind, x, y, number = case
    table, options = ("LeakyRelu", {"Alpha": 0.1}) if kind == "LEAKY_RELU" else ("", {})
    tensors = [q("x", ALL, *x), q("y", ALL, *y)]
    path = write(tmp_path / "m.tflite", tensors, [Op(kind, ["x"], ["y"], table, options)], ["x"], ["y"])
    data = {"x": np.full(ALL, number, np.int8)}
    for rounding, want in zip(("tflm", "litert"), wanted, strict=True):
        [[got]] = build(path, tmp_path / rounding, rounding=rounding).run([data])
        assert set(got.ravel().tolist()) == {want}, rounding


MICRO = ("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "RELU", "ABS", "QUANTIZE")


def test_functions_of_one_value_as_micro_computes_them(tmp_path: Path) -> None:
    """Every number, under scales whose quotients end in halves and others."""
    pytest.importorskip("tflite_micro")
    rng = np.random.default_rng(4)
    tensors: list[T] = []
    ops: list[Op] = []
    for kind in MICRO:
        prescribed = UNARY[kind][0] if kind in ("LOGISTIC", "TANH") else None
        for _ in range(12):
            scale = float(rng.choice([2.0 ** -int(rng.integers(3, 9)), rng.uniform(0.001, 0.2)]))
            zero, other = (int(rng.choice([-128, 0, 127, int(rng.integers(-128, 128))])) for _ in range(2))
            made = scale * float(rng.choice([1.0, 0.4, 2.5, rng.uniform(0.2, 4.0)])), other
            names = f"x{len(ops)}", f"y{len(ops)}"
            tensors += [
                q(names[0], ALL, scale, zero),
                q(names[1], ALL, *(prescribed[0][2:] if prescribed else made)),
            ]
            ops.append(Op(kind, [names[0]], [names[1]], UNARY[kind][1], UNARY[kind][2]))
    inputs, outputs = [op.inputs[0] for op in ops], [op.outputs[0] for op in ops]
    path = write(tmp_path / "m.tflite", tensors, ops, inputs, outputs)
    sample = {name: np.arange(-128, 128).reshape(ALL).astype(np.int8) for name in inputs}
    wanted = tflm_outputs(path, [sample], outputs)
    assert wanted is not None
    [got] = build(path, tmp_path / "built", rounding="tflm").run([sample])
    assert [op.kind for op, g, w in zip(ops, got, wanted[0], strict=True) if (g != w).any()] == []
