"""Recorded inputs of a model, for calibration and for verification; or random ones.

An ``.npz`` file holds one array for each input of the model, under the input's name, with a leading axis
of samples: ``[samples, *shape]``, where a first dimension of 1 in the input's shape may be left out. A
model with one input may call it ``inputs``. ``labels`` (``[samples]``, integers) is optional, and so are
arrays for all outputs, under the outputs' names: recorded answers.

A folder holds one sample a file, in the order of their names: ``.npz`` files with the same arrays without
the axis of samples, or, for a model with one input, ``.npy`` files.

An input in integers may be recorded as real numbers where its scale is known; `numbers` converts them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import OptionError, did_you_mean
from .image.metadata import TensorInfo

Array = npt.NDArray[Any]

ENDINGS = (".npz", ".npy")
"""Files that a folder of samples consists of; others in it are left alone."""

LABELS, INPUTS = "labels", "inputs"


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of several runs.

    Attributes:
        origin: where they come from, for the report.
        inputs: for each run, arrays by the name of the input, in the model's shape, and in its type or
            as real numbers (float32).
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
        dtype = tensor.element
        if tensor.is_float:
            return generator.uniform(-1, 1, tensor.shape).astype(dtype)
        if dtype in (np.dtype("int8"), np.dtype("uint8")):
            limits = np.iinfo(dtype)
            return generator.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)
        return generator.integers(0, 2, tensor.shape).astype(dtype)

    runs = [{tensor.name: values(tensor) for tensor in tensors} for _ in range(count)]
    return Samples(f"random, seed {seed}", runs)


def load_samples(
    file: Path,
    tensors: Sequence[TensorInfo],
    count: int | None = None,
    outputs: Sequence[TensorInfo] = (),
    strict: bool = False,
) -> Samples:
    """The first `count` samples of `file`, an ``.npz`` file or a folder; all of them if None.

    Args:
        tensors: the model's inputs.
        outputs: the model's outputs, whose answers may be recorded.
        strict: refuse arrays that are neither, and numbers that are not finite.

    Raises:
        OptionError: they cannot be read, or do not fit the model's inputs or outputs.
    """
    arrays = _read_folder(file) if file.is_dir() else _read_file(file)
    if strict:
        _check_strictly(file, arrays, tensors, outputs)
    columns = {tensor.name: _column(file, tensor, _find(file, tensor, tensors, arrays)) for tensor in tensors}
    labels = arrays.get(LABELS)
    answers = {}
    if outputs and all(tensor.name in arrays for tensor in outputs):
        answers = {tensor.name: _column(file, tensor, arrays[tensor.name]) for tensor in outputs}
    lengths = {name: len(column) for name, column in {**columns, **answers}.items()}
    if labels is not None:
        lengths[LABELS] = labels.size
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        said = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
        raise OptionError(f"the numbers of samples differ, or are zero: {said}", file=file)
    if labels is not None and labels.dtype.kind not in "iu":
        raise OptionError(f"the labels are {labels.dtype}", file=file, expected="integers, one a sample")
    used = min(lengths.values())
    used = used if count is None else min(count, used)
    runs = [{name: column[i] for name, column in columns.items()} for i in range(used)]
    chosen = None if labels is None else [int(label) for label in np.ravel(labels)[:used]]
    recorded = [[column[i] for column in answers.values()] for i in range(used)] if answers else None
    return Samples(file.name, runs, chosen, recorded)


def numbers(tensor: TensorInfo, values: Array) -> Array:
    """`values` as the tensor holds them: real numbers are quantised if it holds integers."""
    if values.dtype == tensor.element or tensor.scale is None:
        return values
    limits = np.iinfo(tensor.dtype)
    steps = np.rint(values.astype(np.float32) / np.float32(tensor.scale)) + tensor.zero_point
    clipped: Array = np.clip(steps, limits.min, limits.max).astype(tensor.dtype)
    return clipped


def reals(tensor: TensorInfo, values: Array) -> Array:
    """What `values` of the tensor stand for: float32 where it is quantised."""
    if values.dtype.kind == "f" or tensor.scale is None:
        return values
    return (values.astype(np.int32) - tensor.zero_point).astype(np.float32) * np.float32(tensor.scale)


# Reading


def _read_file(file: Path) -> dict[str, Array]:
    try:
        with file.open("rb") as stream:
            return dict(np.load(stream, allow_pickle=False).items())
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise OptionError(
            f"the inputs cannot be read: {error}",
            file=file,
            expected="an .npz file of numpy: numpy.savez(file, inputs=..., labels=...)",
        ) from None


def _read_folder(folder: Path) -> dict[str, Array]:
    """The samples of a folder, stacked."""
    files = sorted(file for file in folder.iterdir() if file.suffix in ENDINGS)
    if not files:
        raise OptionError("the folder holds no samples", file=folder, expected=".npz or .npy files")
    samples = [_read_sample(file) for file in files]
    first = samples[0]
    for file, sample in zip(files, samples, strict=True):
        if sample.keys() != first.keys():
            names, expected = (", ".join(f"'{n}'" for n in sorted(s)) for s in (sample, first))
            raise OptionError(f"it holds {names}", file=file, expected=f"{expected}, as {files[0].name}")
        for name, array in sample.items():
            if array.shape != first[name].shape:
                raise OptionError(
                    f"the array is {list(array.shape)}",
                    file=file,
                    where=f"array for '{name}'",
                    expected=f"{list(first[name].shape)}, as in {files[0].name}",
                )
    return {name: np.stack([sample[name] for sample in samples]) for name in first}


def _read_sample(file: Path) -> dict[str, Array]:
    if file.suffix == ".npz":
        return _read_file(file)
    try:
        with file.open("rb") as stream:
            return {INPUTS: np.lib.format.read_array(stream, allow_pickle=False)}
    except (OSError, ValueError, EOFError) as error:
        raise OptionError(
            f"the input cannot be read: {error}", file=file, expected="an .npy file of numpy"
        ) from None


# Checking


def _check_strictly(
    file: Path, arrays: Mapping[str, Array], tensors: Sequence[TensorInfo], outputs: Sequence[TensorInfo]
) -> None:
    known = [*(tensor.name for tensor in (*tensors, *outputs)), LABELS]
    known += [INPUTS] if len(tensors) == 1 else []
    for name, array in arrays.items():
        if name not in known:
            raise OptionError(f"the model has no input '{name}'", file=file, remedy=did_you_mean(name, known))
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise OptionError(
                f"element {list(place)} is {array[place]}",
                file=file,
                where=f"array for '{name}'",
                expected="finite numbers",
            )


def _find(
    file: Path, tensor: TensorInfo, tensors: Collection[TensorInfo], arrays: Mapping[str, Array]
) -> Array:
    if tensor.name in arrays:
        return arrays[tensor.name]
    if len(tensors) == 1 and INPUTS in arrays:
        return arrays[INPUTS]
    raise OptionError(
        f"there is no array for the input '{tensor.name}'",
        file=file,
        expected=", ".join(f"'{t.name}'" for t in tensors) + (" or 'inputs'" if len(tensors) == 1 else ""),
        remedy="the file has " + (", ".join(f"'{name}'" for name in sorted(arrays)) or "nothing"),
    )


def _column(file: Path, tensor: TensorInfo, array: Array) -> Array:
    """`array` as [samples, *shape], in the model's type or, where that stands for real numbers, as those."""
    shape = tensor.shape
    short = shape[1:] if shape[:1] == (1,) else shape
    real = tensor.scale is not None and array.dtype.kind == "f"
    dtype = np.dtype(np.float32) if real else tensor.element
    fits = array.ndim > 0 and array.shape[1:] in (shape, short)
    if not fits or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise OptionError(
            f"the array is {array.dtype} {list(array.shape)}",
            file=file,
            where=f"array for '{tensor.name}'",
            expected=f"{tensor.dtype} [samples, {', '.join(map(str, short))}]",
        )
    return np.ascontiguousarray(array.reshape(len(array), *shape).astype(dtype))
