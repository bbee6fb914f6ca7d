"""Is this a model that makes sense? Every check that needs no shapes.

`check_structure` comes first: it sorts the nodes, so that what follows may rely on their order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, checker, defs, inliner

from ...errors import ModelError, UnsupportedError, did_you_mean
from .onnx_contrib import FUNCTIONS
from .onnx_expand import PREVIEW, add_defaults, has_body
from .onnx_graph import label, short
from .onnx_opset import EARLY_OPERATORS, SHIELD
from .onnx_quantized import EXPANSIONS, INSTEAD, UNSUPPORTED

OLDEST_OPSET = 1


def check_versions(proto: onnx.ModelProto) -> None:
    """Refuse versions of ONNX that are unknown here; ``ai.onnx`` is renamed to what it stands for, ``""``."""
    if proto.ir_version > onnx.IR_VERSION:
        raise UnsupportedError(
            f"its ONNX file format is version {proto.ir_version}",
            expected=f"at most {onnx.IR_VERSION}",
            remedy="export it with an older ONNX release",
        )
    for record in (*proto.opset_import, *_all_nodes(proto.graph)):
        if record.domain == "ai.onnx":
            record.domain = ""
    version = max((o.version for o in proto.opset_import if o.domain == ""), default=None)
    newest = defs.onnx_opset_version()
    if version is None:
        raise ModelError("the model does not use the ONNX operator set", expected=f"opset 13 to {newest}")
    if not OLDEST_OPSET <= version <= newest:
        raise UnsupportedError(
            f"it uses opset {version}",
            expected=f"opset {OLDEST_OPSET} to {newest}",
            remedy="export it with opset 17",
        )


def name_nodes(proto: onnx.ModelProto) -> None:
    """Nodes without a name get ``<operator>_<index>``, so that messages and reports can name them."""
    for index, node in enumerate(_all_nodes(proto.graph)):
        node.name = node.name or f"{node.op_type}_{index}"


def check_structure(graph: GraphProto) -> None:
    """Names defined once and before they are read; nodes are put into order of execution if they are not."""
    if not graph.output:
        raise ModelError("the model has no output")
    if graph.sparse_initializer:
        name = graph.sparse_initializer[0].values.name
        raise UnsupportedError("sparse constants are not supported", where=f"constant '{name}'")
    constants = {t.name for t in graph.initializer}
    known: dict[str, str] = {}
    _define(known, [t.name for t in graph.initializer], "constant")
    _define(known, [v.name for v in graph.input if v.name not in constants], "input")
    for node in graph.node:
        _define(known, [o for o in node.output if o], label(node))
    for node in graph.node:
        for name in _reads(node):
            if name not in known:
                raise ModelError(
                    f"it reads '{name}', which nothing computes",
                    where=label(node),
                    remedy=did_you_mean(name, known),
                )
    for value in graph.output:
        if value.name not in known:
            raise ModelError(
                f"nothing computes the output '{value.name}'", remedy=did_you_mean(value.name, known)
            )
    nodes = _sorted(list(graph.node))
    del graph.node[:]
    graph.node.extend(nodes)


def _define(known: dict[str, str], names: list[str], by: str) -> None:
    for name in names:
        if name in known:
            raise ModelError(
                f"the name '{name}' is defined twice",
                where=by,
                expected=f"each name once; {known[name]} defines it too",
            )
        known[name] = by


def _reads(node: NodeProto) -> Iterator[str]:
    """Values that a node reads, those that the graphs inside it take from outside included."""
    yield from (name for name in node.input if name)
    for graph in _inner_graphs(node):
        inside = {v.name for v in graph.input} | {t.name for t in graph.initializer}
        inside |= {o for inner in graph.node for o in inner.output}
        for inner in graph.node:
            yield from (name for name in _reads(inner) if name not in inside)
        yield from (v.name for v in graph.output if v.name not in inside)


def _sorted(nodes: list[NodeProto]) -> list[NodeProto]:
    """Nodes in order of execution, as near as possible to the order given."""
    producer = {o: index for index, node in enumerate(nodes) for o in node.output if o}
    needs = [{producer[n] for n in _reads(node) if n in producer} for node in nodes]
    feeds: list[list[int]] = [[] for _ in nodes]
    for index, before in enumerate(needs):
        for other in before:
            feeds[other].append(index)
    waiting = [len(before) for before in needs]
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for other in feeds[index]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, other)
    if len(order) < len(nodes):
        cycle = _cycle(needs, next(i for i, count in enumerate(waiting) if count))
        raise ModelError(
            "the nodes " + " -> ".join(f"'{nodes[i].name}'" for i in cycle) + " wait for each other",
            expected="a graph without cycles",
        )
    return [nodes[index] for index in order]


def _cycle(needs: list[set[int]], start: int) -> list[int]:
    """Indices of the nodes of one cycle, in order of execution, the first repeated at the end."""
    alive = set(range(len(needs)))
    while True:  # Nodes that need nothing alive are in no cycle and behind none.
        dead = {i for i in alive if not needs[i] & alive}
        if not dead:
            break
        alive -= dead
    path = [start if start in alive else min(alive)]
    while True:
        step = min(needs[path[-1]] & alive)
        if step in path:
            return [step, *reversed(path[path.index(step) :])]
        path.append(step)


def inline_functions(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Replace calls of the model's own functions by their bodies."""
    if not proto.functions:
        return proto
    defaults = {(f.domain, f.name): f.attribute_proto for f in proto.functions}
    bodies = (node for function in proto.functions for node in function.node)
    for node in (*_all_nodes(proto.graph), *bodies):
        add_defaults(node, defaults.get((node.domain, node.op_type), ()))
    try:
        return inliner.inline_local_functions(proto, convert_version=True)
    except Exception as error:  # noqa: BLE001 - the C++ inliner has kinds of its own
        raise ModelError(f"its functions cannot be expanded: {short(error)}") from None


