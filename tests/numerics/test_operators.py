"""Single ONNX operators through the whole compiler, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from tests.support.host import Array, build, error_of
from tvm_tool.errors import UnsupportedError

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Case:
    """One operator with its inputs: shapes are run-time inputs, arrays are constants."""

    id: str
    op: str
    inputs: Sequence[tuple[int, ...] | Array | np.generic | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 17
    low: float = -3.0
    high: float = 3.0
    dtype: str = "float32"

    def model(self) -> ModelProto:
        graph_inputs, constants, names = [], [], []
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        for index, value in enumerate(self.inputs):
            name = f"in{index}" if value is not None else ""
            names.append(name)
            if isinstance(value, tuple):
                graph_inputs.append(helper.make_tensor_value_info(name, kind, value))
            elif value is not None:
                constants.append(numpy_helper.from_array(np.asarray(value), name))
        outputs = [f"out{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, name=f"the_{self.op}", **self.attributes)
        results = [helper.make_value_info(o, helper.make_tensor_type_proto(0, None)) for o in outputs]
        for result in results:
            result.ClearField("type")
        graph = helper.make_graph([node], "case", graph_inputs, results, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        return _with_output_types(model)

    def sample(self, seed: int) -> dict[str, Array]:
        rng = np.random.default_rng(seed)
        values = {}
        for index, value in enumerate(self.inputs):
            if isinstance(value, tuple):
                if self.dtype == "bool":
                    values[f"in{index}"] = rng.integers(0, 2, value).astype(bool)
                else:
                    values[f"in{index}"] = rng.uniform(self.low, self.high, value).astype(self.dtype)
        return values


def _with_output_types(model: ModelProto) -> ModelProto:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for output, info in zip(model.graph.output, session.get_outputs(), strict=True):
        kinds = {"tensor(float)": 1, "tensor(bool)": 9, "tensor(int64)": 7, "tensor(int32)": 6}
        output.CopyFrom(helper.make_tensor_value_info(output.name, kinds[info.type], info.shape))
    return model


def f32(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)


X = (1, 3, 5, 6)

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity "
    "LeakyRelu Log Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh "
    "ThresholdedRelu Mish Celu"
).split()
RANGES = {
    "Acos": (-1, 1),
    "Asin": (-1, 1),
    "Atanh": (-0.95, 0.95),
    "Acosh": (1, 4),
    "Log": (0.01, 5),
    "Sqrt": (0, 5),
    "Reciprocal": (0.3, 3),
    "Tan": (-1.4, 1.4),
}

CASES = [
    *(
        Case(
            op.lower(),
            op,
            [X],
            low=RANGES.get(op, (-3, 3))[0],
            high=RANGES.get(op, (-3, 3))[1],
            opset=18 if op == "Mish" else 17,
        )
        for op in UNARY
    ),
    *(Case(op.lower(), op, [X, X]) for op in ("Add", "Sub", "Mul", "Min", "Max", "Mean", "Sum")),
    Case("div", "Div", [X, X], low=0.4),
    Case("pow", "Pow", [X, np.float32(2.5)], low=0.1),
    Case("add_broadcast", "Add", [X, f32(3, 1, 1)]),
    Case("mul_inner_broadcast", "Mul", [(2, 3, 1), (3, 4)]),
    Case("mod", "Mod", [(4, 5), np.float32(0.7)], {"fmod": 1}),
    Case("prelu", "PRelu", [X, f32(3, 1, 1)]),
    Case("clip", "Clip", [X, np.float32(-1), np.float32(1.5)]),
    Case("clip_low_only", "Clip", [X, np.float32(-0.5), None]),
    Case("greater", "Greater", [X, X]),
    Case("equal_int", "Equal", [(4, 3), (4, 3)], dtype="int32"),
    Case("and", "And", [(4, 3), (4, 3)], dtype="bool"),
    Case("not", "Not", [(4, 3)], dtype="bool"),
    Case("where", "Where", [np.array([[True], [False]]), (2, 3), (2, 3)]),
    Case("cast", "Cast", [(3, 4)], {"to": TensorProto.INT32}),
    Case("conv", "Conv", [X, f32(4, 3, 3, 3), f32(4)], {"pads": [1, 1, 1, 1]}),
    Case("conv_no_bias", "Conv", [X, f32(5, 3, 1, 1)]),
    Case("conv_asymmetric", "Conv", [X, f32(4, 3, 3, 2)], {"pads": [0, 1, 2, 0], "strides": [2, 1]}),
    Case(
        "conv_dilated", "Conv", [(1, 2, 9, 9), f32(3, 2, 3, 3)], {"dilations": [2, 3], "pads": [2, 2, 2, 2]}
    ),
    Case("conv_grouped", "Conv", [(1, 6, 5, 5), f32(4, 3, 3, 3)], {"group": 2}),
    Case("conv_depthwise", "Conv", [(1, 5, 6, 6), f32(5, 1, 3, 3)], {"group": 5, "pads": [1, 1, 1, 1]}),
    Case("conv_depth_multiplier", "Conv", [(1, 3, 6, 6), f32(6, 1, 3, 3)], {"group": 3}),
    Case("conv_same_upper", "Conv", [X, f32(4, 3, 3, 3)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Case("conv_batch", "Conv", [(2, 3, 5, 6), f32(4, 3, 3, 3)]),
    Case("conv1d", "Conv", [(1, 3, 11), f32(4, 3, 3)], {"strides": [2], "pads": [1, 1]}),
    Case("conv3d", "Conv", [(1, 2, 4, 4, 4), f32(3, 2, 2, 2, 2)]),
    Case("conv_dynamic_weights", "Conv", [X, (4, 3, 3, 3)]),
    Case(
        "conv_transpose",
        "ConvTranspose",
        [(1, 3, 4, 4), f32(3, 2, 3, 3)],
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    Case("gemm", "Gemm", [(2, 7), f32(7, 5), f32(5)]),
    Case("gemm_trans", "Gemm", [(2, 7), f32(5, 7), f32(5)], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("matmul", "MatMul", [(3, 7), f32(7, 5)]),
    Case("matmul_batched", "MatMul", [(2, 3, 7), (2, 7, 5)]),
    Case("matmul_rows", "MatMul", [(2, 3, 7), f32(7, 5)]),
    Case("maxpool", "MaxPool", [X], {"kernel_shape": [2, 3], "strides": [2, 2]}),
    Case("maxpool_padded", "MaxPool", [X], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Case("maxpool_ceil", "MaxPool", [X], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Case("maxpool1d", "MaxPool", [(1, 3, 11)], {"kernel_shape": [3], "strides": [2]}),
    Case("averagepool", "AveragePool", [X], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Case(
        "averagepool_include_pad",
        "AveragePool",
        [X],
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    ),
    Case("global_average", "GlobalAveragePool", [X]),
    Case("global_max", "GlobalMaxPool", [X]),
    Case("lppool", "LpPool", [X], {"kernel_shape": [2, 2]}, opset=18),
    Case("batchnorm", "BatchNormalization", [X, f32(3), f32(3), f32(3), np.abs(f32(3)) + 0.5]),
    Case("layernorm", "LayerNormalization", [(2, 4, 8), f32(8), f32(8)]),
    Case("instancenorm", "InstanceNormalization", [X, f32(3), f32(3)]),
    Case("groupnorm_free_lrn", "LRN", [(1, 5, 3, 3)], {"size": 3}),
    Case("softmax", "Softmax", [(2, 7)]),
    Case("softmax_axis1", "Softmax", [X], {"axis": 1}),
    Case("logsoftmax", "LogSoftmax", [(2, 7)]),
    Case("hardmax", "Hardmax", [(2, 7)]),
    *(
        Case(op.lower(), op, [X], {"axes": [2, 3]}, opset=13)
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1", "ReduceSumSquare")
    ),
    Case("reducesum", "ReduceSum", [X, i64(1)], {"keepdims": 0}),
    Case("reduceprod", "ReduceProd", [(2, 4)], {"axes": [1]}, opset=13),
    Case("reducelogsumexp", "ReduceLogSumExp", [(2, 4)], {"axes": [1]}, opset=13),
    Case("argmax", "ArgMax", [X], {"axis": 1}),
    Case("argmin", "ArgMin", [(3, 5)], {"axis": 1, "keepdims": 0}),
    Case("reshape", "Reshape", [X, i64(3, -1)]),
    Case("flatten", "Flatten", [X]),
    Case("transpose", "Transpose", [X], {"perm": [0, 3, 1, 2]}),
    Case("squeeze", "Squeeze", [(1, 3, 1, 4), i64(0, 2)]),
    Case("unsqueeze", "Unsqueeze", [(3, 4), i64(1)]),
    Case("concat", "Concat", [X, X, f32(1, 2, 5, 6)], {"axis": 1}),
    Case("split", "Split", [(1, 6, 4), i64(2, 4)], {"axis": 1}, outputs=2),
    Case("slice", "Slice", [X, i64(1, 0), i64(5, 6), i64(2, 3), i64(2, 1)]),
    Case("slice_negative", "Slice", [(3, 7), i64(-1), i64(-8), i64(1), i64(-2)]),
    Case("gather", "Gather", [(5, 4), i64(4, 0, 2)]),
    Case("gather_the_only_one", "Gather", [(1, 4), i64(0, 0)]),
    Case(
        "gather_elements", "GatherElements", [(3, 3), np.array([[0, 2, 1], [1, 0, 2]], np.int64)], {"axis": 0}
    ),
    Case("pad", "Pad", [X, i64(0, 0, 1, 2, 0, 0, 2, 1), np.float32(0.5)]),
    Case("pad_reflect", "Pad", [X, i64(0, 0, 1, 2, 0, 0, 2, 1)], {"mode": "reflect"}),
    Case("pad_edge", "Pad", [X, i64(0, 0, 1, 2, 0, 0, 2, 1)], {"mode": "edge"}),
    Case("tile", "Tile", [(2, 3), i64(2, 3)]),
    Case("expand", "Expand", [(3, 1), i64(2, 3, 4)]),
    Case("depth_to_space", "DepthToSpace", [(1, 8, 2, 3)], {"blocksize": 2}),
    Case("space_to_depth", "SpaceToDepth", [(1, 2, 4, 6)], {"blocksize": 2}),
    Case(
        "resize_nearest",
        "Resize",
        [(1, 2, 4, 4), None, np.array([1, 1, 2, 2], np.float32)],
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    ),
    Case(
        "resize_linear",
        "Resize",
        [(1, 2, 4, 4), None, None, i64(1, 2, 7, 9)],
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    ),
    *(
        Case(
            f"resize_to_{height}_by_{width}",
            "Resize",
            [(1, 2, rows, 3), None, None, i64(1, 2, height, width)],
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        )
        for rows, height, width in [(1, 1, 7), (4, 1, 7), (4, 6, 1), (4, 1, 1), (1, 2, 1)]
    ),
    Case("trilu", "Trilu", [(4, 4)]),
    Case("einsum", "Einsum", [(2, 3), (3, 4)], {"equation": "ij,jk->ik"}),
    Case("gelu", "Gelu", [X], opset=20),
    Case("isnan", "IsNaN", [X]),
    Case("topk", "TopK", [(3, 6), i64(2)], outputs=2),
    Case("topk_smallest", "TopK", [(5, 3), i64(4)], {"axis": 0, "largest": 0}, outputs=2),
    Case("cumsum", "CumSum", [(3, 7), np.array(1, np.int32)]),
    Case(
        "cumsum_reverse_exclusive", "CumSum", [(3, 7), np.array(0, np.int32)], {"reverse": 1, "exclusive": 1}
    ),
    Case("onehot", "OneHot", [(4,), np.array(3, np.int64), i64(2, 5)], dtype="int64", low=-3, high=3),
    Case("scatter_elements", "ScatterElements", [(4, 3), np.array([[2, 0], [1, 3]]), (2, 2)]),
    Case(
        "scatter_nd_add",
        "ScatterND",
        [(4, 3), np.array([[2], [2], [-1]]), (3, 3)],
        {"reduction": "add"},
        opset=16,
    ),
    Case("det", "Det", [(2, 3, 3)]),
    Case(
        "lstm",
        "LSTM",
        [(5, 2, 3), f32(2, 16, 3), f32(2, 16, 4), f32(2, 32)],
        {"hidden_size": 4, "direction": "bidirectional"},
        outputs=3,
    ),
    Case(
        "gru",
        "GRU",
        [(5, 2, 3), f32(1, 12, 3), f32(1, 12, 4), f32(1, 24)],
        {"hidden_size": 4, "linear_before_reset": 1},
        outputs=2,
    ),
    Case(
        "rnn",
        "RNN",
        [(5, 2, 3), f32(1, 4, 3), f32(1, 4, 4)],
        {"hidden_size": 4, "direction": "reverse"},
        outputs=2,
    ),
    Case(
        "resize_cubic",
        "Resize",
        [(1, 2, 5, 6), None, np.array([1, 1, 2, 1.5], np.float32)],
        {"mode": "cubic"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[c.id for c in CASES])
def test_operator_matches_onnxruntime(case: Case, tmp_path: Path) -> None:
    model = case.model()
    reference = onnxruntime.InferenceSession(model.SerializeToString())
    built = build(model, tmp_path)
    samples = [case.sample(seed) for seed in range(3)]
    for sample, outputs in zip(samples, built.run(samples), strict=True):
        for got, want in zip(outputs, reference.run(None, sample), strict=True):
            assert error_of(got, np.asarray(want)) <= TOLERANCE


def test_a_value_is_read_at_several_places_of_its_reader(tmp_path: Path) -> None:
    """Computed where it is read, it would be there for one of the places alone."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (uint8[1,2,5] x) => (uint8[2,3,5] y)
        <float s = {0.03}, uint8 z = {255}, float t = {0.05}, uint8 u = {146}, int64[6] p = {0,1,0,0,0,0}>
        {
            a = DequantizeLinear(x, s, z)
            b = Pad<mode = "reflect">(a, p)
            c = QuantizeLinear(b, t, u)
            d = DequantizeLinear(c, t, u)
            e = DequantizeLinear(c, t, u)
            f = Concat<axis = 0>(d, e)
            y = QuantizeLinear(f, t, u)
        }"""
    )
    sample = {"x": np.arange(0, 250, 25).astype(np.uint8).reshape(1, 2, 5)}
    ((got,),) = build(model, tmp_path).run([sample])
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, sample)
    assert np.array_equal(got, want)


def test_indices_of_the_input_never_lead_outside(tmp_path: Path) -> None:
    indices = helper.make_tensor_value_info("i", TensorProto.INT64, [3])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])
    table = numpy_helper.from_array(np.arange(8, dtype=np.float32).reshape(4, 2), "table")
    node = helper.make_node("Gather", ["table", "i"], ["y"])
    graph = helper.make_graph([node], "gather", [indices], [result], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    ((good,), (bad,)) = build(model, tmp_path).run([{"i": i64(1, 3, 0)}, {"i": i64(1 << 40, 99, -(1 << 33))}])
    assert good.tolist() == [[2, 3], [6, 7], [0, 1]]
    assert set(bad.ravel()) <= set(range(8))


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "outputs"),
    [
        ("TopK", [(1, 2048), i64(2)], {}, 2),
        ("Det", [(4, 4)], {}, 1),
    ],
)
def test_what_has_no_lowering_is_refused_by_name(
    op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int, tmp_path: Path
) -> None:
    model = Case(op.lower(), op, inputs, attributes, outputs).model()
    with pytest.raises(UnsupportedError) as error:
        build(model, tmp_path)
    assert f"'the_{op}' ({op})" in str(error.value)
