"""Reading a model file: what it is, how large it is, and where its weights are.

Everything is refused before it costs memory: sizes come from the file system, not from reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from onnx import AttributeProto, GraphProto, TensorProto

from ...errors import ModelError, did_you_mean
from .onnx_graph import elements, numpy_dtype

SIZE_LIMIT = 64 * 2**20
"""Bytes of the model file and its external data together. Firmware that carries its weights in
directly addressed flash stays well below; a larger file is a mistake, refused before it is read."""

MAGIC = (
    (4, b"TFL3", "a TensorFlow Lite model"),
    (4, b"ORTM", "an onnxruntime model (.ort)"),
    (0, b"\x89HDF", "an HDF5 file, as Keras writes"),
    (0, b"PK\x03\x04", "a zip archive, as PyTorch and Keras write"),
    (0, b"\x80\x02", "a Python pickle"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"GGUF", "a GGUF model"),
    (0, b"version https://git-lfs", "a Git LFS pointer: its contents were never fetched"),
)


@dataclass(frozen=True)
class ModelFile:
    """A parsed model file.

    Attributes:
        proto: the model, external data loaded.
        sha256: of the model file alone.
        files: the model file and the files of its external data: what a build depends on.
    """

    proto: onnx.ModelProto
    sha256: str
    files: tuple[Path, ...]


def read_model(path: Path) -> ModelFile:
    """Read an ONNX file and its external data. Raises `ModelError`."""
    data = _read(path)
    proto = _parse(data)
    external = _load_external_data(proto, path.parent, SIZE_LIMIT - len(data))
    return ModelFile(proto, hashlib.sha256(data).hexdigest(), (path, *external))


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ModelError("this is a folder", expected="an .onnx file")
        if not path.exists():
            models = [p.name for p in path.parent.glob("*.onnx")] if path.parent.is_dir() else []
            raise ModelError(
                "there is no such file", remedy=did_you_mean(path.name, models) if models else None
            )
        if not path.is_file():
            raise ModelError("this is not a regular file", expected="an .onnx file")
        size = path.stat().st_size
        if size == 0:
            raise ModelError("the file is empty", expected="an ONNX model")
        if size > SIZE_LIMIT:
            raise _too_large(size)
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None


def _too_large(size: int) -> ModelError:
    return ModelError(
        f"the model takes {size:,} bytes with its weights",
        expected=f"at most {SIZE_LIMIT:,} bytes, far above what a microcontroller's flash holds",
        remedy="use a smaller network",
    )


def _parse(data: bytes) -> onnx.ModelProto:
    for offset, magic, meaning in MAGIC:
        if data[offset : offset + len(magic)] == magic:
            lite = magic == b"TFL3"
            raise ModelError(
                f"this is {'a TFLite file' if lite else meaning}, not an ONNX model",
                expected="an ONNX model",
                remedy="name it .tflite" if lite else "export the network to ONNX",
            )
    try:
        proto: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except DecodeError:
        # The first field of every ONNX file is its IR version, one byte: tag 8, then the number.
        if data[0] == 8 and len(data) > 1 and data[1] <= onnx.IR_VERSION:
            raise ModelError(
                "the file is truncated or damaged",
                remedy="copy or export it again",
            ) from None
        raise ModelError("this is not an ONNX model", expected="an ONNX model") from None
    if not _is_text(proto):
        raise ModelError("the file is damaged: a name in it is not text", remedy="copy or export it again")
    if not proto.HasField("graph"):
        raise ModelError("this is not an ONNX model: it holds no graph", expected="an ONNX model")
    if not proto.opset_import:
        raise ModelError(
            "the model names no operator set; the file may be truncated",
            remedy="copy or export it again",
        )
    return proto


def _is_text(message: Message) -> bool:
    """Whether every name in a message is UTF-8; protobuf accepts others and fails where they are used."""
    try:
        for field, value in message.ListFields():
            if field.type not in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING):
                continue
            for item in (value,) if isinstance(value, (Message, str, bytes)) else value:
                if isinstance(item, bytes) or (isinstance(item, Message) and not _is_text(item)):
                    return False
    except UnicodeDecodeError:
        return False
    return True


# External data


def _load_external_data(proto: onnx.ModelProto, folder: Path, room: int) -> list[Path]:
    """Copy every tensor that stands in another file into `proto`; `room` bytes may be read."""
    files: dict[Path, None] = {}
    for tensor in _tensors(proto.graph):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        where = f"constant '{tensor.name}'"
        entry = {e.key: e.value for e in tensor.external_data}
        file = _external_file(folder, entry.get("location", ""), where)
        offset, length = _extent(tensor, entry, file, where)
        room -= length
        if room < 0:
            raise _too_large(SIZE_LIMIT - room)
        with file.open("rb") as stream:
            stream.seek(offset)
            tensor.raw_data = stream.read(length)
        tensor.ClearField("external_data")
        tensor.data_location = TensorProto.DEFAULT
        files[file] = None
    return list(files)


def _external_file(folder: Path, location: str, where: str) -> Path:
    """The file of external data; it must lie in the folder of the model or below it."""
    expected = "a file in the folder of the model"
    if not location or "\0" in location:
        raise ModelError("its external data names no file", where=where, expected=expected)
    root = folder.resolve()
    file = (root / location).resolve()  # links are followed first, so that none leads outside
    if not file.is_relative_to(root):
        raise ModelError(
            f"its external data '{location}' lies outside the folder of the model",
            where=where,
            expected=expected,
        )
    if not file.is_file():
        raise ModelError(
            f"its external data '{location}' is missing",
            where=where,
            expected=expected,
            remedy=f"put '{location}' beside the model",
        )
    return folder / location


def _extent(tensor: TensorProto, entry: dict[str, str], file: Path, where: str) -> tuple[int, int]:
    """Offset and length in bytes of a tensor in its file."""
    try:
        size = file.stat().st_size
        offset = int(entry.get("offset", "0"))
        length = int(entry.get("length", size - offset))
        small = tensor.data_type in (TensorProto.INT4, TensorProto.UINT4)
        bits = 4 if small else 8 * numpy_dtype(tensor.data_type).itemsize
    except (OSError, ValueError, KeyError):
        raise ModelError("its external data is malformed", where=where) from None
    if length != -(-elements(tensor.dims) * bits // 8):
        raise ModelError(
            f"its external data has {length:,} bytes, which do not fill shape {list(tensor.dims)}",
            where=where,
        )
    if offset < 0 or length < 0 or offset + length > size:
        raise ModelError(
            f"its external data lies beyond the end of '{file.name}', which has {size:,} bytes",
            where=where,
            remedy=f"'{file.name}' is truncated or belongs to another model",
        )
    return offset, length


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Every dense tensor of a graph and of the graphs inside its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            yield from attribute.tensors
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                yield from _tensors(inner)
