"""Links layers, their kernels and the program that checks them into one image for a board."""

from __future__ import annotations

import re
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tests.firmware.batch.shapes import input_values
from tests.numerics.kernel_host import STRICT
from tests.numerics.q_host import shared_text
from tests.numerics.q_model import reference
from tests.numerics.test_kernels_s8 import input_sizes
from tvm_tool.board import Board
from tvm_tool.compiler.c_text import array_text, c_type
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.layers import Array, Driver, Need
from tvm_tool.compiler.quantized_layers import QLayer, input_dtypes, output_dtype
from tvm_tool.linker import linker_script
from tvm_tool.paths import runtime_dir, startup_dir
from tvm_tool.target.qemu import run_image

HERE = Path(__file__).parent
ALIGN = 16
ALIGNED = f"__attribute__((aligned({ALIGN})))"
INEXACT = ("softmax_float_s8",)
"""Kernels whose results depend on how floats are summed up."""


@dataclass(frozen=True, eq=False)
class Case:
    """A layer, the values that its inputs are restricted to, and the bytes that must come out."""

    layer: QLayer
    inputs: tuple[tuple[int, int, int], ...]
    """Bytes, and the two values of an input that takes no others."""
    output: bytes


def cases_of(layers: Sequence[QLayer], seed: int, batch: int) -> list[list[Case]]:
    """Batches of `batch` cases with what the reference says of them; inputs depend on the place in it."""
    rng = np.random.default_rng(seed)
    cases = []
    for index, layer in enumerate(layers):
        types = input_dtypes(layer)
        sizes = [n * np.dtype(t).itemsize for t, n in zip(types, input_sizes(layer), strict=True)]
        inputs = tuple((n, *input_values(rng, t)) for t, n in zip(types, sizes, strict=True))
        data = _input_bytes(index % batch + 1, inputs)
        arrays = tuple(np.frombuffer(d, t) for d, t in zip(data, types, strict=True))
        output = reference(layer, arrays).astype(output_dtype(layer)).tobytes()
        cases.append(Case(layer, inputs, output))
    return [cases[start : start + batch] for start in range(0, len(cases), batch)]


def _input_bytes(seed: int, inputs: Sequence[tuple[int, int, int]]) -> list[bytes]:
    """What the program on the target makes of `seed`: see next_of in batch.c."""
    total = sum(size for size, _, _ in inputs)
    factors = np.cumprod(np.full(total, 1664525, np.uint32), dtype=np.uint32)
    sums = np.cumsum(np.concatenate([np.ones(1, np.uint32), factors[:-1]]), dtype=np.uint32)
    states = factors * np.uint32(seed) + sums * np.uint32(1013904223)
    stream = (states >> np.uint32(24)).astype(np.uint8)
    found, start = [], 0
    for size, low, high in inputs:
        part = stream[start : start + size]
        if low != high:
            part = np.where(part >= 128, high, low).astype(np.uint8)
        found.append(part.tobytes())
        start += size
    return found


@dataclass
class Target:
    """A board, and the objects compiled for it so far.

    Attributes:
        folder: where files are made.
        flags: further flags of the compiler.
        optimize: what the kernels are chosen for.
    """

    board: Board
    folder: Path
    flags: tuple[str, ...] = ("-O2",)
    optimize: str = "speed"
    kernels: set[str] = field(default_factory=set)
    _objects: dict[Path, Path] = field(default_factory=dict)

    @property
    def need(self) -> Need:
        core = self.board.core
        return Need(isa=core.isa, fpu=core.fpu, optimize=self.optimize, aligned=True)

    def _drivers(self, layer: QLayer) -> Iterator[Driver]:
        """The driver of a layer, and what takes its place in other memory."""
        yield (driver := drive_integer(layer, self.need))
        if driver.kernel == "dense_direct_dsp":
            yield drive_integer(layer, replace(self.need, aligned=False))
        if driver.roomy is not None:
            yield driver.roomy

    def run(self, cases: Sequence[Case]) -> list[str]:
        """One line for each case that went wrong."""
        runs = [
            (case, driver, in_place)
            for case in cases
            for driver in self._drivers(case.layer)
            for in_place in ((False, True) if driver.in_place else (False,))
            if driver.kernel not in INEXACT
        ]
        self.kernels |= {driver.kernel for _, driver, _ in runs}
        seeds = {id(case): index + 1 for index, case in enumerate(cases)}
        source = self.folder / "cases.c"
        source.write_text(_program(runs, seeds))
        names = sorted({name for _, driver, _ in runs for name in driver.runtime})
        elf = self.link(source, names)
        result = run_image(elf, self.board, timeout=120)
        if result.status not in range(101):
            return [f"status {result.status}: {result.output}"]
        lines = [line.split(" ", 1) for line in result.output.splitlines()]
        assert len(lines) == result.status or result.status == 100
        return [f"{_describe(*runs[int(number)])}{what}" for number, what in lines]

    def link(self, cases: Path, runtime: Sequence[str]) -> Path:
        """The image of the program that runs the cases of this C file, with these files of the runtime."""
        files = [startup_dir() / name for name in (self.board.core.startup, "tvm_semihosting.c")]
        files += [HERE / "batch.c", *(runtime_dir() / name for name in runtime)]
        objects = [self._object(file) for file in files]
        script, elf = self.folder / "link.ld", self.folder / "batch.elf"
        script.write_text(linker_script(self.board))
        self._compile(cases, *objects, "-nostartfiles", "-Wl,--gc-sections", f"-T{script}", "-o", elf)
        return elf

    def _object(self, file: Path) -> Path:
        if file not in self._objects:
            self._objects[file] = self.folder / f"{file.stem}.o"
            self._compile("-c", file, "-o", self._objects[file])
        return self._objects[file]

    def _compile(self, *words: str | Path) -> None:
        core = self.board.core
        include = [f"-I{path}" for path in (HERE, runtime_dir(), startup_dir())]
        command = [f"{core.toolchain}gcc", *core.flags, *core.libc, "-std=c99", *STRICT, *self.flags]
        more = ["-ffunction-sections", "-fdata-sections", *include, *words]
        subprocess.run([*command, *map(str, more)], check=True)


