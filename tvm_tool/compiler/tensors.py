"""The tensors of a program while it is built."""

from __future__ import annotations

from dataclasses import replace

from .layers import Array
from .program import CONSTANT, INPUT, INTERMEDIATE, OUTPUT, STATE, Tensor

Shape = tuple[int, ...]


class TensorTable:
    """Grows by one tensor at a time; equal constants are one tensor."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self._constants: dict[tuple[str, Shape, bytes], int] = {}

    def __getitem__(self, index: int) -> Tensor:
        return self.tensors[index]

    def input(self, name: str, dtype: str, shape: Shape, source: str) -> int:
        """Index of a new input; `source` is its name in the model."""
        return self._add(Tensor(len(self.tensors), name, dtype, shape, INPUT, source))

    def state(self, name: str, dtype: str, shape: Shape, source: str) -> int:
        """Index of a new state; `source` is what the model calls it."""
        return self._add(Tensor(len(self.tensors), name, dtype, shape, STATE, source))

    def result(self, name: str, dtype: str, shape: Shape, call: int) -> int:
        """Index of a new tensor that call number `call` writes."""
        return self._add(Tensor(len(self.tensors), name, dtype, shape, INTERMEDIATE, layer=call))

    def constant(self, array: Array, name: str, call: int) -> int:
        """Index of the constant `array`, which call number `call` reads."""
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            tensor = Tensor(
                len(self.tensors), name, str(array.dtype), array.shape, CONSTANT, data=array, layer=call
            )
            self._constants[key] = self._add(tensor)
        return self._constants[key]

    def make_output(self, index: int, name: str, shape: Shape, source: str) -> None:
        """Give an intermediate tensor the name, shape and role of an output of the model."""
        tensor = replace(self.tensors[index], name=name, shape=shape, role=OUTPUT, source=source)
        self.tensors[index] = tensor

    def _add(self, tensor: Tensor) -> int:
        self.tensors.append(tensor)
        return tensor.index
