"""One TFLite operator each: float and int8, with its options varied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.unit.tflite_files import Op, T, const

Make = Callable[..., T]
PICTURE = (1, 6, 7, 5)
ODD = (1, 5, 9, 3)
RNG = np.random.default_rng(3)


@dataclass(frozen=True)
class Case:
    """Operator `op` on `tensors`; those without data that it reads are inputs. `low`, `high`: of floats."""

    name: str
    op: Op
    tensors: Sequence[T]
    low: float = -3.0
    high: float = 3.0


def q(name: str, shape: Sequence[int], scale: float = 0.05, zero: int = 3) -> T:
    """An int8 tensor."""
    return T(name, shape, "int8", scale=scale, zero=zero)


def f(name: str, shape: Sequence[int], *_quantization: float) -> T:
    """A float tensor."""
    return T(name, shape)


MAKERS: Mapping[str, Make] = {"float": f, "int8": q}


def weights(kind: str, shape: Sequence[int], axis: int | None) -> T:
    """Weights `w`; int8 ones with a scale for each channel along `axis`, one for all without."""
    if kind == "float":
        return T("w", shape, data=RNG.standard_normal(shape).astype(np.float32))
    data = RNG.integers(-127, 128, shape).astype(np.int8)
    if axis is None:
        return T("w", shape, "int8", data, scale=0.006)
    scales = list(RNG.uniform(0.001, 0.01, shape[axis]))
    return T("w", shape, "int8", data, scale=scales, zero=[0] * len(scales), axis=axis)


def bias(kind: str, count: int, made: T) -> T:
    """The bias `b` for weights `made`; its scale is that of the input times the weights'."""
    if kind == "float":
        return T("b", (count,), data=RNG.standard_normal(count).astype(np.float32))
    scales = (0.05 * np.array(made.scale, np.float64).reshape(-1)).tolist()
    return const("b", RNG.integers(-999, 999, count), scale=scales, zero=[0] * len(scales))


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, make in MAKERS.items():
        for part in (_windows, _products, _unary, _binary, _reductions, _movement, _pieces):
            yield from part(kind, make)
    yield from _float_only()
    yield from _conversions()


def _windows(kind: str, make: Make) -> Iterator[Case]:
    for padding in (0, 1):
        for stride, dilation in ((1, 1), (2, 1), (1, 2)):
            for activation in (0, 1, 3):
                options = {
                    "Padding": padding, "StrideH": stride, "StrideW": stride, "DilationHFactor": dilation,
                    "DilationWFactor": dilation, "FusedActivationFunction": activation,
                }  # fmt: skip
                out = [
                    _size(s, k, padding, stride, dilation) for s, k in zip(PICTURE[1:3], (3, 2), strict=True)
                ]
                tail = f"{'same' if padding == 0 else 'valid'}_s{stride}_d{dilation}_a{activation}_{kind}"
                w = weights(kind, (3, 3, 2, 5), 0)
                conv = Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2D", options)
                y = make("y", (1, *out, 3), 0.2, -9)
                yield Case(f"conv_2d_{tail}", conv, [make("x", PICTURE), w, bias(kind, 3, w), y])
                for multiplier in (1, 2):
                    channels = 5 * multiplier
                    w = weights(kind, (1, 3, 2, channels), 3)
                    more = {**options, "DepthMultiplier": multiplier}
                    op = Op("DEPTHWISE_CONV_2D", ["x", "w", "b"], ["y"], "DepthwiseConv2D", more)
                    y = make("y", (1, *out, channels), 0.1, 4)
                    yield Case(
                        f"depthwise_conv_2d_m{multiplier}_{tail}",
                        op,
                        [make("x", PICTURE), w, bias(kind, channels, w), y],
                    )
    for padding in (0, 1):
        for stride in (1, 2):
            out = [(s - 1) * stride + 3 if padding else s * stride for s in PICTURE[1:3]]
            op = Op("TRANSPOSE_CONV", ["s", "w", "x"], ["y"], "TransposeConv",
                    {"Padding": padding, "StrideH": stride, "StrideW": stride})  # fmt: skip
            w = weights(kind, (3, 3, 3, 5), 0)
            tensors = [const("s", [1, *out, 3]), w, make("x", PICTURE), make("y", (1, *out, 3), 0.3, 2)]
            yield Case(f"transpose_conv_{'valid' if padding else 'same'}_s{stride}_{kind}", op, tensors)
            for pool in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
                for activation in (0, 1):
                    options = {"Padding": padding, "StrideH": stride, "StrideW": stride, "FilterHeight": 3,
                               "FilterWidth": 2, "FusedActivationFunction": activation}  # fmt: skip
                    out = [_size(s, k, padding, stride, 1) for s, k in zip(ODD[1:3], (3, 2), strict=True)]
                    name = f"{pool.lower()}_{'valid' if padding else 'same'}_s{stride}_a{activation}_{kind}"
                    op = Op(pool, ["x"], ["y"], "Pool2D", options)
                    yield Case(name, op, [make("x", ODD), make("y", (1, *out, 3))])


