"""The kernels as a build takes them: any number of them in one translation unit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.host import STRICT
from tvm_tool.compiler.output import runtime_files
from tvm_tool.kernel_file import RUNTIME_SOURCES
from tvm_tool.paths import runtime_dir

M4F = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
M55 = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
CORES: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "host": ("gcc", [], ("dsp", "mve", "armv6m", "pair")),
    "m0plus": ("arm-none-eabi-gcc", ["-mcpu=cortex-m0plus", "-mthumb"], ("armv6m",)),
    "m3": ("arm-none-eabi-gcc", ["-mcpu=cortex-m3", "-mthumb"], ("dsp", "pair")),
    "m4f": ("arm-none-eabi-gcc", M4F, ("dsp",)),
    "m55": ("arm-none-eabi-gcc", M55, ("dsp", "mve")),
    "rv32": (
        "riscv64-unknown-elf-gcc",
        ["-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"],
        ("pair",),
    ),
}
"""Compiler, flags, and the sets of kernels besides the scalar ones."""


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("order", [1, -1])
def test_all_kernels_fit_into_one_file(core: str, order: int, tmp_path: Path) -> None:
    compiler, flags, sets = CORES[core]
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    kernels = sorted(file for kind in ("f32", "s8", *sets) for file in runtime_dir().glob(f"tvm_*_{kind}.c"))
    merged = tmp_path / "tvm_kernels.c"
    merged.write_text("".join(f'#include "{kernel.name}"\n' for kernel in kernels[::order]))
    command: list[str | Path] = [compiler, *flags, *STRICT, "-O2", f"-I{runtime_dir()}", "-c", merged]
    subprocess.run([*command, "-o", tmp_path / "k.o"], check=True)


def test_only_headers_that_are_included_come_along() -> None:
    plain = {file.name for file in runtime_files(RUNTIME_SOURCES, [])}
    assert plain == {*RUNTIME_SOURCES, "tvm_aot.h", "tvm_platform.h"}
    dense = {file.name for file in runtime_files(["tvm_dense_s8.c"], ['#include "model.h"\n'])}
    assert {"tvm_dense_s8.c", "tvm_kernels_s8.h"} <= dense
    assert not {name for name in dense if name.endswith(("_mve.h", "_armv6m.h"))}
    assert "tvm_simd_mve.h" in {file.name for file in runtime_files([], ['#include "tvm_kernels_mve.h"\n'])}
