"""Convolutions and poolings: every attribute of their windows explicit.

Afterwards `kernel_shape`, `strides`, `dilations` and `pads` are always there, `auto_pad` and
`output_shape` never, and `ceil_mode` only where it matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnx import NodeProto

from .onnx_graph import Graph, attributes, set_attributes
from .onnx_opset import schema

WEIGHTS: Mapping[str, int] = MappingProxyType(
    {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3}
)
"""Operators with a window of weights, and which input these are."""

POOLS = ("MaxPool", "AveragePool", "LpPool")


def explicit_windows(graph: Graph) -> None:
    """Write out kernel, strides, dilations and pads of every convolution and pooling."""
    for node in graph.nodes:
        if not node.domain and (node.op_type in WEIGHTS or node.op_type in POOLS):
            _explicit(node, graph)


def _explicit(node: NodeProto, graph: Graph) -> None:
    values = attributes(node)
    size = graph.shape(node.input[0])[2:]
    out = graph.shape(node.output[0])[2:]
    axes = range(len(size))
    kernel = values.get("kernel_shape")
    if kernel is None:
        kernel = list(graph.shape(node.input[WEIGHTS[node.op_type]])[2:])
    strides = values.get("strides") or [1] * len(size)
    dilations = values.get("dilations") or [1] * len(size)
    reach = [(kernel[i] - 1) * dilations[i] + 1 for i in axes]
    mode = values.get("auto_pad", "NOTSET")
    if node.op_type == "ConvTranspose":
        pads, extra = _transposed_pads(node, size, out, strides, reach)
        set_attributes(node, output_padding=extra if any(extra) else None, output_shape=None)
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        total = [max((out[i] - 1) * strides[i] + reach[i] - size[i], 0) for i in axes]
        pads = _halves(total, end_first=mode == "SAME_UPPER")
    elif mode == "VALID":
        pads = [0] * (2 * len(size))
    else:
        pads = list(values.get("pads") or [0] * (2 * len(size)))
    if values.get("ceil_mode") and not values.get("count_include_pad"):
        # A window that reaches beyond the padding is the same as one that reaches into more padding.
        for i in axes:
            needed = (out[i] - 1) * strides[i] + reach[i] - size[i] - pads[i]
            pads[len(size) + i] = max(pads[len(size) + i], needed)
        set_attributes(node, ceil_mode=None)
    set_attributes(node, auto_pad=None, kernel_shape=kernel, strides=strides, pads=pads)
    if "dilations" in schema(node, graph.opset).attributes:
        set_attributes(node, dilations=dilations)


def _halves(total: list[int], end_first: bool) -> list[int]:
    """Padding shared between begin and end of each axis; `end_first`: an odd one goes to the end."""
    small = [t // 2 for t in total]
    large = [t - t // 2 for t in total]
    return small + large if end_first else large + small


def _transposed_pads(
    node: NodeProto, size: tuple[int, ...], out: tuple[int, ...], strides: list[int], reach: list[int]
) -> tuple[list[int], list[int]]:
    """Pads and output padding of a ConvTranspose."""
    values = attributes(node)
    axes = range(len(size))
    extra = list(values.get("output_padding") or [0] * len(size))
    mode = values.get("auto_pad", "NOTSET")
    if mode == "VALID" or (mode == "NOTSET" and not values.get("output_shape")):
        return list(values.get("pads") or [0] * (2 * len(size))), extra
    total = [strides[i] * (size[i] - 1) + extra[i] + reach[i] - out[i] for i in axes]
    # What is missing is appended, as onnxruntime does.
    extra = [e - min(t, 0) for e, t in zip(extra, total, strict=True)]
    total = [max(t, 0) for t in total]
    return _halves(total, end_first=mode == "SAME_UPPER"), extra


def merge_pads(graph: Graph) -> None:
    """A Pad with zeros of a convolution's input becomes the convolution's own padding."""
    producers, readers = graph.producers(), graph.consumers()
    for node in graph.nodes:
        pad = producers.get(node.input[0]) if node.op_type == "Conv" and not node.domain else None
        if pad is None or pad.op_type != "Pad" or pad.domain or len(readers[pad.output[0]]) > 1:
            continue
        amounts = _spatial_zeros(pad, graph)
        if amounts is not None:
            own = attributes(node)["pads"]
            set_attributes(node, pads=[a + b for a, b in zip(own, amounts, strict=True)])
            node.input[0] = pad.input[0]


def _spatial_zeros(pad: NodeProto, graph: Graph) -> list[int] | None:
    """How much a Pad adds to the spatial axes, if that is all that it does and it adds zeros."""
    rank = len(graph.shape(pad.input[0]))
    amounts, value, axes = (graph.constant(pad, index) for index in (1, 2, 3))
    if attributes(pad).get("mode", "constant") != "constant" or amounts is None:
        return None
    if len(pad.input) > 2 and pad.input[2] and (value is None or value.any()):
        return None
    if len(pad.input) > 3 and pad.input[3] and axes is None:
        return None
    full = [0] * (2 * rank)
    chosen = range(rank) if axes is None else [int(a) % rank for a in axes]
    for index, axis in enumerate(chosen):
        full[axis] = int(amounts[index])
        full[rank + axis] = int(amounts[len(chosen) + index])
    begin, end = full[:rank], full[rank:]
    if any(begin[:2] + end[:2]) or min(full) < 0:
        return None
    return begin[2:] + end[2:]