def _size(size: int, kernel: int, padding: int, stride: int, dilation: int) -> int:
    reach = (kernel - 1) * dilation + 1 if padding else 1
    return (size - reach) // stride + 1


def _products(kind: str, make: Make) -> Iterator[Case]:
    for activation in (0, 1, 3):
        for shape, keep in (((1, 9), False), ((4, 9), False), ((2, 3, 9), True)):
            options = {"KeepNumDims": keep, "FusedActivationFunction": activation}
            op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnected", options)
            w = weights(kind, (5, 9), None)
            y = make("y", (*shape[:-1], 5), 0.15, -9)
            name = f"fully_connected_{'x'.join(map(str, shape))}_a{activation}_{kind}"
            yield Case(name, op, [make("x", shape), w, bias(kind, 5, w), y])
    for x_adjoint in (False, True):
        for y_adjoint in (False, True):
            left = (2, 4, 3) if x_adjoint else (2, 3, 4)
            right = (2, 5, 4) if y_adjoint else (2, 4, 5)
            options = {"AdjX": x_adjoint, "AdjY": y_adjoint}
            op = Op("BATCH_MATMUL", ["x", "v"], ["y"], "BatchMatMul", options)
            name = f"batch_matmul_{'t' if x_adjoint else 'n'}{'t' if y_adjoint else 'n'}_{kind}"
            yield Case(name, op, [make("x", left), make("v", right, 0.04, -7), make("y", (2, 3, 5), 0.2, 5)])


_UNARY = {
    "ABS": (0.05, 3), "ELU": (0.03, -90), "EXP": (0.08, -128), "GELU": (0.04, -100),
    "HARD_SWISH": (0.04, -100), "LEAKY_RELU": (0.05, 3), "LOGISTIC": (1 / 256, -128), "RELU": (0.05, -128),
    "RELU6": (0.024, -128), "RELU_0_TO_1": (1 / 256, -128), "RELU_N1_TO_1": (1 / 128, 0),
    "TANH": (1 / 128, 0), "NEG": (0.05, -3), "RSQRT": (0.05, -128), "LOG": (0.05, 3), "SQRT": (0.05, -128),
    "CEIL": (0.05, 3), "COS": (0.05, 3), "FLOOR": (0.05, 3), "ROUND": (0.05, 3), "SIGN": (0.05, 3),
    "SIN": (0.05, 3), "SQUARE": (0.05, 3),
}  # fmt: skip
_INTEGER_UNARY = frozenset(
    "ABS ELU EXP GELU HARD_SWISH LEAKY_RELU LOGISTIC RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 TANH RSQRT".split()
)
"""What LiteRT computes in int8."""

_TABLES: Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]] = {
    "LEAKY_RELU": (("LeakyRelu", {"Alpha": 0.3}), ("LeakyRelu", {"Alpha": 0.01})),
    "GELU": (("Gelu", {"Approximate": False}), ("Gelu", {"Approximate": True})),
}


def _unary(kind: str, make: Make) -> Iterator[Case]:
    for operator, (scale, zero) in _UNARY.items():
        if kind == "int8" and operator not in _INTEGER_UNARY:
            continue
        positive = operator in ("LOG", "SQRT", "RSQRT")
        for number, (table, options) in enumerate(_TABLES.get(operator, (("", {}),))):
            op = Op(operator, ["x"], ["y"], table, options)
            x = make("x", (3, 4, 25), 0.05, -128 if positive else 3)
            low, high = (0.1, 9.0) if positive else (-3.0, 3.0)
            tail = f"_{number}" if number else ""
            yield Case(
                f"{operator.lower()}{tail}_{kind}", op, [x, make("y", (3, 4, 25), scale, zero)], low, high
            )
    for shape in ((1, 1, 5), (6, 7, 5)):
        slopes = T("a", shape, data=RNG.standard_normal(shape).astype(np.float32))
        if kind == "int8":
            slopes = const("a", RNG.integers(-127, 128, shape), "int8", scale=0.01)
        name = f"prelu_{'x'.join(map(str, shape))}_{kind}"
        yield Case(name, Op("PRELU", ["x", "a"], ["y"]), [make("x", PICTURE), slopes, make("y", PICTURE)])