Run = tuple[Case, Driver, bool]


def _describe(case: Case, driver: Driver, in_place: bool) -> str:
    return f"{driver.kernel}{' in place' if in_place else ''}: {case.layer}\n  "


def _program(runs: Sequence[Run], seeds: dict[int, int]) -> str:
    functions, rows = [], []
    for index, (case, driver, in_place) in enumerate(runs):
        functions.append(_function(index, case, driver))
        inputs = ", ".join(f"{{{size}, {low}, {high}}}" for size, low, high in case.inputs)
        crc = zlib.crc32(case.output)
        numbers = f"{len(case.output)}, {driver.scratch}, {int(in_place)}, {seeds[id(case)]}, {crc:#x}u"
        rows.append(f"    {{case{index}, {{{inputs}}}, {numbers}}},")
    sizes = [
        max(case.inputs[0][0] for case, _, _ in runs),
        max(case.inputs[1][0] if len(case.inputs) > 1 else 0 for case, _, _ in runs),
        max(len(case.output) for case, _, _ in runs),
        max(driver.scratch for _, driver, _ in runs),
    ]
    sizes[0] = max(sizes[0], sizes[2])  # In place, an output may be larger than what it takes the place of.
    memory = "\n".join(
        f"static uint8_t memory{i}[{-(-size // ALIGN) * ALIGN + 2 * ALIGN}] {ALIGNED};"
        for i, size in enumerate(sizes)
    )
    places = ", ".join(f"memory{i} + {ALIGN}" for i in range(4))
    return "\n".join(
        [
            '#include "batch.h"\n\n#include "tvm_kernels.h"\n',
            shared_text([driver for _, driver, _ in runs]),
            *functions,
            f"const struct batch_case batch_cases[] = {{\n{chr(10).join(rows)}\n}};",
            f"const uint32_t batch_case_count = {len(runs)};\n",
            memory,
            f"uint8_t *const batch_places[4] = {{{places}}};\n",
        ]
    )


def _function(index: int, case: Case, driver: Driver) -> str:
    """The driver of a layer, with the constants that it names."""
    body, arrays = driver.body, []
    for key, value in driver.constants.items():
        name = f"case{index}_{key}"
        body = body.replace(f"@{key}@", name)
        kind = f"static const {c_type(str(value.dtype))} {ALIGNED}"
        arrays.append(f"{kind} {name}[] = {{\n{array_text(_flat(value))}\n}};")
    names = ["input"] if len(case.inputs) == 1 else [f"input{i}" for i in range(len(case.inputs))]
    types = input_dtypes(case.layer)
    lines = [
        f"const {c_type(t)} *{n} = inputs[{i}];" for i, (n, t) in enumerate(zip(names, types, strict=True))
    ]
    lines += [f"{c_type(output_dtype(case.layer))} *output = result;"]
    if not driver.scratch:
        lines.append("(void)scratch;")
    text = "\n".join([*lines, body])
    head = f"static void case{index}(const void *const *inputs, void *result, uint8_t *scratch)"
    return "\n".join([*arrays, head, "{", re.sub(r"^(?=.)", "    ", text, flags=re.MULTILINE), "}\n"])


def _flat(value: Array) -> Array:
    return np.ascontiguousarray(value).reshape(-1)
