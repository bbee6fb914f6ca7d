"""From a lowered Relax function to a `Program`: what TVM knows ends here."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from ..errors import UnsupportedError
from .c_text import c_type
from .describe import describe, shape_text
from .layers import Array, Driver, Layer
from .origins import Origin, plain_operator
from .passes.generic import ALIASES
from .passes.match_layers import LayerTable
from .program import INTERMEDIATE, Function, KernelCall, Program, State
from .quantized_layers import QLayer
from .relax_graph import Expr, Var, bindings, constant, dtype_of, fields, is_var, op_name, shape_of
from .states import copy_call, write_states
from .tensors import TensorTable
from .tvm_internals import CFunction, node_of, print_c

Value = int | list[int]


def linearise(
    module: tvm.IRModule,
    table: LayerTable,
    drivers: Mapping[int, Driver],
    inputs: Sequence[tuple[str, str]],
    outputs: Sequence[tuple[str, str]],
    node_names: Sequence[str],
    origins: Mapping[str, Origin],
    plain: bool = False,
    states: Sequence[tuple[str, str, Array]] = (),
) -> Program:
    """Turn ``main`` of `module` into a list of kernel calls.

    Args:
        drivers: how each layer of `table` that is called is computed.
        inputs: name in the model and C name of each input; `outputs` likewise.
        node_names: names of the ONNX nodes, by index.
        origins: where each fused function comes from, by its name.
        plain: print TIR functions with the loops that TVM gave them.
        states: name in the model, C name and initial value of each state; ``main`` takes them behind the
            inputs and returns their new values behind the outputs.
    """
    return _Lineariser(module, table, drivers, node_names, origins, plain).run(inputs, outputs, states)


class _Lineariser:
    def __init__(
        self,
        module: tvm.IRModule,
        table: LayerTable,
        drivers: Mapping[int, Driver],
        node_names: Sequence[str],
        origins: Mapping[str, Origin],
        plain: bool,
    ) -> None:
        self.plain = plain
        self.module, self.table, self.drivers = module, table, drivers
        self.node_names, self.origins = node_names, origins
        self.tensors = TensorTable()
        self.calls: list[KernelCall] = []
        self.functions: dict[str, Function] = {}
        self.runtime: set[str] = set()
        self.headers: set[str] = set()
        self.blocks: dict[str, str] = {}
        self.libm: set[str] = set()
        self.values: dict[Var, Value] = {}
        self.printed: dict[str, CFunction] = {}

    def run(
        self,
        inputs: Sequence[tuple[str, str]],
        outputs: Sequence[tuple[str, str]],
        states: Sequence[tuple[str, str, Array]],
    ) -> Program:
        main = self.module["main"]
        given, kept = main.params[: len(inputs)], main.params[len(inputs) :]
        for param, (source, c_name) in zip(given, inputs, strict=True):
            self.values[param] = self.tensors.input(c_name, dtype_of(param), shape_of(param), source)
        for param, (source, c_name, _) in zip(kept, states, strict=True):
            self.values[param] = self.tensors.state(c_name, dtype_of(param), shape_of(param), source)
        for var, value in bindings(main):
            self.values[var] = self._bind(var, value)
        results = [(self._index(part), shape_of(part)) for part in self._results(main)]
        chosen = self._outputs(results[: len(outputs)], outputs)
        self._write_states([self._index(param) for param in kept], [i for i, _ in results[len(outputs) :]])
        remembered = tuple(
            State(self._index(param), self._initial(c_name, value))
            for param, (_, c_name, value) in zip(kept, states, strict=True)
        )
        return Program(
            tensors=tuple(self.tensors.tensors),
            calls=tuple(self.calls),
            functions=tuple(self.functions.values()),
            inputs=tuple(range(len(inputs))),
            outputs=tuple(chosen),
            states=remembered,
            runtime=tuple(sorted(self.runtime)),
            libm=tuple(sorted(self.libm)),
            headers=tuple(sorted(self.headers)),
            blocks=tuple(self.blocks.values()),
        )

    def _value(self, expr: Expr) -> Value:
        if is_var(expr):
            return self.values[expr]
        if isinstance(expr, relax.Tuple):
            return [self._index(part) for part in expr.fields]
        array = constant(expr)
        if array is None:
            raise TypeError(f"unexpected expression {type(expr).__name__}")
        number = len(self.calls)
        return self.tensors.constant(array, f"layer{number}_constant{len(self.tensors.tensors)}", number)

    def _index(self, expr: Expr) -> int:
        value = self._value(expr)
        assert isinstance(value, int)
        return value

    def _results(self, main: Any) -> list[Expr]:
        body = main.body.body
        for var, value in bindings(main):
            if is_var(body) and var.same_as(body) and isinstance(value, relax.Tuple):
                return fields(value)
        return fields(body)

    # ------------------------------------------------------------ bindings

    def _bind(self, var: Var, value: Expr) -> Value:
        if not isinstance(value, relax.Call):
            if isinstance(value, relax.TupleGetItem):
                parts = self._value(value.tuple_value)
                assert isinstance(parts, list)
                return parts[int(value.index)]
            return self._value(value)
        name = op_name(value)
        if f"relax.{name}" in ALIASES:
            return self._index(value.args[0])
        if name == "call_tir":
            return self._tir_call(var, value)
        index = self.table.index_of(value)
        if index is None:
            raise UnsupportedError(
                f"operator {name or value.op} has no lowering to C",
                where=f"node '{self._node_name(node_of(var.name))}'",
                remedy="replace it in the network by supported operators",
            )
        return self._layer_call(value, index)

    def _layer_call(self, value: Expr, index: int) -> int:
        layer, node = self.table.layers[index], node_of(self.table.nodes[index])
        driver = self.drivers[index]
        number = len(self.calls)
        word, description = describe(layer)
        name = f"layer{number}_{word}"
        keys = {
            key: self.tensors.constant(array, f"layer{number}_{key}", number)
            for key, array in driver.constants.items()
        }
        sources = tuple(self._index(data) for data in value.args[1].fields)
        output = self.tensors.result(f"x{number}", dtype_of(value), shape_of(value), number)
        self.functions[name] = Function(
            name=name,
            parameters=_layer_parameters(
                driver, [self.tensors[i].dtype for i in sources], self.tensors[output].dtype
            ),
            body=textwrap.indent(_with_constant_names(driver.body, keys, self.tensors), "    "),
            comment=self._comment(node, description, layer, driver),
        )
        self.runtime.update(driver.runtime)
        self.headers.update(driver.headers)
        self.blocks.update(driver.blocks)
        self.calls.append(
            KernelCall(
                index=number,
                function=name,
                layer=self._node_name(node),
                operator=description,
                kernel=driver.kernel,
                inputs=sources,
                outputs=(output,),
                constants=tuple(dict.fromkeys(keys.values())),
                scratch=(driver.scratch,) if driver.scratch else (),
                in_place=(0,) if driver.in_place else (),
                macs=driver.macs,
                declined=driver.declined,
                entry=index,
                over_input=driver.over_input,
                roomy=driver.roomy.scratch if driver.roomy else 0,
            )
        )
        return output

    def _comment(self, node: int | None, description: str, layer: Layer | QLayer, driver: Driver) -> str:
        # TFLite joins the names of all that it fused.
        name = self._node_name(node).split(";", maxsplit=1)[0]
        return ", ".join(
            part
            for part in (
                name and f'"{name}"',
                description,
                shape_text(layer),
                f"{driver.macs:,} MACs" if driver.macs else "",
                f"kernel {driver.kernel}" + (f" ({driver.declined})" if driver.declined else ""),
            )
            if part
        )

    def _tir_call(self, var: Var, value: Expr) -> Value:
        symbol = str(value.args[0].name_hint)
        out = value.ty_args[0]
        types = list(out.fields) if hasattr(out, "fields") else [out]
        origin = self.origins.get(symbol) or Origin(node_of(var.name), (plain_operator(symbol),))
        function = self._printed_function(symbol, origin, len(types))
        number = len(self.calls)
        sources = tuple(self._index(arg) for arg in fields(value.args[1]))
        outputs = tuple(
            self.tensors.result(
                f"x{number}_{i}" if len(types) > 1 else f"x{number}",
                str(kind.dtype),
                tuple(int(d) for d in kind.shape),
                number,
            )
            for i, kind in enumerate(types)
        )
        self.calls.append(
            KernelCall(
                index=number,
                function=function.name,
                layer=self._node_name(origin.node),
                operator=", ".join(origin.operators),
                kernel="generic",
                inputs=sources,
                outputs=outputs,
                scratch=function.scratch,
                in_place=function.in_place,
            )
        )
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def _printed_function(self, symbol: str, origin: Origin, outputs: int) -> CFunction:
        """The C of a TIR function; printed once however often it is called."""
        if symbol not in self.printed:
            word = re.sub(r"\W", "_", "_".join(origin.operators[:3]))
            number = len(self.printed)
            printed = print_c(f"generic{number}_{word}", self.module[symbol], outputs, self.plain)
            self.printed[symbol] = printed
            self.functions[printed.name] = Function(
                name=printed.name,
                parameters=printed.parameters,
                body=printed.body,
                comment=", ".join(origin.operators),
            )
            self.runtime.update(printed.runtime)
            self.libm.update(printed.libm)
        return self.printed[symbol]

    def _node_name(self, node: int | None) -> str:
        return "" if node is None else self.node_names[node]

    # ------------------------------------------------------------ outputs

    def _outputs(
        self, results: Sequence[tuple[int, tuple[int, ...]]], outputs: Sequence[tuple[str, str]]
    ) -> list[int]:
        """Give each result of the model a tensor of its own with the role of an output."""
        chosen: list[int] = []
        for (index, shape), (source, c_name) in zip(results, outputs, strict=True):
            if self.tensors[index].role != INTERMEDIATE:
                index = self._copy(index)
            self.tensors.make_output(index, c_name, shape, source)
            chosen.append(index)
        return chosen

    def _copy(self, index: int, target: int | None = None) -> int:
        """A step that copies a tensor to `target`, or to a new tensor; returns where to."""
        tensor, number = self.tensors[index], len(self.calls)
        if target is None:
            target = self.tensors.result(f"x{number}", tensor.dtype, tensor.shape, number)
        function, call = copy_call(number, tensor, target)
        self.functions[function.name] = function
        self.calls.append(call)
        return target

    # ------------------------------------------------------------ states

    def _write_states(self, states: Sequence[int], values: Sequence[int]) -> None:
        """Let each state end a run with its new value."""
        own: list[int] = []
        for index in values:
            is_free = self.tensors[index].role == INTERMEDIATE and index not in own
            own.append(index if is_free else self._copy(index))
        self.calls, left = write_states(self.calls, list(zip(states, own, strict=True)))
        for state, index in left:
            self._copy(index, state)

    def _initial(self, c_name: str, value: Array) -> int | None:
        """The constant that a state starts with; None if all its bytes are zero."""
        if not any(value.tobytes()):
            return None
        return self.tensors.constant(value, f"{c_name}_initial", -1)


def _layer_parameters(driver: Driver, inputs: Sequence[str], output: str) -> tuple[str, ...]:
    restrict = "" if driver.in_place or driver.over_input else "TVM_RESTRICT "
    names = ["input"] if len(inputs) == 1 else [f"input{i}" for i in range(len(inputs))]
    parameters = [
        f"const {c_type(dtype)} *{restrict}{name}" for dtype, name in zip(inputs, names, strict=True)
    ]
    parameters.append(f"{c_type(output)} *{restrict}output")
    if driver.scratch:
        parameters.append(f"uint8_t *{'' if driver.over_input else 'TVM_RESTRICT '}scratch")
    return tuple(parameters)


def _with_constant_names(body: str, keys: Mapping[str, int], tensors: TensorTable) -> str:
    for key, index in keys.items():
        body = body.replace(f"@{key}@", f"@{tensors[index].name}@")
    return body
