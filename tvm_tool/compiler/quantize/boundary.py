"""Inputs and outputs in integers: the outermost quantize and dequantize are left to the caller."""

from __future__ import annotations

import onnx
from onnx import NodeProto

from ..frontend.onnx_quantization import parameters


def integer_interface(model: onnx.ModelProto) -> None:
    """Remove each QuantizeLinear at an input and each DequantizeLinear at an output, names kept.

    Only where the graph begins or ends with it, with one scale for the whole tensor; what does not stays in
    float.
    """
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    outputs = {value.name for value in graph.output}
    for value in graph.input:
        readers = [node for node in graph.node if value.name in node.input]
        if len(readers) != 1 or value.name in outputs:
            continue
        node = readers[0]
        if not _is(node, "QuantizeLinear") or not parameters(node, constants) or node.output[0] in outputs:
            continue
        _retype(value, constants[node.input[2]].data_type)
        graph.node.remove(node)
        _rename(model, node.output[0], value.name)
    for value in graph.output:
        ends = [node for node in graph.node if value.name in node.output]
        if not ends or not _is(ends[0], "DequantizeLinear") or not parameters(ends[0], constants):
            continue
        node = ends[0]
        numbers = node.input[0]
        if numbers in outputs or not any(numbers in other.output for other in graph.node):
            continue
        _retype(value, constants[node.input[2]].data_type)
        if any(value.name in other.input for other in graph.node):
            _rename(model, value.name, f"{value.name}/real")
        else:
            graph.node.remove(node)
        _rename(model, numbers, value.name)


def _is(node: NodeProto, operator: str) -> bool:
    return bool(node.op_type == operator and not node.domain and len(node.input) == 3)


def _retype(value: onnx.ValueInfoProto, elem: int) -> None:
    value.type.tensor_type.elem_type = elem


def _rename(model: onnx.ModelProto, old: str, new: str) -> None:
    for node in model.graph.node:
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                if name == old:
                    names[index] = new
    kept = [v for v in model.graph.value_info if v.name not in (old, new)]
    model.graph.ClearField("value_info")
    model.graph.value_info.extend(kept)
