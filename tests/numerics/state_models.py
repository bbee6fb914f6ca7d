"""Models with a memory, and what their reference runtimes make of them step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.unit.tflite_files import Op, T, const, write

Array = npt.NDArray[Any]
Sample = dict[str, Array]

RESOURCE = "RESOURCE"


# TFLite


def handle(tensor: str, name: str, container: str = "") -> Op:
    return Op("VAR_HANDLE", [], [tensor], "VarHandle", {"SharedName": name, "Container": container})


def read(variable: str, tensor: str) -> Op:
    return Op("READ_VARIABLE", [variable], [tensor])


def assign(variable: str, tensor: str) -> Op:
    return Op("ASSIGN_VARIABLE", [variable, tensor], [])


ONCE = Op("CALL_ONCE", [], [], "CallOnce", {"InitSubgraphIndex": 1})


def first_values(**values: T) -> tuple[list[T], list[Op]]:
    """The subgraph that gives each variable its first value."""
    tensors: list[T] = []
    ops: list[Op] = []
    for name, value in values.items():
        tensors += [T(f"{name}_handle", (), RESOURCE), value]
        ops += [handle(f"{name}_handle", name), assign(f"{name}_handle", value.name)]
    return tensors, ops


def counter(path: Path, start: Sequence[float] = (0, 1, 2, 3)) -> Path:
    """sum += x; y = x + sum (the new one); z = the old sum."""
    tensors = [
        T("x", (1, 4)),
        T("h", (), RESOURCE),
        *(T(n, (1, 4)) for n in ("old", "new", "again", "y", "z")),
    ]
    ops = [
        ONCE,
        handle("h", "sum"),
        read("h", "old"),
        Op("ADD", ["x", "old"], ["new"], "Add"),
        assign("h", "new"),
        read("h", "again"),
        Op("ADD", ["again", "x"], ["y"], "Add"),
        Op("MUL", ["old", "old"], ["z"], "Mul"),
    ]
    first = first_values(sum=const("first", [start], "float32"))
    return write(path, tensors, ops, ["x"], ["y", "z"], more=[first])


def ring(path: Path, dtype: str = "float32", steps: int = 6, channels: int = 4, filters: int = 5) -> Path:
    """A streaming convolution: its window slides over `steps` frames, of which one is new in each run."""
    rng = np.random.default_rng(1)
    frame = {"dtype": dtype}
    if dtype == "int8":
        frame |= {"scale": 0.05, "zero": -7}  # type: ignore[dict-item]
    shape = (1, steps, 1, channels)
    floats = rng.standard_normal((filters, steps, 1, channels)).astype(np.float32)
    if dtype == "int8":
        weights = const(
            "w", rng.integers(-127, 128, floats.shape), dtype, scale=[0.01] * filters, zero=[0] * filters
        )
        bias = const(
            "b", rng.integers(-500, 500, filters), "int32", scale=[0.0005] * filters, zero=[0] * filters
        )
        result = T("y", (1, 1, 1, filters), dtype, scale=0.2, zero=5)
        first = const("first", np.full((1, steps - 1, 1, channels), -7), dtype, scale=0.05, zero=-7)
    else:
        weights, bias = const("w", floats, dtype), const("b", floats[:, 0, 0, 0], dtype)
        result = T("y", (1, 1, 1, filters))
        first = const("first", np.zeros((1, steps - 1, 1, channels)), dtype)
    tensors = [
        T("x", (1, 1, 1, channels), **frame),  # type: ignore[arg-type]
        T("h", (), RESOURCE),
        T("old", (1, steps - 1, 1, channels), **frame),  # type: ignore[arg-type]
        T("window", shape, **frame),  # type: ignore[arg-type]
        T("new", (1, steps - 1, 1, channels), **frame),  # type: ignore[arg-type]
        weights,
        bias,
        result,
        const("begin", [0, 1, 0, 0]),
        const("size", [1, steps - 1, 1, channels]),
    ]
    ops = [
        ONCE,
        handle("h", "frames"),
        read("h", "old"),
        Op("CONCATENATION", ["old", "x"], ["window"], "Concatenation", {"Axis": 1}),
        Op("SLICE", ["window", "begin", "size"], ["new"], "Slice"),
        assign("h", "new"),
        Op("CONV_2D", ["window", "w", "b"], ["y"], "Conv2D", {"Padding": 1, "StrideW": 1, "StrideH": 1}),
    ]
    return write(path, tensors, ops, ["x"], ["y"], more=[first_values(frames=first)])


def delay(path: Path) -> Path:
    """Two frames late: y = far, far = near, near = x. Three assignments that must not overtake each other."""
    tensors = [T("x", (1, 8), "int8", scale=0.1, zero=3), T("n", (), RESOURCE), T("f", (), RESOURCE)]
    tensors += [T(name, (1, 8), "int8", scale=0.1, zero=3) for name in ("near", "far", "y")]
    ops = [
        ONCE,
        handle("n", "near"),
        handle("f", "far"),
        read("f", "far"),
        read("n", "near"),
        Op("RELU", ["far"], ["y"]),
        assign("n", "x"),
        assign("f", "near"),
    ]
    start = np.arange(8).reshape(1, 8)
    first = first_values(
        near=const("a", start, "int8", scale=0.1, zero=3),
        far=const("b", start * 3, "int8", scale=0.1, zero=3),
    )
    return write(path, tensors, ops, ["x"], ["y"], more=[first])


def swap(path: Path) -> Path:
    """Two variables that change places in every run."""
    tensors = [T("x", (2, 3)), T("a", (), RESOURCE), T("b", (), RESOURCE), T("va", (2, 3)), T("vb", (2, 3))]
    tensors += [T("y", (2, 3))]
    ops = [
        ONCE,
        handle("a", "left"),
        handle("b", "right"),
        read("a", "va"),
        read("b", "vb"),
        assign("a", "vb"),
        assign("b", "va"),
        Op("SUB", ["va", "x"], ["y"], "Sub"),
    ]
    first = first_values(
        left=const("l", np.ones((2, 3)), "float32"), right=const("r", np.zeros((2, 3)), "float32")
    )
    return write(path, tensors, ops, ["x"], ["y"], more=[first])


class LiteRT:
    """LiteRT's reference kernels, one step after another; a new one starts from the first values."""

    def __init__(self, path: Path) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        self.interpreter.allocate_tensors()

    def __call__(self, sample: Mapping[str, Array]) -> list[Array]:
        for detail in self.interpreter.get_input_details():
            self.interpreter.set_tensor(detail["index"], sample[detail["name"]])
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(d["index"]).copy() for d in self.interpreter.get_output_details()]


