"""The kernels for Helium against the model with numpy, bit by bit: in plain C on the host, and on a core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.batch.builder import Target
from tests.firmware.batch.builder import cases_of as batches_of
from tests.firmware.batch.shapes import layers_for
from tests.numerics.kernel_host import STRICT
from tests.numerics.q_host import HARNESS, prepare, run_on_host
from tests.numerics.q_layers import conv2d, corners, dense
from tests.numerics.test_kernels_dsp import SAME, _shapes, cases_of, plain
from tests.numerics.test_kernels_s8 import CLANG, COMPILERS, ROUNDINGS, SANITIZED, Expected, check, needs
from tvm_tool.board import load_board
from tvm_tool.compiler.layers import Need
from tvm_tool.compiler.quantized_layers import QLayer
from tvm_tool.paths import runtime_dir

SPEED, SIZE = Need(isa="mve", fpu=True), Need(isa="mve", fpu=True, optimize="size")
CORTEX_M55 = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard".split()
HELIUM = {
    "gcc": ["arm-none-eabi-gcc", *CORTEX_M55, "-O2", "-std=c99", "-fsingle-precision-constant"],
    "gcc, unoptimised": ["arm-none-eabi-gcc", *CORTEX_M55, "-O0", "-std=c99"],
    "clang": ["clang", "--target=arm-none-eabi", *CORTEX_M55, "-O2", "-std=c99", "-ffreestanding"],
}


def _more_shapes(rng: np.random.Generator, rounding: str) -> list[QLayer]:
    """Depths around multiples of 16, and every way in which outputs of a channel share inputs."""
    return [
        *(dense(rng, rounding, 3, depth, 5) for depth in (1, 15, 16, 17, 31, 32, 33, 60, 128, 129, 130, 144)),
        *(dense(rng, rounding, 1, depth, 6) for depth in (1, 16, 17, 48, 80)),
        conv2d(rng, rounding, (2, 3, 144), 144),
        conv2d(rng, rounding, (5, 6, 16), 4, (3, 3), pads=SAME),
        conv2d(rng, rounding, (9, 8, 20), 3, (5, 3), (2, 1), pads=(2, 1, 2, 1), batch=2),
        *(
            conv2d(rng, rounding, image, image[2], kernel, strides, dilations, pads, groups=image[2], batch=b)
            for image, kernel, strides, dilations, pads, b in (
                ((1, 1, 3), (3, 3), (1, 1), (1, 1), SAME, 1),
                ((4, 1, 17), (3, 3), (1, 1), (1, 1), SAME, 2),
                ((5, 4, 16), (2, 3), (1, 1), (1, 1), (1, 0, 0, 2), 1),
                ((3, 7, 9), (1, 2), (1, 1), (1, 1), (0, 0, 0, 1), 1),
                ((30, 1, 40), (3, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
                ((11, 3, 18), (13, 1), (1, 1), (1, 1), (6, 0, 6, 0), 2),
                ((24, 1, 8), (14, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
                ((15, 1, 12), (15, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1),
                ((9, 9, 5), (5, 5), (1, 1), (1, 1), (2, 2, 2, 2), 2),
                ((9, 2, 6), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), 1),
                ((12, 11, 4), (3, 3), (1, 1), (3, 2), (3, 2, 3, 2), 1),
                ((6, 6, 2), (4, 4), (1, 2), (1, 1), (1, 2, 2, 1), 1),
            )
        ),
    ]


def _layers(rng: np.random.Generator, rounding: str) -> list[QLayer]:
    return [plain(rng, layer) for layer in _shapes(rng, rounding) + _more_shapes(rng, rounding)]


def _fast(cases: list[Expected]) -> float:
    return sum(case.driver.kernel.endswith("_mve") for case, _, _ in cases) / len(cases)


@pytest.mark.parametrize("need", [SPEED, SIZE], ids=["speed", "size"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_path_under_sanitizers(rounding: str, need: Need, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(ROUNDINGS.index(rounding))
    layers = [layer for _ in range(2) for layer in _layers(rng, rounding)]
    cases = cases_of(layers, rng, need)
    assert _fast(cases) > 0.8
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_random_layers_under_sanitizers(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(3)
    layers = layers_for(5, 200) + [x for r in ROUNDINGS for x in corners(rng, r)]
    check(cases_of(layers, rng, SPEED), lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_every_path_with_another_compiler(tmp_path: Path) -> None:
    needs("clang")
    rng = np.random.default_rng(4)
    layers = [layer for rounding in ROUNDINGS for layer in _layers(rng, rounding)]
    check(cases_of(layers, rng, SPEED), lambda c: run_on_host(c, tmp_path, CLANG))


FILES = sorted(str(file) for file in runtime_dir().glob("*_mve.c"))
HEADERS = sorted(file.name for file in runtime_dir().glob("*_mve.h"))


@pytest.mark.parametrize("compiler", COMPILERS | HELIUM)
def test_no_compiler_complains(compiler: str, tmp_path: Path) -> None:
    command = (COMPILERS | HELIUM)[compiler]
    needs(command[0])
    rng = np.random.default_rng(7)
    prepare([case for case, _, _ in cases_of(_layers(rng, "double"), rng, SPEED)], tmp_path)
    # Functions of the harness have no prototypes, and GCC's header for Helium casts alignments.
    blocks = [*command, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror", "-c", "cases.c"]
    subprocess.run([*blocks, f"-I{runtime_dir()}", f"-I{HARNESS}"], check=True, cwd=tmp_path)
    subprocess.run([*command, *STRICT, "-c", *FILES], check=True, cwd=tmp_path)


@pytest.mark.parametrize("compiler", [["g++"], ["arm-none-eabi-g++", *CORTEX_M55]], ids=["host", "core"])
def test_headers_are_those_of_cpp_too(compiler: list[str], tmp_path: Path) -> None:
    needs(compiler[0])
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
    subprocess.run(
        [*compiler, "-Wall", "-Wextra", "-Werror", f"-I{runtime_dir()}", "-c", str(source)],
        check=True,
        cwd=tmp_path,
    )


FLAGS = {
    "-O2": ("-O2",),
    "-Os": ("-Os", "-fno-omit-frame-pointer"),
    "-O0": ("-O0",),
    "-O3 -flto": ("-O3", "-flto"),
    "plain C": ("-O1", "-DTVM_NO_ASM"),
}


@pytest.mark.parametrize("level", FLAGS)
def test_every_path_on_a_core(level: str, tmp_path: Path) -> None:
    board = load_board("mps3_an547")
    needs(f"{board.core.toolchain}gcc", board.core.qemu)
    rng = np.random.default_rng(5)
    layers = [layer for rounding in ROUNDINGS for layer in _layers(rng, rounding)]
    target = Target(board, tmp_path, FLAGS[level], "size" if level == "-Os" else "speed")
    wrong = [line for cases in batches_of(layers, 6, 100) for line in target.run(cases)]
    assert not wrong, "\n".join(wrong)
    assert any(kernel.endswith("_mve") for kernel in target.kernels)
