"""Real cmake processes on small firmwares; models are compiled by TVM.

Whichever ``cmake`` comes first in PATH is tested.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.projects.scons_project import CHECKOUT, HERE

PACKAGE = CHECKOUT / "tvm_tool" / "cmake"
DIGITS = CHECKOUT / "examples" / "digits"
CENTRE = CHECKOUT / "examples" / "two_models" / "centre.onnx"
GENERATORS = {"Ninja": "ninja", "Unix Makefiles": "make"}
"""The program of each generator."""

needs_cmake = pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
needs_arm = pytest.mark.skipif(
    not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"),
    reason="arm-none-eabi-gcc or qemu-system-arm is not installed",
)


@dataclass(frozen=True)
class Built:
    """What one build did."""

    output: str

    @property
    def models(self) -> list[str]:
        """Models that were compiled."""
        return sorted(re.findall(r"Compiling the model (\w+)", self.output))

    @property
    def files(self) -> set[str]:
        """Sources that were compiled and programs that were linked, without their folders."""
        objects = re.findall(r"Building \w+ object (.+?)\.o(?:bj)?$", self.output, re.MULTILINE)
        programs = re.findall(r"Linking C executable (.+)$", self.output, re.MULTILINE)
        return {name.rpartition("/")[2].strip('"') for name in (*objects, *programs)}


@dataclass(frozen=True)
class CMakeProject:
    """A firmware in a folder of its own, and its build folder.

    Attributes:
        python: the interpreter that is named to CMake; None to let it look for one.
        package: the folder of the CMake package.
    """

    source: Path
    build: Path
    generator: str = "Ninja"
    python: str | None = sys.executable
    package: Path = PACKAGE
    environment: Mapping[str, str] = field(default_factory=dict)

    def try_to_configure(self, *more: str) -> subprocess.CompletedProcess[str]:
        where = ["-G", self.generator, "-S", str(self.source), "-B", str(self.build)]
        python = [f"-DTVM_PYTHON={self.python}"] if self.python else []
        return self._run(["cmake", *where, f"-Dtvm_tool_DIR={self.package.as_posix()}", *python, *more])

    def configure(self, *more: str) -> CMakeProject:
        done = self.try_to_configure(*more)
        assert done.returncode == 0, done.stdout
        return self

    def fails(self, *more: str) -> str:
        """What is said, in one line, by a configuration that must fail."""
        done = self.try_to_configure(*more)
        assert done.returncode != 0
        assert "CMake Error" in done.stdout and "Traceback" not in done.stdout, done.stdout
        return " ".join(done.stdout.split())

    def make(self, *more: str) -> Built:
        done = self._run(["cmake", "--build", str(self.build), "--parallel", "4", *more])
        assert done.returncode == 0, done.stdout
        return Built(done.stdout)

    def make_fails(self) -> str:
        """What is said by a build that must fail."""
        done = self._run(["cmake", "--build", str(self.build)])
        assert done.returncode != 0 and "Traceback" not in done.stdout, done.stdout
        return done.stdout

    def test(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self._run(["ctest", "--test-dir", str(self.build), "--output-on-failure", *more])

    def passes(self, count: int) -> None:
        """All of `count` tests pass."""
        done = self.test()
        assert done.returncode == 0, done.stdout
        assert re.search(rf"^100% tests passed.* out of {count}$", done.stdout, re.MULTILINE), done.stdout

    def generated(self, folder: str = "tvm") -> dict[str, bytes]:
        """The C files below `folder` of the build folder."""
        files = (self.build / folder).rglob("*.[ch]")
        return {file.name: file.read_bytes() for file in files}

    def objects(self, target: str) -> dict[str, Path]:
        """The objects of `target`, by the name of their source."""
        files = (self.build / "CMakeFiles" / f"{target}.dir").rglob("*.o*")
        return {re.sub(r"\.o(bj)?$", "", file.name): file for file in files}

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=300,
            env={**os.environ, "PYTHONPATH": "", **self.environment},
        )


def need(generator: str) -> None:
    """Skip the test if the program of `generator` is not there."""
    if not shutil.which(GENERATORS[generator]):
        pytest.skip(f"{GENERATORS[generator]} is not installed")


def sample(name: str, folder: Path, build: str = "the build ö") -> CMakeProject:
    """A copy of the sample firmware `name`, with the digits model, in folders of odd names."""
    need("Ninja")
    source = folder / "the source ä"
    if not source.exists():
        shutil.copytree(HERE / "samples" / name, source)
        shutil.copy(DIGITS / "digits.onnx", source)
    return CMakeProject(source, folder / build)


def main_of(names: Sequence[str]) -> str:
    """A program that runs each of the models, which all read digits."""
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    runs = "".join(
        f"    {{\n        const struct tvmgen_{name}_inputs in = {{image}};\n"
        f"        const struct tvmgen_{name}_outputs out = {{scores}};\n"
        f"        status |= tvmgen_{name}_run(&in, &out);\n    }}\n"
        for name in names
    )
    return (
        f"{includes}static float image[64], scores[10];\nint main(void)\n"
        f"{{\n    int32_t status = 0;\n{runs}    return (int)status;\n}}\n"
    )
