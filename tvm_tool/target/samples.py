"""Inputs for a verification: recorded in an ``.npz`` file, or random.

The file holds one array for each input of the model, under the input's name, with a leading axis of
samples: ``[samples, *shape]``, where a first dimension of 1 in the input's shape may be left out. A
model with one input may call it ``inputs``. ``labels`` (``[samples]``, integers) is optional. Arrays for
all outputs, under the outputs' names, are the recorded answers: then no reference runtime is asked.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import OptionError
from ..image.metadata import TensorInfo

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of several runs.

    Attributes:
        origin: where they come from, for the report.
        inputs: for each run, arrays by the name of the input, in the model's type and shape.
        labels: the right class of each run, None if unknown.
        outputs: recorded answers in the order of the model's outputs, None if there are none.
    """

    origin: str
    inputs: Sequence[Mapping[str, Array]]
    labels: Sequence[int] | None = None
    outputs: Sequence[list[Array]] | None = None


def random_samples(tensors: Sequence[TensorInfo], count: int, seed: int = 0) -> Samples:
    """Reproducible inputs: floats in [-1, 1), 8-bit integers over their range, others 0 or 1."""
    generator = np.random.default_rng(seed)

    def values(tensor: TensorInfo) -> Array:
        dtype = np.dtype(tensor.dtype)
        if dtype.kind == "f":
            return generator.uniform(-1, 1, tensor.shape).astype(dtype)
        if dtype in (np.dtype("int8"), np.dtype("uint8")):
            limits = np.iinfo(dtype)
            return generator.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)
        return generator.integers(0, 2, tensor.shape).astype(dtype)

    runs = [{tensor.name: values(tensor) for tensor in tensors} for _ in range(count)]
    return Samples(f"random, seed {seed}", runs)


def load_samples(
    file: Path, tensors: Sequence[TensorInfo], count: int, outputs: Sequence[TensorInfo] = ()
) -> Samples:
    """The first `count` inputs of `file`; OptionError if they do not fit the model's inputs or outputs."""
    try:
        with file.open("rb") as stream:
            arrays = dict(np.load(stream, allow_pickle=False).items())
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise OptionError(
            f"the inputs cannot be read: {error}",
            file=file,
            expected="an .npz file of numpy: numpy.savez(file, inputs=..., labels=...)",
        ) from None
    columns = {tensor.name: _column(file, tensor, _find(file, tensor, tensors, arrays)) for tensor in tensors}
    labels = arrays.get("labels")
    answers = {}
    if outputs and all(tensor.name in arrays for tensor in outputs):
        answers = {tensor.name: _column(file, tensor, arrays[tensor.name]) for tensor in outputs}
    lengths = {name: len(column) for name, column in {**columns, **answers}.items()}
    if labels is not None:
        lengths["labels"] = len(np.atleast_1d(labels))
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        said = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
        raise OptionError(f"the numbers of samples differ, or are zero: {said}", file=file)
    used = min(count, *lengths.values())
    runs = [{name: column[i] for name, column in columns.items()} for i in range(used)]
    chosen = None if labels is None else [int(label) for label in np.ravel(labels)[:used]]
    recorded = [[column[i] for column in answers.values()] for i in range(used)] if answers else None
    return Samples(file.name, runs, chosen, recorded)


def _find(
    file: Path, tensor: TensorInfo, tensors: Sequence[TensorInfo], arrays: Mapping[str, Array]
) -> Array:
    if tensor.name in arrays:
        return arrays[tensor.name]
    if len(tensors) == 1 and "inputs" in arrays:
        return arrays["inputs"]
    raise OptionError(
        f"there is no array for the input '{tensor.name}'",
        file=file,
        expected=", ".join(f"'{t.name}'" for t in tensors) + (" or 'inputs'" if len(tensors) == 1 else ""),
        remedy="the file has " + (", ".join(f"'{name}'" for name in sorted(arrays)) or "nothing"),
    )


def _column(file: Path, tensor: TensorInfo, array: Array) -> Array:
    """`array` as [samples, *shape] in the model's type."""
    shape = tensor.shape
    short = shape[1:] if shape[:1] == (1,) else shape
    fits = array.ndim > 0 and array.shape[1:] in (shape, short)
    if not fits or not np.can_cast(array.dtype, tensor.dtype, "same_kind"):
        raise OptionError(
            f"the array is {array.dtype} {list(array.shape)}",
            file=file,
            where=f"array for '{tensor.name}'",
            expected=f"{tensor.dtype} [samples, {', '.join(map(str, short))}]",
        )
    return np.ascontiguousarray(array.reshape(len(array), *shape).astype(tensor.dtype))
