"""What a TFLite file holds, as plain data: tensors, operators and how numbers stand for real values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import ModelError, UnsupportedError
from .onnx_graph import Array

DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "FLOAT32": np.dtype(np.float32),
        "FLOAT16": np.dtype(np.float16),
        "FLOAT64": np.dtype(np.float64),
        "INT8": np.dtype(np.int8),
        "INT16": np.dtype(np.int16),
        "INT32": np.dtype(np.int32),
        "INT64": np.dtype(np.int64),
        "UINT8": np.dtype(np.uint8),
        "UINT16": np.dtype(np.uint16),
        "UINT32": np.dtype(np.uint32),
        "UINT64": np.dtype(np.uint64),
        "BOOL": np.dtype(np.bool_),
        "INT4": np.dtype(np.int8),  # constants only; they are unpacked when the file is read
    }
)
"""Element types by the names of the TFLite schema."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Real values are ``scale * (q - zero_point)``.

    Attributes:
        scale: float32, one or one for each index of `axis`.
        zero_point: int64, as many as `scale`.
        axis: the axis along which they differ.
    """

    scale: Array
    zero_point: Array
    axis: int = 0

    @property
    def is_per_tensor(self) -> bool:
        return self.scale.size == 1

    def equals(self, other: Scales | None) -> bool:
        return (
            other is not None
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of the file.

    Attributes:
        index: place in the file.
        dtype: of its elements; None for kinds that hold no numbers.
        shape: static; dimensions that the file leaves free count as 1, as in TFLite's own runtime.
        is_dynamic: whether the file leaves dimensions free.
        scales: None if its numbers are the values.
        data: contents of a constant.
        unusable: why operators cannot use it, for a message.
    """

    index: int
    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    is_dynamic: bool = False
    scales: Scales | None = None
    data: Array | None = None
    unusable: str | None = None

    @property
    def label(self) -> str:
        return f"tensor '{self.name or self.index}'"

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator of the file.

    Attributes:
        kind: its name in the TFLite schema, for custom operators theirs.
        inputs: None where an optional input is left out.
        options: by the names of the schema's accessors, such as ``StrideW``.
    """

    kind: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any]
    is_custom: bool = False

    @property
    def name(self) -> str:
        """The layer's name: that of its first output."""
        return self.outputs[0].name or f"{self.kind}_{self.outputs[0].index}" if self.outputs else self.kind

    @property
    def label(self) -> str:
        return f"operator '{self.name}' ({self.kind})"

    @property
    def x(self) -> Tensor:
        return self.input(0)

    @property
    def y(self) -> Tensor:
        if not self.outputs:
            raise ModelError("it has no output", where=self.label)
        return self.outputs[0]

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int, rank: int | None = None) -> Tensor:
        """An input that must be there, and have `rank` dimensions if given."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise ModelError(f"its input {index} is missing", where=self.label)
        if rank is not None and tensor.rank != rank:
            raise UnsupportedError(
                f"its input {index} has shape {list(tensor.shape)}",
                where=self.label,
                expected=f"{rank} dimensions",
            )
        return tensor

    def option(self, name: str) -> Any:
        if name not in self.options:
            raise ModelError(f"its option '{name}' is missing", where=self.label)
        return self.options[name]

    def axis(self, name: str = "Axis", rank: int | None = None) -> int:
        """An option that is an axis, counted from the front."""
        return self.checked_axis(int(self.option(name)), self.x.rank if rank is None else rank)

    def checked_axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < max(rank, 1):
            raise ModelError(f"it has no axis {axis}", where=self.label, expected=f"one of {rank} axes")
        return axis % max(rank, 1)


@dataclass(frozen=True, eq=False)
class TfliteFile:
    """A parsed file: its first subgraph.

    Attributes:
        subgraphs: how many the file has.
        initialisers: subgraphs that CALL_ONCE runs, by number.
    """

    sha256: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    subgraphs: int = 1
    initialisers: Mapping[int, TfliteFile] = field(default_factory=dict)
