"""A model while it is being rewritten: nodes in order of execution, constants as arrays, every type.

The passes of this folder take a `Graph` and change it. They never look at protobuf lists: a node is
replaced by a list of nodes (`Graph.rewrite`), a value by another one (`Graph.replace_values`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ...errors import ModelError, UnsupportedError

Array = npt.NDArray[Any]
REFUSED_ELEMENTS: Mapping[int, str] = MappingProxyType(
    {
        TensorProto.UNDEFINED: "no element type",
        TensorProto.STRING: "text",
        TensorProto.COMPLEX64: "complex numbers",
        TensorProto.COMPLEX128: "complex numbers",
    }
)
"""Element types that no tensor may have, and what messages call them."""

Rule = Callable[[NodeProto], list[NodeProto] | None]


@dataclass(frozen=True)
class Type:
    """Element type (a `TensorProto.DataType`) and static shape of one value."""

    elem: int
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return elements(self.shape) * numpy_dtype(self.elem).itemsize

    def proto(self) -> onnx.TypeProto:
        return helper.make_tensor_type_proto(self.elem, self.shape)


def elements(shape: Iterable[int]) -> int:
    """How many elements a tensor of this shape has; exact, whatever the size."""
    count = 1
    for dimension in shape:
        count *= int(dimension)
    return count


def numpy_dtype(elem: int) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(elem))


def kind_of(type_: onnx.TypeProto) -> str | None:
    """In words what a value is that is no dense tensor; None if it is one."""
    words = {
        "tensor_type": None,
        "sequence_type": "a sequence",
        "map_type": "a map",
        "optional_type": "an optional value",
        "sparse_tensor_type": "a sparse tensor",
        "opaque_type": "an opaque value",
    }
    return words.get(type_.WhichOneof("value") or "", "a value without a type")


def type_of(array: Array) -> Type:
    return Type(helper.np_dtype_to_tensor_dtype(array.dtype), tuple(int(d) for d in array.shape))


def label(node: NodeProto) -> str:
    """How messages name a node."""
    return f"node '{node.name or ', '.join(node.output)}' ({node.op_type})"


def attributes(node: NodeProto) -> dict[str, Any]:
    """Attributes by name; text as `str`."""
    values = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for k, v in values.items()}


def set_attributes(node: NodeProto, **values: Any) -> None:
    """Set attributes; None removes one."""
    kept = [a for a in node.attribute if a.name not in values]
    kept += [helper.make_attribute(name, value) for name, value in values.items() if value is not None]
    del node.attribute[:]
    node.attribute.extend(kept)


def copy_of(node: NodeProto, **changes: Any) -> NodeProto:
    """A copy of a node with other `input`, `output`, `op_type`, `name` or `domain`."""
    new = NodeProto()
    new.CopyFrom(node)
    for key in ("input", "output"):
        if key in changes:
            new.ClearField(key)
            getattr(new, key).extend(changes.pop(key))
    for key, value in changes.items():
        setattr(new, key, value)
    return new


@dataclass(eq=False)
class Graph:
    """One model.

    Attributes:
        opset: version of the ONNX operator set that `nodes` are written in.
        inputs: names of the inputs, in the model's order.
        outputs: names of the outputs, in the model's order.
        nodes: in order of execution.
        constants: by name; never written to.
        types: of inputs, constants and, once inferred, of every computed value.
    """

    opset: int
    inputs: list[str]
    outputs: list[str]
    nodes: list[NodeProto]
    constants: dict[str, Array]
    types: dict[str, Type]
    _taken: set[str] = field(default_factory=set)

    @staticmethod
    def from_proto(model: onnx.ModelProto) -> Graph:
        """Take over a valid model whose inputs have static shapes. Shares no memory with lists of `model`."""
        graph = model.graph
        constants = {t.name: array_of(t) for t in graph.initializer}
        types = {name: type_of(array) for name, array in constants.items()}
        for value in graph.input:
            tensor = value.type.tensor_type
            types[value.name] = Type(tensor.elem_type, tuple(d.dim_value for d in tensor.shape.dim))
        return Graph(
            opset=next(o.version for o in model.opset_import if o.domain == ""),
            inputs=[v.name for v in graph.input],
            outputs=[v.name for v in graph.output],
            nodes=[copy_of(n) for n in graph.node],
            constants=constants,
            types=types,
        )

    def to_proto(self, name: str = "model", domains: Mapping[str, int] | None = None) -> onnx.ModelProto:
        """The model as ONNX; the same graph always gives the same bytes."""
        computed = [o for node in self.nodes for o in node.output if o in self.types]
        used = {i for node in self.nodes for i in node.input}
        opsets = {"": self.opset, **(domains or {})}
        graph = helper.make_graph(
            [copy_of(n) for n in self.nodes],
            name,
            [self._value(n) for n in self.inputs],
            [self._value(n) for n in self.outputs],
            [numpy_helper.from_array(a, n) for n, a in self.constants.items() if n in used],
            value_info=[self._value(n) for n in computed if n not in self.outputs],
        )
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        model: onnx.ModelProto = helper.make_model(graph, opset_imports=imports, producer_name="")
        model.ir_version = max(8, helper.find_min_ir_version_for(imports, ignore_unknown=True))
        return model

    def _value(self, name: str) -> onnx.ValueInfoProto:
        known = self.types.get(name)
        if known is None:
            return onnx.ValueInfoProto(name=name)
        return helper.make_tensor_value_info(name, known.elem, known.shape)

    # Looking around

    def shape(self, name: str) -> tuple[int, ...]:
        return self.types[name].shape

    def constant(self, node: NodeProto, index: int) -> Array | None:
        """The constant that is input `index` of a node, if it has that input and it is constant."""
        return self.constants.get(node.input[index]) if index < len(node.input) else None

    def producers(self) -> dict[str, NodeProto]:
        return {output: node for node in self.nodes for output in node.output if output}

    def consumers(self) -> dict[str, list[NodeProto]]:
        """Nodes by the values they read. A node that reads a value twice stands there twice."""
        readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in node.input:
                if name:
                    readers.setdefault(name, []).append(node)
        return readers

    def only_reader(self, name: str, readers: Mapping[str, Sequence[NodeProto]]) -> NodeProto | None:
        """The single node that reads `name`, if nothing else does and it is not an output."""
        found = readers.get(name, ())
        return found[0] if len(found) == 1 and name not in self.outputs else None

    # Changing

    def fresh(self, base: str) -> str:
        """A name of a value that is not in use yet; `base` itself if it is free."""
        if not self._taken:
            self._taken.update(self.inputs, self.outputs, self.constants, self.types)
            self._taken.update(name for node in self.nodes for name in (*node.input, *node.output))
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def add_constant(self, base: str, array: Array) -> str:
        name = self.fresh(base)
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        self.types[name] = type_of(array)
        return name

    def add_value(self, base: str, type_: Type) -> str:
        """A new computed value; the caller makes the node that computes it."""
        name = self.fresh(base)
        self.types[name] = type_
        return name

    def reshape(self, name: str, source: str, target: str) -> NodeProto:
        """A node that gives `source` the shape that `target` has."""
        shape = np.array(self.shape(target), np.int64)
        return helper.make_node(
            "Reshape", [source, self.add_constant(f"{target}/shape", shape)], [target], name
        )

    def rewrite(self, rule: Rule) -> None:
        """Replace each node by what `rule` makes of it; None keeps it."""
        nodes: list[NodeProto] = []
        for node in self.nodes:
            new = rule(node)
            nodes += [node] if new is None else new
        self.nodes = nodes

    def replace_values(self, new_names: Mapping[str, str]) -> None:
        """Let every reader of a value read another one; chains are followed."""

        def final(name: str) -> str:
            while name in new_names:
                name = new_names[name]
            return name

        for node in self.nodes:
            for index, name in enumerate(node.input):
                if name in new_names:
                    node.input[index] = final(name)


def array_of(tensor: TensorProto) -> Array:
    """The contents of a tensor, or a `ModelError` that names it."""
    if tensor.data_type in REFUSED_ELEMENTS:
        raise UnsupportedError(
            f"it holds {REFUSED_ELEMENTS[tensor.data_type]}", where=f"constant '{tensor.name}'"
        )
    try:
        if any(d < 0 for d in tensor.dims):
            raise ValueError("negative dimension")
        return numpy_helper.to_array(tensor)
    except Exception as error:  # noqa: BLE001 - to_array raises what its parts raise
        raise ModelError(
            f"its contents do not match shape {list(tensor.dims)}: {short(error)}",
            where=f"constant '{tensor.name}'",
            remedy="export the model again",
        ) from None


def short(error: BaseException) -> str:
    """The first line of a message of the onnx package, without its source line and kind."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return re.sub(r"^/\S+:\d+: (\w+: )?|\[\w+Error\] |Assertion `.*?` failed: ", "", line).strip()
