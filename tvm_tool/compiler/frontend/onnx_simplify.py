"""Passes that remove what computes nothing, and tidy names."""

from __future__ import annotations

import hashlib

import numpy as np
from onnx import NodeProto, helper

from ...errors import UnsupportedError
from .onnx_graph import Graph, attributes, label, numpy_dtype, set_attributes


def name_nodes(graph: Graph) -> None:
    """Every node gets a name of its own: reports call it so. Those that have one keep it."""
    taken: set[str] = set()
    for index, node in enumerate(graph.nodes):
        base = name = node.name or f"{node.op_type}_{index}"
        count = 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        node.name = name


def check_inference_mode(graph: Graph) -> None:
    """Refuse operators in training mode; drop the outputs that only training reads.

    The mask of a Dropout lets everything pass.
    """
    readers = graph.consumers()
    for node in graph.nodes:
        if node.domain or node.op_type not in ("Dropout", "BatchNormalization"):
            continue
        mode = graph.constant(node, 2) if node.op_type == "Dropout" else None
        given = node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]
        training = attributes(node).get("training_mode", 0) if not given else mode is None or mode.any()
        if node.op_type == "Dropout" and not training and len(node.output) > 1 and node.output[1]:
            mask = graph.types[node.output[1]]
            graph.constants[node.output[1]] = np.ones(mask.shape, numpy_dtype(mask.elem))
            del node.output[1:]
        extra = [name for name in node.output[1:] if name in readers or name in graph.outputs]
        if training or extra:
            raise UnsupportedError(
                "it is in training mode" if training else f"its output '{extra[0]}' is for training only",
                where=label(node),
                remedy="export the network for inference, for example after model.eval()",
            )
        del node.output[1:]


def cut_what_is_read(graph: Graph) -> None:
    """A Split of which some parts are not read becomes a Slice for each that is."""
    used = {*graph.consumers(), *graph.outputs}

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.op_type != "Split" or node.domain or all(name in used for name in node.output):
            return None
        axis = attributes(node).get("axis", 0) % len(graph.shape(node.input[0]))
        slices, start = [], 0
        for number, name in enumerate(node.output):
            end = start + graph.types[name].shape[axis]
            if name in used:
                places = zip(("start", "end", "axis"), (start, end, axis), strict=True)
                inputs = [graph.add_constant(f"{name}/{what}", np.array([at])) for what, at in places]
                part = [node.input[0], *inputs]
                slices.append(helper.make_node("Slice", part, [name], f"{node.name}/{number}"))
            start = end
        return slices

    graph.rewrite(rule)


def remove_identities(graph: Graph) -> None:
    """Drop nodes whose output is their input: Identity, Dropout, Cast to the same type and the like."""
    new_names: dict[str, str] = {}
    computed = {o for node in graph.nodes for o in node.output}
    outputs = set(graph.outputs)
    renamed: dict[str, str] = {}

    def drop(node: NodeProto) -> list[NodeProto] | None:
        if not _is_identity(node, graph):
            return None
        source, target = node.input[0], node.output[0]
        while source in new_names:
            source = new_names[source]
        if target not in outputs:
            new_names[target] = source
            return []
        # The output keeps its name: what computes the value takes it over, if it may.
        if source not in computed or source in outputs or source in renamed:
            return [helper.make_node("Identity", [node.input[0]], [target], node.name)]
        renamed[source] = target
        return []

    graph.rewrite(drop)
    graph.replace_values(new_names)
    graph.replace_values(renamed)
    for node in graph.nodes:
        for index, name in enumerate(node.output):
            if name in renamed:
                node.output[index] = renamed[name]


def _is_identity(node: NodeProto, graph: Graph) -> bool:
    if node.domain or not node.output[0]:
        return False
    if node.op_type in ("Identity", "Dropout"):
        return True
    if node.op_type in ("Concat", "Sum", "Max", "Min", "Mean"):
        return len(node.input) == 1
    after = graph.types[node.output[0]]
    if not node.input or graph.types.get(node.input[0]) != after:
        return False
    if node.op_type in ("Cast", "CastLike", "Reshape", "Expand", "Flatten", "Squeeze", "Unsqueeze", "Tile"):
        return True
    if node.op_type in ("Slice", "Pad"):
        return _keeps_all(node, graph)
    if node.op_type == "Transpose":
        return permutation(node, graph) == tuple(range(len(after.shape)))
    return False


