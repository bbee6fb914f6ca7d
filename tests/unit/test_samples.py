"""Recorded inputs: folders, strict reading, and numbers that stand for real values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvm_tool.errors import OptionError
from tvm_tool.image.metadata import TensorInfo
from tvm_tool.samples import load_samples, numbers, reals

X = TensorInfo("x", "float32", (1, 2), 8)
Y = TensorInfo("y", "float32", (1, 3), 12)
Q = TensorInfo("q", "int8", (4,), 4, scale=0.5, zero_point=-3)


def test_a_folder_of_archives_is_a_sample_a_file(tmp_path: Path) -> None:
    for i in (2, 0, 1):
        np.savez(tmp_path / f"{i}.npz", x=np.full(2, i), y=np.full((1, 3), -i), labels=i + 5)
    (tmp_path / "notes.txt").write_text("not a sample")
    found = load_samples(tmp_path, [X], outputs=[Y], strict=True)
    assert [float(run["x"][0, 1]) for run in found.inputs] == [0, 1, 2]
    assert found.labels == [5, 6, 7]
    assert found.outputs is not None and found.outputs[2][0].tolist() == [[-2, -2, -2]]
    assert found.origin == tmp_path.name
    assert len(load_samples(tmp_path, [X], 2).inputs) == 2


def test_a_folder_of_arrays_is_for_one_input(tmp_path: Path) -> None:
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.array([i, 1.0]))
    assert [run["x"].tolist() for run in load_samples(tmp_path, [X], strict=True).inputs] == [
        [[0, 1]],
        [[1, 1]],
        [[2, 1]],
    ]
    with pytest.raises(OptionError, match="no array for the input 'x'"):
        load_samples(tmp_path, [X, Y])


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ["the folder holds no samples"]),
        ({"a.npy": np.zeros(2), "b.npy": np.zeros(3)}, ["b.npy", "[3]", "[2], as in a.npy"]),
        ({"a.npy": np.zeros(3)}, ["float64 [1, 3]", "float32 [samples, 2]"]),
        ({"a.npy": np.array([{}])}, ["a.npy", "cannot be read"]),
        ({"a.npy": np.zeros(2), "b.npz": {"x": np.zeros(2)}}, ["b.npz", "it holds 'x'", "'inputs'"]),
    ],
)
def test_folders_that_do_not_fit(files: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    for name, content in files.items():
        if isinstance(content, dict):
            np.savez(tmp_path / name, **content)
        else:
            np.save(tmp_path / name, content)
    with pytest.raises(OptionError) as error:
        load_samples(tmp_path, [X])
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((2, 2)), "z": np.zeros(2)}, ["no input 'z'"]),
        ({"in puts": np.zeros((2, 2))}, ["no input 'in puts'", "did you mean 'inputs'"]),
        ({"x": np.array([[0, 1], [np.nan, 1]])}, ["array for 'x'", "element [1, 0] is nan"]),
        ({"x": np.array([[0, -np.inf]])}, ["element [0, 1] is -inf", "finite"]),
        ({"x": np.zeros((2, 2)), "labels": np.array([0.5, 1])}, ["labels are float64", "integers"]),
    ],
)
def test_strict_reading_refuses_what_makes_no_sense(
    arrays: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    with pytest.raises(OptionError) as error:
        load_samples(tmp_path / "in.npz", [X], strict=True)
    for word in ["in.npz", *words]:
        assert word in str(error.value)


def test_reals_of_an_integer_input_are_quantised_as_onnx_does(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", q=np.array([[0.25, 0.75, -100.0, 100.0]]))
    values = load_samples(tmp_path / "in.npz", [Q]).inputs[0]["q"]
    assert values.dtype == np.float32
    found = numbers(Q, values)
    assert found.dtype == np.int8 and found.tolist() == [-3, -1, -128, 127]  # half to even, limits
    assert reals(Q, found).tolist() == [0.0, 1.0, -62.5, 65.0]
    assert numbers(Q, found) is found and reals(Q, values) is values


def test_integers_of_an_integer_input_stay(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", q=np.array([[1, 2, 3, 4]], np.int8))
    assert load_samples(tmp_path / "in.npz", [Q]).inputs[0]["q"].dtype == np.int8
