"""LSTM, GRU and RNN, written out step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .onnx_emit import Emitter
from .onnx_graph import attributes

MOST_STEPS = 64
"""Sequences of at most so many steps are written out: each step becomes code."""

GATES: Mapping[str, int] = MappingProxyType({"RNN": 1, "GRU": 3, "LSTM": 4})
DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
)
ACTIVATIONS = ("Sigmoid", "Tanh", "Relu")


@dataclass(frozen=True)
class _Direction:
    """One pass over the sequence: its weights, cut out of those of the node.

    Attributes:
        given: [steps, batch, gates * hidden], what the inputs add to the gates.
        weights: [hidden, gates * hidden], transposed.
        bias: of the recurrent part, [gates * hidden]; empty if there is none.
        peepholes: [3 * hidden]; empty if there are none.
    """

    given: str
    weights: str
    bias: str
    peepholes: str
    activations: tuple[str, ...]
    hidden: int
    values: Mapping[str, Any]


def _recurrent(emit: Emitter) -> bool:
    node = emit.node
    values = attributes(node)
    gates = GATES[node.op_type]
    batch_first = bool(values.get("layout", 0))
    source = node.input[0]
    shape = emit.graph.shape(source)
    steps, batch = (shape[1], shape[0]) if batch_first else shape[:2]
    directions = emit.graph.shape(node.input[1])[0]
    hidden = emit.graph.shape(node.input[2])[-1]
    per_direction = len(DEFAULTS[node.op_type])
    names = [
        a if isinstance(a, str) else a.decode()
        for a in values.get("activations") or DEFAULTS[node.op_type] * directions
    ]
    lengths = emit.value(4)
    if emit.input(4) and (lengths is None or any(length != steps for length in lengths.tolist())):
        return False
    if steps > MOST_STEPS or values.get("input_forget") or set(names) - set(ACTIVATIONS):
        return False
    if batch_first:
        source = emit("Transpose", source, perm=[1, 0, 2])
    rows = emit.reshape(source, [steps * batch, shape[-1]])
    zeros = emit.constant([[0.0] * hidden] * batch, emit.dtype(node.input[0]))

    def own(index: int, direction: int, width: int) -> str:
        """The part of an input that belongs to a direction; empty if the input is left out."""
        name = emit.input(index)
        return emit.reshape(emit.cut(name, 0, direction, direction + 1), [width]) if name else ""

    def start(index: int, direction: int) -> str:
        name = emit.input(index)
        if not name:
            return zeros
        axis = 1 if batch_first else 0
        return emit.reshape(emit.cut(name, axis, direction, direction + 1), [batch, hidden])

    columns, states, cells = [], [], []
    for direction in range(directions):
        # Weights of the inputs and of the state: [1, gates * hidden, size] each.
        input_weights, weights = (
            emit("Transpose", emit.reshape(emit.cut(name, 0, direction, direction + 1), size), perm=[1, 0])
            for name, size in ((node.input[1], [-1, shape[-1]]), (node.input[2], [-1, hidden]))
        )
        bias = own(3, direction, 2 * gates * hidden)
        wide = gates * hidden
        given = emit("MatMul", rows, input_weights)
        if bias:
            given = emit("Add", given, emit.cut(bias, 0, 0, wide))
        one = _Direction(
            given=emit.reshape(given, [steps, batch, wide]),
            weights=weights,
            bias=emit.cut(bias, 0, wide, 2 * wide) if bias else "",
            peepholes=own(7, direction, 3 * hidden) if node.op_type == "LSTM" else "",
            activations=tuple(names[direction * per_direction :][:per_direction]),
            hidden=hidden,
            values=values,
        )
        state, cell = start(5, direction), start(6, direction) if node.op_type == "LSTM" else ""
        backwards = direction == 1 or values.get("direction", "forward") == "reverse"
        found: dict[int, str] = {}
        for step in reversed(range(steps)) if backwards else range(steps):
            now = emit.reshape(emit.cut(one.given, 0, step, step + 1), [batch, wide])
            state, cell = _STEPS[node.op_type](emit, one, now, state, cell)
            found[step] = emit.reshape(state, [1, 1, batch, hidden])
        columns.append(_joined(emit, [found[step] for step in range(steps)], 0))
        states.append(emit.reshape(state, [1, batch, hidden]))
        cells.append(emit.reshape(cell, [1, batch, hidden]) if cell else "")
    results = [_joined(emit, columns, 1), _joined(emit, states, 0)]
    results += [_joined(emit, cells, 0)] if node.op_type == "LSTM" else []
    for index, (result, output) in enumerate(zip(results, node.output, strict=False)):
        if not output:
            continue
        if batch_first:
            emit("Transpose", result, output=output, perm=[1, 0, 2] if index else [2, 0, 1, 3])
        else:
            emit("Identity", result, output=output)
    return True


def _joined(emit: Emitter, parts: list[str], axis: int) -> str:
    return emit("Concat", *parts, axis=axis) if len(parts) > 1 else parts[0]


def _gate(emit: Emitter, one: _Direction, name: str, index: int) -> str:
    return emit.cut(name, -1, index * one.hidden, (index + 1) * one.hidden)


def _active(emit: Emitter, one: _Direction, index: int, name: str) -> str:
    """The activation, behind the limits that the node sets."""
    clip = one.values.get("clip")
    if clip:
        name = emit("Clip", name, emit.like(emit.node.input[0], -clip), emit.like(emit.node.input[0], clip))
    return emit(one.activations[index], name)


def _rnn(emit: Emitter, one: _Direction, now: str, state: str, _cell: str) -> tuple[str, str]:
    total = emit("Add", now, emit("MatMul", state, one.weights))
    if one.bias:
        total = emit("Add", total, one.bias)
    return _active(emit, one, 0, total), ""


def _gru(emit: Emitter, one: _Direction, now: str, state: str, _cell: str) -> tuple[str, str]:
    before = emit("MatMul", state, one.weights)
    biased = emit("Add", before, one.bias) if one.bias else before

    def both(index: int) -> str:
        return emit("Add", _gate(emit, one, now, index), _gate(emit, one, biased, index))

    update, reset = (_active(emit, one, 0, both(index)) for index in (0, 1))
    if one.values.get("linear_before_reset"):
        memory = emit("Mul", reset, _gate(emit, one, biased, 2))
    else:
        memory = emit("MatMul", emit("Mul", reset, state), _gate(emit, one, one.weights, 2))
        if one.bias:
            memory = emit("Add", memory, _gate(emit, one, one.bias, 2))
    new = _active(emit, one, 1, emit("Add", _gate(emit, one, now, 2), memory))
    kept = emit("Mul", update, state)
    return emit("Add", emit("Mul", emit("Sub", emit.like(emit.node.input[0], 1), update), new), kept), ""


def _lstm(emit: Emitter, one: _Direction, now: str, state: str, cell: str) -> tuple[str, str]:
    total = emit("Add", now, emit("MatMul", state, one.weights))
    if one.bias:
        total = emit("Add", total, one.bias)

    def gate(index: int, peephole: int, seen: str) -> str:
        value = _gate(emit, one, total, index)
        if one.peepholes:
            value = emit("Add", value, emit("Mul", _gate(emit, one, one.peepholes, peephole), seen))
        return _active(emit, one, 0, value)

    taken, kept = gate(0, 0, cell), gate(2, 2, cell)
    new = _active(emit, one, 1, _gate(emit, one, total, 3))
    cell = emit("Add", emit("Mul", kept, cell), emit("Mul", taken, new))
    return emit("Mul", gate(1, 1, cell), emit(one.activations[2], cell)), cell


_STEPS = MappingProxyType({"RNN": _rnn, "GRU": _gru, "LSTM": _lstm})

REWRITES: Mapping[str, Callable[[Emitter], bool]] = MappingProxyType(dict.fromkeys(GATES, _recurrent))
