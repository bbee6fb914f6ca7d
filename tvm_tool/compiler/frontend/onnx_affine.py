"""Constant factors and offsets move into the weights before them.

BatchNormalization becomes a factor and an offset a channel; these, like any Mul or Add of constants,
disappear in a Conv, ConvTranspose or Gemm whose result nothing else reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import NodeProto, helper

from ...errors import ModelError
from .onnx_graph import Array, Graph, Type, attributes, copy_of, elements, label, numpy_dtype, set_attributes

LINEAR = ("Conv", "ConvTranspose", "Gemm")
Readers = Mapping[str, Sequence[NodeProto]]


def split_batch_norms(graph: Graph) -> None:
    """BatchNormalization with constant parameters becomes Mul and Add."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        parameters = [graph.constant(node, index) for index in range(1, 5)]
        if node.op_type != "BatchNormalization" or node.domain or any(p is None for p in parameters):
            return None
        scale, offset, mean, variance = (np.asarray(p, np.float64) for p in parameters)
        data = graph.types[node.input[0]]
        channels = data.shape[1] if len(data.shape) > 1 else 1
        if any(p.shape != (channels,) for p in (scale, offset, mean, variance)):
            raise ModelError(f"its parameters do not fit {channels} channels", where=label(node))
        factor = scale / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
        shape = (-1, *[1] * (len(data.shape) - 2))
        by, plus = (
            graph.add_constant(
                f"{node.output[0]}/{what}", values.reshape(shape).astype(numpy_dtype(data.elem))
            )
            for what, values in (("factor", factor), ("offset", offset - mean * factor))
        )
        scaled = graph.add_value(f"{node.output[0]}/scaled", data)
        return [
            helper.make_node("Mul", [node.input[0], by], [scaled], f"{node.name}/scale"),
            helper.make_node("Add", [scaled, plus], list(node.output), node.name),
        ]

    graph.rewrite(rule)


def use_gemm(graph: Graph) -> None:
    """MatMul of a matrix with a constant one becomes Gemm, so that it can take a bias."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.op_type != "MatMul" or node.domain or graph.constant(node, 1) is None:
            return None
        if len(graph.shape(node.input[0])) != 2 or len(graph.shape(node.input[1])) != 2:
            return None
        return [copy_of(node, op_type="Gemm")] if _is_float(node, graph) else None

    graph.rewrite(rule)


def plain_gemms(graph: Graph) -> None:
    """Gemm with a constant B: B as [N, K] (transB=1), no factors, no transA, bias [N] or none."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        weights = graph.constant(node, 1)
        if node.op_type != "Gemm" or node.domain or weights is None or not _is_float(node, graph):
            return None
        values = attributes(node)
        if not values.get("transB"):
            weights = weights.T
        weights = _scaled(weights, np.float64(values.get("alpha", 1.0)))
        new = copy_of(node, input=[node.input[0], graph.add_constant(f"{node.input[1]}/packed", weights)])
        set_attributes(new, transA=None, transB=1, alpha=None, beta=None)
        nodes = [new]
        if values.get("transA"):
            data = graph.types[node.input[0]]
            turned = graph.add_value(f"{node.input[0]}/turned", Type(data.elem, data.shape[::-1]))
            new.input[0] = turned
            nodes.insert(
                0, helper.make_node("Transpose", [node.input[0]], [turned], f"{node.name}/turn", perm=[1, 0])
            )
        if len(node.input) > 2 and node.input[2]:
            nodes += _bias(node, new, float(values.get("beta", 1.0)), graph)
        return nodes

    graph.rewrite(rule)


def _bias(node: NodeProto, new: NodeProto, beta: float, graph: Graph) -> list[NodeProto]:
    """Give `new` the bias of `node`, scaled; if it is not one value a column, Mul and Add follow."""
    name = node.input[2]
    bias = graph.constants.get(name)
    rows, columns = graph.shape(node.output[0])
    shape = (1, 1, *graph.shape(name))[-2:]
    if len(graph.shape(name)) > 2 or shape[0] not in (1, rows) or shape[1] not in (1, columns):
        raise ModelError(f"its bias {list(graph.shape(name))} does not fit", where=label(node))
    if bias is not None:
        bias = _scaled(bias, np.float64(beta))
        row = _one_per_column(bias, columns)
        if row is not None:
            new.input.append(graph.add_constant(f"{name}/packed", row))
            return []
        name = graph.add_constant(f"{name}/packed", bias)
    product = graph.add_value(f"{node.output[0]}/product", graph.types[node.output[0]])
    new.output[0] = product
    nodes = []
    if bias is None and beta != 1.0:
        known = graph.types[name]
        factor = graph.add_constant(f"{node.output[0]}/beta", np.array(beta, numpy_dtype(known.elem)))
        scaled = graph.add_value(f"{name}/scaled", known)
        nodes.append(helper.make_node("Mul", [name, factor], [scaled], f"{node.name}/beta"))
        name = scaled
    nodes.append(helper.make_node("Add", [product, name], list(node.output), f"{node.name}/add"))
    return nodes


