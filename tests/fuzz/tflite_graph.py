"""A TFLite graph that grows operator by operator, in floats or in int8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.draw import Draw
from tests.unit.tflite_files import Op, T, write

LARGEST = 2000
SPREAD = 60
"""Standard deviation of the numbers of an int8 tensor, about: scales are chosen to keep it."""

Shape = tuple[int, ...]


class Graph:
    """Tensors by name, and operators.

    Attributes:
        draw: the choices of the step that is made.
        quantised: whether tensors are int8.
    """

    draw: Draw

    def __init__(self, quantised: bool) -> None:
        self.quantised = quantised
        self.tensors: dict[str, T] = {}
        self.ops: list[Op] = []

    def shape(self, x: str) -> Shape:
        return tuple(self.tensors[x].shape)

    def spread(self, x: str) -> float:
        """Standard deviation of the real values of `x`, about."""
        scale = self.tensors[x].scale
        return SPREAD * float(np.max(scale)) if scale is not None else 1.0

    def tensor(self, shape: Shape, spread: float = 1.0, fixed: tuple[float, int] | None = None) -> str:
        """A new activation. Its zero point may be anywhere, also at an end; `fixed` are its parameters."""
        name = f"t{len(self.tensors)}"
        if not self.quantised:
            self.tensors[name] = T(name, shape)
            return name
        d = self.draw
        scale, zero = fixed or (
            spread / SPREAD * d.one((0.4, 0.7, 1.0, 1.0, 1.0, 1.5, 2.5, 2.0 ** d.whole(-3, 3))),
            d.one((-128, -128, 127, 0, -3, d.whole(-128, 127))),
        )
        if d.chance(0.1) and fixed is None:
            scale = 2.0 ** round(np.log2(scale))
        self.tensors[name] = T(name, shape, "int8", scale=float(np.float32(scale)), zero=zero)
        return name

    def like(self, x: str, shape: Shape) -> str:
        """An activation that is quantised as `x` is."""
        t = self.tensors[x]
        return self.tensor(shape, fixed=(t.scale, t.zero) if self.quantised else None)  # type: ignore[arg-type]

    def ints(self, values: Any) -> str:
        name = f"t{len(self.tensors)}"
        array = np.array(values, np.int32)
        self.tensors[name] = T(name, array.shape, "int32", array)
        return name

    def fixed(self, shape: Shape, fan_in: int = 1, axis: int | None = None) -> str:
        """A constant: int8 of full range, quantised along `axis` if it is given."""
        name, d = f"t{len(self.tensors)}", self.draw
        if not self.quantised:
            self.tensors[name] = T(name, shape, data=d.normal(shape, 1 / np.sqrt(fan_in)))
            return name
        data = np.clip(np.rint(d.normal(shape, 73)), -127, 127).astype(np.int8)
        if d.chance(0.1):
            data = np.full(shape, d.one((-127, 127)), np.int8)
        base = 1 / (73 * np.sqrt(fan_in))
        if axis is None:
            self.tensors[name] = T(name, shape, "int8", data, scale=float(np.float32(base)))
        else:
            scales = (base * np.exp2(d.rng.uniform(-2, 2, shape[axis]))).astype(np.float32)
            self.tensors[name] = T(
                name, shape, "int8", data, scale=scales.tolist(), zero=[0] * shape[axis], axis=axis
            )
        return name

    def bias(self, x: str, weights: str, units: int, optional: bool = False) -> str:
        """Of a product; empty, "no bias", now and then where it is optional."""
        name, d = f"t{len(self.tensors)}", self.draw
        if optional and d.chance(0.2):
            return ""
        if not self.quantised:
            self.tensors[name] = T(name, (units,), data=d.normal((units,)))
            return name
        source, factors = (np.asarray(self.tensors[n].scale, np.float32) for n in (x, weights))
        scales = (source * factors).astype(np.float32).reshape(-1)
        real = d.normal((units,), self.spread(x) * d.one((0.3, 1.0, 10.0)))
        data = np.clip(np.rint(real / scales.astype(np.float64)), -(2**30), 2**30).astype(np.int32)
        self.tensors[name] = T(name, (units,), "int32", data, scale=scales.tolist(), zero=[0] * scales.size)
        return name

    def op(
        self, kind: str, inputs: Sequence[str], output: str | Sequence[str], table: str = "", **options: Any
    ) -> str:
        """An operator; the name of its first output."""
        outputs = [output] if isinstance(output, str) else list(output)
        self.ops.append(Op(kind, list(inputs), outputs, table, options))
        return outputs[0]

    def write(self, path: Path, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """The file without what its outputs do not need."""
        needed, ops = {*inputs, *outputs}, []
        for op in reversed(self.ops):
            if needed & set(op.outputs):
                ops.append(op)
                needed |= {*op.inputs, *op.outputs}
        write(path, [t for t in self.tensors.values() if t.name in needed], ops[::-1], inputs, outputs)