_BINARY = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "MAXIMUM": "MaximumMinimum",
           "MINIMUM": "MaximumMinimum", "SQUARED_DIFFERENCE": "SquaredDifference"}  # fmt: skip


def _binary(kind: str, make: Make) -> Iterator[Case]:
    for operator, table in _BINARY.items():
        if kind == "int8" and operator == "DIV":
            continue  # LiteRT divides floats and uint8 only
        for right in ((2, 3, 5), (5,), (2, 1, 5), (1, 1, 1)):
            for activation in (0, 1) if operator in ("ADD", "SUB", "MUL", "DIV") else (0,):
                same = operator in ("MAXIMUM", "MINIMUM")
                options = {} if table[0] not in "ASMD" or same else {"FusedActivationFunction": activation}
                if table == "SquaredDifference" or same:
                    options = {}
                op = Op(operator, ["x", "v"], ["y"], table, options)
                v = make("v", right) if same else make("v", right, 0.02, -7)
                y = make("y", (2, 3, 5)) if same else make("y", (2, 3, 5), 0.07, 11)
                name = f"{operator.lower()}_{'x'.join(map(str, right))}_a{activation}_{kind}"
                yield Case(name, op, [make("x", (2, 3, 5)), v, y])
    for operator in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        tensors = [make("x", (3, 9)), make("v", (9,)), T("y", (3, 9), "bool")]
        yield Case(f"{operator.lower()}_{kind}", Op(operator, ["x", "v"], ["y"]), tensors)
    for operator in ("SELECT", "SELECT_V2"):
        flags = T("c", (3, 9), "bool")
        tensors = [flags, make("x", (3, 9)), make("v", (3, 9)), make("y", (3, 9))]
        yield Case(f"{operator.lower()}_{kind}", Op(operator, ["c", "x", "v"], ["y"]), tensors)


def _reductions(kind: str, make: Make) -> Iterator[Case]:
    for operator in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        if kind == "int8" and operator == "REDUCE_PROD":
            continue
        for axes in ([1, 2], [3], [-2]):
            for keep in (False, True):
                chosen = {a % 4 for a in axes}
                out = [1 if i in chosen else d for i, d in enumerate(PICTURE) if keep or i not in chosen]
                op = Op(operator, ["x", "a"], ["y"], "Reducer", {"KeepDims": keep})
                scale = 1.0 if operator == "SUM" else 0.06
                y = make("y", out) if "REDUCE" in operator else make("y", out, scale, -5)
                name = f"{operator.lower()}_{'_'.join(map(str, axes))}_{'keep_' if keep else ''}{kind}"
                yield Case(name.replace("-", "m"), op, [make("x", PICTURE), const("a", axes), y])
    for beta in (1.0, 0.5):
        for shape in ((2, 9), (1, 3, 4, 10)):
            op = Op("SOFTMAX", ["x"], ["y"], "Softmax", {"Beta": beta})
            name = f"softmax_{'x'.join(map(str, shape))}_{beta}_{kind}"
            yield Case(name, op, [make("x", shape), make("y", shape, 1 / 256, -128)])
    log = Op("LOG_SOFTMAX", ["x"], ["y"])
    yield Case(f"log_softmax_{kind}", log, [make("x", (3, 9)), make("y", (3, 9), 16 / 256, 127)])
    norm = Op("L2_NORMALIZATION", ["x"], ["y"], "L2Norm")
    yield Case(f"l2_normalization_{kind}", norm, [make("x", (3, 9)), make("y", (3, 9), 1 / 128, 0)])
    for operator in ("ARG_MAX", "ARG_MIN"):
        for axis in (1, -1):
            op = Op(
                operator,
                ["x", "a"],
                ["y"],
                "ArgMax" if operator == "ARG_MAX" else "ArgMin",
                {"OutputType": 2},
            )
            out = [d for i, d in enumerate((3, 9, 4)) if i != axis % 3]
            name = f"{operator.lower()}_{axis % 3}_{kind}"
            yield Case(name, op, [make("x", (3, 9, 4)), const("a", axis), T("y", out, "int32")])


