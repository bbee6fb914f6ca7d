"""Runs the drivers of many integer layers in one C program, on the host or in an emulator."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.numerics.kernel_host import STRICT
from tvm_tool.compiler.kernels.float32 import literal
from tvm_tool.compiler.layers import Array, Driver
from tvm_tool.paths import runtime_dir

HARNESS = Path(__file__).with_name("q_harness")

PROGRAM = """
#include "tvm_kernels.h"
#include "harness.h"
{shared}
{functions}
const struct test_case test_cases[] = {{
{table}
}};
const int test_case_count = {count};
"""

FUNCTION = """
{constants}
static void case{index}(const void *const *inputs, void *result)
{{
{inputs}
    {output} *output = result;{scratch}

{body}
}}
"""

SCRATCH = "\n    static uint8_t scratch[{}] __attribute__((aligned(16)));"

MOVED = "\n    static uint8_t memory[{}] __attribute__((aligned(16)));"
COPY = """
    for (int32_t i = 0; i < {size}; i++) {{
        ((volatile uint8_t *){memory})[{start} + i] = ((const uint8_t *)inputs[0])[i];
    }}
    input = (const {type} *)(const void *)({memory} + {start});"""

C_TYPES = {"int8": "int8_t", "uint8": "uint8_t", "int32": "int32_t", "float32": "float"}


@dataclass(frozen=True, eq=False)
class Case:
    """One run of a driver on `inputs`: over the first of them if `in_place`.

    If `moved` is given, the only input is put so many bytes behind a multiple of 16; if `over_input`, into
    the scratch.
    """

    driver: Driver
    inputs: tuple[Array, ...]
    output_size: int
    output_dtype: str
    in_place: bool = False
    moved: int = 0
    over_input: bool = False

    @property
    def output_bytes(self) -> int:
        return self.output_size * np.dtype(self.output_dtype).itemsize


def function_text(index: int, case: Case) -> str:
    body = case.driver.body
    arrays = []
    for key, value in case.driver.constants.items():
        body = body.replace(f"@{key}@", f"case{index}_{key}")
        text = ", ".join(map(literal if value.dtype == np.float32 else str, value.tolist()))
        arrays.append(f"static const {C_TYPES[str(value.dtype)]} case{index}_{key}[] = {{{text}}};")
    assert "@" not in body
    names = ["input"] if len(case.inputs) == 1 else ["input0", "input1"]
    inputs = [
        f"    const {C_TYPES[str(data.dtype)]} *{name} = inputs[{place}];"
        for place, (name, data) in enumerate(zip(names, case.inputs, strict=True))
    ]
    scratch = SCRATCH.format(case.driver.scratch) if case.driver.scratch else ""
    if case.moved or case.over_input:
        size = case.inputs[0].nbytes
        memory = "scratch" if case.over_input else "memory"
        scratch += "" if case.over_input else MOVED.format(size + case.moved)
        scratch += COPY.format(
            memory=memory, size=size, start=case.moved, type=C_TYPES[str(case.inputs[0].dtype)]
        )
    return FUNCTION.format(
        constants="\n".join(arrays),
        index=index,
        inputs="\n".join(inputs),
        output=C_TYPES[case.output_dtype],
        scratch=scratch,
        body=re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE),
    )


def shared_text(drivers: Sequence[Driver]) -> str:
    """The headers and blocks that `drivers` need."""
    headers = sorted({header for driver in drivers for header in driver.headers})
    blocks = {name: text for driver in drivers for name, text in driver.blocks.items()}
    return "\n".join([*(f'#include "{header}"' for header in headers), *blocks.values()])


def program_text(cases: Sequence[Case]) -> str:
    """A C file with one function for each case, and the table of them."""
    rows = []
    for index, case in enumerate(cases):
        inputs = [data.nbytes for data in case.inputs]
        sizes = [
            f"{{{', '.join(map(str, inputs))}}}",
            str(case.output_bytes),
            str(int(case.in_place)),
        ]
        rows.append(f"    {{case{index}, {', '.join(sizes)}}},")
    functions = "".join(function_text(index, case) for index, case in enumerate(cases))
    drivers = [case.driver for case in cases]
    shared, table = shared_text(drivers), "\n".join(rows)
    return PROGRAM.format(shared=shared, functions=functions, table=table, count=len(cases))


def blob(cases: Sequence[Case]) -> bytes:
    """What the program reads: the inputs of each case."""
    parts = []
    for case in cases:
        for array in case.inputs:
            data = np.ascontiguousarray(array).tobytes()
            parts.append(data + bytes(-len(data) % 16))
    return b"".join(parts)


def prepare(cases: Sequence[Case], folder: Path) -> list[str]:
    """Write the program and its data; returns the C files to compile."""
    (folder / "cases.c").write_text(program_text(cases))
    (folder / "in.bin").write_bytes(blob(cases))
    names = sorted({name for case in cases for name in case.driver.runtime})
    return [str(folder / "cases.c"), *(str(runtime_dir() / name) for name in names)]


def outputs(cases: Sequence[Case], data: bytes) -> list[Array]:
    """The outputs of all cases, cut from what the program wrote."""
    assert len(data) == sum(case.output_bytes for case in cases)
    arrays, start = [], 0
    for case in cases:
        arrays.append(np.frombuffer(data, case.output_dtype, case.output_size, start))
        start += case.output_bytes
    return arrays


def run_on_host(cases: Sequence[Case], folder: Path, compiler: Sequence[str]) -> list[Array]:
    """Compile with `compiler` (a command with its flags) and run under its sanitizers."""
    files = [*prepare(cases, folder), str(HARNESS / "host.c")]
    command = [*compiler, *STRICT, f"-I{runtime_dir()}", f"-I{HARNESS}", *files, "-o", str(folder / "cases")]
    subprocess.run(command, check=True)
    subprocess.run([folder / "cases", folder / "in.bin", folder / "out.bin"], check=True)
    return outputs(cases, (folder / "out.bin").read_bytes())


def run_on_target(cases: Sequence[Case], folder: Path, flags: Sequence[str], machine: str) -> list[Array]:
    """Compile with arm-none-eabi-gcc and run on an emulated board without an operating system."""
    common = HARNESS.with_name("kernel_harness")
    files = [*prepare(cases, folder), str(HARNESS / "target.c"), str(common / "vectors.S")]
    command = ["arm-none-eabi-gcc", *flags, *STRICT, f"-I{runtime_dir()}", f"-I{HARNESS}"]
    command += ["-nostdlib", f"-T{common / 'target.ld'}", "-Wl,--no-warn-rwx-segments"]
    subprocess.run([*command, *files, "-lgcc", "-o", "cases.elf"], check=True, cwd=folder)
    emulator = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    emulator += ["-semihosting-config", "enable=on,target=native", "-kernel", "cases.elf"]
    subprocess.run(emulator, check=True, cwd=folder, timeout=120, stdin=subprocess.DEVNULL)
    return outputs(cases, (folder / "out.bin").read_bytes())
