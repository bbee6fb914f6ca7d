"""The kernels for the DSP extension against the model with numpy, bit by bit: on the host and on a core."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.batch.shapes import layers_for
from tests.numerics.kernel_host import STRICT
from tests.numerics.q_host import Case, run_on_host, run_on_target
from tests.numerics.q_layers import (
    binary,
    conv2d,
    conv2d_transposed,
    corners,
    dense,
    matmul,
    numbers,
    pool,
    reduce,
    table,
)
from tests.numerics.q_model import reference
from tests.numerics.test_kernels_s8 import (
    CLANG,
    COMPILERS,
    ROUNDINGS,
    SANITIZED,
    TARGETS,
    Expected,
    check,
    input_sizes,
    needs,
)
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.layers import Need
from tvm_tool.compiler.quantized_layers import (
    QBinary,
    QConv2D,
    QDense,
    QLayer,
    QPool2D,
    Quantization,
    input_dtypes,
    output_dtype,
)
from tvm_tool.paths import runtime_dir

SPEED, SIZE = Need(isa="dsp", fpu=True), Need(isa="dsp", fpu=True, optimize="size")
SAME = (1, 1, 1, 1)


def plain(rng: np.random.Generator, layer: QLayer) -> QLayer:
    """`layer` with the numbers that the fast kernels take; now and then with sums up to 2^23."""
    if isinstance(layer, QBinary):
        assert layer.b is not None
        a, b, y = map(_signed, (layer.a, layer.b, layer.y))
        return dataclasses.replace(layer, a=a, b=b, y=y, clamp=_clamp(rng, y))
    if isinstance(layer, QPool2D):
        same = layer.x == layer.y
        x = _signed(layer.x)
        y = x if same else _signed(layer.y)
        return dataclasses.replace(layer, x=x, y=y, clamp=_clamp(rng, y))
    assert isinstance(layer, QConv2D | QDense)
    low = -127 if rng.random() < 0.9 else -128
    weights = np.maximum(layer.weights.view(np.int8), low).astype(np.int8)
    channels = len(weights)
    x = Quantization("int8", layer.x.scale, int(rng.choice([-128, 127, int(rng.integers(-128, 128))])))
    y = Quantization("int8", layer.y.scale, int(rng.choice([-128, -128, int(rng.integers(-128, 128))])))
    per_channel = weights.reshape(channels, -1).astype(np.int64)
    bias = rng.integers(-(2**12), 2**12, channels)
    if rng.random() < 0.3:
        # Just as far as sums may go: |bias - zero * sum(w) + w . x| < 2^23.
        folded = x.zero_point * per_channel.sum(1)
        reach = np.where(per_channel > 0, per_channel * 127, per_channel * -128).sum(1)
        bias = 2**23 - 1 - reach + folded - rng.integers(0, 2, channels)
        lowest = np.where(per_channel > 0, per_channel * -128, per_channel * 127).sum(1)
        down = -(2**23) + 1 - lowest + folded
        bias = np.where(rng.random(channels) < 0.5, bias, down)
    return dataclasses.replace(
        layer,
        x=x,
        y=y,
        weights=weights,
        weight_zeros=np.zeros(channels, np.int32),
        bias=bias.astype(np.int32),
        clamp=_clamp(rng, y),
    )


def _signed(q: Quantization) -> Quantization:
    return Quantization("int8", q.scale, q.zero_point % 256 - 128)


def _clamp(rng: np.random.Generator, y: Quantization) -> tuple[int, int]:
    kind = int(rng.integers(5))
    if kind < 3:
        return (-128, 127)
    return y.zero_point, 127 if kind == 3 else min(127, y.zero_point + int(rng.integers(200)))


def _shapes(rng: np.random.Generator, rounding: str) -> list[QLayer]:
    """One layer for each path through the drivers."""
    return [
        dense(rng, rounding, 1, 640, 16),
        dense(rng, rounding, 1, 13, 7),
        dense(rng, rounding, 5, 21, 6),
        conv2d(rng, rounding, (5, 5, 64), 64),
        conv2d(rng, rounding, (3, 5, 7), 7, batch=2),
        conv2d(rng, rounding, (6, 7, 16), 10, (3, 3), pads=SAME),
        conv2d(rng, rounding, (7, 7, 8), 4, (3, 3), (2, 2), pads=(0, 0, 1, 1), batch=2),
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
                ((40, 41, 4), (1, 1), SAME, 1),
                ((70, 50, 2), (2, 2), SAME, 1),
            )
        ),
        *(
            conv2d(rng, rounding, (12, 6, 9), 9, kernel, strides, dilations, pads, groups=9)
            for kernel, strides, dilations, pads in (
                ((5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
                ((10, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
                ((4, 3), (3, 2), (1, 2), (3, 1, 2, 3)),
                ((1, 2), (1, 1), (1, 1), (0, 0, 0, 1)),
            )
        ),
        binary(rng, rounding, "add", (1, 3, 5, 7), (1, 3, 5, 7)),
        binary(rng, rounding, "sub", (2, 3), (2, 3)),
        pool(rng, rounding, "average", (25, 5, 8), (25, 5)),
        pool(rng, rounding, "average", (6, 5, 7), (3, 3), pads=SAME, same=False),
        pool(rng, rounding, "max", (7, 5, 6), (3, 2), (2, 2), pads=(1, 1, 1, 0)),
        pool(rng, rounding, "max", (4, 4, 9), (2, 2), (2, 2), same=False, batch=2),
    ]


def _others(rng: np.random.Generator, rounding: str) -> list[QLayer]:
    """What needs more than the kernels of `_shapes`: numbers of any kind, groups, large sums, two inputs."""
    image = (7, 6, 8)
    extreme = dense(rng, rounding, 3, 40, 6)
    ends = rng.choice(np.array([-128, 127], np.int8), extreme.weights.shape)
    return [
        dense(rng, rounding, 1, 70, 9),
        dense(rng, rounding, 4, 300, 5),
        conv2d(rng, rounding, image, 7, (3, 3), pads=SAME, batch=2),
        conv2d(rng, rounding, image, 8, (3, 2), (2, 1), (1, 2), (1, 0, 0, 2)),
        conv2d(rng, rounding, image, 12, (3, 3), pads=SAME, groups=2),
        conv2d(rng, rounding, image, 4, (2, 3), (1, 2), (2, 1), groups=4, batch=2),
        conv2d(rng, rounding, (5, 5, 6), 18, (3, 3), pads=SAME, groups=6),
        conv2d(rng, rounding, (9, 4, 10), 10, (3, 3), dilations=(2, 1), pads=(2, 1, 2, 1), groups=10),
        conv2d_transposed(rng, rounding, (4, 3, 5), 6, (3, 3), (2, 2), pads=(0, 1, 1, 0), extra=(1, 0)),
        conv2d_transposed(rng, rounding, (3, 2, 6), 4, (2, 1), (3, 2), groups=2, batch=2),
        conv2d_transposed(rng, rounding, (5, 4, 3), 4, (4, 4), (2, 2), pads=(3, 3, 3, 3)),
        dataclasses.replace(extreme, weights=ends, weight_zeros=np.zeros(6, np.int32)),
        _large(rng, rounding, 700),
        _large(rng, rounding, 2500),
        *(binary(rng, rounding, kind, (2, 1, 30), (1, 5, 30)) for kind in ("add", "sub", "max", "min")),
        binary(rng, rounding, "sub", (3, 4, 9), (1, 1, 9)),
        binary(rng, rounding, "add", (1, 1, 1), (3, 4, 9)),
        binary(rng, rounding, "max", (5, 9), (5, 1), constant=True),
        *(plain(rng, binary(rng, rounding, "mul", a, b)) for a, b in (((3, 7), (3, 7)), ((1, 7), (4, 1)))),
        matmul(rng, rounding, 2, 3, 18, 5, finished=True),
        matmul(rng, rounding, 1, 4, 3, 9),
        *(reduce(rng, rounding, kind, 2, 300, 6) for kind in ("max", "min", "mean")),
        reduce(rng, "double", "sum", 2, 7, 6),
        pool(rng, rounding, "max", (4, 5, 6), (2, 2)),
        pool(rng, "double", "average", (20, 15, 5), (20, 15), same=False),
        dataclasses.replace(table(rng, "uint8", 37), table=numbers(rng, "int8", 256)),
    ]


def every_layer(rng: np.random.Generator) -> list[QLayer]:
    found: list[QLayer] = []
    for rounding in ROUNDINGS:
        found += [plain(rng, layer) for layer in _shapes(rng, rounding)] + _others(rng, rounding)
    return found


def _large(rng: np.random.Generator, rounding: str, depth: int) -> QDense:
    """Sums beyond 2^23."""
    layer = dense(rng, rounding, 3, depth, 7)
    weights = rng.integers(60, 128, layer.weights.shape).astype(np.int8)
    return dataclasses.replace(layer, weights=weights, weight_zeros=np.zeros(7, np.int32))


def cases_of(layers: list[QLayer], rng: np.random.Generator, need: Need) -> list[Expected]:
    cases: list[Expected] = []
    for layer in layers:
        driver = drive_integer(layer, need)
        data = tuple(numbers(rng, t, n) for t, n in zip(input_dtypes(layer), input_sizes(layer), strict=True))
        want = reference(layer, data)
        places = (False, True) if driver.in_place else (False,)
        dtype = output_dtype(layer)
        cases += [(Case(driver, data, want.size, dtype, place), layer, want) for place in places]
    return cases


def dense_cases(layers: list[QLayer], rng: np.random.Generator) -> list[Expected]:
    """Every way in which dense layers of one row take their inputs."""
    cases: list[Expected] = []
    for layer in layers:
        data = tuple(numbers(rng, t, n) for t, n in zip(input_dtypes(layer), input_sizes(layer), strict=True))
        want = reference(layer, data)
        loose = drive_integer(layer, SPEED)
        aligned = drive_integer(layer, dataclasses.replace(SPEED, aligned=True))
        case = Case(loose, data, want.size, output_dtype(layer))
        found = [dataclasses.replace(case, moved=n) for n in range(4)] if loose != aligned else [case]
        found.append(dataclasses.replace(case, driver=aligned))
        expanding = aligned.roomy or aligned
        if expanding.over_input:
            found += [
                dataclasses.replace(case, driver=expanding, over_input=over, in_place=place and not over)
                for over, place in ((True, False), (False, expanding.in_place))
            ]
        cases += [(one, layer, want) for one in found]
    return cases


def dense_layers(rng: np.random.Generator) -> list[QLayer]:
    """Depths with and without a rest, few and many channels with and without one; their outputs are fast."""
    shapes = [(8, 4), (8, 3), (16, 20), (32, 17), (24, 33), (640, 24), (13, 30), (128, 16), (2, 64), (96, 18)]
    drawn = (
        plain(rng, dense(rng, rounding, 1, *shapes[number % len(shapes)]))
        for number in range(300)
        for rounding in ROUNDINGS
    )
    fast = [layer for layer in drawn if drive_integer(layer, SPEED).kernel.startswith("dense_")]
    found: list[QLayer] = []
    for shape in shapes:
        same = [layer for layer in fast if isinstance(layer, QDense) and layer.weights.shape[::-1] == shape]
        assert same, shape
        found += same[:4]
    return found


def test_dense_layers_in_every_way_under_sanitizers(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(9)
    cases = dense_cases(dense_layers(rng), rng)
    blocks = " ".join(name for case, _, _ in cases for name in case.driver.blocks)
    assert set(re.findall(r"gemv1x4_(\w+?)_by\d", blocks)) == {"words", "bytes", "loose_bytes"}
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


@pytest.mark.parametrize("level", ["-O2", "-O3 -flto", "plain C"])
def test_dense_layers_in_every_way_on_a_core(level: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags = TARGETS["m4"]
    rng = np.random.default_rng(10)
    cases = dense_cases(dense_layers(rng), rng)
    core = [flag for flag in flags if flag.startswith("-m")]
    check(cases, lambda c: run_on_target(c, tmp_path, [*core, *FLAGS[level]], machine))


def _fast(cases: list[Expected]) -> float:
    return sum(case.driver.kernel.endswith("_dsp") for case, _, _ in cases) / len(cases)


@pytest.mark.parametrize("need", [SPEED, SIZE], ids=["speed", "size"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_path_under_sanitizers(rounding: str, need: Need, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(ROUNDINGS.index(rounding))
    layers = [plain(rng, layer) for _ in range(4) for layer in _shapes(rng, rounding)]
    cases = cases_of(layers, rng, need)
    assert _fast(cases) > (0.9 if need is SPEED else 0.8)
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_kind_under_sanitizers(rounding: str, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(20 + ROUNDINGS.index(rounding))
    cases = cases_of([layer for _ in range(2) for layer in _others(rng, rounding)], rng, SPEED)
    assert [(c.driver.declined, layer) for c, layer, _ in cases if not c.driver.kernel.endswith("_dsp")] == []
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_random_layers_under_sanitizers(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(3)
    layers = layers_for(2, 300) + [x for r in ROUNDINGS for x in corners(rng, r)]
    check(cases_of(layers, rng, SPEED), lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_every_path_with_another_compiler(tmp_path: Path) -> None:
    needs("clang")
    rng = np.random.default_rng(4)
    check(cases_of(every_layer(rng), rng, SPEED), lambda c: run_on_host(c, tmp_path, CLANG))


def test_a_scalar_kernel_says_why() -> None:
    rng = np.random.default_rng(7)
    layer = plain(rng, dense(rng, "double", 1, 8, 4))
    assert isinstance(layer, QDense)
    assert drive_integer(layer, SPEED).declined == ""
    unsigned = dataclasses.replace(layer, x=Quantization("uint8", 0.1, 3))
    assert drive_integer(unsigned, SPEED).kernel == "conv2d_any_dsp"
    assert drive_integer(unsigned, SPEED).declined == "the input is uint8"
    column = reduce(rng, "double", "mean", 2, 7, 1)
    assert drive_integer(column, SPEED).kernel == "sum_s8"
    assert drive_integer(column, SPEED).declined == "less than four neighbours along the axis"
    assert drive_integer(column, Need()).declined == ""


FILES = sorted(str(file) for file in runtime_dir().glob("*_dsp.c"))
HEADERS = sorted(file.name for file in runtime_dir().glob("*_dsp.h"))


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


def test_more_channels_than_a_load_reaches_over(tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    rng = np.random.default_rng(8)
    wide = plain(rng, conv2d(rng, "double", (2, 9, 1024), 5, (1, 3), strides=(1, 2)))
    assert isinstance(wide, QConv2D)
    cases = cases_of([dataclasses.replace(wide, weights=wide.weights // np.int8(64))], rng, SPEED)
    assert [case.driver.kernel for case, _, _ in cases] == ["conv2d_columns_dsp"]
    machine, flags = TARGETS["m4"]
    core = [flag for flag in flags if flag.startswith("-m")]
    check(cases, lambda c: run_on_target(c, tmp_path, [*core, *FLAGS["-O2"]], machine))


@pytest.mark.parametrize("level", FLAGS)
def test_every_path_on_a_core(level: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags = TARGETS["m4"]
    rng = np.random.default_rng(5)
    cases = cases_of(every_layer(rng), rng, SIZE if level == "-Os" else SPEED)
    core = [flag for flag in flags if flag.startswith("-m")]
    check(cases, lambda c: run_on_target(c, tmp_path, [*core, *FLAGS[level]], machine))
