"""Single-operator TFLite files, with the outputs of LiteRT's reference kernels.

Inputs are random. LiteRT runs here, once, when the tests are collected.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.conformance.tflite_cases import Case, cases
from tests.unit.tflite_files import T, write

Array = npt.NDArray[Any]
Run = tuple[Mapping[str, Array], tuple[Array, ...]]

RUNS = 4
NOT_IN_REFERENCE = frozenset({"CEIL", "ELU", "ROUND", "LOCAL_RESPONSE_NORMALIZATION", "SUM"})
"""LiteRT's reference set lacks them, or is not right: its normalisation leaves out the last channel of each
window, its sum takes the bytes of int8 for unsigned ones. They are compared with its other kernels."""


@dataclass(frozen=True, eq=False)
class TFLiteTest:
    """One file.

    Attributes:
        content: the file.
        runs: inputs by name, and what LiteRT makes of them.
        outside: why it is out of scope; None if it is in scope.
    """

    name: str
    operator: str
    content: bytes
    runs: tuple[Run, ...]
    outside: str | None
    rtol: float = 1e-5
    options: Mapping[str, str] = field(default_factory=lambda: {"rounding": "litert"})

    def write(self, folder: Path) -> Path:
        """The file in a folder."""
        path = folder / "model.tflite"
        path.write_bytes(self.content)
        return path


def collect_tflite() -> list[TFLiteTest]:
    """All tests, by name. Needs LiteRT."""
    with tempfile.TemporaryDirectory() as folder:
        return sorted((_test(case, Path(folder)) for case in cases()), key=lambda t: t.name)


def _test(case: Case, folder: Path) -> TFLiteTest:
    inputs = [t for t in case.tensors if t.data is None and t.name not in case.op.outputs]
    path = write(folder / "m.tflite", case.tensors, [case.op], [t.name for t in inputs], case.op.outputs)
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    feeds = [{t.name: _sample(t, case, rng, number) for t in inputs} for number in range(RUNS)]
    name, operator, content = f"tflite_{case.name}", case.op.kind, path.read_bytes()
    try:
        interpreter = _interpreter(path, operator)
        runs = tuple((feed, _outputs(interpreter, feed, case.op.outputs)) for feed in feeds)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:80]
        return TFLiteTest(name, operator, content, (), f"LiteRT's kernels refuse it: {reason}")
    return TFLiteTest(name, operator, content, runs, None)


def _sample(tensor: T, case: Case, rng: np.random.Generator, number: int) -> Array:
    """Random numbers; of integers also all in order, and the ends."""
    size = int(np.prod(tensor.shape))
    if tensor.dtype == "float32":
        data: Array = rng.uniform(case.low, case.high, size)
    elif tensor.dtype == "bool":
        data = rng.integers(0, 2, size)
    elif tensor.dtype == "int32":
        data = rng.integers(-1000, 1000, size)
    elif number == 0:
        data = np.arange(size) % 256 - 128
    else:
        data = rng.integers(-128, 128, size) if number > 1 else rng.choice([-128, 127], size)
    return data.reshape(tensor.shape).astype(tensor.dtype)


def _interpreter(path: Path, operator: str) -> Any:
    from ai_edge_litert import interpreter as litert

    kinds = litert.OpResolverType
    kind = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if operator in NOT_IN_REFERENCE else kinds.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    return interpreter


def _outputs(interpreter: Any, feed: Mapping[str, Array], names: Any) -> tuple[Array, ...]:
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feed[detail["name"]])
    interpreter.invoke()
    found = {d["name"]: interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()}
    return tuple(found[name] for name in names)