def _keeps_all(node: NodeProto, graph: Graph) -> bool:
    """Whether a Slice or Pad that keeps the shape also keeps every element in its place."""
    if node.op_type == "Slice":
        steps = graph.constant(node, 4)
        return len(node.input) < 5 or (steps is not None and bool((steps > 0).all()))
    pads = graph.constant(node, 1)
    return pads is not None and not pads.any()


def permutation(node: NodeProto, graph: Graph) -> tuple[int, ...]:
    """The permutation of a Transpose."""
    rank = len(graph.shape(node.input[0]))
    return tuple(attributes(node).get("perm") or reversed(range(rank)))


def use_plain_reshapes(graph: Graph) -> None:
    """Squeeze, Unsqueeze and Flatten become Reshape to the shape that they result in."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if node.domain or node.op_type not in ("Squeeze", "Unsqueeze", "Flatten", "Reshape"):
            return None
        if 0 in graph.shape(node.output[0]):
            return None
        return [graph.reshape(node.name, node.input[0], node.output[0])]

    graph.rewrite(rule)


def merge_reshapes(graph: Graph) -> None:
    """A Reshape of a Reshape reads what the first one reads."""
    producers = graph.producers()
    for node in graph.nodes:
        if _is(node, "Reshape"):
            before = producers.get(node.input[0])
            if before is not None and _is(before, "Reshape") and 0 not in graph.shape(node.output[0]):
                node.input[0] = before.input[0]


def merge_transposes(graph: Graph) -> None:
    """A Transpose of a Transpose reads what the first one reads."""
    producers = graph.producers()
    for node in graph.nodes:
        if not _is(node, "Transpose"):
            continue
        before = producers.get(node.input[0])
        if before is not None and _is(before, "Transpose"):
            first = permutation(before, graph)
            set_attributes(node, perm=[first[axis] for axis in permutation(node, graph)])
            node.input[0] = before.input[0]


def use_reshapes_for_transposes(graph: Graph) -> None:
    """A Transpose that moves only dimensions of size 1 becomes a Reshape, which costs nothing."""

    def rule(node: NodeProto) -> list[NodeProto] | None:
        if not _is(node, "Transpose"):
            return None
        shape = graph.shape(node.input[0])
        moved = [axis for axis in permutation(node, graph) if shape[axis] != 1]
        return [graph.reshape(node.name, node.input[0], node.output[0])] if moved == sorted(moved) else None

    graph.rewrite(rule)


def _is(node: NodeProto, operator: str) -> bool:
    return node.op_type == operator and not node.domain


def remove_dead(graph: Graph) -> None:
    """Drop nodes whose outputs nothing reads, and constants and types of values that are gone."""
    wanted = set(graph.outputs)
    alive: list[NodeProto] = []
    for node in reversed(graph.nodes):
        if any(name in wanted for name in node.output):
            wanted.update(name for name in node.input if name)
            alive.append(node)
    graph.nodes = alive[::-1]
    used = wanted | {name for node in graph.nodes for name in node.output} | set(graph.inputs)
    graph.constants = {name: graph.constants[name] for name in graph.constants if name in used}
    graph.types = {name: graph.types[name] for name in graph.types if name in used}


def share_constants(graph: Graph) -> None:
    """Of constants that are equal to the bit, one stays."""
    first: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    same: dict[str, str] = {}
    for name, array in graph.constants.items():
        key = (str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).digest())
        if first.setdefault(key, name) != name and name not in graph.outputs:
            same[name] = first[key]
    graph.replace_values(same)
    remove_dead(graph)


def compute_outputs(graph: Graph) -> None:
    """Let every output be computed by a node of its own.

    An output that is an input or a constant becomes a copy of it, and so does an output that the
    model lists twice (the second gets a new name).
    """
    computed = {name for node in graph.nodes for name in node.output}
    copies: list[NodeProto] = []
    seen: set[str] = set()
    for index, name in enumerate(graph.outputs):
        if name in seen:
            target = graph.add_value(name, graph.types[name])
            copies.append(helper.make_node("Identity", [name], [target], f"Identity_{target}"))
            graph.outputs[index] = target
        elif name in graph.constants:
            source = graph.add_constant(f"{name}/value", graph.constants.pop(name))
            graph.replace_values({name: source})
            copies.append(helper.make_node("Identity", [source], [name], f"Identity_{name}"))
        elif name not in computed:
            target = graph.add_value(name, graph.types[name])
            copies.append(helper.make_node("Identity", [name], [target], f"Identity_{target}"))
            graph.outputs[index] = target
        seen.add(name)
    graph.nodes += copies
