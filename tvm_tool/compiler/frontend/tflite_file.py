"""Reading a TFLite file into plain data; everything that a damaged file can get wrong is found here.

The flatbuffer library checks nothing: it follows whatever offsets the file holds. So each vector is
measured before it is walked, and what the library trips over counts as damage.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ModelError, ToolchainError, UnsupportedError, did_you_mean
from .onnx_file import SIZE_LIMIT
from .onnx_graph import Array, elements
from .tflite_contents import contents, scales_of, vector
from .tflite_tensors import DTYPES, Operator, Tensor, TfliteFile

IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3
TENSOR_LIMIT = 16 * 2**20
"""Bytes of one tensor, more than a microcontroller has; more is refused before it costs memory."""
CUSTOM = 32
NO_RUNTIME_VALUES = ("FLOAT16", "INT4", "INT16", "UINT16")
"""Kinds of elements that constants may have, but no value computed in the model."""


def read_tflite(path: Path) -> TfliteFile:
    """Read a file. Raises `ModelError`, or `ToolchainError` if the `tflite` package is not installed."""
    schema = _schema()
    data = _read(path)
    with _damage():
        return _Reader(schema, data).file()


def _schema() -> Any:
    try:
        import tflite
    except ImportError:
        raise ToolchainError(
            "TFLite files cannot be read: the package 'tflite' is not installed",
            remedy="python -m pip install 'tvm-tool[tflite]'",
        ) from None
    return tflite


def _read(path: Path) -> bytes:
    try:
        if not path.exists():
            models = [p.name for p in path.parent.glob("*.tflite")] if path.parent.is_dir() else []
            remedy = did_you_mean(path.name, models) if models else None
            raise ModelError("there is no such file", remedy=remedy)
        if not path.is_file():
            raise ModelError("this is not a regular file", expected="a .tflite file")
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise ModelError(f"the model takes {size:,} bytes", expected=f"at most {SIZE_LIMIT:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None
    if not data:
        raise ModelError("the file is empty", expected="a TFLite model")
    if data[4:8] != IDENTIFIER:
        raise ModelError(
            "this is not a TFLite model: it lacks the mark 'TFL3'",
            expected="a TFLite model",
            remedy="convert the network with tf.lite.TFLiteConverter, or name an ONNX file .onnx",
        )
    return data


@contextmanager
def _damage() -> Iterator[None]:
    """What the flatbuffer library trips over is the file's damage."""
    try:
        yield
    except (struct.error, IndexError, ValueError, TypeError, OverflowError, AttributeError):
        raise ModelError("the file is truncated or damaged", remedy="copy or convert it again") from None


