"""Half precision on its way through TVM, which knows no C for it: as the words that store it.

To TVM a half is a uint16, and a Cast from or to it an operator of our own. In the program, inputs and
outputs of the model are called by their right type again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from .program import Program

WORDS: Mapping[int, str] = MappingProxyType({TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16"})
"""Element types that are stored as uint16, and what the functions of the runtime call them."""


def word_dtype(elem: int) -> str:
    """The numpy dtype that TVM sees for an ONNX element type."""
    return "uint16" if elem in WORDS else str(helper.tensor_dtype_to_np_dtype(elem))


def as_words(graph: onnx.GraphProto) -> None:
    """Turn the halves of a normalised graph into uint16, in place."""
    values = (*graph.input, *graph.output, *graph.value_info)
    words = {v.name: WORDS[v.type.tensor_type.elem_type] for v in values if _is_half(v.type.tensor_type)}
    if not words:
        return
    for value in values:
        if _is_half(value.type.tensor_type):
            value.type.tensor_type.elem_type = TensorProto.UINT16
    for tensor in graph.initializer:
        if tensor.data_type in WORDS:
            tensor.data_type = TensorProto.UINT16
    for node in graph.node:
        if node.op_type == "Cast":
            source, target = node.input[0], node.output[0]
            if source in words:
                node.op_type = f"f32_from_{words[source]}"
            elif target in words:
                node.op_type = f"{words[target]}_from_f32"


def as_stored(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`values` as TVM sees them: halves are the words that store them."""
    elem = helper.np_dtype_to_tensor_dtype(values.dtype)
    return values.view(np.uint16) if elem in WORDS else values


def _is_half(tensor: onnx.TypeProto.Tensor) -> bool:
    return tensor.elem_type in WORDS


def name_halves(program: Program, graph: onnx.GraphProto) -> Program:
    """`program` with the halves of the interface and the states called float16 and bfloat16."""
    tensors = list(program.tensors)
    given = (*program.inputs, *(state.tensor for state in program.states))
    for indices, values in ((given, graph.input), (program.outputs, graph.output)):
        for index, elem in zip(indices, _elements(values), strict=False):  # behind the outputs: new states
            if elem in WORDS:
                dtype = str(helper.tensor_dtype_to_np_dtype(elem))
                tensors[index] = replace(tensors[index], dtype=dtype)
    return replace(program, tensors=tuple(tensors))


def _elements(values: Iterable[onnx.ValueInfoProto]) -> list[int]:
    return [value.type.tensor_type.elem_type for value in values]
