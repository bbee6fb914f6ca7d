"""Convolutions and poolings: every attribute of their windows explicit.

Afterwards `kernel_shape`, `strides`, `dilations` and `pads` are always there, `auto_pad` and
`output_shape` and `ceil_mode` never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from onnx import NodeProto, helper

from ...errors import ModelError
from .onnx_graph import Graph, Type, attributes, label, set_attributes
from .onnx_opset import schema

WEIGHTS: Mapping[str, int] = MappingProxyType({"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1})
"""Operators with a window of weights, and which input these are."""

POOLS = ("MaxPool", "AveragePool", "LpPool")


@dataclass(frozen=True)
class Window:
    """The window of one node, one number for each spatial axis."""

    size: tuple[int, ...]
    out: tuple[int, ...]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]

    @staticmethod
    def of(node: NodeProto, graph: Graph) -> Window:
        values = attributes(node)
        size = graph.shape(node.input[0])[2:]
        kernel = values.get("kernel_shape")
        if kernel is None:
            kernel = graph.shape(node.input[WEIGHTS[node.op_type]])[2:]
        ones = [1] * len(size)
        return Window(
            size=size,
            out=graph.shape(node.output[0])[2:],
            kernel=list(kernel),
            strides=list(values.get("strides") or ones),
            dilations=list(values.get("dilations") or ones),
        )

    @property
    def reach(self) -> list[int]:
        """Elements from the first of a window to its last, both included."""
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]

    def missing(self, begin: Sequence[int]) -> list[int]:
        """How much padding at the end the last window needs; negative if it ends inside."""
        places = zip(self.out, self.strides, self.reach, self.size, begin, strict=True)
        return [(out - 1) * stride + reach - size - first for out, stride, reach, size, first in places]


def explicit_windows(graph: Graph) -> None:
    """Write out kernel, strides, dilations and pads of every convolution and pooling."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.domain or (node.op_type not in WEIGHTS and node.op_type not in POOLS):
            return None
        _check_weights(node, graph)
        window = Window.of(node, graph)
        before: list[NodeProto] = []
        if node.op_type == "ConvTranspose":
            pads, extra = _transposed_pads(node, window)
            set_attributes(node, output_padding=extra if any(extra) else None, output_shape=None)
        else:
            pads = pads_of(node, window)
            if attributes(node).get("ceil_mode"):
                pads, before = _without_ceil(node, window, pads, graph)
        set_attributes(node, auto_pad=None, kernel_shape=window.kernel, strides=window.strides, pads=pads)
        if "dilations" in schema(node, graph.opset).attributes:
            set_attributes(node, dilations=window.dilations)
        return [*before, node]

    graph.rewrite(rule)


def _check_weights(node: NodeProto, graph: Graph) -> None:
    """Channels of input, weights and bias agree; ONNX leaves that to the runtime."""
    if node.op_type not in WEIGHTS:
        return
    data, weights = graph.shape(node.input[0]), graph.shape(node.input[1])
    group = attributes(node).get("group", 1)
    transposed = node.op_type == "ConvTranspose"
    takes = weights[0] if transposed else weights[1] * group
    gives = weights[1] * group if transposed else weights[0]
    bias = graph.shape(node.input[2]) if len(node.input) > 2 and node.input[2] else (gives,)
    if takes != data[1] or takes % group or gives % group or bias != (gives,):
        raise ModelError(
            f"input {list(data)}, weights {list(weights)}, bias {list(bias)} and {group} groups do not fit",
            where=label(node),
        )


def pads_of(node: NodeProto, window: Window) -> list[int]:
    """Pads of a convolution or pooling, `auto_pad` worked out: all begins, then all ends."""
    values = attributes(node)
    mode = values.get("auto_pad", "NOTSET")
    none = [0] * len(window.size)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        total = [max(missing, 0) for missing in window.missing(none)]
        return _halves(total, end_first=mode == "SAME_UPPER")
    return list((mode == "NOTSET" and values.get("pads")) or none + none)


def _without_ceil(
    node: NodeProto, window: Window, pads: list[int], graph: Graph
) -> tuple[list[int], list[NodeProto]]:
    """Pads with which a pooling gives the same without `ceil_mode`, and a node to put before it.

    A window that reaches beyond the padding is one that reaches into more padding - except where
    padding counts in an average, but not what lies beyond it: there the first becomes data.
    """
    rank = len(window.size)
    begin, end = pads[:rank], pads[rank:]
    full = [max(missing, given) for missing, given in zip(window.missing(begin), end, strict=True)]
    before: list[NodeProto] = []
    if full != end and attributes(node).get("count_include_pad"):
        if any(pads):
            before = [_pad_node(node, pads, graph)]
            full = [wanted - given for wanted, given in zip(full, end, strict=True)]
            begin = [0] * rank
        set_attributes(node, count_include_pad=None)
    set_attributes(node, ceil_mode=None)
    return begin + full, before


def _pad_node(node: NodeProto, pads: list[int], graph: Graph) -> NodeProto:
    """A Pad with zeros that computes a new input of `node`."""
    data = graph.types[node.input[0]]
    rank = len(data.shape)
    full = [0, 0, *pads[: rank - 2], 0, 0, *pads[rank - 2 :]]
    shape = tuple(d + full[axis] + full[rank + axis] for axis, d in enumerate(data.shape))
    padded = graph.add_value(f"{node.input[0]}/padded", Type(data.elem, shape))
    amounts = graph.add_constant(f"{padded}/pads", np.array(full, np.int64))
    pad = helper.make_node("Pad", [node.input[0], amounts], [padded], f"{node.name}/pad")
    node.input[0] = padded
    return pad


def _halves(total: list[int], end_first: bool) -> list[int]:
    """Padding shared between begin and end of each axis; `end_first`: an odd one goes to the end."""
    small = [t // 2 for t in total]
    large = [t - t // 2 for t in total]
    return small + large if end_first else large + small


def _transposed_pads(node: NodeProto, window: Window) -> tuple[list[int], list[int]]:
    """Pads and output padding of a ConvTranspose."""
    values = attributes(node)
    none = [0] * len(window.size)
    extra = list(values.get("output_padding") or none)
    mode = values.get("auto_pad", "NOTSET")
    if mode == "VALID" or (mode == "NOTSET" and not values.get("output_shape")):
        return list(values.get("pads") or none + none), extra
    places = zip(window.strides, window.size, extra, window.reach, window.out, strict=True)
    total = [stride * (size - 1) + add + reach - out for stride, size, add, reach, out in places]
    # What is missing is appended, as onnxruntime does.
    extra = [add - min(t, 0) for add, t in zip(extra, total, strict=True)]
    return _halves([max(t, 0) for t in total], end_first=mode == "SAME_UPPER"), extra


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
