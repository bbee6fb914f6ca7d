"""Mistakes stop CMake's configuration and say what to do."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.projects.cmake_project import DIGITS, PACKAGE, CMakeProject, main_of, need, needs_cmake
from tvm_tool import __version__

pytestmark = needs_cmake

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware C)
find_package(tvm_tool REQUIRED)
tvm_add_model(digits MODEL digits.onnx)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE digits)
"""
MODEL = "MODEL digits.onnx"
BOARD = "tvm_add_model(digits MODEL digits.onnx BOARD stm32f412)"
END = "target_link_libraries(firmware PRIVATE digits)\n"


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> CMakeProject:
    """A project that is configured already, which takes a while; each test has lists of its own."""
    need("Ninja")
    source = tmp_path_factory.mktemp("firmware")
    shutil.copy(DIGITS / "digits.onnx", source)
    (source / "main.c").write_text(main_of(["digits"]))
    (source / "CMakeLists.txt").write_text(LISTS)
    return CMakeProject(source, source / "build").configure()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        # Keywords, options and files.
        (MODEL, f"{MODEL} OPTIMISE size", "there is no keyword 'OPTIMISE'"),
        (MODEL, f"{MODEL} OPTIMISE size", "did you mean 'OPTIMIZE'?"),
        (MODEL, f"{MODEL} OPTIMIZE sise", "'sise' is not known"),
        (MODEL, f"{MODEL} OPTIMIZE", "OPTIMIZE has no value"),
        (MODEL, f"{MODEL} OPTIMIZE size OPTIMIZE speed", "OPTIMIZE is given twice"),
        (MODEL, "", "no model is given expected: MODEL and the model's file"),
        (MODEL, f"{MODEL} NAME my-model", "remedy: name='my_model'"),
        (MODEL, "MODEL digit.onnx", "there is no such file remedy: did you mean 'digits.onnx'?"),
        (MODEL, "MODEL models/digits.onnx", "check the path"),
        (MODEL, f"{MODEL} QUANTIZE int8 CALIBRATION none.npz", "none.npz: tvm_add_model(digits): there"),
        # Boards and their memories.
        (MODEL, f"{MODEL} BOARD stm32f421", "there is no board 'stm32f421'"),
        (MODEL, f"{MODEL} BOARD stm32f421", "did you mean 'stm32f412'?"),
        (MODEL, f"{MODEL} BOARD boards/mine.yaml", "mine.yaml"),
        (MODEL, f"{MODEL} BOARD stm32f407 ARENA cmm", "did you mean 'ccm'?"),
        (MODEL, f"{MODEL} ARENA ccm", "a region is named but no board"),
        (END, f"{END}tvm_check(firmware)", "no board is named remedy: BOARD name in the call, or -D"),
        (END, f"{END}tvm_check(firmware BOARD mps2_an368)", "did you mean 'mps2_an386'?"),
        (END, f"{END}tvm_target_board(firmware BOARD mps2_an368)", "did you mean 'mps2_an386'?"),
        (END, f"{END}tvm_add_verify(v firmware BOARD rpi_pico)", "no emulator is known for this board"),
        # The other functions.
        (END, f"{END}tvm_check(firmwear)", "there is no target 'firmwear' remedy: add_executable(firmwear"),
        (END, f"{END}tvm_check(firmware BORD x)", "did you mean 'BOARD'?"),
        (END, f"{END}tvm_check(firmware BOARD)", "BOARD has no value"),
        (END, f"{END}tvm_check(firmware BOARD microbit MODELS m)", "no model is called 'm' remedy: MODELS"),
        (END, "tvm_check(firmware BOARD microbit)", "firmware links no model, as far as can be seen remedy:"),
        (END, f"{END}tvm_add_verify(v firmware BOARD microbit INPUTS x.npz)", "x.npz: tvm_add_verify(v):"),
        # Names that are taken.
        ("tvm_add_model(d", "add_library(digits INTERFACE)\ntvm_add_model(d", "there is a target 'digits'"),
        (END, f"{END}tvm_add_model(digits {MODEL})", "already remedy: choose another name"),
        (
            END,
            f"tvm_add_model(twin {MODEL} NAME digits)\ntarget_link_libraries(firmware PRIVATE digits twin)",
            "two models with the C prefix 'digits' remedy: give one of them another: NAME digits_2",
        ),
        # A version that this is not.
        ("tool REQUIRED", "tool 99.0 REQUIRED", f"version: {__version__}"),
    ],
)  # fmt: skip
def test_a_mistake_says_what_to_do(firmware: CMakeProject, old: str, new: str, words: str) -> None:
    assert old in LISTS
    (firmware.source / "CMakeLists.txt").write_text(LISTS.replace(old, new))
    assert words in firmware.fails()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("set(CMAKE_C_FLAGS -mcpu=cortex-m3)", "-mcpu=cortex-m3 contradicts -mcpu=cortex-m4"),
        ("add_compile_options(-mfloat-abi=soft)", "-mfloat-abi=soft contradicts -mfloat-abi=hard"),
        ("target_compile_options(firmware PRIVATE -mcpu=cortex-m0)", "target 'firmware'"),
        ("target_compile_options(firmware PRIVATE SHELL:-mcpu=cortex-m0)", "-mcpu=cortex-m0 contradicts"),
        ("target_compile_options(sdk INTERFACE -march=armv7-m)", "-march=armv7-m contradicts"),
        (
            "target_compile_options(sdk INTERFACE -march=armv7-m)",
            "remedy: drop these flags, or name the right core",
        ),
    ],
)
def test_a_consumer_for_another_processor_is_refused(firmware: CMakeProject, lines: str, words: str) -> None:
    sdk = "add_library(sdk INTERFACE)\ntarget_link_libraries(digits INTERFACE sdk)\n"
    text = LISTS.replace(f"tvm_add_model(digits {MODEL})", BOARD)
    first, last = (sdk, f"{lines}\n") if lines.startswith("target") else (f"{lines}\n{sdk}", "")
    head, tail = text.split("add_executable")
    (firmware.source / "CMakeLists.txt").write_text(f"{head}{first}add_executable{tail}{last}")
    assert words in firmware.fails()


