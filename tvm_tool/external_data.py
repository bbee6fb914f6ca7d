"""What an ONNX file keeps in other files, found without the onnx package: build systems ask.

An ONNX file is a protocol buffer: a message is a list of fields, each with a number, a wire type and a
value; values may be messages again. Only the way to the names of the files is followed; weights are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

GRAPH = 7
"""Field of a model: its graph."""

TENSORS = ((5,), (1, 5, 5), (1, 5, 10))
"""Fields from a graph to its tensors: initialisers, and attributes of nodes, one or several."""

GRAPHS = ((1, 5, 6), (1, 5, 11))
"""Fields from a graph to the graphs inside its nodes."""

EXTERNAL_DATA, KEY, VALUE = 13, 1, 2

VARINT, EIGHT_BYTES, COUNTED, FOUR_BYTES = 0, 1, 2, 5


def external_files(data: bytes) -> list[str]:
    """The files of a model's external data, relative to its folder, each once; none if it is no model.

    Only those below the folder: the compiler refuses others.
    """
    if b"location" not in data:
        return []
    try:
        found = {name for graph in _fields(memoryview(data), GRAPH) for name in _locations(graph)}
    except ValueError:
        return []
    return sorted(name for name in found if _is_below(name))


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _locations(graph: memoryview) -> Iterator[str]:
    for fields in TENSORS:
        for entry in _follow(graph, (*fields, EXTERNAL_DATA)):
            if any(bytes(key) == b"location" for key in _fields(entry, KEY)):
                yield from (bytes(value).decode() for value in _fields(entry, VALUE))
    for fields in GRAPHS:
        for inner in _follow(graph, fields):
            yield from _locations(inner)


def _follow(message: memoryview, fields: tuple[int, ...]) -> Iterator[memoryview]:
    if not fields:
        yield message
        return
    for inner in _fields(message, fields[0]):
        yield from _follow(inner, fields[1:])


def _fields(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The values of the counted fields `wanted` of a message. Raises `ValueError` where it is none."""
    position = 0
    while position < len(message):
        tag, position = _number(message, position)
        field, wire = tag >> 3, tag & 7
        if wire == VARINT:
            _, position = _number(message, position)
        elif wire == COUNTED:
            size, start = _number(message, position)
            position = start + size
            if field == wanted and position <= len(message):
                yield message[start:position]
        elif wire in (EIGHT_BYTES, FOUR_BYTES):
            position += 8 if wire == EIGHT_BYTES else 4
        else:
            raise ValueError(f"wire type {wire}")
    if position > len(message):
        raise ValueError("a field ends behind its message")


def _number(message: memoryview, position: int) -> tuple[int, int]:
    """The number that begins at `position`, seven bits a byte, and where it ends."""
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number without an end")
