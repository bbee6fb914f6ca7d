"""How the integers of a model's inputs and outputs stand for real values, as its graph tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ..quantized_layers import Quantization

MOVES = frozenset(
    "DepthToSpace Expand Flatten Identity MaxPool Reshape Slice SpaceToDepth Squeeze Tile Transpose "
    "Unsqueeze".split()
)
"""Operators whose results are some of the numbers of their first input."""


def interface_quantization(model: onnx.ModelProto) -> dict[str, Quantization]:
    """Of each input that is only dequantised, and of each output that was quantised, by name.

    Data movement in between is looked through. What is quantised channel by channel, or in several ways,
    has no entry.
    """
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input[:1]:
            readers.setdefault(name, []).append(node)
    producers = {name: node for node in graph.node for name in node.output}
    found: dict[str, Quantization] = {}
    for value in graph.input:
        known = _dequantised(value.name, readers, constants)
        if len(known) == 1:
            _record(found, value, known.pop())
    for value in graph.output:
        name = value.name
        while (node := producers.get(name)) is not None and node.op_type in MOVES:
            name = node.input[0]
        if node is None and name in found:
            found[value.name] = found[name]
        elif node is not None and node.op_type == "QuantizeLinear":
            _record(found, value, parameters(node, constants))
    return found


def parameters(node: NodeProto, constants: Mapping[str, TensorProto]) -> tuple[float, int] | None:
    """Scale and zero point of a QuantizeLinear or DequantizeLinear.

    None if they are not constant, or not the same for the whole tensor.
    """
    arrays = [numpy_helper.to_array(constants[name]) for name in node.input[1:] if name in constants]
    if len(arrays) < sum(bool(name) for name in node.input[1:]) or any(a.size != 1 for a in arrays):
        return None
    return arrays[0].item(), arrays[1].item() if len(arrays) > 1 else 0


def _record(
    found: dict[str, Quantization], value: onnx.ValueInfoProto, how: tuple[float, int] | None
) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if how is not None and dtype.kind in "iu":
        found[value.name] = Quantization(str(dtype), *how)


def _dequantised(
    name: str, readers: Mapping[str, Sequence[NodeProto]], constants: Mapping[str, TensorProto]
) -> set[tuple[float, int] | None]:
    """In how many ways a value is dequantised; None is one that is not known."""
    found: set[tuple[float, int] | None] = set()
    for node in readers.get(name, ()):
        if node.op_type == "DequantizeLinear":
            found.add(parameters(node, constants))
        elif node.op_type in MOVES:
            found |= _dequantised(node.output[0], readers, constants)
    return found
