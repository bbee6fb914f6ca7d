"""Quantised poolings and means."""

from __future__ import annotations

from dataclasses import replace

from .onnx_emit import Emitter
from .onnx_graph import attributes
from .onnx_quantized_values import BYTES, Quantized, check_element, dequantize, operand, quantize, result

AXES_ARE_AN_INPUT = 18
"""Opset since which ReduceMean takes its axes as an input."""


def average_pool(emit: Emitter) -> bool:
    """QLinearAveragePool, channels first or last."""
    return _pool(emit, "AveragePool")


def global_average_pool(emit: Emitter) -> bool:
    """QLinearGlobalAveragePool, channels first or last."""
    return _pool(emit, "GlobalAveragePool")


def _pool(emit: Emitter, operator: str) -> bool:
    values = attributes(emit.node)
    last = bool(values.pop("channels_last", 0))
    x, y = operand(emit, 0, 1, 2), result(emit, 3, 4, like=0)
    real = emit(operator, dequantize(emit, channels_first(emit, x) if last else x), **values)
    finish(emit, real, y, last)
    return True


def nhwc_max_pool(emit: Emitter) -> bool:
    """NhwcMaxPool: of numbers, whatever they stand for."""
    source = emit.input(0)
    check_element(emit.graph, emit.node, source, BYTES)
    first, last = _channel_moves(len(emit.graph.shape(source)))
    pooled = emit("MaxPool", emit("Transpose", source, perm=first), **attributes(emit.node))
    emit("Transpose", pooled, output=emit.node.output[0], perm=last)
    return True


def reduce_mean(emit: Emitter) -> bool:
    """QLinearReduceMean: its axes are an attribute."""
    values = attributes(emit.node)
    x, y = operand(emit, 0, 1, 2), result(emit, 3, 4, like=0)
    inputs = [dequantize(emit, x)]
    if emit.graph.opset >= AXES_ARE_AN_INPUT and "axes" in values:
        inputs.append(emit.constant(values.pop("axes")))
    finish(emit, emit("ReduceMean", *inputs, **values), y)
    return True


# ---------------------------------------------------------------- channels last


def channels_first(emit: Emitter, x: Quantized) -> Quantized:
    """`x`, [N, ..., C], as [N, C, ...]."""
    first, _ = _channel_moves(len(emit.graph.shape(x.data)))
    return replace(x, data=emit("Transpose", x.data, perm=first))


def finish(emit: Emitter, real: str, y: Quantized, last: bool = False) -> None:
    """The output of the node: `real` as numbers of `y`, its channels moved behind if they come `last`."""
    output = emit.node.output[0]
    if last:
        _, perm = _channel_moves(len(emit.graph.shape(emit.input(0))))
        emit("Transpose", quantize(emit, real, y), output=output, perm=perm)
    else:
        quantize(emit, real, y, output)


def _channel_moves(rank: int) -> tuple[list[int], list[int]]:
    """The permutation that brings channels from behind to the front, and the one back."""
    return [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