def test_a_consumer_for_the_right_processor_is_not(firmware: CMakeProject) -> None:
    text = LISTS.replace(f"tvm_add_model(digits {MODEL})", BOARD)
    text += "target_compile_options(firmware PRIVATE -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16)\n"
    (firmware.source / "CMakeLists.txt").write_text(text)
    firmware.configure()


def test_the_file_of_a_board_is_named_from_the_folder_of_the_call(firmware: CMakeProject) -> None:
    board = firmware.source / "mine.yaml"
    board.write_text(
        "description: mine\ncore: cortex-m3\nclock: 8 MHz\nstack: 1K\nemulator: {machine: mps2-an385}\n"
        "placement: {code: flash, data: ram}\nmemory:\n  flash: {origin: 0x0, length: 1M, attributes: rx}\n"
        "  ram: {origin: 0x20000000, length: 64K, attributes: rwx}\n"
    )
    (firmware.source / "app").mkdir()
    (firmware.source / "app" / "CMakeLists.txt").write_text(
        "tvm_add_verify(verify firmware BOARD ../mine.yaml)\n"
    )
    # TVM_BOARD is meant from the top.
    text = LISTS.replace("tvm_add_model", "set(TVM_BOARD mine.yaml)\ntvm_add_model")
    (firmware.source / "CMakeLists.txt").write_text(
        f"{text}enable_testing()\nadd_subdirectory(app)\ntvm_check(firmware)\n"
    )
    firmware.configure()
    commands = (firmware.build / "build.ninja").read_text()
    assert commands.count(f"--board {board.as_posix()}") == 2
    assert f'"--board" "{board.as_posix()}"' in (firmware.build / "app" / "CTestTestfile.cmake").read_text()


def test_a_step_of_the_link_belongs_to_the_folder_of_the_target(firmware: CMakeProject) -> None:
    (firmware.source / "other").mkdir()
    (firmware.source / "other" / "CMakeLists.txt").write_text("tvm_check(firmware BOARD mps2_an386)\n")
    (firmware.source / "CMakeLists.txt").write_text(f"{LISTS}add_subdirectory(other)\n")
    assert "remedy: call tvm_check in the CMakeLists.txt of that folder" in firmware.fails()


def interpreter(folder: Path, *options: str, packages: str = "") -> str:
    """A Python that differs from the one that runs the tests."""
    program = folder / "python"
    paths = f'PYTHONPATH="{folder / packages}" ' if packages else ""
    program.write_text(f'#!/bin/sh\n{paths}exec "{sys.executable}" {" ".join(options)} "$@"\n')
    program.chmod(0o755)
    return str(program)


def firmware_in(folder: Path, python: str | None, package: Path = PACKAGE) -> CMakeProject:
    (folder / "CMakeLists.txt").write_text(re.sub("(?s)tvm_add_model.*", "", LISTS).replace(" C)", " NONE)"))
    return CMakeProject(folder, folder / "build", python=python, package=package)


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    said = firmware_in(tmp_path, "/no/such/python").fails()
    assert "/no/such/python: No such file or directory" in said.replace("no such file", "No such file")
    assert "remedy: -DTVM_PYTHON=PATH, the interpreter in which tvm-tool is installed" in said


def test_no_python_at_all(tmp_path: Path) -> None:
    package = tmp_path / "site" / "tvm_tool" / "cmake"
    shutil.copytree(PACKAGE, package)
    shutil.copy(PACKAGE.parent / "__init__.py", package.parent)
    said = firmware_in(tmp_path, None, package).fails("-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON")
    assert "no Python interpreter of version 3.10 or newer was found remedy: -DTVM_PYTHON=PATH" in said


def test_a_python_without_the_packages(tmp_path: Path) -> None:
    python = interpreter(tmp_path, "-S")
    said = firmware_in(tmp_path, python).fails()
    assert f"{python}: No module named 'click' remedy: {python} -m pip install tvm-tool" in said


def test_a_tvm_of_another_version(tmp_path: Path) -> None:
    info = tmp_path / "packages" / "apache_tvm-0.26.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: apache-tvm\nVersion: 0.26.0\n")
    said = firmware_in(tmp_path, interpreter(tmp_path, packages="packages")).fails()
    assert "found apache-tvm 0.26.0 expected: apache-tvm==0.27" in said
    assert "remedy: python -m pip install apache-tvm==0.27" in said


def test_another_version_of_the_package_is_not_taken(tmp_path: Path) -> None:
    other = tmp_path / "packages" / "tvm_tool"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    firmware_in(tmp_path, interpreter(tmp_path, packages="packages")).configure()
