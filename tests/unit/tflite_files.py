"""Small TFLite files, written from a list of tensors and operators."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import tflite

KINDS = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
}
VERSIONS = {"BROADCAST_TO": 2}
"""Where LiteRT knows no first version."""


@dataclass
class T:
    """A tensor; a constant if it has `data`. `scale` and `zero`: numbers, or lists along `axis`."""

    name: str
    shape: Sequence[int]
    dtype: str = "float32"
    data: npt.NDArray[Any] | None = None
    scale: float | Sequence[float] | None = None
    zero: int | Sequence[int] = 0
    axis: int = 0
    buffer: int | None = None
    variable: bool = False


@dataclass
class Op:
    """An operator on tensors by name; `options` by accessor names, of table ``<table>Options``."""

    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    table: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def const(name: str, values: Any, dtype: str = "int32", **quantised: Any) -> T:
    array = np.array(values, dtype)
    return T(name, array.shape, dtype, array, **quantised)


def write(
    path: Path,
    tensors: Sequence[T],
    ops: Sequence[Op],
    inputs: Sequence[str],
    outputs: Sequence[str],
    subgraphs: int = 1,
    version: int = 3,
    more: Sequence[tuple[Sequence[T], Sequence[Op]]] = (),
) -> Path:
    """Write a model; `more`: tensors and operators of further subgraphs, without inputs and outputs."""
    b = flatbuffers.Builder(1024)
    graphs: list[int] = []
    buffers = [_buffer(b, None)]
    kinds = list(dict.fromkeys(op.kind for part in (ops, *(m[1] for m in more)) for op in part))
    for own, work, ins, outs in ((tensors, ops, inputs, outputs), *((*m, (), ()) for m in more)):
        places = {t.name: i for i, t in enumerate(own)}
        tables = [_tensor(b, t, index + len(buffers)) for index, t in enumerate(own)]
        buffers += [_buffer(b, t.data) for t in own]
        operators = [_operator(b, op, kinds.index(op.kind), places) for op in work]
        parts = {
            "Tensors": _offsets(b, tables),
            "Inputs": b.CreateNumpyVector(np.array([places[n] for n in ins], np.int32)),
            "Outputs": b.CreateNumpyVector(np.array([places[n] for n in outs], np.int32)),
            "Operators": _offsets(b, operators),
        }
        graphs.append(_table(b, "SubGraph", **parts))
    model = _table(
        b,
        "Model",
        Version=version,
        OperatorCodes=_offsets(b, [_code(b, kind) for kind in kinds]),
        Subgraphs=_offsets(b, [*graphs, *graphs[:1] * (subgraphs - 1)] if subgraphs else []),
        Buffers=_offsets(b, buffers),
    )
    b.Finish(model, b"TFL3")
    path.write_bytes(bytes(b.Output()))
    return path


def _table(b: Any, kind: str, **fields: Any) -> int:
    module = importlib.import_module(f"tflite.{kind}")
    getattr(module, f"{kind}Start")(b)
    for name, value in fields.items():
        getattr(module, f"{kind}Add{name}")(b, value)
    return int(getattr(module, f"{kind}End")(b))


def _offsets(b: Any, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _buffer(b: Any, data: npt.NDArray[Any] | None) -> int:
    if data is None:
        return _table(b, "Buffer")
    b.StartVector(1, data.nbytes, 16)
    b.head = b.head - data.nbytes
    b.Bytes[b.head : b.head + data.nbytes] = data.tobytes()
    return _table(b, "Buffer", Data=int(b.EndVector()))


def _tensor(b: Any, t: T, buffer: int) -> int:
    fields: dict[str, Any] = {"Shape": b.CreateNumpyVector(np.array(t.shape, np.int32))}
    fields["Name"] = b.CreateString(t.name)
    if t.scale is not None:
        scale = b.CreateNumpyVector(np.array(t.scale, np.float32).reshape(-1))
        zero = b.CreateNumpyVector(np.array(t.zero, np.int64).reshape(-1))
        fields["Quantization"] = _table(
            b, "QuantizationParameters", Scale=scale, ZeroPoint=zero, QuantizedDimension=t.axis
        )
    kind = getattr(tflite.TensorType, KINDS.get(t.dtype, t.dtype))
    number = buffer if t.buffer is None else t.buffer
    return _table(b, "Tensor", Type=kind, Buffer=number, IsVariable=t.variable, **fields)


def _code(b: Any, kind: str) -> int:
    code = getattr(tflite.BuiltinOperator, kind, None)
    if code is None:
        custom = b.CreateString(kind)
        return _table(b, "OperatorCode", DeprecatedBuiltinCode=32, BuiltinCode=32, CustomCode=custom)
    version = VERSIONS.get(kind, 1)
    return _table(b, "OperatorCode", DeprecatedBuiltinCode=min(code, 127), BuiltinCode=code, Version=version)


def _operator(b: Any, op: Op, code: int, places: Mapping[str, int]) -> int:
    fields: dict[str, Any] = {
        "OpcodeIndex": code,
        "Inputs": b.CreateNumpyVector(np.array([places.get(n, -1) for n in op.inputs], np.int32)),
        "Outputs": b.CreateNumpyVector(np.array([places[n] for n in op.outputs], np.int32)),
    }
    if op.table:
        fields["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, f"{op.table}Options")
        options = {k: b.CreateString(v) if isinstance(v, str) else v for k, v in op.options.items()}
        fields["BuiltinOptions"] = _table(b, f"{op.table}Options", **options)
    return _table(b, "Operator", **fields)
