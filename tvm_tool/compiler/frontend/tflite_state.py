"""TFLite's variables: what a model keeps between two runs.

VAR_HANDLE names a variable, CALL_ONCE runs the subgraph that gives variables their first value, READ_VARIABLE
and ASSIGN_VARIABLE mean the value at their place in the order of operators. So the graph needs one hidden
input for each variable that is read before it is assigned, and one hidden output for what it is at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import ModelError, OptionError, UnsupportedError
from .onnx_fold import infer_and_fold
from .onnx_graph import Array, type_of
from .onnx_state import PERSISTENT, WHERE, State, find_pairs
from .tflite_builder import Builder
from .tflite_tensors import Operator, TfliteFile

HANDLE, READ, ASSIGN, INITIALISE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
KINDS = (HANDLE, READ, ASSIGN, INITIALISE)

Translate = Callable[[Builder, Operator], None]


@dataclass(eq=False)
class Variables:
    """The variables of a file while its operators are translated, in their order.

    Attributes:
        kept: variables that one run reads as the run before left them.
        values: the ONNX value that each variable has now.
    """

    builder: Builder
    file: TfliteFile
    initial: Mapping[str, Array]
    kept: list[str]
    values: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(builder: Builder, file: TfliteFile, translate: Translate) -> Variables:
        """Find the variables of `file`; `translate` does the other operators of subgraphs."""
        uses = list(_uses(file))
        first: dict[str, str] = {}
        for op, name in uses:
            first.setdefault(name, op.kind)
        assigned = {name for op, name in uses if op.kind == ASSIGN}
        initial = _initial_values(file, bool(uses), translate)
        kept = [name for name, kind in first.items() if kind == READ and name in assigned]
        variables = Variables(builder, file, initial, kept)
        graph = builder.graph
        for name, kind in first.items():
            if kind != READ:
                continue
            if name not in initial:
                raise ModelError(
                    f"variable '{name}' is read before anything gives it a value",
                    where=next(op for op, used in uses if used == name).label,
                )
            if name in kept:
                variables.values[name] = graph.add_value(name, type_of(initial[name]))
                graph.inputs.append(variables.values[name])
            else:
                variables.values[name] = graph.add_constant(name, initial[name])
        return variables

    def translate(self, op: Operator) -> None:
        """Follow what an operator of `KINDS` does."""
        if op.kind not in (READ, ASSIGN):
            return
        name = _names(self.file)[op.x.index]
        tensor = op.y if op.kind == READ else op.input(1)
        known = self.initial.get(name)
        if known is not None and (tensor.dtype, tensor.shape) != (known.dtype, known.shape):
            raise UnsupportedError(
                f"variable '{name}' is {known.dtype}{list(known.shape)}, "
                f"{tensor.label} is {tensor.dtype}{list(tensor.shape)}",
                where=op.label,
                expected="the same type and shape for all the life of a variable",
            )
        if op.kind == ASSIGN:
            self.values[name] = self.builder.value(tensor)
        else:
            # A node of its own: what `keep` names anew must not be the value itself.
            self.builder.keep(tensor, self.builder.node("Identity", [self.values[name]], op.name))

    def states(self) -> tuple[State, ...]:
        """Let the last values be hidden outputs; to be called when all operators are translated."""
        self.builder.graph.outputs += [self.values[name] for name in self.kept]
        return tuple(State(name, self.initial[name]) for name in self.kept)


def check_pairs(file: TfliteFile, wanted: Sequence[str]) -> None:
    """Refuse pairs of the option `state` whose integers stand for different real values."""
    inputs, outputs = ({t.name: t for t in side} for side in (file.inputs, file.outputs))
    for output, input_ in find_pairs([w for w in wanted if w != PERSISTENT], list(inputs), list(outputs)):
        found, needed = outputs[output].scales, inputs[input_].scales
        if found is not needed and (found is None or not found.equals(needed)):
            raise OptionError(
                f"output '{output}' and input '{input_}' are quantised with different scales",
                where=WHERE,
                remedy="convert the network so that both have the same scale and zero point",
            )


def _names(file: TfliteFile) -> dict[int, str]:
    """Names of variables by the index of the tensor that is their handle."""
    names = {}
    for op in file.operators:
        if op.kind == HANDLE:
            parts = [op.options.get(key) or b"" for key in ("Container", "SharedName")]
            names[op.y.index] = "/".join(part.decode("utf-8", "replace") for part in parts if part)
    return names


def _uses(file: TfliteFile) -> Iterator[tuple[Operator, str]]:
    """The operators that read or assign a variable, with its name."""
    names = _names(file)
    for op in file.operators:
        if op.kind in (READ, ASSIGN):
            if op.x.index not in names:
                raise ModelError(f"its input 0, {op.x.label}, is no variable", where=op.label)
            yield op, names[op.x.index]


def _initial_values(file: TfliteFile, has_uses: bool, translate: Translate) -> dict[str, Array]:
    """What CALL_ONCE gives the variables."""
    values: dict[str, Array] = {}
    kinds = [op.kind for op in file.operators]
    calls = [place for place, kind in enumerate(kinds) if kind == INITIALISE]
    if calls and has_uses and calls[-1] > min(kinds.index(k) for k in (READ, ASSIGN) if k in kinds):
        raise UnsupportedError("it comes after a variable is used", where=file.operators[calls[-1]].label)
    for place in calls:
        part = file.initialisers[int(file.operators[place].option("InitSubgraphIndex"))]
        builder = Builder.of(part)
        assigned: dict[str, str] = {}
        for op in part.operators:
            if op.kind == ASSIGN:
                names = _names(part)
                if op.x.index not in names:
                    raise ModelError(f"its input 0, {op.x.label}, is no variable", where=op.label)
                assigned[names[op.x.index]] = builder.value(op.input(1))
            elif op.kind != HANDLE:
                translate(builder, op)
        infer_and_fold(builder.graph)
        for name, value in assigned.items():
            if value not in builder.graph.constants:
                raise UnsupportedError(
                    f"the first value of variable '{name}' is not constant",
                    where=file.operators[place].label,
                )
            values[name] = builder.graph.constants[value]
    return values