def fold_factors(graph: Graph) -> None:
    """Mul or Add of a constant for each output channel, after a linear operator, goes into its weights."""
    producers, readers = graph.producers(), graph.consumers()

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.op_type not in ("Mul", "Add") or node.domain:
            return None
        for data, constant in (node.input, reversed(node.input)):
            linear = producers.get(data)
            if linear is None or constant not in graph.constants or not _takes_constants(linear, graph):
                continue
            values = _one_per_channel(linear, graph.constants[constant], graph)
            if values is None or graph.only_reader(data, readers) is None:
                continue
            if graph.shape(data) != graph.shape(node.output[0]):
                continue
            _fold(linear, node, values, graph)
            producers[node.output[0]] = linear
            return []
        return None

    graph.rewrite(rule)


def _fold(linear: NodeProto, node: NodeProto, values: Array, graph: Graph) -> None:
    """Let `linear` compute what `node` computes from its result."""
    bias = graph.constant(linear, 2)
    has_bias = bias is not None
    bias = np.asarray(bias if has_bias else 0.0 * values, np.float64)
    factors = np.asarray(values, np.float64)
    if node.op_type == "Mul":
        weights = graph.constants[linear.input[1]]
        linear.input[1] = graph.add_constant(
            f"{linear.input[1]}/folded", _scaled(weights, _along_outputs(linear, factors, weights))
        )
        bias = bias * factors
    else:
        bias = bias + factors
        has_bias = True
    if has_bias:
        name = graph.add_constant(f"{linear.output[0]}/bias", bias.astype(values.dtype))
        del linear.input[2:]
        linear.input.append(name)
    linear.output[0] = node.output[0]


def _takes_constants(node: NodeProto, graph: Graph) -> bool:
    if node.op_type not in LINEAR or node.domain or not _is_float(node, graph):
        return False
    if graph.constant(node, 1) is None:
        return False
    return len(node.input) < 3 or not node.input[2] or graph.constant(node, 2) is not None


def _one_per_channel(linear: NodeProto, values: Array, graph: Graph) -> Array | None:
    """`values` as one number for each output channel of `linear`, if that is what they are."""
    shape = graph.shape(linear.output[0])
    if linear.op_type == "Gemm":
        return _one_per_column(values, shape[1])
    full = (1,) * (len(shape) - values.ndim) + values.shape
    if len(full) != len(shape) or full[1] not in (1, shape[1]) or elements(full) != full[1]:
        return None
    return np.broadcast_to(values.reshape(-1), (shape[1],))


def _one_per_column(values: Array, columns: int) -> Array | None:
    if values.size not in (1, columns) or elements(values.shape[:-1]) != 1 or values.ndim > 2:
        return None
    return np.broadcast_to(values.reshape(-1), (columns,))


def _along_outputs(linear: NodeProto, factors: Array, weights: Array) -> Array:
    """`factors` in a shape that scales the weights of each output channel."""
    if linear.op_type == "ConvTranspose":  # [input channels, output channels / group, ...]
        group = attributes(linear).get("group", 1)
        each = factors.reshape(group, 1, weights.shape[1])
        each = np.broadcast_to(each, (group, weights.shape[0] // group, weights.shape[1]))
        return each.reshape(*weights.shape[:2], *[1] * (weights.ndim - 2))
    return factors.reshape(-1, *[1] * (weights.ndim - 1))


def _scaled(array: Array, factor: Array | np.float64) -> Array:
    return (np.asarray(array, np.float64) * factor).astype(array.dtype)


def _is_float(node: NodeProto, graph: Graph) -> bool:
    return numpy_dtype(graph.types[node.output[0]].elem).kind == "f"
