"""The quantised operators of ONNX and onnxruntime instead of QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"

OF_ONE = {
    "AveragePool": "QLinearAveragePool",
    "GlobalAveragePool": "QLinearGlobalAveragePool",
    "LeakyRelu": "QLinearLeakyRelu",
    "Sigmoid": "QLinearSigmoid",
    "Softmax": "QLinearSoftmax",
}
"""Operators that take x with its parameters, then those of y."""

OF_TWO = {"Add": ("QLinearAdd", MICROSOFT), "Mul": ("QLinearMul", MICROSOFT), "MatMul": ("QLinearMatMul", "")}

MOST_AVERAGED = 256.0
"""Steps of the output by step of the input that onnxruntime's QLinearGlobalAveragePool refuses."""

Triple = list[str]
"""Names of numbers, scale and zero point."""


def fuse(model: onnx.ModelProto) -> onnx.ModelProto:
    """Every operator that has a quantised form in it; all numbers keep their names."""
    return _Fuser(model).model()


class _Fuser:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.source = model
        self.makers = {name: node for node in model.graph.node for name in node.output}
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.shapes = _shapes(model)

    def model(self) -> onnx.ModelProto:
        fused = [self._fused(node) or node for node in self.source.graph.node]
        needed, nodes = {v.name for v in self.source.graph.output}, []
        for node in reversed(fused):
            if needed & set(node.output):
                nodes.append(node)
                needed |= set(node.input)
        result = onnx.ModelProto()
        result.CopyFrom(self.source)
        del result.graph.node[:], result.graph.initializer[:]
        result.graph.node.extend(nodes[::-1])
        result.graph.initializer.extend(t for t in self.source.graph.initializer if t.name in needed)
        result.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
        return result

    def _fused(self, quantize: onnx.NodeProto) -> onnx.NodeProto | None:
        """What computes the output of `quantize` from numbers; None if it stays as it is."""
        node = self.makers.get(quantize.input[0]) if quantize.op_type == "QuantizeLinear" else None
        if node is None:
            return None
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        operands = [self._triple(name) for name in node.input]
        parameters = list(quantize.input[1:3])
        kind, known = node.op_type, [o for o in operands if o is not None]
        inputs: list[str] = []
        domain = MICROSOFT
        if len(known) < len(operands):
            return None
        if kind in ("Conv", "Gemm"):
            return self._weighted(node, known, quantize, attributes)
        if kind == "Concat":
            kind, inputs = "QLinearConcat", [*parameters, *(name for one in known for name in one)]
        elif kind == "GlobalAveragePool" and self._ratio(known[0], parameters) >= MOST_AVERAGED:
            return None
        elif kind in OF_ONE:
            kind, inputs = OF_ONE[kind], [*known[0], *parameters]
            if kind == "QLinearSoftmax":
                attributes["opset"] = 13
        elif kind in OF_TWO:
            (kind, domain), inputs = OF_TWO[kind], [*known[0], *known[1], *parameters]
        else:
            return None
        return _node(kind, inputs, quantize, domain, attributes)

    def _weighted(
        self,
        node: onnx.NodeProto,
        operands: list[Triple],
        quantize: onnx.NodeProto,
        attributes: dict[str, Any],
    ) -> onnx.NodeProto | None:
        x, w, *bias = operands
        if bias and self.constants[bias[0][0]].dtype != np.int32:
            return None
        numbers, y = [one[0] for one in bias], list(quantize.input[1:3])
        if node.op_type == "Conv":
            return _node("QLinearConv", [*x, *w, *y, *numbers], quantize, "", attributes)
        units = self.shapes[node.output[0]][-1]
        if attributes.pop("beta", 1.0) != 1.0 or (bias and self.constants[numbers[0]].size != units):
            return None
        return _node("QGemm", [*x, *w, *(numbers or [""]), *y], quantize, MICROSOFT, attributes)

    def _ratio(self, x: Triple, y: list[str]) -> float:
        """A step of x in steps of y."""
        return float(self.constants[x[1]] / self.constants[y[0]])

    def _triple(self, name: str) -> Triple | None:
        maker = self.makers.get(name)
        return list(maker.input) if maker is not None and maker.op_type == "DequantizeLinear" else None


def _node(
    kind: str, inputs: list[str], quantize: onnx.NodeProto, domain: str, attributes: dict[str, Any]
) -> onnx.NodeProto:
    return helper.make_node(
        kind, inputs, quantize.output, f"{quantize.name}_{kind}", domain=domain, **attributes
    )


def _shapes(model: onnx.ModelProto) -> dict[str, list[int]]:
    found = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    values = [*found.value_info, *found.output]
    return {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
