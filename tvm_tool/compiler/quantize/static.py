"""The quantising itself: ranges from the calibration data, then Q/DQ pairs around every operator."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...errors import ModelError
from ..layers import Array
from .runtime import first_line, import_runtime


def quantize_static(model: onnx.ModelProto, inputs: Sequence[Mapping[str, Array]]) -> onnx.ModelProto:
    """Quantise a float model in normal form to int8.

    Weights are symmetric and have a scale for each output channel; activations have one scale and one zero
    point, from the least and the largest value that `inputs` lead to.

    Args:
        inputs: arrays by the name of the input, one mapping a sample, in the model's types and shapes.
    """
    import_runtime()
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory(prefix="tvm-tool-") as folder, _without_advice():
        file = Path(folder) / "quantized.onnx"
        copy = onnx.ModelProto()  # onnxruntime moves weights out of what it is given
        copy.CopyFrom(model)
        _spread_biases(copy.graph)
        try:
            quantization.quantize_static(
                copy,
                file,
                _Reader(inputs),
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                reduce_range=False,
                activation_type=quantization.QuantType.QInt8,
                weight_type=quantization.QuantType.QInt8,
                calibrate_method=quantization.CalibrationMethod.MinMax,
                extra_options={"ActivationSymmetric": False, "WeightSymmetric": True},
            )
        except Exception as error:  # noqa: BLE001 - it raises what its parts raise
            raise ModelError(
                f"onnxruntime cannot quantise the model: {first_line(error)}",
                where="option 'quantize'",
                remedy="quantise it where it was trained, or compile it in float",
            ) from None
        made = onnx.load(file)
    made.producer_name = made.producer_version = ""
    made.ClearField("metadata_props")
    return made


def _spread_biases(graph: onnx.GraphProto) -> None:
    """Give each Gemm a vector as its bias: onnxruntime can quantise no other by channel."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type != "Gemm" or len(node.input) < 3:
            continue
        weights, bias = (constants.get(name) for name in node.input[1:3])
        if weights is None or bias is None:
            continue
        turned = any(a.name == "transB" and helper.get_attribute_value(a) for a in node.attribute)
        channels = weights.dims[0 if turned else 1]
        if list(bias.dims) == [channels] or np.prod(bias.dims[:-1]) != 1:
            continue
        array = np.broadcast_to(numpy_helper.to_array(bias).ravel(), channels)
        node.input[2] = _unused(constants, f"{bias.name}_by_channel")
        constants[node.input[2]] = numpy_helper.from_array(array, node.input[2])
        graph.initializer.append(constants[node.input[2]])


def _unused(names: Collection[str], name: str) -> str:
    while name in names:
        name += "_"
    return name


class _Reader:
    """The calibration data as onnxruntime asks for them."""

    def __init__(self, inputs: Sequence[Mapping[str, Array]]) -> None:
        self._inputs: Iterator[Any] = iter(inputs)

    def get_next(self) -> dict[str, Array] | None:
        sample = next(self._inputs, None)
        return None if sample is None else dict(sample)


@contextmanager
def _without_advice() -> Iterator[None]:
    """It advises to prepare the model, which the normal form has done."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