def check_nodes(proto: onnx.ModelProto) -> None:
    """Every operator exists in its operator set, and `onnx.checker` has no objection."""
    opset = next(o.version for o in proto.opset_import if o.domain == "")
    for node in _all_nodes(proto.graph):
        _check_operator(node, opset)
    try:
        checker.check_model(proto)
    except checker.ValidationError as error:
        context = str(error).partition("Context: ")[2].splitlines()
        name = context[0].partition("Name: ")[2].partition(" OpType: ")[0] if context else ""
        raise ModelError(
            f"it is not valid ONNX: {short(error)}", where=f"node '{name}'" if name else None
        ) from None
    except Exception as error:  # noqa: BLE001 - malformed text in names and the like
        raise ModelError(f"it is not valid ONNX: {short(error)}") from None


def _check_operator(node: NodeProto, opset: int) -> None:
    if node.op_type in FUNCTIONS.get(node.domain, ()) or (node.domain, node.op_type) in EXPANSIONS:
        return
    if node.domain == SHIELD or (node.domain == PREVIEW and has_body(node, opset)):
        return
    if node.domain:
        raise UnsupportedError(
            f"operator '{node.op_type}' of the domain '{node.domain}' is not supported",
            where=label(node),
            remedy=INSTEAD
            if node.op_type in UNSUPPORTED
            else "export the network with standard ONNX operators only",
        )
    if defs.has(node.op_type, opset, ""):
        return
    if not defs.has(node.op_type, ""):
        names = {s.name for s in defs.get_all_schemas() if s.domain == ""}
        raise UnsupportedError(
            f"ONNX has no operator '{node.op_type}'",
            where=label(node),
            remedy=_near(node.op_type, names),
        )
    since = defs.get_schema(node.op_type, "").since_version
    raise UnsupportedError(
        f"operator '{node.op_type}' does not exist in opset {opset}",
        where=label(node),
        remedy=f"export the network with opset {since}" if since > opset else None,
    )


def _near(name: str, names: set[str]) -> str | None:
    """Like `did_you_mean`, but silent rather than a list of all operators of ONNX."""
    remedy = did_you_mean(name, names)
    return remedy if remedy.startswith("did you mean") else None


def shield_early_operators(proto: onnx.ModelProto) -> None:
    """Mark operators that exporters write before they entered ONNX; see `onnx_opset`."""
    opset = next(o.version for o in proto.opset_import if o.domain == "")
    early = [
        node
        for node in _all_nodes(proto.graph)
        if node.domain == "" and EARLY_OPERATORS.get(node.op_type, 0) > opset
    ]
    for node in early:
        node.domain = SHIELD
    if early:
        proto.opset_import.add(domain=SHIELD, version=1)


def _inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for inner in _inner_graphs(node):
            yield from _all_nodes(inner)
