"""Cores, their flags, and flags of a firmware that contradict them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from tvm_tool.cores import CORE_NAMES, Core, check_flags, core_named, machine_flags
from tvm_tool.errors import ToolchainError
from tvm_tool.paths import linker_scripts_dir, startup_dir

RV32 = core_named("rv32imc")
M3, M4F, M4 = core_named("cortex-m3"), core_named("cortex-m4f"), core_named("cortex-m4")


def test_flags() -> None:
    assert M4F.flags == ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    assert M3.flags == ("-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft")
    assert (M4F.fpu, M3.fpu, M4F.isa, M3.isa) == (True, False, "dsp", "armv7m")
    assert M4F.with_float_abi("softfp").fpu
    assert M4F.with_float_abi("soft").flags == M4.flags
    assert core_named("cortex-m55").with_float_abi("soft").isa == "dsp"


@pytest.mark.parametrize("name", CORE_NAMES)
def test_files_of_a_core(name: str) -> None:
    core = core_named(name)
    assert (linker_scripts_dir() / core.linker_script).is_file()
    assert (startup_dir() / core.startup).is_file()


def macros(gcc: str, flags: Sequence[str]) -> dict[str, str]:
    command = [gcc, *flags, "-dM", "-E", "-x", "c", "-"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {line.split()[1]: line.split()[-1] for line in done.stdout.splitlines()}


def test_flags_of_riscv() -> None:
    assert RV32.flags == ("-march=rv32imc", "-mabi=ilp32")
    assert (RV32.riscv, M3.riscv, RV32.fpu, RV32.isa) == (True, False, False, "rv32")


def test_the_compiler_agrees_on_riscv() -> None:
    gcc = shutil.which(RV32.toolchain + "gcc")
    if gcc is None:
        pytest.skip(f"{RV32.toolchain}gcc is not installed")
    defined = macros(gcc, RV32.flags)
    assert defined["__riscv_xlen"] == "32"
    assert {"__riscv_mul", "__riscv_compressed", "__riscv_float_abi_soft"} <= set(defined)
    assert not {"__riscv_flen", "__riscv_atomic"} & set(defined)


@pytest.mark.parametrize("name", [name for name in CORE_NAMES if name != "rv32imc"])
def test_the_compiler_agrees(name: str) -> None:
    core = core_named(name)
    gcc = shutil.which(core.toolchain + "gcc")
    if gcc is None:
        pytest.skip(f"{core.toolchain}gcc is not installed")
    defined = macros(gcc, core.flags)
    assert ("__ARM_FP" in defined) == core.fpu
    assert ("__ARM_PCS_VFP" in defined) == (core.float_abi == "hard")
    assert ("__ARM_FEATURE_DSP" in defined) == (core.isa in ("dsp", "mve"))
    assert ("__ARM_FEATURE_MVE" in defined) == (core.isa == "mve")
    by_march = macros(gcc, [f"-march={core.arch}", "-mthumb", "-mfloat-abi=soft"])
    same = re.compile(r"__ARM_ARCH(_\w+__)?\Z")
    assert {m for m in defined if same.match(m)} == {m for m in by_march if same.match(m)}


def test_unknown_core() -> None:
    with pytest.raises(ToolchainError, match=r"no core 'cortex-m4d'\n  remedy: did you mean 'cortex-m4"):
        core_named("cortex-m4d")


@pytest.mark.parametrize(
    "flags",
    [
        [],
        "",
        ["-O2", "-Wall", "-Iinclude", "-DX=-mcpu", "-mlong-calls", "-mtune=cortex-m7", "main.c"],
        M4F.flags,
        " ".join(M4F.flags),
        ["-mcpu=cortex-m4 -mthumb", "-mfloat-abi=hard", 3],
        ["-march=armv7e-m+fp", "-mfpu=auto"],
        ["-mhard-float"],
        # The last one counts, as in gcc.
        ["-mfloat-abi=soft", "-mfloat-abi=hard"],
        ["-MD", "-mcpu=Cortex-M4"],
    ],
)
def test_flags_that_agree(flags: str | list[object]) -> None:
    check_flags(M4F, flags)


@pytest.mark.parametrize(
    ("flags", "theirs", "ours"),
    [
        (["-mfloat-abi=softfp"], "-mfloat-abi=softfp", "-mfloat-abi=hard"),
        (["-O2 -mfloat-abi=soft -g"], "-mfloat-abi=soft", "-mfloat-abi=hard"),
        ("-g -msoft-float", "-mfloat-abi=soft", "-mfloat-abi=hard"),
        (["-mcpu=cortex-m3"], "-mcpu=cortex-m3", "-mcpu=cortex-m4"),
        (["-mcpu=cortex-m4+nofp"], "-mcpu=cortex-m4+nofp", "-mcpu=cortex-m4"),
        (["-march=armv7-m"], "-march=armv7-m", "-march=armv7e-m"),
        (["-mfpu=fpv5-d16"], "-mfpu=fpv5-d16", "-mfpu=fpv4-sp-d16"),
        (["-marm"], "-marm", "-mthumb"),
        (["-mfloat-abi=hard", "-mfloat-abi=soft"], "-mfloat-abi=soft", "-mfloat-abi=hard"),
    ],
)
def test_flags_that_contradict(flags: str | list[object], theirs: str, ours: str) -> None:
    with pytest.raises(ToolchainError) as caught:
        check_flags(M4F, flags, where="CCFLAGS")
    assert f"CCFLAGS: {theirs} contradicts {ours} of core cortex-m4f" in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "flags", [[], RV32.flags, "-march=rv32imc_zicsr -mabi=ilp32", ["-mabi=ilp32", "-mcmodel=medany"]]
)
def test_flags_that_agree_with_riscv(flags: str | list[str]) -> None:
    check_flags(RV32, flags)


@pytest.mark.parametrize(
    ("core", "flags", "words"),
    [
        (RV32, "-march=rv32imac", "-march=rv32imac contradicts -march=rv32imc of core rv32imc"),
        (RV32, "-march=rv64imc", "-march=rv64imc contradicts -march=rv32imc"),
        (RV32, "-mabi=ilp32f", "-mabi=ilp32f contradicts -mabi=ilp32"),
        (RV32, "-mcpu=cortex-m4", "-mcpu=cortex-m4 contradicts -march=rv32imc -mabi=ilp32"),
        (RV32, "-mthumb", "-mthumb contradicts -march=rv32imc"),
        (M3, "-mabi=ilp32", "-mabi=ilp32 contradicts -mcpu=cortex-m3"),
    ],
)
def test_flags_of_another_family(core: Core, flags: str, words: str) -> None:
    with pytest.raises(ToolchainError) as caught:
        check_flags(core, flags)
    assert words in str(caught.value)


def test_all_contradictions_in_one_message() -> None:
    with pytest.raises(ToolchainError, match=r"-mcpu=\S+ contradicts .* and -mfloat-abi=hard contradicts"):
        check_flags(M3, ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"])


def test_fpu_flag_without_floating_point_code_is_harmless() -> None:
    check_flags(M3, ["-mcpu=cortex-m3", "-mfpu=vfp", "-mfloat-abi=soft"])


def test_machine_flags() -> None:
    found = machine_flags(["-mcpu=cortex-m4 -mthumb", "-mabi=aapcs"])
    assert found == {"-mcpu": "cortex-m4", "-mode": "thumb"}
