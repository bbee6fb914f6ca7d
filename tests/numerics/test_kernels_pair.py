"""The kernels for Cortex-M3 and RV32IM against the model with numpy: on the host and on a core."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.batch.shapes import layers_for
from tests.numerics.kernel_host import STRICT
from tests.numerics.q_host import Case, run_on_host, run_on_target
from tests.numerics.q_layers import binary, conv2d, corners, dense, numbers
from tests.numerics.q_model import reference
from tests.numerics.test_kernels_dsp import SAME, plain
from tests.numerics.test_kernels_s8 import (
    CLANG,
    COMPILERS,
    CORTEX_M3,
    ROUNDINGS,
    SANITIZED,
    Expected,
    check,
    input_sizes,
    needs,
)
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.layers import Need
from tvm_tool.compiler.quantized_layers import (
    QDense,
    QLayer,
    Quantization,
    input_dtypes,
    output_dtype,
)
from tvm_tool.paths import runtime_dir

SPEED, SIZE = Need(isa="armv7m"), Need(isa="armv7m", optimize="size")
RV32 = Need(isa="rv32")
MACHINE = "mps2-an385"


def _shapes(rng: np.random.Generator, rounding: str) -> list[QLayer]:
    """One layer for each path through the drivers."""
    return [
        dense(rng, rounding, 1, 640, 16),
        dense(rng, rounding, 1, 13, 7),
        dense(rng, rounding, 5, 21, 6),
        conv2d(rng, rounding, (5, 5, 64), 64),
        conv2d(rng, rounding, (3, 5, 7), 7, batch=2),
        conv2d(rng, rounding, (2, 1, 9), 9),
        conv2d(rng, rounding, (6, 7, 16), 10, (3, 3), pads=SAME),
        conv2d(rng, rounding, (7, 7, 8), 4, (3, 3), (2, 2), pads=(0, 0, 1, 1), batch=2),
        conv2d(rng, rounding, (9, 2, 4), 3, (2, 2), pads=(1, 0, 0, 1), batch=2),
        conv2d(rng, rounding, (9, 1, 5), 3, (3, 1), (2, 1), pads=(1, 0, 1, 0)),
        conv2d(rng, rounding, (6, 9, 4), 3, (2, 5), (3, 1), pads=(0, 4, 1, 2)),
        conv2d(rng, rounding, (9, 6, 12), 5, (3, 2), dilations=(2, 1), pads=(2, 0, 2, 1)),
        conv2d(rng, rounding, (8, 8, 3), 16, (3, 3), (2, 2), pads=(0, 0, 1, 1)),
        conv2d(rng, rounding, (49, 10, 1), 6, (10, 4), (2, 2), pads=(4, 1, 5, 1)),
        conv2d(rng, rounding, (6, 6, 5), 9, (2, 2), dilations=(2, 3), pads=(1, 2, 1, 2)),
        conv2d(rng, rounding, (8, 8, 16), 8, (1, 1), (2, 2)),
        conv2d(rng, rounding, (1, 1, 8), 4, (3, 3), pads=SAME),
        conv2d(rng, rounding, (1, 3, 4), 4, (2, 2), (3, 3), pads=(3, 3, 3, 3)),
        *(
            conv2d(rng, rounding, image, image[2], (3, 3), strides, pads=pads, groups=image[2], batch=batch)
            for image, strides, pads, batch in (
                ((25, 5, 8), (1, 1), SAME, 1),
                ((6, 6, 7), (1, 1), SAME, 2),
                ((7, 8, 5), (1, 1), (0, 0, 0, 0), 1),
                ((9, 10, 6), (2, 2), (0, 0, 1, 1), 1),
                ((6, 7, 4), (2, 1), SAME, 1),
                ((5, 5, 4), (3, 3), SAME, 1),
                ((3, 3, 4), (1, 1), (0, 0, 0, 0), 1),
                ((60, 61, 4), (1, 1), SAME, 1),
                ((90, 71, 2), (2, 2), SAME, 1),
            )
        ),
        *(
            conv2d(rng, rounding, image, 9, kernel, strides, dilations, pads, groups=9)
            for image, kernel, strides, dilations, pads in (
                ((12, 6, 9), (5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
                ((12, 6, 9), (10, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
                ((9, 10, 9), (8, 9), (1, 1), (1, 1), (4, 4, 3, 4)),
                ((99, 1, 9), (72, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
                ((12, 6, 9), (4, 3), (3, 2), (1, 1), (3, 1, 2, 3)),
                ((12, 6, 9), (1, 2), (1, 1), (1, 1), (0, 0, 0, 1)),
                ((12, 6, 9), (3, 3), (1, 1), (2, 1), SAME),
                ((13, 1, 9), (5, 1), (1, 1), (1, 1), (2, 0, 2, 0)),
                ((13, 1, 9), (4, 1), (2, 1), (1, 1), (1, 0, 0, 0)),
                ((13, 1, 9), (3, 1), (1, 1), (2, 1), (0, 0, 0, 0)),
                ((1, 12, 9), (1, 4), (1, 1), (1, 1), (0, 1, 0, 2)),
                ((1, 12, 9), (1, 12), (1, 1), (1, 1), (0, 0, 0, 0)),
            )
        ),
        binary(rng, rounding, "add", (1, 3, 5, 7), (1, 3, 5, 7)),
        binary(rng, rounding, "sub", (2, 3), (2, 3)),
    ]


def cases_of(layers: list[QLayer], rng: np.random.Generator, need: Need) -> list[Expected]:
    """Each layer for any inputs, and for inputs of the extreme numbers alone."""
    cases: list[Expected] = []
    for layer in layers:
        driver = drive_integer(layer, need)
        data = [numbers(rng, t, n) for t, n in zip(input_dtypes(layer), input_sizes(layer), strict=True)]
        extreme = [
            np.where(x < 0, np.iinfo(x.dtype).min, np.iinfo(x.dtype).max).astype(x.dtype) for x in data
        ]
        dtype = output_dtype(layer)
        for place, inputs in enumerate((tuple(data), tuple(extreme))):
            want = reference(layer, inputs)
            cases.append((Case(driver, inputs, want.size, dtype, driver.in_place and place > 0), layer, want))
    return cases


def _fast(cases: list[Expected]) -> float:
    return sum(case.driver.kernel.endswith(("_pair", "add_dsp")) for case, _, _ in cases) / len(cases)


@pytest.mark.parametrize("need", [SPEED, SIZE, RV32], ids=["speed", "size", "rv32"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_path_under_sanitizers(rounding: str, need: Need, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(ROUNDINGS.index(rounding))
    layers = [plain(rng, layer) for _ in range(2) for layer in _shapes(rng, rounding)]
    cases = cases_of(layers, rng, need)
    assert _fast(cases) > 0.7
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_random_layers_under_sanitizers(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(3)
    layers = layers_for(2, 300) + [x for r in ROUNDINGS for x in corners(rng, r)]
    check(cases_of(layers, rng, SPEED), lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_every_path_with_another_compiler(tmp_path: Path) -> None:
    needs("clang")
    rng = np.random.default_rng(4)
    layers = [plain(rng, layer) for rounding in ROUNDINGS for layer in _shapes(rng, rounding)]
    check(cases_of(layers, rng, SPEED), lambda c: run_on_host(c, tmp_path, CLANG))


def _edges(rng: np.random.Generator) -> list[QLayer]:
    """Weights for which sums of some inputs reach, or just do not reach, the ends of 16 bits."""
    layers: list[QLayer] = []
    for sizes in ((127, 127), (127, -127), (-127, -127), (85, 85, 86), (64,) * 4, (-64,) * 4, (32,) * 8):
        for less in (0, 1):
            layer = plain(rng, dense(rng, "double", 4, 16, 4))
            assert isinstance(layer, QDense)
            signs = np.array([1, -1, 1, -1])[:, None]
            first = np.array(sizes) - np.eye(1, len(sizes), dtype=int)[0] * less * np.sign(sizes)
            weights = (np.resize(first, 16) * signs).astype(np.int8)
            y = Quantization("int8", layer.x.scale * 300.0, -3)
            layers.append(
                dataclasses.replace(
                    layer,
                    weights=weights,
                    y=y,
                    weight_scales=np.ones(4),
                    clamp=(-128, 127),
                    bias=layer.bias % 99,
                )
            )
    return layers


def test_runs_end_before_a_sum_overflows(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(8)
    cases: list[Expected] = []
    for layer in _edges(rng):
        driver = drive_integer(layer, SPEED)
        assert driver.kernel == "conv2d_pair"
        for value in (-128, 127):
            inputs = (np.full(input_sizes(layer)[0], value, np.int8),)
            want = reference(layer, inputs)
            cases.append((Case(driver, inputs, want.size, "int8"), layer, want))
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    check(cases, lambda c: run_on_target(c, tmp_path, [*CORTEX_M3, "-O2", "-std=c99"], MACHINE))


def test_what_goes_the_scalar_way() -> None:
    rng = np.random.default_rng(9)
    layer = plain(rng, dense(rng, "double", 4, 16, 4))
    assert isinstance(layer, QDense)
    least = dataclasses.replace(layer, weights=np.full((4, 16), -128, np.int8))
    assert drive_integer(least, SPEED).kernel == "conv2d_pair"
    unsigned = dataclasses.replace(layer, x=Quantization("uint8", 0.1, 3))
    assert drive_integer(unsigned, SPEED).declined == "the input is uint8"


FILES = sorted(str(file) for file in runtime_dir().glob("*_pair.c"))
HEADERS = sorted(file.name for file in runtime_dir().glob("*_pair.h"))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_complains(compiler: str, tmp_path: Path) -> None:
    command = COMPILERS[compiler]
    needs(command[0])
    subprocess.run([*command, *STRICT, "-Wcast-align", "-c", *FILES], check=True, cwd=tmp_path)


def test_headers_are_those_of_cpp_too(tmp_path: Path) -> None:
    needs("g++")
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
    subprocess.run(
        ["g++", "-Wall", "-Wextra", "-Werror", f"-I{runtime_dir()}", "-c", str(source)],
        check=True,
        cwd=tmp_path,
    )


FLAGS = {
    "-O2": ["-O2", "-std=c99"],
    "-Os": ["-Os", "-std=gnu11", "-fno-omit-frame-pointer"],
    "-O0": ["-O0", "-std=c99"],
    "-O3 -flto": ["-O3", "-std=c99", "-flto"],
    "plain C": ["-O1", "-std=c99", "-DTVM_NO_ASM"],
}


@pytest.mark.parametrize("level", FLAGS)
def test_every_path_on_a_core(level: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    rng = np.random.default_rng(5)
    layers = [plain(rng, layer) for rounding in ROUNDINGS for layer in _shapes(rng, rounding)]
    cases = cases_of(layers, rng, SIZE if level == "-Os" else SPEED)
    # Without optimisation the other kernels need memcpy.
    cases = [case for case in cases if level != "-O0" or case[0].driver.kernel.endswith("_pair")]
    check(cases, lambda c: run_on_target(c, tmp_path, [*CORTEX_M3, *FLAGS[level]], MACHINE))
