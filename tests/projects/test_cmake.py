"""Real cmake runs on small firmwares, with Ninja and with Make; models are compiled by TVM."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.projects.scons_project import CHECKOUT
from tvm_tool.cores import CORE_NAMES, core_named

PACKAGE = CHECKOUT / "tvm_tool" / "cmake"
DIGITS = CHECKOUT / "examples" / "digits"

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware C)
find_package(tvm_tool REQUIRED)
tvm_add_model(digits MODEL digits.onnx {options})
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE digits m)
"""
MAIN = """\
#include "digits.h"
int main(void)
{
    static float image[64], scores[10];
    const struct tvmgen_digits_inputs in = {image};
    const struct tvmgen_digits_outputs out = {scores};
    return (int)tvmgen_digits_run(&in, &out);
}
"""


@dataclass(frozen=True)
class Project:
    """A firmware in a folder of its own, and its build folder."""

    source: Path
    build: Path
    generator: str = "Ninja"

    def configure(self, *more: str) -> subprocess.CompletedProcess[str]:
        where = ["-G", self.generator, "-S", str(self.source), "-B", str(self.build)]
        tool = [f"-Dtvm_tool_DIR={PACKAGE.as_posix()}", f"-DTVM_PYTHON={sys.executable}"]
        return _run(["cmake", *where, *tool, *more])

    def make(self) -> str:
        """Build; the output, with one line for each command that ran."""
        done = _run(["cmake", "--build", str(self.build), "--parallel", "2"])
        assert done.returncode == 0, done.stdout
        return done.stdout

    def fails(self) -> str:
        done = self.configure()
        assert done.returncode != 0
        assert "Traceback" not in done.stdout
        return " ".join(done.stdout.split())


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300
    )


def project(folder: Path, generator: str = "Ninja", options: str = "") -> Project:
    source = folder / "the source ä"
    source.mkdir(parents=True)
    shutil.copy(DIGITS / "digits.onnx", source)
    (source / "CMakeLists.txt").write_text(LISTS.format(options=options), encoding="utf-8")
    (source / "main.c").write_text(MAIN, encoding="utf-8")
    return Project(source, folder / "the build ö", generator)


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_what_has_not_changed_is_not_made_again(generator: str, tmp_path: Path) -> None:
    if not shutil.which("ninja" if generator == "Ninja" else "make"):
        pytest.skip(f"{generator} is not installed")
    firmware = project(tmp_path, generator)
    assert firmware.configure().returncode == 0
    assert "Linking" in firmware.make()
    assert subprocess.run([firmware.build / "firmware"], check=False).returncode == 0
    assert not _compiled(firmware.make())

    os.utime(firmware.source / "digits.onnx")  # The same bytes, a new time.
    assert not _compiled(firmware.make())
    assert "Compiling the model" not in firmware.make()

    (firmware.build / "tvm" / "digits" / "digits_weights.c").unlink()
    output = firmware.make()
    assert "digits_weights.c" in output and "main.c" not in output
    assert not _compiled(firmware.make())

    lists = firmware.source / "CMakeLists.txt"
    lists.write_text(LISTS.format(options="OPTIMIZE size"), encoding="utf-8")
    output = firmware.make()
    assert "digits.c" in output and "Linking" in output
    assert not _compiled(firmware.make())


def _compiled(output: str) -> list[str]:
    return [line for line in output.splitlines() if "Building C object" in line or "Linking" in line]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("MODEL digits.onnx", "MODEL digits.onnx OPTIMISE size", "there is no keyword 'OPTIMISE'"),
        ("MODEL digits.onnx", "MODEL digits.onnx OPTIMISE size", "did you mean 'OPTIMIZE'?"),
        ("MODEL digits.onnx", "MODEL digits.onnx OPTIMIZE sise", "'sise' is not known"),
        ("MODEL digits.onnx", "MODEL digits.onnx OPTIMIZE", "OPTIMIZE has no value"),
        ("MODEL digits.onnx", "MODEL digits.onnx BOARD stm32f421", "there is no board 'stm32f421'"),
        ("MODEL digits.onnx", "MODEL other.onnx", "there is no such model file"),
        ("tvm_add_model(digits", "add_library(digits INTERFACE)\ntvm_add_model(digits", "already"),
        (
            "firmware PRIVATE digits",
            "firmware PRIVATE digits twin",
            "two models with the C prefix 'digits'",
        ),
        (
            "project(firmware C)",
            "project(firmware C)\nset(CMAKE_C_FLAGS -mcpu=cortex-m3)\nset(TVM_BOARD stm32f412)",
            "-mcpu=cortex-m3 contradicts -mcpu=cortex-m4",
        ),
        (
            "add_executable(firmware main.c)",
            "add_executable(firmware main.c)\ntvm_check(firmwear)",
            "no target",
        ),
        (
            "add_executable(firmware main.c)",
            "add_executable(firmware main.c)\ntvm_check(firmware BORD x)",
            "did you mean 'BOARD'?",
        ),
        (
            "add_executable(firmware main.c)",
            "add_executable(firmware main.c)\ntvm_check(firmware)",
            "no board is named",
        ),
    ],
)
def test_mistakes_stop_the_configuration(old: str, new: str, words: str, tmp_path: Path) -> None:
    firmware = project(tmp_path)
    lists = firmware.source / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    assert old in text
    if "twin" in new:
        text = text.replace("add_exec", "tvm_add_model(twin MODEL digits.onnx NAME digits)\nadd_exec")
    lists.write_text(text.replace(old, new), encoding="utf-8")
    assert words in firmware.fails()


def test_a_python_without_the_package_is_named(tmp_path: Path) -> None:
    done = project(tmp_path).configure("-DTVM_PYTHON=/no/such/python")
    assert done.returncode != 0 and "/no/such/python" in done.stdout


def test_toolchain_files_have_the_flags_of_the_cores() -> None:
    names = {path.stem for path in (PACKAGE / "toolchains").glob("*.cmake")} - {"gnu"}
    assert names == set(CORE_NAMES)
    for name in names:
        core = core_named(name)
        text = (PACKAGE / "toolchains" / f"{name}.cmake").read_text(encoding="utf-8")
        assert f'set(TVM_CORE_FLAGS "{" ".join(core.flags)}")' in text
        assert f"set(TVM_TOOLCHAIN {core.toolchain})" in text


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="arm-none-eabi-gcc is not installed")
def test_the_example_runs_in_the_emulator(tmp_path: Path) -> None:
    example = Project(CHECKOUT / "examples" / "cmake", tmp_path / "build")
    configured = example.configure("-DTVM_BOARD=mps2_an386")
    assert configured.returncode == 0, configured.stdout
    assert "weights" in example.make()  # The size table.
    tested = _run(["ctest", "--test-dir", str(example.build), "--output-on-failure"])
    assert tested.returncode == 0, tested.stdout
    assert re.search(r"^100% tests passed.* out of 2$", tested.stdout, re.MULTILINE), tested.stdout


def test_every_file_that_is_read_counts(tmp_path: Path) -> None:
    if not shutil.which("ninja"):
        pytest.skip("ninja is not installed")
    firmware = project(tmp_path, options="QUANTIZE int8 CALIBRATION data.npz")
    data = firmware.source / "data.npz"
    shutil.copy(DIGITS / "calibration_images.npz", data)
    assert firmware.configure().returncode == 0
    firmware.make()
    assert not _compiled(firmware.make())
    with np.load(data) as arrays:
        np.savez(data, image=arrays["image"][:50])
    assert "Compiling the model" in firmware.make()