# ONNX


def tensor(name: str, array: Array) -> TensorProto:
    return numpy_helper.from_array(array, name)


def recurrent(
    operator: str,
    steps: int = 2,
    batch: int = 1,
    size: int = 3,
    hidden: int = 4,
    initial: bool = False,
    outputs: str = "y",
    opset: int = 17,
    **attributes: Any,
) -> onnx.ModelProto:
    """One recurrent node; `outputs`: which of y, h, c it has."""
    rng = np.random.default_rng(3)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    ways = 2 if attributes.get("direction") == "bidirectional" else 1

    def random(*shape: int) -> Array:
        return (0.6 * rng.standard_normal(shape)).astype(np.float32)

    constants = [
        tensor("w", random(ways, gates * hidden, size)),
        tensor("r", random(ways, gates * hidden, hidden)),
        tensor("b", random(ways, 2 * gates * hidden)),
    ]
    inputs = ["x", "w", "r", "b", ""]
    if initial:
        names = ["h0", "c0"] if operator == "LSTM" else ["h0"]
        constants += [tensor(name, random(ways, batch, hidden)) for name in names]
        inputs += names
    letters = "yhc" if operator == "LSTM" else "yh"
    made = [letter if letter in outputs else "" for letter in letters]
    node = helper.make_node(operator, inputs, made, "cell", hidden_size=hidden, **attributes)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, batch, size))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made if name],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def opened(model: onnx.ModelProto) -> onnx.ModelProto:
    """`recurrent` with its states as inputs ``h_in`` and ``c_in`` and outputs ``h_out`` and ``c_out``."""
    new = onnx.ModelProto()
    new.CopyFrom(model)
    node = new.graph.node[0]
    letters = "hc" if node.op_type == "LSTM" else "h"
    shapes = {t.name: list(t.dims) for t in new.graph.initializer}
    batch = new.graph.input[0].type.tensor_type.shape.dim[1].dim_value
    node.input.extend([""] * (5 + len(letters) - len(node.input)))
    node.output.extend([""] * (1 + len(letters) - len(node.output)))
    for index, letter in enumerate(letters):
        node.input[5 + index] = f"{letter}_in"
        shape = [shapes["r"][0], batch, shapes["r"][2]]
        new.graph.input.append(helper.make_tensor_value_info(f"{letter}_in", TensorProto.FLOAT, shape))
        if not node.output[1 + index]:
            node.output[1 + index] = f"{letter}_out"
        copied = helper.make_node("Identity", [node.output[1 + index]], [f"{letter}_new"], f"copy_{letter}")
        new.graph.node.append(copied)
        new.graph.output.append(helper.make_tensor_value_info(f"{letter}_new", TensorProto.FLOAT, None))
    return new


class Stepped:
    """onnxruntime, one step after another: outputs of `pairs` are fed back to its inputs by hand."""

    def __init__(self, model: onnx.ModelProto, pairs: Mapping[str, str], first: Mapping[str, Array]) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
        self.pairs, self.state = pairs, dict(first)
        self.visible = [o.name for o in self.session.get_outputs() if o.name not in pairs]

    def __call__(self, sample: Mapping[str, Array]) -> list[Array]:
        names = [*self.visible, *self.pairs]
        found = dict(zip(names, self.session.run(names, {**sample, **self.state}), strict=True))
        self.state = {given: found[output] for output, given in self.pairs.items()}
        return [found[name] for name in self.visible]


Stepper = Callable[[Mapping[str, Array]], list[Array]]
