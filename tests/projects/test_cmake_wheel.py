"""The CMake package works as installed from a wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.projects.cmake_project import DIGITS, PACKAGE, CMakeProject, main_of, need, needs_cmake
from tests.projects.scons_project import CHECKOUT

pytestmark = needs_cmake

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware C)
find_package(tvm_tool REQUIRED)
tvm_add_model(digits MODEL digits.onnx)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE digits)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages in an installation of this checkout's wheel."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    prefix = tmp_path_factory.mktemp("prefix ä")
    packages = prefix / "lib" / "python3" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # The interpreter of this installation; what the tool depends on is that of the tests.
    python = prefix / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return packages


def test_all_files_of_the_package_are_in_the_wheel(installed: Path) -> None:
    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return {name for name in found if "__pycache__" not in name}

    assert files(installed / "tvm_tool" / "cmake") == files(PACKAGE) > {"tvm_tool-config.cmake"}


def test_the_installation_says_where_it_is(installed: Path) -> None:
    command = [str(installed.parents[2] / "bin" / "python3"), "-m", "tvm_tool", "--cmakedir"]
    done = subprocess.run(
        command, cwd=installed, env={"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{(installed / 'tvm_tool' / 'cmake').as_posix()}\n"


def test_a_model_is_built_with_the_installation(installed: Path, tmp_path: Path) -> None:
    need("Ninja")
    shutil.copy(DIGITS / "digits.onnx", tmp_path)
    (tmp_path / "main.c").write_text(main_of(["digits"]))
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    package = installed / "tvm_tool" / "cmake"
    firmware = CMakeProject(tmp_path, tmp_path / "build", python=None, package=package)
    firmware.configure()
    cache = (firmware.build / "CMakeCache.txt").read_text()
    assert f"TVM_PYTHON:FILEPATH={installed.parents[2].as_posix()}/bin/python3" in cache
    assert firmware.make().models == ["digits"]
    subprocess.run([firmware.build / "firmware"], check=True)
    # Every file that the build reads of the tool is the installation's.
    rules = (firmware.build / "build.ninja").read_text()
    assert str(installed) in rules.replace("$ ", " ")
    assert str(PACKAGE.parent) not in rules


@pytest.mark.parametrize("below", ["", "tvm_tool/cmake"])
def test_the_package_is_found_by_its_prefix(installed: Path, below: str, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LISTS.partition("tvm_add_model")[0].replace(" C)", " NONE)"))
    firmware = CMakeProject(tmp_path, tmp_path / "build")
    command = ["-UTVM_PYTHON", "-Utvm_tool_DIR", f"-DCMAKE_PREFIX_PATH={installed / below}"]
    firmware.configure(*command)
    cache = (firmware.build / "CMakeCache.txt").read_text()
    assert f"tvm_tool_DIR:PATH={(installed / 'tvm_tool' / 'cmake').as_posix()}\n" in cache
