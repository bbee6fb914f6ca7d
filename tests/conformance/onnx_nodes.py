"""The ONNX project's backend node tests: which of them are in scope, and as what they are compiled.

An ahead-of-time compiler wants to know shapes when it compiles. The tests give axes, target shapes, pads
and the like as inputs; where an operator has such an input (`STRUCTURAL`) it becomes a constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

Array = npt.NDArray[Any]

STRUCTURAL: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "AffineGrid": (1,),
        "BlackmanWindow": (0,),
        "CastLike": (1,),
        "CenterCropPad": (1,),
        "Col2Im": (1, 2),
        "ConstantOfShape": (0,),
        "CumProd": (1,),
        "CumSum": (1,),
        "DFT": (1, 2),
        "Dropout": (1, 2),
        "Expand": (1,),
        "GRU": (4,),
        "HammingWindow": (0,),
        "HannWindow": (0,),
        "If": (0,),
        "LSTM": (4,),
        "Loop": (0, 1),
        "MaxUnpool": (2,),
        "MelWeightMatrix": (0, 1, 2, 3, 4),
        "OneHot": (1,),
        "Pad": (1, 3),
        "RNN": (4,),
        "Range": (0, 1, 2),
        "ReduceL1": (1,),
        "ReduceL2": (1,),
        "ReduceLogSum": (1,),
        "ReduceLogSumExp": (1,),
        "ReduceMax": (1,),
        "ReduceMean": (1,),
        "ReduceMin": (1,),
        "ReduceProd": (1,),
        "ReduceSum": (1,),
        "ReduceSumSquare": (1,),
        "Reshape": (1,),
        "Resize": (1, 2, 3),
        "STFT": (1, 3),
        "Slice": (1, 2, 3, 4),
        "Split": (1,),
        "Squeeze": (1,),
        "Tile": (1,),
        "TopK": (1,),
        "Trilu": (1,),
        "Unsqueeze": (1,),
        "Upsample": (1,),
    }
)
"""Inputs that decide about shapes or about what is computed, by operator."""

_TRAINING = "a training or loss operator"
_RANDOM = "its output is random"
_SHAPE = "the shape of its output depends on values"
_OPERATORS_OUTSIDE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _TRAINING),
        **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"), _RANDOM),
        **dict.fromkeys(("Compress", "NonMaxSuppression", "NonZero", "Unique"), _SHAPE),
        "ImageDecoder": "it decodes image files",
    }
)
_ELEMENTS_OUTSIDE: Mapping[str, str] = MappingProxyType(
    {
        "STRING": "text",
        "FLOAT8": "float8",
        "FLOAT4": "float4",
        "INT4": "a type below a byte",
        "UINT4": "a type below a byte",
        "INT2": "a type below a byte",
        "UINT2": "a type below a byte",
    }
)


@dataclass(frozen=True, eq=False)
class NodeTest:
    """One test of the ONNX project.

    Attributes:
        operator: what it tests.
        model: the ONNX project's model, structural inputs made constant.
        inputs: values of the inputs that are left, by name.
        outputs: what is expected.
        outside: why it is out of scope; None if it is in scope.
    """

    name: str
    operator: str
    model: ModelProto
    inputs: Mapping[str, Array]
    outputs: tuple[Array, ...]
    rtol: float
    outside: str | None

    @property
    def runs(self) -> tuple[tuple[Mapping[str, Array], tuple[Array, ...]], ...]:
        """Inputs by name, and what is expected of them."""
        return ((self.inputs, self.outputs),)

    @property
    def options(self) -> Mapping[str, str]:
        """Options that it is compiled with."""
        return {}

    def write(self, folder: Path) -> Path:
        """The model as a file in a folder."""
        path = folder / "model.onnx"
        onnx.save(self.model, path)
        return path


def collect() -> list[NodeTest]:
    """All tests, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the ONNX project computes with infinities
        cases = {case.name: case for case in collect_testcases(None)}
    return [_test(cases, name) for name in sorted(cases)]


