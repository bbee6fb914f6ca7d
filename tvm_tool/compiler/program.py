"""A compiled model as data: a flat list of kernel calls over tensors, and where the tensors live."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .layers import Array

INPUT, OUTPUT, INTERMEDIATE, CONSTANT, STATE = "input", "output", "intermediate", "constant", "state"


@dataclass(frozen=True, eq=False)
class Tensor:
    """One storage: reshapes of it are the same tensor.

    Attributes:
        name: C identifier, unique in the program.
        source: name in the original model, empty for what only the compiler knows.
        role: `INPUT`, `OUTPUT`, `INTERMEDIATE`, `CONSTANT` or `STATE`.
        data: values of a constant.
        layer: index of the call that a constant belongs to, or that writes the tensor; -1 for inputs,
            states and the initial values of states.
    """

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str
    source: str = ""
    data: Array | None = None
    layer: int = -1

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, eq=False)
class Function:
    """A static C function of the model.

    Attributes:
        parameters: C declarations; inputs, outputs, then scratch.
        body: statements, indented by four spaces. ``@name@`` stands for the constant `name`.
        comment: what stands above it.
    """

    name: str
    parameters: tuple[str, ...]
    body: str
    comment: str


@dataclass(frozen=True, eq=False)
class KernelCall:
    """One step of the model.

    Attributes:
        function: name of the `Function` it calls.
        layer: name in the original model.
        operator: what it computes, for a reader.
        kernel: the kernel that computes it.
        declined: why no faster kernel does; empty if there is none.
        inputs: tensors passed in, by index, in the order of the parameters; constants included.
        outputs: tensors written, by index.
        constants: tensors that the function reads by name, by index.
        scratch: bytes of each scratch parameter.
        in_place: positions in `inputs` that the first output may overwrite.
        entry: index of the layer that it computes, None for what is printed by TVM.
        over_input: whether the scratch may begin where the first input does, if that is not needed any more.
        roomy: bytes of scratch, which may begin there too, with which it would take fewer instructions.
    """

    index: int
    function: str
    layer: str
    operator: str
    kernel: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: tuple[int, ...] = ()
    scratch: tuple[int, ...] = ()
    in_place: tuple[int, ...] = ()
    macs: int = 0
    declined: str = ""
    entry: int | None = None
    over_input: bool = False
    roomy: int = 0


@dataclass(frozen=True)
class State:
    """A tensor that keeps its value from one run to the next.

    Attributes:
        tensor: its index; the role is `STATE`. Calls read the value of the run before there, until the
            last of them that writes it has written the new one.
        initial: index of the constant that it holds before the first run; None for zeros.
    """

    tensor: int
    initial: int | None = None


@dataclass(frozen=True)
class FloatLayer:
    """A node that the model quantises and that is computed in float, and why."""

    node: str
    reason: str


@dataclass(frozen=True, eq=False)
class Program:
    """Everything that the emitter needs, apart from where tensors live.

    Attributes:
        inputs: tensors of the interface in the model's order, by index.
        outputs: the same for outputs.
        states: what is kept between two runs.
        runtime: files of ``runtime/`` that the functions call.
        libm: functions of libm that they call.
        headers: headers of ``runtime/`` that the functions need besides ``tvm_kernels.h``.
        blocks: text of C functions that the functions share.
        left_in_float: what the model quantises and that is computed in float all the same.
    """

    tensors: tuple[Tensor, ...]
    calls: tuple[KernelCall, ...]
    functions: tuple[Function, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    runtime: tuple[str, ...] = ()
    libm: tuple[str, ...] = ()
    left_in_float: tuple[FloatLayer, ...] = ()
    states: tuple[State, ...] = ()
    headers: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()

    @property
    def constants(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.tensors if t.role == CONSTANT)

    @property
    def macs(self) -> int:
        return sum(call.macs for call in self.calls)


@dataclass(frozen=True)
class Buffer:
    """A place in the workspace, in use from call `first` to call `last`, both included."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """Offsets of everything in the workspace.

    Attributes:
        tensors: offset by tensor index.
        scratch: offset by (call index, position in its scratch).
        bytes: size of the workspace.
        state_bytes: size of its head, which is kept between two runs: a word that says that the states
            are set, then the states; 0 without states.
        lower_bound: the most bytes in use at one time; no plan can be smaller.
    """

    tensors: dict[int, int] = field(default_factory=dict)
    scratch: dict[tuple[int, int], int] = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()
    bytes: int = 0
    lower_bound: int = 0
    state_bytes: int = 0


@dataclass(frozen=True)
class Place:
    """Where variables go.

    Attributes:
        section: what the names of their sections begin with; the symbol follows, so that each has its
            own section and unused ones can go.
        region: memory region of the board, None where no region is named.
    """

    section: str
    region: str | None = None