class _Reader:
    """Walks one file."""

    def __init__(self, schema: Any, data: bytes) -> None:
        self.schema = schema
        self.data = data
        self.model = schema.Model.GetRootAs(data, 0)
        self.types = _names(schema.TensorType)
        self.codes = _names(schema.BuiltinOperator)
        self.option_types = _names(schema.BuiltinOptions)

    def file(self) -> TfliteFile:
        version = self.model.Version()
        if version != SCHEMA_VERSION:
            raise ModelError(f"it is of schema version {version}", expected=f"version {SCHEMA_VERSION}")
        subgraphs = self.count(self.model.SubgraphsLength())
        if subgraphs == 0:
            raise ModelError("it holds no network", remedy="convert the network again")
        main = self.graph(0)
        calls = [op for op in main.operators if op.kind == "CALL_ONCE" and not op.is_custom]
        numbers = sorted({int(op.option("InitSubgraphIndex")) for op in calls})
        wrong = [n for n in numbers if not 0 < n < subgraphs]
        if wrong:
            raise ModelError(f"it names subgraph {wrong[0]} of {subgraphs}", where=calls[0].label)
        return replace(main, subgraphs=subgraphs, initialisers={n: self.graph(n) for n in numbers})

    def graph(self, number: int) -> TfliteFile:
        """One subgraph."""
        graph = self.model.Subgraphs(number)
        tensors = tuple(self.tensor(graph.Tensors(i), i) for i in range(self.count(graph.TensorsLength())))
        operators = tuple(
            self.operator(graph.Operators(i), tensors) for i in range(self.count(graph.OperatorsLength()))
        )
        return TfliteFile(
            sha256=hashlib.sha256(self.data).hexdigest(),
            tensors=tensors,
            operators=operators,
            inputs=_pick(tensors, graph.InputsAsNumpy(), "an input of the model"),
            outputs=_pick(tensors, graph.OutputsAsNumpy(), "an output of the model"),
        )

    def count(self, length: int) -> int:
        """A number of tables; each takes at least four bytes."""
        if length * 4 > len(self.data):
            raise ValueError("vector longer than the file")
        return length

    # Tensors

    def tensor(self, entry: Any, index: int) -> Tensor:
        name = (entry.Name() or b"").decode("utf-8")
        label = f"tensor '{name or index}'"
        kind = self.types.get(entry.Type(), str(entry.Type()))
        dtype = DTYPES.get(kind)
        shape = tuple(int(d) for d in vector(entry.ShapeAsNumpy()))
        signature = vector(entry.ShapeSignatureAsNumpy())
        if any(d < 0 for d in shape):
            raise ModelError(f"its shape {list(shape)} is negative", where=label)
        size = elements(shape) * (dtype.itemsize if dtype is not None else 1)
        if size > TENSOR_LIMIT:
            raise UnsupportedError(
                f"its shape {list(shape)} takes {size:,} bytes",
                where=label,
                expected=f"at most {TENSOR_LIMIT:,} bytes",
            )
        raw = self.buffer(entry.Buffer(), label)
        unusable = None
        if dtype is None:
            unusable = f"it holds elements of type {kind}"
        elif entry.IsVariable():
            unusable = "it keeps its value from one run to the next"
        elif entry.Sparsity() is not None:
            unusable = "it is stored sparsely"
        elif not raw.size and kind in NO_RUNTIME_VALUES:
            unusable = f"it is computed in elements of type {kind}"
        data = contents(raw, kind, dtype, shape, label) if raw.size and dtype and not unusable else None
        scales = scales_of(entry.Quantization(), dtype, shape, label) if dtype is not None else None
        return Tensor(index, name, dtype, shape, bool((signature < 0).any()), scales, data, unusable)

    def buffer(self, index: int, label: str) -> Array:
        """Bytes of a buffer; none at all for tensors that are computed."""
        if index >= self.model.BuffersLength():
            raise ModelError(
                f"its buffer {index} does not exist", where=label, remedy="copy or convert the model again"
            )
        buffer = self.model.Buffers(index)
        begin, size = buffer.Offset(), buffer.Size()
        if begin <= 1:
            return vector(buffer.DataAsNumpy(), np.uint8)
        if begin + size > len(self.data):
            raise ModelError(
                f"its contents lie beyond the end of the file, which has {len(self.data):,} bytes",
                where=label,
                remedy="the file is truncated: copy or convert it again",
            )
        return np.frombuffer(self.data, np.uint8, size, begin)

    # Operators

    def operator(self, entry: Any, tensors: tuple[Tensor, ...]) -> Operator:
        code = self.model.OperatorCodes(entry.OpcodeIndex())
        if entry.OpcodeIndex() >= self.model.OperatorCodesLength():
            raise IndexError
        builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        custom = (code.CustomCode() or b"").decode("utf-8")
        kind = custom or "CUSTOM" if builtin == CUSTOM else self.codes.get(builtin, f"number {builtin}")
        where = f"operator {kind}"
        inputs = [None if i == -1 else _at(tensors, int(i), where) for i in vector(entry.InputsAsNumpy())]
        outputs = [_at(tensors, int(i), where) for i in vector(entry.OutputsAsNumpy())]
        options = {} if builtin == CUSTOM else self.options(entry)
        return Operator(kind, tuple(inputs), tuple(outputs), options, builtin == CUSTOM)

    def options(self, entry: Any) -> Mapping[str, Any]:
        """The scalar options of an operator."""
        name = self.option_types.get(entry.BuiltinOptionsType())
        kind = getattr(self.schema, name, None) if name else None
        table = entry.BuiltinOptions()
        if kind is None or table is None:
            return {}
        options = kind()
        options.Init(table.Bytes, table.Pos)
        return {name: getattr(options, name)() for name in _scalars(kind)}


@cache
def _scalars(kind: type) -> tuple[str, ...]:
    """The accessors of a generated class that take no arguments: those of scalar fields."""
    return tuple(
        name
        for name, function in vars(kind).items()
        if isfunction(function)
        and function.__code__.co_argcount == 1
        and not name.endswith(("AsNumpy", "Length", "IsNone"))
    )


def _names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


def _at(tensors: tuple[Tensor, ...], index: int, where: str) -> Tensor:
    if not 0 <= index < len(tensors):
        raise ModelError(f"it names tensor {index} of {len(tensors)}", where=where)
    return tensors[index]


def _pick(tensors: tuple[Tensor, ...], indices: Any, where: str) -> tuple[Tensor, ...]:
    return tuple(_at(tensors, int(i), where) for i in vector(indices))
