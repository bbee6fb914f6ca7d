"""Calls the model of a firmware that a debugger has stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import VerifyError
from ..image.elf import Image, Symbol
from ..image.linker_map import LinkerMap, find_map, read_map
from ..image.metadata import Metadata, TensorInfo
from .compare import Array
from .scratch import Scratch, Stack, stack_of
from .session import Called, Session

if TYPE_CHECKING:
    from ..board import Board

_PAINT = b"\xa5\x5a\xc3\x3c"
_GUARD = 16  # painted bytes before and behind every output


class Runner:
    """Calls the model of a stopped firmware."""

    def __init__(
        self, session: Session, image: Image, model: Metadata, board: Board, run: Symbol, timeout: float
    ) -> None:
        self._session, self._image, self._model = session, image, model
        self._run, self._timeout = run, timeout
        self.stack: Stack = stack_of(image, board, session.stack_pointer)
        map_file = find_map(image.path)
        linker_map = read_map(map_file, image.sections) if map_file else LinkerMap()
        scratch = Scratch(image, model, board, self.stack, linker_map)
        self._inputs = [scratch.take(tensor.bytes) for tensor in model.inputs]
        self._outputs = [scratch.take(tensor.bytes + 2 * _GUARD) + _GUARD for tensor in model.outputs]
        self._structs = [scratch.take(4 * max(1, len(side))) for side in (self._inputs, self._outputs)]
        for place, pointers in zip(self._structs, (self._inputs, self._outputs), strict=True):
            session.write(place, np.array(pointers, "<u4").tobytes())
        self._paint(self.stack.bottom, session.stack_pointer)

    def run(self, sample: Mapping[str, Array], watch: Sequence[int] = ()) -> tuple[Called, list[Array]]:
        """One inference: what the call gave, and the outputs in the model's types and shapes.

        `watch` as of `Session.call`.
        """
        for tensor, place in zip(self._model.inputs, self._inputs, strict=True):
            self._session.write(place, sample[tensor.name].astype(_little(tensor)).tobytes())
        for tensor, place in zip(self._model.outputs, self._outputs, strict=True):
            self._paint(place - _GUARD, place + tensor.bytes + _GUARD)
        structs = (self._structs[0], self._structs[1])
        called = self._session.call(self._run.address, structs, self._timeout, watch)
        if called.result:
            status = called.result - (1 << 32) if called.result >> 31 else called.result
            raise VerifyError(
                f"the model returned status {status}",
                file=self._image.path,
                where=self._run.name,
                expected="TVM_OK (0); the codes are in tvm_aot.h",
            )
        pairs = zip(self._model.outputs, self._outputs, strict=True)
        return called, [self._output(tensor, place) for tensor, place in pairs]

    def stack_bytes(self) -> int:
        """The most bytes of stack that the runs have used."""
        pointer = self._session.stack_pointer
        data = self._session.read(self.stack.bottom, pointer - self.stack.bottom)
        paint = _pattern(len(data))
        untouched = next((i for i, (a, b) in enumerate(zip(data, paint, strict=True)) if a != b), len(data))
        if data and not untouched:
            raise VerifyError(
                f"the model uses all {len(data):,} bytes of stack that are left, or more",
                file=self._image.path,
                remedy="raise 'stack' in the board's file",
            )
        return len(data) - untouched

    def _output(self, tensor: TensorInfo, place: int) -> Array:
        data = self._session.read(place - _GUARD, tensor.bytes + 2 * _GUARD)
        paint = _pattern(len(data))
        for part, name in ((slice(0, _GUARD), "before"), (slice(-_GUARD, None), "behind")):
            if data[part] != paint[part]:
                raise VerifyError(
                    f"the model writes {name} its output",
                    file=self._image.path,
                    where=f"output '{tensor.name}'",
                )
        return np.frombuffer(data[_GUARD:-_GUARD], _little(tensor)).reshape(tensor.shape)

    def _paint(self, start: int, end: int) -> None:
        self._session.write(start, _pattern(end - start))


def _pattern(size: int) -> bytes:
    return (_PAINT * (size // len(_PAINT) + 1))[:size]


def _little(tensor: TensorInfo) -> np.dtype[np.generic]:
    return tensor.element.newbyteorder("<")
