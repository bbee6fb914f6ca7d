"""What one run leaves for the next: inputs and outputs that the caller no longer sees.

Whatever the format, a state is a pair in the graph: the last inputs are the states, and the last outputs,
in the same order, their new values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from ...errors import OptionError, did_you_mean
from .onnx_graph import Array, Graph, Type, label, numpy_dtype

PERSISTENT = "persistent"
WHERE = "option 'state'"
RECURRENT = {"RNN": ("h",), "GRU": ("h",), "LSTM": ("h", "c")}
"""The states of each recurrent operator: inputs from number 5 on, outputs from number 1 on."""

Pair = tuple[str, str]
"""An output, and the input that it feeds in the next run."""


@dataclass(frozen=True, eq=False)
class State:
    """A hidden pair.

    Attributes:
        name: what messages and the metadata call it.
        initial: what the first run reads; its type and shape are those of the state.
    """

    name: str
    initial: Array


def keep_states(graph: Graph, wanted: Sequence[str], known: Sequence[State] = ()) -> tuple[State, ...]:
    """Hide the states that the option `state` names, behind those that are `known` already.

    Args:
        graph: all types known.
        wanted: ``persistent``, or pairs as ``OUTPUT:INPUT``.

    Returns:
        All states, in the order of the last inputs and outputs of `graph`.

    Raises:
        OptionError: a pair is none, or there is nothing to keep.
    """
    states = list(known)
    hidden = len(states)
    inputs, outputs = (side[: len(side) - hidden] for side in (graph.inputs, graph.outputs))
    for output, input_ in find_pairs([w for w in wanted if w != PERSISTENT], inputs, outputs):
        _check_types(graph, output, input_)
        graph.inputs.remove(input_)
        graph.outputs.remove(output)
        states.append(_hide(graph, input_, output, input_))
    if PERSISTENT in wanted:
        paired = graph.inputs[len(graph.inputs) - len(states) :]
        own = [s for node in graph.nodes if not node.domain for s in _recurrent_states(graph, node, paired)]
        if not own:
            raise OptionError(
                "the model has no LSTM, GRU or RNN whose state could persist",
                where=WHERE,
                remedy="name the output and the input that it feeds: state='OUTPUT:INPUT'",
            )
        states += own
    if len(graph.outputs) == len(states) > 0:
        raise OptionError("no output is left", where=WHERE, expected="an output that is no state")
    return tuple(states)


def find_pairs(words: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> list[Pair]:
    """The pairs that `words` name; names may hold colons themselves."""
    pairs: list[Pair] = []
    for word in words:
        output, input_ = _split(word, inputs, outputs)
        for name, seen in ((output, [o for o, _ in pairs]), (input_, [i for _, i in pairs])):
            if name in seen:
                raise OptionError(f"'{name}' stands in two pairs", where=WHERE, expected="one pair for each")
        pairs.append((output, input_))
    return pairs


def _split(word: str, inputs: Sequence[str], outputs: Sequence[str]) -> Pair:
    splits = [(word[:i], word[i + 1 :]) for i, character in enumerate(word) if character == ":"]
    right = [(o, i) for o, i in splits if o in outputs and i in inputs]
    if len(right) == 1:
        return right[0]
    if right:
        raise OptionError(
            f"'{word}' can be read in {len(right)} ways", where=WHERE, remedy="rename the tensors"
        )
    output, input_ = max(splits, key=lambda pair: (pair[0] in outputs) + (pair[1] in inputs))
    kind, name, known = ("input", input_, inputs) if output in outputs else ("output", output, outputs)
    raise OptionError(
        f"the model has no {kind} '{name}'",
        where=WHERE,
        expected="OUTPUT:INPUT, an output and the input that it feeds in the next run",
        remedy=did_you_mean(name, known),
    )


def _check_types(graph: Graph, output: str, input_: str) -> None:
    found, needed = graph.types[output], graph.types[input_]
    if found != needed:
        raise OptionError(
            f"output '{output}' is {_shown(found)}, input '{input_}' is {_shown(needed)}",
            where=WHERE,
            expected="the same type and shape",
        )


def _shown(type_: Type) -> str:
    return f"{numpy_dtype(type_.elem)}{list(type_.shape)}"


def _hide(graph: Graph, input_: str, output: str, name: str, initial: Array | None = None) -> State:
    """Let `input_` and `output` be the last ones of the graph."""
    graph.inputs.append(input_)
    graph.outputs.append(output)
    type_ = graph.types[input_]
    return State(name, np.zeros(type_.shape, numpy_dtype(type_.elem)) if initial is None else initial)


def _recurrent_states(graph: Graph, node: NodeProto, paired: Sequence[str]) -> list[State]:
    """Hide the states of one recurrent node, if it is one, but for those that are `paired` already."""
    states = []
    for number, letter in enumerate(RECURRENT.get(node.op_type, ())):
        given, left = 5 + number, 1 + number
        _widen(node, given + 1, left + 1)
        before = node.input[given]
        if before in paired:
            continue
        initial = graph.constants.get(before)
        if before and initial is None:
            raise OptionError(
                "its initial state is computed, or an input of the model",
                where=f"{WHERE}, {label(node)}",
                expected="a constant, or none at all",
                remedy="name the output and the input that it feeds: state='OUTPUT:INPUT'",
            )
        type_ = _state_type(graph, node)
        name = f"{node.name}/{letter}"
        node.input[given] = graph.add_value(f"{name}/before", type_)
        node.output[left] = node.output[left] or graph.add_value(f"{name}/after", type_)
        states.append(_hide(graph, node.input[given], node.output[left], name, initial))
    return states


def _widen(node: NodeProto, inputs: int, outputs: int) -> None:
    """Name inputs and outputs that the node leaves out at its end, as left out."""
    node.input.extend([""] * (inputs - len(node.input)))
    node.output.extend([""] * (outputs - len(node.output)))


def _state_type(graph: Graph, node: NodeProto) -> Type:
    """[directions, batch, hidden], or [batch, directions, hidden] with layout 1."""
    source, weights = graph.types[node.input[0]], graph.shape(node.input[2])
    batch_first = any(a.name == "layout" and a.i == 1 for a in node.attribute)
    directions, hidden = weights[0], weights[-1]
    if batch_first:
        return Type(source.elem, (source.shape[0], directions, hidden))
    return Type(source.elem, (directions, source.shape[1], hidden))
