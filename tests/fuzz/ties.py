"""Where onnxruntime rounds a quantised value the wrong way, because its float was already rounded.

Between DequantizeLinear and QuantizeLinear onnxruntime computes in float32. Where the exact value lies
next to the middle of two integers, the error of that float decides. This module evaluates each such
part of the model in float64, on the integers that onnxruntime itself had in front of it, and says where
onnxruntime's integer is not the exact value rounded half to even.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.fuzz.reference import onnx_session
from tests.support.host import Array

FLOAT_ERROR = 1e-5
"""Of a float32 evaluation, in parts of the largest value of the tensor: what float models are held to."""

DEPARTING = frozenset({"QLinearSoftmax"})
"""Operators whose kernels have an arithmetic of their own, up to a number off the rounded real value."""

NEAREST = 0.02
"""No tie is further from the middle than this part of a step."""


def is_tied(path: Path, sample: Mapping[str, Array], definition: Path | None = None) -> bool:
    """Whether onnxruntime rounds some value of `sample` the wrong way by an error of its floats.

    Args:
        definition: the same model in QuantizeLinear and DequantizeLinear, its numbers called the same; None
            if the model is in this form.
    """
    values = _all_values(onnx.load(path), sample)
    model = onnx.load(definition or path)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values = {**constants, **values}
    nodes = (node for node in model.graph.node if node.op_type == "QuantizeLinear")
    return any(_misrounded(model, node, values) for node in nodes if node.output[0] in values)


def departs(path: Path, sample: Mapping[str, Array], definition: Path) -> bool:
    """Whether a kernel of onnxruntime's, one of `DEPARTING`, computes other numbers than its definition.

    Arguments as of `is_tied`.
    """
    fused, model = onnx.load(path), onnx.load(definition)
    departing = {name for node in fused.graph.node if node.op_type in DEPARTING for name in node.output}
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values = {**constants, **_all_values(fused, sample)}
    nodes = (node for node in model.graph.node if node.output[0] in departing)
    return any(bool(_rounded(node, _exact(model, node.input[0], values), values)[1].any()) for node in nodes)


def _all_values(model: onnx.ModelProto, sample: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor as onnxruntime computes it."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output]
    del wide.graph.output[:]
    wide.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    results = onnx_session(wide.SerializeToString()).run(names, dict(sample))
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return {**constants, **sample, **dict(zip(names, results, strict=True))}


def _misrounded(model: onnx.ModelProto, node: onnx.NodeProto, values: dict[str, Array]) -> bool:
    exact, differs = _rounded(node, _exact(model, node.input[0], values), values)
    error = min(NEAREST, FLOAT_ERROR * float(np.abs(exact).max(initial=0.0)))
    near = np.abs(exact - np.floor(exact) - 0.5) <= max(error, FLOAT_ERROR)
    return bool((differs & near).any())


def _rounded(node: onnx.NodeProto, real: Array, values: Mapping[str, Array]) -> tuple[Array, Array]:
    """`real` in steps of the QuantizeLinear `node`, and where its numbers are others than these rounded."""
    zero = values[node.input[2]]
    exact = real / values[node.input[1]].astype(np.float64)
    info = np.iinfo(zero.dtype)
    rounded = np.clip(np.rint(exact) + zero, info.min, info.max)
    return exact, rounded != values[node.output[0]]


def _exact(model: onnx.ModelProto, name: str, values: dict[str, Array]) -> Array:
    """The float tensor `name` in float64, computed from the integers behind it."""
    makers = {output: node for node in model.graph.node for output in node.output}
    nodes: list[onnx.NodeProto] = []
    feeds: dict[str, Array] = {}

    def visit(tensor: str) -> None:
        if not tensor or tensor in feeds or any(tensor in n.output for n in nodes):
            return
        maker = makers.get(tensor)
        if maker is None:
            array = values[tensor]
            feeds[tensor] = array.astype(np.float64) if array.dtype == np.float32 else array
        elif maker.op_type == "DequantizeLinear":
            feeds[tensor] = _dequantised(maker, values)
        else:
            for source in maker.input:
                visit(source)
            nodes.append(maker)

    visit(name)
    if not nodes:
        return feeds[name]
    inputs = [_info(n, a) for n, a in feeds.items()]
    graph = helper.make_graph(nodes, "exact", inputs, [onnx.ValueInfoProto(name=name)])
    evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=model.opset_import))
    (result,) = evaluator.run([name], feeds)
    return np.asarray(result, np.float64)


def _dequantised(node: onnx.NodeProto, values: dict[str, Array]) -> Array:
    numbers = values[node.input[0]].astype(np.float64)
    scale = values[node.input[1]].astype(np.float64)
    zero = values[node.input[2]].astype(np.float64) if len(node.input) > 2 else np.zeros(())
    if scale.size > 1:
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        shape = [-1 if i == axis else 1 for i in range(numbers.ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape) if zero.ndim else zero
    exact: Array = (numbers - zero) * scale
    return exact


def _info(name: str, array: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