def _test(cases: Mapping[str, Any], name: str) -> NodeTest:
    case = cases[name]
    # A test "..._expanded" is the same computation as the body of the operator's function.
    base = cases[name.partition("_expanded")[0]].model
    operator = base.graph.node[0].op_type
    ((given, expected),) = case.data_sets
    outside = _outside(case.model, base, [*given, *expected])
    if outside is not None:
        return NodeTest(name, operator, case.model, {}, (), case.rtol, outside)
    values = {v.name: _array(a) for v, a in zip(case.model.graph.input, given, strict=True)}
    # What has no elements carries no information: it is a constant, too.
    frozen = (_structural_names(base) & set(values)) | {n for n, a in values.items() if not a.size}
    return NodeTest(
        name,
        operator,
        _freeze(case.model, {n: values[n] for n in values if n in frozen}),
        {n: a for n, a in values.items() if n not in frozen},
        tuple(_array(a) for a in expected),
        case.rtol,
        None,
    )


def _array(value: Any) -> Array:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def _structural_names(model: ModelProto) -> set[str]:
    return {
        node.input[index]
        for node in model.graph.node
        for index in STRUCTURAL.get(node.op_type, ())
        if index < len(node.input)
    }


def _freeze(model: ModelProto, values: Mapping[str, Array]) -> ModelProto:
    """The model with the inputs in `values` as constants."""
    new = ModelProto()
    new.CopyFrom(model)
    inputs = [v for v in new.graph.input if v.name not in values]
    del new.graph.input[:]
    new.graph.input.extend(inputs)
    new.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in values.items())
    return new


def _outside(model: ModelProto, base: ModelProto, values: list[Any]) -> str | None:
    """Why a test is out of scope, or None."""
    node = base.graph.node[0]
    if node.domain.endswith("training") or _is_training(node, base, values):
        return _TRAINING
    if node.op_type in _OPERATORS_OUTSIDE:
        return _OPERATORS_OUTSIDE[node.op_type]
    for value in (*model.graph.input, *model.graph.output):
        kind = str(value.type.WhichOneof("value")).removesuffix("_type")
        if kind != "tensor":
            return f"it takes or gives {'an' if kind == 'optional' else 'a'} {kind}"
    for element in _elements(model):
        name = TensorProto.DataType.Name(element)
        for start, reason in _ELEMENTS_OUTSIDE.items():
            if name.startswith(start):
                return f"it works on {reason}"
    for inner in _nodes(model.graph):
        if "Sequence" in inner.op_type or "Optional" in inner.op_type:
            return "it works on a sequence or an optional"
    return None


def _is_training(node: NodeProto, base: ModelProto, values: list[Any]) -> bool:
    attributes = {a.name: a.i for a in node.attribute}
    if node.op_type == "BatchNormalization":
        return bool(attributes.get("training_mode", 0))
    if node.op_type == "Dropout" and len(node.input) > 2:
        place = [v.name for v in base.graph.input].index(node.input[2])
        return bool(values[place])
    return False


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _elements(model: ModelProto) -> Iterator[int]:
    """Element types of everything that a model declares, casts to or holds."""
    for value in (*model.graph.input, *model.graph.output):
        yield value.type.tensor_type.elem_type
    for tensor in model.graph.initializer:
        yield tensor.data_type
    for node in _nodes(model.graph):
        for attribute in node.attribute:
            if attribute.name in ("to", "output_dtype", "dtype") and attribute.i:
                yield attribute.i
            elif attribute.type == AttributeProto.TENSOR:
                yield attribute.t.data_type
            elif attribute.type in (AttributeProto.STRINGS,) and attribute.name.startswith(
                ("keys", "values")
            ):
                yield TensorProto.STRING


def version() -> str:
    return str(onnx.__version__)
