"""Many TFLite operators side by side in one file, compiled once, compared with LiteRT's own kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.host import Array, build
from tests.unit.tflite_files import Op, T, write


@dataclass(frozen=True)
class Case:
    """One operator on `tensors`; those without data that it reads are inputs."""

    op: Op
    tensors: Sequence[T]

    @property
    def label(self) -> str:
        shapes = ", ".join(f"{t.name}{list(t.shape)}" for t in self.tensors)
        return f"{self.op.kind} {dict(self.op.options)} {shapes}"

    def within(self, index: int) -> tuple[Op, list[T]]:
        """The same with names of its own."""
        op = replace(
            self.op,
            inputs=[n and f"{n}_{index}" for n in self.op.inputs],
            outputs=[f"{n}_{index}" for n in self.op.outputs],
        )
        return op, [replace(t, name=f"{t.name}_{index}") for t in self.tensors]


def q(name: str, shape: Sequence[int], scale: float = 0.05, zero: int = 3, dtype: str = "int8") -> T:
    """A quantised tensor."""
    return T(name, shape, dtype, scale=scale, zero=zero)


def litert_of(path: Path, optimised: bool = False) -> Any:
    """An interpreter of `path` with LiteRT's reference kernels, or with the optimised ones."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    kinds = litert.OpResolverType
    kind = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimised else kinds.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    return interpreter


def samples(inputs: Sequence[T], rng: np.random.Generator, count: int) -> list[dict[str, Array]]:
    """Random numbers, ends more often than not; in the first sample every number in order."""
    made = []
    for number in range(count):
        sample = {}
        for tensor in inputs:
            info = np.iinfo(tensor.dtype)
            size = int(np.prod(tensor.shape))
            data = rng.integers(info.min, info.max + 1, size)
            if number == 0:
                data = np.arange(size) % 256 + info.min
            elif number == 1:
                data = rng.choice([info.min, info.max], size)
            sample[tensor.name] = data.reshape(tensor.shape).astype(tensor.dtype)
        made.append(sample)
    return made


@dataclass(frozen=True)
class Found:
    """How one case fared.

    Attributes:
        reason: why it is computed in float; empty if it is not.
        wrong: outputs that differ from LiteRT.
        worst: by how much at most.
    """

    label: str
    reason: str
    wrong: int
    worst: int


def compare(
    cases: Sequence[Case], folder: Path, rounding: str = "litert", optimised: bool = False, count: int = 8
) -> list[Found]:
    """All cases, compiled and run on `count` samples."""
    tensors: list[T] = []
    ops: list[Op] = []
    for index, case in enumerate(cases):
        op, own = case.within(index)
        ops.append(op)
        tensors += own
    made = [name for op in ops for name in op.outputs]
    inputs = [t for t in tensors if t.data is None and t.name not in made]
    path = write(folder / "m.tflite", tensors, ops, [t.name for t in inputs], made)
    reference = litert_of(path, optimised)
    built = build(path, folder / "built", rounding=rounding)
    reasons = {one.node.partition("/")[0]: one.reason for one in built.compiled.program.left_in_float}
    places = {d["name"]: d["index"] for d in reference.get_input_details() + reference.get_output_details()}
    worst, wrong = dict.fromkeys(made, 0), dict.fromkeys(made, 0)
    data = samples(inputs, np.random.default_rng(1), count)
    for sample, outputs in zip(data, built.run(data), strict=True):
        for name, array in sample.items():
            reference.set_tensor(places[name], array)
        reference.invoke()
        for name, got in zip(made, outputs, strict=True):
            off = np.abs(got.astype(np.int64) - reference.get_tensor(places[name]).astype(np.int64))
            worst[name] = max(worst[name], int(off.max()))
            wrong[name] += int((off > 0).sum())
    return [
        Found(
            case.label,
            reasons.get(op.outputs[0], ""),
            sum(wrong[n] for n in op.outputs),
            max(worst[n] for n in op.outputs),
        )
        for case, op in zip(cases, ops, strict=True)
    ]


def check(cases: Sequence[Case], folder: Path, rounding: str = "litert", optimised: bool = False) -> None:
    """Every case is computed in integers, exactly as LiteRT does."""
    found = compare(cases, folder, rounding, optimised)
    assert [one for one in found if one.reason or one.wrong] == []