_MOVES: Mapping[str, tuple[Op, list[T], tuple[int, ...], tuple[int, ...]]] = {
    "reshape": (Op("RESHAPE", ["x", "s"], ["y"]), [const("s", [2, 105])], PICTURE, (2, 105)),
    "squeeze": (Op("SQUEEZE", ["x"], ["y"], "Squeeze"), [], PICTURE, (6, 7, 5)),
    "expand_dims": (Op("EXPAND_DIMS", ["x", "a"], ["y"]), [const("a", 0)], PICTURE, (1, 1, 6, 7, 5)),
    "transpose": (Op("TRANSPOSE", ["x", "p"], ["y"]), [const("p", [0, 2, 3, 1])], PICTURE, (1, 7, 5, 6)),
    "transpose_ends": (Op("TRANSPOSE", ["x", "p"], ["y"]), [const("p", [3, 1, 2, 0])], PICTURE, (5, 6, 7, 1)),
    "pad": (Op("PAD", ["x", "p"], ["y"]), [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])],
            PICTURE, (1, 9, 10, 5)),
    "mirror_pad_reflect": (Op("MIRROR_PAD", ["x", "p"], ["y"], "MirrorPad", {"Mode": 0}),
                           [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])], PICTURE, (1, 9, 10, 5)),
    "mirror_pad_symmetric": (Op("MIRROR_PAD", ["x", "p"], ["y"], "MirrorPad", {"Mode": 1}),
                             [const("p", [[0, 0], [1, 2], [0, 3], [0, 0]])], PICTURE, (1, 9, 10, 5)),
    "slice": (Op("SLICE", ["x", "i", "n"], ["y"]),
              [const("i", [0, 1, 2, 0]), const("n", [1, 3, -1, 2])], PICTURE, (1, 3, 5, 2)),
    "strided_slice": (Op("STRIDED_SLICE", ["x", "i", "j", "k"], ["y"], "StridedSlice", {"EndMask": 15}),
                      [const("i", [0, 1, 0, 0]), const("j", [0] * 4), const("k", [1, 2, 3, 1])],
                      PICTURE, (1, 3, 3, 5)),
    "strided_slice_back": (Op("STRIDED_SLICE", ["x", "i", "j", "k"], ["y"], "StridedSlice",
                              {"BeginMask": 1, "EndMask": 4, "ShrinkAxisMask": 8}),
                           [const("i", [0, 5, 1, -1]), const("j", [1, 0, 0, 0]), const("k", [1, -2, 2, 1])],
                           PICTURE, (1, 3, 3)),
    "reverse_v2": (Op("REVERSE_V2", ["x", "a"], ["y"]), [const("a", [1])], PICTURE, PICTURE),
    "tile": (Op("TILE", ["x", "r"], ["y"]), [const("r", [1, 2, 1, 3])], PICTURE, (1, 12, 7, 15)),
    "broadcast_to": (Op("BROADCAST_TO", ["x", "s"], ["y"]), [const("s", [3, 6, 7, 5])],
                     PICTURE, (3, 6, 7, 5)),
    "gather": (Op("GATHER", ["x", "i"], ["y"], "Gather", {"Axis": 2}), [const("i", [5, 0, 0])],
               PICTURE, (1, 6, 3, 5)),
    "gather_nd": (Op("GATHER_ND", ["x", "i"], ["y"]), [const("i", [[0, 5], [0, 1]])], PICTURE, (2, 7, 5)),
    "space_to_batch_nd": (Op("SPACE_TO_BATCH_ND", ["x", "k", "p"], ["y"]),
                          [const("k", [2, 3]), const("p", [[0, 2], [1, 1]])], PICTURE, (6, 4, 3, 5)),
    "batch_to_space_nd": (Op("BATCH_TO_SPACE_ND", ["x", "k", "p"], ["y"]),
                          [const("k", [2, 3]), const("p", [[0, 2], [1, 1]])], (6, 4, 3, 5), (1, 6, 7, 5)),
    "space_to_depth": (Op("SPACE_TO_DEPTH", ["x"], ["y"], "SpaceToDepth", {"BlockSize": 2}), [],
                       (1, 4, 6, 3), (1, 2, 3, 12)),
    "depth_to_space": (Op("DEPTH_TO_SPACE", ["x"], ["y"], "DepthToSpace", {"BlockSize": 2}), [],
                       (1, 2, 3, 12), (1, 4, 6, 3)),
}  # fmt: skip


def _movement(kind: str, make: Make) -> Iterator[Case]:
    for name, (op, rest, shape, out) in _MOVES.items():
        yield Case(f"{name}_{kind}", op, [make("x", shape), *rest, make("y", out)])
    for resize, table in (
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"),
        ("RESIZE_BILINEAR", "ResizeBilinear"),
    ):
        for word, options in (
            ("", {}),
            ("half_", {"HalfPixelCenters": True}),
            ("corners_", {"AlignCorners": True}),
        ):
            for height, width in ((12, 14), (10, 5), (3, 11)):
                op = Op(resize, ["x", "s"], ["y"], table, options)
                tensors = [make("x", PICTURE), const("s", [height, width]), make("y", (1, height, width, 5))]
                yield Case(f"{resize.lower()}_{word}{height}x{width}_{kind}", op, tensors)


