"""The float32 kernels against a float64 reference, over many shapes, under sanitizers and in an emulator."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.numerics.kernel_host import STRICT, Case, Floats, run_on_host, run_on_target
from tests.numerics.kernel_layers import conv2d, corners, random_layers, values
from tests.numerics.kernel_reference import Doubles, input_size, reference
from tvm_tool.compiler.kernels import drive
from tvm_tool.compiler.kernels.float32 import literal, pack
from tvm_tool.compiler.layers import Layer, Need, Softmax
from tvm_tool.paths import runtime_dir

FAST = Need(fpu=True, optimize="speed")
SMALL = Need(fpu=True, optimize="size")
TOLERANCE = 1e-5

SANITIZERS = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()
HOSTS = {
    "gcc": ["gcc", "-std=c99", *SANITIZERS, "-fsingle-precision-constant"],
    "clang": "clang -std=gnu11 -O2 -fsanitize=undefined -fsanitize-trap=undefined".split(),
}
CORTEX_M4 = "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard".split()
CORTEX_M7 = "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard".split()
CORTEX_M3 = "-mcpu=cortex-m3 -mthumb".split()
TARGETS = {
    "m4 speed": ("mps2-an386", [*CORTEX_M4, "-O2", "-std=gnu11"], FAST),
    "m4 size lto": ("mps2-an386", [*CORTEX_M4, "-Os", "-std=c99", "-flto"], SMALL),
    "m4 speed lto -Os": ("mps2-an386", [*CORTEX_M4, "-Os", "-std=gnu11", "-flto"], FAST),
    "m7 speed": ("mps2-an500", [*CORTEX_M7, "-O2", "-std=gnu11"], FAST),
    "m3": ("mps2-an385", [*CORTEX_M3, "-Os", "-std=c99"], Need(fpu=False)),
}


def cases_of(layers: Sequence[Layer], need: Need, rng: np.random.Generator) -> list[tuple[Case, Layer]]:
    """Each layer once, and once more in place where its driver allows it."""
    cases = []
    for layer in layers:
        driver = drive(layer, need)
        data = values(rng, input_size(layer))
        size = reference(layer, data).size
        cases.append((Case(driver, data, size), layer))
        if driver.in_place:
            cases.append((Case(driver, data, size, in_place=True), layer))
    return cases


def check(cases: list[tuple[Case, Layer]], run: Callable[[list[Case]], list[Floats]]) -> None:
    results = run([case for case, _ in cases])
    for (case, layer), got in zip(cases, results, strict=True):
        want = reference(layer, case.input)
        error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
        assert error <= TOLERANCE, f"{error:.2e} {case.driver.kernel} in place: {case.in_place}\n{layer}"


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.mark.parametrize("compiler", HOSTS)
def test_every_shape_on_the_host(compiler: str, tmp_path: Path) -> None:
    needs(compiler)
    rng = np.random.default_rng(len(compiler))
    layers = corners(rng) + random_layers(rng, 200)
    cases = cases_of(layers, FAST, rng) + cases_of(layers, SMALL, rng)
    check(cases, lambda c: run_on_host(c, tmp_path, HOSTS[compiler]))


@pytest.mark.parametrize("target", TARGETS)
def test_every_shape_on_the_target(target: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags, need = TARGETS[target]
    rng = np.random.default_rng(7)
    cases = cases_of(corners(rng) + random_layers(rng, 60), need, rng)
    check(cases, lambda c: run_on_target(c, tmp_path, flags, machine))


# ---------------------------------------------------------------- elementary functions

MATH_LOOP = """
#include "tvm_kernels.h"
typedef float (*function)(float);
void apply(int which, const float *x, float *y, int count);
void apply(int which, const float *x, float *y, int count)
{
    const function functions[] = {tvm_exp_f32, tvm_tanh_f32, tvm_sigmoid_f32, tvm_erf_f32, tvm_sqrt_f32};
    for (int i = 0; i < count; i++) {
        y[i] = functions[which](x[i]);
    }
}
"""


def _erf(x: Doubles) -> Doubles:
    return np.array([math.erf(value) for value in x.tolist()])


def _sigmoid(x: Doubles) -> Doubles:
    e: Doubles = np.exp(-x)
    return 1.0 / (1.0 + e)


FUNCTIONS: dict[str, tuple[int, Callable[[Doubles], Doubles], float]] = {
    "exp": (0, np.exp, 1.0),
    "tanh": (1, np.tanh, 2.0),
    "sigmoid": (2, _sigmoid, 3.0),
    "erf": (3, _erf, 2.0),
    "sqrt": (4, np.sqrt, 0.5 + 1e-7),
}


@pytest.fixture(scope="module")
def apply(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, Floats], Floats]:
    needs("gcc")
    folder = tmp_path_factory.mktemp("math")
    (folder / "loop.c").write_text(MATH_LOOP)
    sources = [str(folder / "loop.c"), str(runtime_dir() / "tvm_math_f32.c")]
    command = ["gcc", "-O2", "-shared", "-fPIC", *STRICT, f"-I{runtime_dir()}", *sources]
    subprocess.run([*command, "-o", str(folder / "math.so")], check=True)
    library = ctypes.CDLL(str(folder / "math.so"))

    def run(which: int, x: Floats) -> Floats:
        y = np.empty_like(x)
        library.apply(which, x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), x.size)
        return y

    return run


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions(name: str, apply: Callable[[int, Floats], Floats]) -> None:
    which, exact, most_ulp = FUNCTIONS[name]
    # Every exponent, both signs, and the range in which something happens more densely.
    bits = np.arange(0, 2**32, 10007, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.linspace(-110, 110, 300_001, dtype=np.float32)])
    x = x[np.isfinite(x)]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        want = exact(x.astype(np.float64))
        rounded = want.astype(np.float32)
    got = apply(which, x)
    assert np.array_equal(np.isinf(got), np.isinf(rounded))
    finite = np.isfinite(rounded)
    ulp = np.maximum(np.spacing(np.abs(rounded[finite])).astype(np.float64), 2.0**-149)
    assert (np.abs(got[finite] - want[finite]) / ulp).max() <= most_ulp


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_at_the_ends(name: str, apply: Callable[[int, Floats], Floats]) -> None:
    which, exact, _ = FUNCTIONS[name]
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(apply(which, x), exact(x.astype(np.float64)).astype(np.float32))


def test_softmax_of_extremes(tmp_path: Path) -> None:
    needs("gcc")
    rows = np.array([[0, 1e30, -1e30], [88.9, 88.9, 88.9], [-200, -300, -1000], [0, np.nan, 1]], np.float32)
    case = Case(drive(Softmax(4, 3), FAST), rows.ravel(), 12)
    got = run_on_host([case], tmp_path, HOSTS["gcc"])[0].reshape(4, 3)
    third = 1.0 / 3.0
    want = np.array([[0.0, 1.0, 0.0], [third, third, third], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(got[:3].astype(np.float64), want, atol=1e-7)
    assert np.isnan(got[3]).all()


# ---------------------------------------------------------------- the C files themselves

KERNEL_FILES = sorted(runtime_dir().glob("*_f32.c"))
COMPILERS = {
    "gcc": ["gcc", "-O3", "-std=c99", "-fsingle-precision-constant"],
    "gcc gnu11": ["gcc", "-Os", "-std=gnu11"],
    "clang": ["clang", "-O2", "-std=c99"],
    "m3": ["arm-none-eabi-gcc", *CORTEX_M3, "-Os", "-std=c99", "-fsingle-precision-constant"],
    "m4": ["arm-none-eabi-gcc", *CORTEX_M4, "-O2", "-std=c99", "-fsingle-precision-constant"],
    "m4 gnu11": ["arm-none-eabi-gcc", *CORTEX_M4, "-Os", "-std=gnu11"],
}


def compile_all(command: Sequence[str], folder: Path) -> None:
    needs(command[0])
    files = [str(file) for file in KERNEL_FILES]
    subprocess.run([*command, *STRICT, "-c", *files], check=True, cwd=folder)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_complains(compiler: str, tmp_path: Path) -> None:
    compile_all(COMPILERS[compiler], tmp_path)


def test_header_in_cpp_and_with_profiling(tmp_path: Path) -> None:
    needs("g++")
    source = tmp_path / "header.cpp"
    source.write_text(
        '#include "tvm_kernels.h"\n#include "tvm_kernels.h"\n'
        "float one();\nfloat one() { float y = 0.0f; TVM_LAYER(0u, y = tvm_exp_f32(0.0f)); return y; }\n"
    )
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
    for define in ([], ["-DTVM_PROFILE_LAYERS"]):
        subprocess.run([*command, *define, f"-I{runtime_dir()}", str(source)], check=True)


@pytest.mark.parametrize("level", ["-O2", "-Os", "-O3"])
def test_symbols_and_stack_on_cortex_m4(level: str, tmp_path: Path) -> None:
    compile_all(["arm-none-eabi-gcc", *CORTEX_M4, level, "-fstack-usage"], tmp_path)
    objects = [str(o) for o in tmp_path.glob("*.o")]
    listing = subprocess.run(["arm-none-eabi-nm", "-g", *objects], check=True, capture_output=True, text=True)
    names = {line.split()[-1] for line in listing.stdout.splitlines() if line and not line.endswith(":")}
    assert {name for name in names if not name.startswith("tvm_")} == set()  # no libc, no double precision
    for usage in tmp_path.glob("*.su"):
        for line in usage.read_text().splitlines():
            where, size, kind = line.split("\t")
            assert kind == "static", where
            assert int(size) <= 256, where


def test_code_size_on_cortex_m4(tmp_path: Path) -> None:
    """All kernels of a network with convolutions, dense layers, pools and softmax."""
    rng = np.random.default_rng(0)
    compile_all(["arm-none-eabi-gcc", *CORTEX_M4, "-Os"], tmp_path)
    listing = subprocess.run(
        ["arm-none-eabi-size", *(str(o) for o in tmp_path.glob("*.o"))],
        check=True,
        capture_output=True,
        text=True,
    )
    sizes = {Path(line.split()[-1]).name: int(line.split()[0]) for line in listing.stdout.splitlines()[1:]}
    for need, most in ((SMALL, 5 * 1024), (FAST, 8 * 1024)):
        files = {f for layer in corners(rng) for f in drive(layer, need).runtime}
        assert sum(sizes[f.replace(".c", ".o")] for f in files) <= most


# ---------------------------------------------------------------- the choice of a kernel


def test_blocks_only_where_they_pay() -> None:
    rng = np.random.default_rng(0)
    for layer in corners(rng):
        for need in (SMALL, Need(fpu=False, optimize="speed")):
            assert "4x4" not in drive(layer, need).kernel


def test_pointwise_and_whole_image_are_matrix_products() -> None:
    rng = np.random.default_rng(0)
    assert "tvm_matmul_f32(35, 8, 8," in drive(conv2d(rng, (5, 7, 8), 8), FAST).body
    assert "tvm_dense_f32(108, 10," in drive(conv2d(rng, (6, 6, 3), 10, (6, 6)), FAST).body
    assert "tvm_dense_small_f32(35, 8, 8," in drive(conv2d(rng, (5, 7, 8), 8), SMALL).body


def test_in_place_only_where_rows_do_not_grow() -> None:
    rng = np.random.default_rng(0)
    assert drive(conv2d(rng, (5, 5, 8), 8), FAST).in_place
    assert not drive(conv2d(rng, (5, 5, 8), 9), FAST).in_place
    assert not drive(conv2d(rng, (5, 5, 8), 8, (3, 3), pads=(1, 1, 1, 1)), FAST).in_place
    assert drive(Softmax(2, 3), FAST).in_place


def test_pack_interleaves_four_channels() -> None:
    packed = pack(np.arange(10, dtype=np.float32).reshape(5, 2))
    np.testing.assert_array_equal(packed, [0, 2, 4, 6, 1, 3, 5, 7, 8, 9])


def test_literals_read_back() -> None:
    for value in (0.0, 6.0, -0.25, 0.1, 1e-30, 3.4028235e38, 16777216.0):
        text = literal(value)
        assert text.endswith("f")
        assert "." in text or "e" in text
        assert np.float32(text[:-1]) == np.float32(value)
