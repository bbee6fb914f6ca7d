"""Every example of docs/cmake.md, as a reader would try it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects.cmake_project import DIGITS, CMakeProject, main_of, need, needs_arm, needs_cmake
from tests.projects.scons_project import CHECKOUT

pytestmark = needs_cmake

TEXT = (CHECKOUT / "docs" / "cmake.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```cmake\n# (\S*CMakeLists\.txt)\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)

OF_THE_SDK = {
    # What the SDKs' functions do with the code of a component or an application, and no more.
    "idf_component_register(": """\
function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SRCS;INCLUDE_DIRS")
  add_library(component STATIC ${arg_SRCS})
  set(COMPONENT_LIB component PARENT_SCOPE)
endfunction()
""",
    "find_package(Zephyr": """\
file(WRITE "${CMAKE_BINARY_DIR}/ZephyrConfig.cmake" "enable_language(C)\nadd_library(app STATIC)")
set(Zephyr_DIR "${CMAKE_BINARY_DIR}")
""",
}


def project(folder: Path, text: str) -> CMakeProject:
    """The example `text` with the files that it names."""
    models = re.findall(r"tvm_add_model\((\w+) MODEL (\S+?)[ )]", text)
    for _, file in models:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DIGITS / "digits.onnx", folder / file)
    for file in re.findall(r"[\w/]+\.c\b", text):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(main_of([name for name, _ in models]))
    (folder / "CMakeLists.txt").write_text(text)
    need("Ninja")
    return CMakeProject(folder, folder / "build")


def test_all_examples_of_the_page_are_found() -> None:
    assert len(EXAMPLES) == TEXT.count("```cmake\n") == 5
    assert len(COMMANDS) == TEXT.count("```sh\n") == 2


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES[1:] if "TVM_BOARD" not in text])
def test_example_of_the_page_builds(text: str, tmp_path: Path) -> None:
    if "project(" not in text:
        text = f"cmake_minimum_required(VERSION 3.20)\nproject(component C)\n{text}"
    for call, functions in OF_THE_SDK.items():
        text = text.replace(call, functions + call)
    firmware = project(tmp_path, text)
    firmware.configure().make()
    if "add_executable(firmware" in text:
        subprocess.run([firmware.build / "firmware"], check=True)


@needs_arm
def test_firmware_for_a_board_passes_its_tests(tmp_path: Path) -> None:
    (text,) = [text for _, text in EXAMPLES if "TVM_BOARD" in text]
    firmware = project(tmp_path, text).configure()
    assert "firmware.elf on stm32f412" in firmware.make().output
    firmware.passes(1)


def test_first_example_and_its_commands(tmp_path: Path) -> None:
    project(tmp_path, EXAMPLES[0][1])
    reader(COMMANDS[0], tmp_path)
    subprocess.run([tmp_path / "build" / "firmware"], check=True)


@needs_arm
def test_commands_for_the_example(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    output = reader(COMMANDS[1], tmp_path)
    assert "digits.elf on stm32f412" in output
    assert re.search(r"^100% tests passed.* out of 2$", output, re.MULTILINE), output


def reader(commands: str, folder: Path) -> str:
    """What the shell of a reader prints who runs `commands` in `folder`, in an environment with the tool."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "bin" / "python").chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT), "TVM_PYTHON": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
