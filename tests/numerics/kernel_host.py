"""Runs the drivers of many layers in one C program, on the host or in an emulator.

Every buffer is its own allocation of exactly the size that was asked for, so that a sanitizer sees each
element too far; output and scratch hold NaN before the kernel runs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tvm_tool.compiler.layers import Driver
from tvm_tool.paths import runtime_dir

Floats = npt.NDArray[np.float32]

STRICT = (
    "-Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wundef "
    "-Wredundant-decls -Wshadow -Werror -fno-builtin"
).split()

PROGRAM = """
#include "tvm_kernels.h"
#include "harness.h"
{functions}
const struct test_case test_cases[] = {{
{table}
}};
const int test_case_count = {count};
"""

FUNCTION = """
static void case{index}(const float *const *constants, const float *input, float *output, uint8_t *scratch)
{{
    (void)constants;
    (void)scratch;
{body}
}}
"""


@dataclass(frozen=True, eq=False)
class Case:
    """One run of a driver: in place if `in_place`, else with separate buffers."""

    driver: Driver
    input: Floats
    output_size: int
    in_place: bool = False


def program_text(cases: Sequence[Case]) -> str:
    """A C file with one function for each case, and the table of them."""
    functions, rows = [], []
    for index, case in enumerate(cases):
        body = case.driver.body
        for place, key in enumerate(case.driver.constants):
            body = body.replace(f"@{key}@", f"constants[{place}]")
        assert "@" not in body
        indented = re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE)
        functions.append(FUNCTION.format(index=index, body=indented))
        sizes = [int(a.size) for a in case.driver.constants.values()]
        numbers = [case.input.size, case.output_size, case.driver.scratch, int(case.in_place), len(sizes)]
        row = ", ".join(map(str, numbers))
        rows.append(f"    {{case{index}, {row}, {{{', '.join(map(str, sizes or [0]))}}}}},")
    return PROGRAM.format(functions="".join(functions), table="\n".join(rows), count=len(cases))


def blob(cases: Sequence[Case]) -> bytes:
    """What the program reads: for each case its constants, then its input."""
    parts = []
    for case in cases:
        arrays = [*case.driver.constants.values(), case.input]
        parts += [np.ascontiguousarray(a, np.float32).tobytes() for a in arrays]
    return b"".join(parts)


def sources(cases: Sequence[Case]) -> list[Path]:
    """The runtime files of all cases."""
    return [runtime_dir() / name for name in sorted({f for c in cases for f in c.driver.runtime})]


def outputs(cases: Sequence[Case], data: bytes) -> list[Floats]:
    """The outputs of all cases, cut from what the program wrote."""
    values = np.frombuffer(data, np.float32)
    assert values.size == sum(case.output_size for case in cases)
    ends = np.cumsum([case.output_size for case in cases])
    return list(np.split(values, ends[:-1]))


def run_on_host(cases: Sequence[Case], folder: Path, compiler: Sequence[str]) -> list[Floats]:
    """Compile with `compiler` (a command with its flags) and run under its sanitizers."""
    harness = Path(__file__).with_name("kernel_harness")
    (folder / "cases.c").write_text(program_text(cases))
    (folder / "in.bin").write_bytes(blob(cases))
    includes = [f"-I{runtime_dir()}", f"-I{harness}"]
    files = [folder / "cases.c", harness / "host.c", *sources(cases)]
    command = [*compiler, *STRICT, *includes, *map(str, files), "-o", str(folder / "cases")]
    subprocess.run(command, check=True)
    subprocess.run([folder / "cases", folder / "in.bin", folder / "out.bin"], check=True)
    return outputs(cases, (folder / "out.bin").read_bytes())


def run_on_target(cases: Sequence[Case], folder: Path, flags: Sequence[str], machine: str) -> list[Floats]:
    """Compile with arm-none-eabi-gcc and run on an emulated board without an operating system."""
    harness = Path(__file__).with_name("kernel_harness")
    (folder / "cases.c").write_text(program_text(cases))
    (folder / "in.bin").write_bytes(blob(cases))
    files = [folder / "cases.c", harness / "target.c", harness / "vectors.S", *sources(cases)]
    command = ["arm-none-eabi-gcc", *flags, *STRICT, f"-I{runtime_dir()}", f"-I{harness}"]
    command += ["-nostdlib", f"-T{harness / 'target.ld'}", "-Wl,--no-warn-rwx-segments"]
    command += [*map(str, files), "-lgcc", "-o", "cases.elf"]
    subprocess.run(command, check=True, cwd=folder)
    emulator = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    emulator += ["-semihosting-config", "enable=on,target=native", "-kernel", "cases.elf"]
    subprocess.run(emulator, check=True, cwd=folder, timeout=120, stdin=subprocess.DEVNULL)
    return outputs(cases, (folder / "out.bin").read_bytes())
