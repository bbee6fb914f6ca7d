"""The parts of a verification that need no emulator: inputs, comparison, reference, free memory."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.firmware.data_target.firmware import write_model
from tvm_tool.board import load_board
from tvm_tool.errors import ModelError, OptionError, TargetError
from tvm_tool.image.elf import Image, Section, Symbol
from tvm_tool.image.linker_map import LinkerMap
from tvm_tool.image.metadata import Metadata, TensorInfo
from tvm_tool.samples import load_samples, random_samples
from tvm_tool.target.compare import best, difference
from tvm_tool.target.reference import OPTIMISATIONS, reference_outputs
from tvm_tool.target.scratch import Scratch, Stack, stack_of

IMAGE = TensorInfo("image", "float32", (1, 2, 3), 24)
MASK = TensorInfo("mask", "bool", (4,), 4)
F412 = load_board("stm32f412")
RAM = 0x20000000

# ---------------------------------------------------------------- samples


def test_random_samples_are_reproducible_and_in_range() -> None:
    tensors = [
        IMAGE,
        MASK,
        TensorInfo("q", "int8", (1000,), 1000),
        TensorInfo("u", "uint8", (1000,), 1000),
        TensorInfo("index", "int64", (50,), 400),
    ]
    first, second = random_samples(tensors, 2), random_samples(tensors, 2)
    for a, b in zip(first.inputs, second.inputs, strict=True):
        for tensor in tensors:
            assert a[tensor.name].dtype == tensor.dtype
            assert a[tensor.name].shape == tensor.shape
            np.testing.assert_array_equal(a[tensor.name], b[tensor.name])
    run = first.inputs[0]
    assert np.abs(run["image"]).max() < 1
    assert (run["q"].min(), run["q"].max()) == (-128, 127)
    assert (run["u"].min(), run["u"].max()) == (0, 255)
    assert set(run["index"]) == {0, 1}
    assert not np.array_equal(first.inputs[0]["image"], first.inputs[1]["image"])


def test_recorded_samples(tmp_path: Path) -> None:
    file = tmp_path / "in.npz"
    image = np.arange(30, dtype=np.uint8).reshape(5, 2, 3)
    np.savez(file, image=image, mask=np.ones((5, 4), bool), labels=np.arange(5))
    samples = load_samples(file, [IMAGE, MASK], 3)
    assert len(samples.inputs) == 3
    assert samples.labels == [0, 1, 2]
    assert samples.inputs[1]["image"].shape == (1, 2, 3)
    assert samples.inputs[1]["image"].dtype == np.float32
    assert samples.inputs[1]["image"][0, 0, 0] == 6


def test_recorded_samples_of_one_input(tmp_path: Path) -> None:
    file = tmp_path / "in.npz"
    np.savez(file, inputs=np.zeros((2, 1, 2, 3)))
    samples = load_samples(file, [IMAGE], 16)
    assert len(samples.inputs) == 2
    assert samples.labels is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"other": np.zeros(3)}, "no array for the input 'image'.*'image' or 'inputs'.*the file has 'other'"),
        ({"image": np.zeros((2, 3, 2))}, r"float64 \[2, 3, 2\].*float32 \[samples, 2, 3\]"),
        ({"image": np.zeros(6)}, r"float64 \[6\]"),
        ({"image": np.zeros((1, 2, 3), complex)}, "complex128"),
        ({"image": np.zeros((0, 2, 3))}, "zero"),
        ({"image": np.zeros((2, 2, 3)), "labels": np.zeros(3)}, "differ.*'image' 2, 'labels' 3"),
        ({"image": np.array(1.0)}, r"float64 \[\]"),
    ],
)
def test_recorded_samples_that_do_not_fit(arrays: dict[str, object], message: str, tmp_path: Path) -> None:
    file = tmp_path / "in.npz"
    np.savez(file, **arrays)  # type: ignore[arg-type]
    with pytest.raises(OptionError) as caught:
        load_samples(file, [IMAGE], 16)
    text = " ".join(str(caught.value).split("\n"))
    assert "in.npz" in text
    assert re.search(message, text), text


@pytest.mark.parametrize("content", [None, b"", b"not an archive", b"PK\x03\x04broken"])
def test_recorded_samples_that_are_none(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "in.npz"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(OptionError, match="cannot be read"):
        load_samples(file, [IMAGE], 16)


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros(3))
    with pytest.raises(OptionError, match="cannot be read"):
        load_samples(tmp_path / "in.npy", [IMAGE], 16)


# ---------------------------------------------------------------- comparison


def floats(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_float_errors_are_relative_to_the_largest_value() -> None:
    assert difference(floats(1, 2), floats(1, 2)).error == 0
    small = difference(floats(0.5, 0.25), floats(0.5, 0.2500305))
    assert small.error == pytest.approx(3.05e-5, rel=1e-3)
    assert small.index == (1,)
    assert small.wrong
    large = difference(floats(1000.0, 3.0), floats(1000.0, 3.005))
    assert large.error == pytest.approx(5e-6, rel=1e-3)
    assert not large.wrong


def test_integers_must_be_equal() -> None:
    same = np.array([[1, 2]], np.int8)
    assert not difference(same, same).wrong
    other = difference(np.array([[1, -128]], np.int8), np.array([[1, 127]], np.int8))
    assert (other.error, other.index, other.got, other.want) == (255.0, (0, 1), -128.0, 127.0)
    assert other.wrong
    assert difference(np.array([True]), np.array([False])).wrong


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(value: float) -> None:
    assert difference(floats(value, 1), floats(value, 1)).error == 0
    assert difference(floats(value, 1), floats(0, 1)).wrong
    assert difference(floats(0, 1), floats(value, 1)).wrong
    assert difference(floats(np.inf), floats(-np.inf)).wrong
    # What else is wrong still shows.
    assert difference(floats(value, 1), floats(value, 1.1)).error == pytest.approx(0.1 / 1.1, rel=1e-3)


def test_scalars() -> None:
    result = difference(np.array(2.0, np.float32), np.array(1.0, np.float32))
    assert (result.error, result.index) == (1.0, ())


def test_classes() -> None:
    assert best(floats(0.1, 0.7, 0.2)) == 1
    assert best(floats(3.0)) is None


# ---------------------------------------------------------------- reference


@pytest.mark.parametrize("optimisation", OPTIMISATIONS)
def test_the_reference(optimisation: str, tmp_path: Path) -> None:
    model = write_model(tmp_path)
    samples = [{"image": np.full((1, 8), i, np.float32)} for i in range(3)]
    outputs = list(reference_outputs(model, samples, ["scores"], optimisation))
    assert [values[0][0, 0] for values in outputs] == [1, 3, 5]


def test_the_reference_refuses(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    sample = {"image": np.zeros((1, 8), np.float32)}
    with pytest.raises(ModelError, match="no output 'score'") as caught:
        list(reference_outputs(model, [sample], ["score"]))
    assert "did you mean 'scores'?" in str(caught.value)
    with pytest.raises(ModelError, match="cannot run the model"):
        list(reference_outputs(model, [{"image": np.zeros((1, 8), np.int8)}], ["scores"]))
    model.write_bytes(b"no model")
    with pytest.raises(ModelError, match="does not take the model"):
        list(reference_outputs(model, [sample], ["scores"]))


# ---------------------------------------------------------------- free memory


def model_in(workspace: str = "tvmgen_m_workspace") -> Metadata:
    return Metadata(
        Path("m.json"), "m", "tvmgen_m", "m.onnx", "", (IMAGE,), (), workspace, 64, 16, None, (), None, ()
    )


def ram_image(*sections: tuple[str, int, int], symbols: tuple[Symbol, ...] = ()) -> Image:
    made = tuple(Section(name, RAM + start, size, None, 8, b"") for name, start, size in sections)
    return Image(Path("toy.elf"), "EM_ARM", 0x08000000, made, symbols, {})


def test_the_stack_has_a_section() -> None:
    image = ram_image((".stack", 0, 0x1000), (".bss", 0x1000, 0x100))
    assert stack_of(image, F412, RAM + 0xFF0) == Stack(RAM, RAM + 0x1000)


def test_the_stack_has_none() -> None:
    image = ram_image((".bss", 0, 0x100))
    pointer = RAM + 0x8000
    assert stack_of(image, F412, pointer) == Stack(pointer - F412.stack, pointer)
    # A section in the way, and the end of the region.
    near = ram_image((".bss", 0, 0x7800))
    assert stack_of(near, F412, pointer) == Stack(RAM + 0x7800, pointer)
    assert stack_of(ram_image(), F412, RAM + 0x100) == Stack(RAM, RAM + 0x100)


def scratch(image: Image, stack: Stack) -> Scratch:
    return Scratch(image, model_in(), F412, stack, LinkerMap())


def test_memory_comes_from_the_largest_gap() -> None:
    image = ram_image((".stack", 0, 0x1000), (".bss", 0x1000, 0x100), (".more", 0x3000, 0x10))
    free = scratch(image, Stack(RAM, RAM + 0x1000))
    assert free.take(100) == RAM + 0x3010
    assert free.take(5) == RAM + 0x3010 + 112
    end = RAM + (128 << 10)  # of the emulated machine, not of the board
    rest = free.take(end - (RAM + 0x3010 + 128))
    assert rest == RAM + 0x3010 + 128
    assert free.take(0x1F00) == RAM + 0x1100
    with pytest.raises(TargetError, match="no 256 bytes of RAM are free") as caught:
        free.take(256)
    assert "board whose emulator has more RAM" in str(caught.value)


def test_heap_and_variables_of_the_application_may_go() -> None:
    everything = 128 << 10
    symbols = (
        Symbol("frame_buffer", RAM + 0x1000, 0x800, False, "main.c"),
        Symbol("tvmgen_m_workspace", RAM + 0x2000, 0x4000, False),
        Symbol("errno", RAM + 0x6000, 4, False),
    )
    bss = (".bss", 0x1000, everything - 0x1000)
    free = scratch(ram_image((".stack", 0, 0x1000), bss, symbols=symbols), Stack(RAM, RAM + 0x1000))
    assert free.take(0x800) == RAM + 0x1000
    with pytest.raises(TargetError):
        free.take(16)
    heap = ram_image((".stack", 0, 0x1000), (".heap", 0x1000, everything - 0x1000))
    assert scratch(heap, Stack(RAM, RAM + 0x1000)).take(1000) == RAM + 0x1000


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 0x1FFFF), st.integers(1, 0x4000)), max_size=6),
    st.lists(st.integers(1, 3000), max_size=8),
)
def test_memory_is_never_given_twice(taken: list[tuple[int, int]], sizes: list[int]) -> None:
    sections = [(f".s{i}", start, min(size, 0x20000 - start)) for i, (start, size) in enumerate(taken)]
    image = ram_image(*sections)
    stack = Stack(RAM + 0x10000, RAM + 0x11000)
    free = scratch(image, stack)
    used = [(s.address, s.end) for s in image.sections] + [(stack.bottom, stack.top)]
    for size in sizes:
        try:
            address = free.take(size)
        except TargetError:
            continue
        assert address % 16 == 0
        assert address >= RAM
        assert address + size <= RAM + 0x20000
        assert all(address >= end or address + size <= start for start, end in used)
        used.append((address, address + size))