def _pieces(kind: str, make: Make) -> Iterator[Case]:
    a, b, c = (make(name, (2, 3)) for name in "abc")
    split = Op("SPLIT", ["n", "x"], ["a", "b", "c"], "Split", {"NumSplits": 3})
    yield Case(f"split_{kind}", split, [const("n", 1), make("x", (2, 9)), a, b, c])
    sized = Op("SPLIT_V", ["x", "s", "n"], ["a", "y"], "SplitV", {"NumSplits": 2})
    sizes = [const("s", [3, 6]), const("n", 1)]
    yield Case(f"split_v_{kind}", sized, [make("x", (2, 9)), *sizes, a, make("y", (2, 6))])
    concat = Op("CONCATENATION", ["a", "b", "c"], ["y"], "Concatenation", {"Axis": -1})
    yield Case(f"concatenation_{kind}", concat, [a, b, c, make("y", (2, 9))])
    pack = Op("PACK", ["a", "b"], ["y"], "Pack", {"Axis": 1, "ValuesCount": 2})
    yield Case(f"pack_{kind}", pack, [a, b, make("y", (2, 2, 3))])
    unpack = Op("UNPACK", ["x"], ["a", "b"], "Unpack", {"Axis": 1, "Num": 2})
    yield Case(f"unpack_{kind}", unpack, [make("x", (2, 2, 3)), a, b])
    value = const("v", [1.5], "float32")
    if kind == "int8":
        value = const("v", [-77], "int8", scale=0.05, zero=3)
    padv2 = Op("PADV2", ["x", "p", "v"], ["y"])
    yield Case(
        f"padv2_{kind}", padv2, [make("x", (2, 3)), const("p", [[1, 0], [0, 2]]), value, make("y", (3, 5))]
    )


def _float_only() -> Iterator[Case]:
    nine = (3, 9)
    for operator in ("LOGICAL_AND", "LOGICAL_OR"):
        tensors = [T(name, nine, "bool") for name in "xvy"]
        yield Case(operator.lower(), Op(operator, ["x", "v"], ["y"]), tensors)
    yield Case("logical_not", Op("LOGICAL_NOT", ["x"], ["y"]), [T("x", nine, "bool"), T("y", nine, "bool")])
    yield Case(
        "pow", Op("POW", ["x", "v"], ["y"], "Pow"), [f("x", nine), f("v", nine), f("y", nine)], 0.2, 2.0
    )
    yield Case(
        "floor_div", Op("FLOOR_DIV", ["x", "v"], ["y"]), [f("x", nine), f("v", nine), f("y", nine)], 0.2, 3.0
    )
    yield Case("add_n", Op("ADD_N", ["x", "v", "u"], ["y"]), [f(name, nine) for name in "xvuy"])
    for exclusive in (False, True):
        for reverse in (False, True):
            op = Op("CUMSUM", ["x", "a"], ["y"], "Cumsum", {"Exclusive": exclusive, "Reverse": reverse})
            yield Case(
                f"cumsum_{exclusive}_{reverse}".lower(), op, [f("x", PICTURE), const("a", 3), f("y", PICTURE)]
            )
    op = Op("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], "LocalResponseNormalization",
            {"Radius": 1, "Bias": 1.0, "Alpha": 0.3, "Beta": 0.5})  # fmt: skip
    yield Case("local_response_normalization", op, [f("x", PICTURE), f("y", PICTURE)])


def _conversions() -> Iterator[Case]:
    many = (4, 64)
    yield Case("cast_int32_float", Op("CAST", ["x"], ["y"]), [T("x", many, "int32"), f("y", many)])
    yield Case("cast_float_int32", Op("CAST", ["x"], ["y"]), [f("x", many), T("y", many, "int32")])
    yield Case("quantize_float_int8", Op("QUANTIZE", ["x"], ["y"]), [f("x", many), q("y", many)])
    yield Case("dequantize_int8_float", Op("DEQUANTIZE", ["x"], ["y"]), [q("x", many), f("y", many)])
    yield Case("quantize_int8_int8", Op("QUANTIZE", ["x"], ["y"]), [q("x", many), q("y", many, 0.07, -30)])
