"""The integer kernels: every bit of them against a model with numpy, over many shapes and three roundings."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numerics.kernel_host import STRICT
from tests.numerics.q_host import Case, run_on_host, run_on_target
from tests.numerics.q_layers import corners, numbers, pool, random_layers, softmax
from tests.numerics.q_model import reference
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.kernels.q_common import quantize_multiplier
from tvm_tool.compiler.layers import Array, Need
from tvm_tool.compiler.quantized_layers import (
    QBinary,
    QConv2D,
    QConvTranspose2D,
    QDense,
    QLayer,
    QMatMul,
    QPool2D,
    QReduce,
    QResize,
    QSoftmax,
    QTable,
    Quantization,
    input_dtypes,
    output_dtype,
)
from tvm_tool.paths import runtime_dir

ROUNDINGS = ("double", "single", "float")
SANITIZED = "gcc -std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()
CLANG = "clang -std=gnu11 -O2 -fsanitize=undefined -fsanitize-trap=undefined".split()
CORTEX_M0 = "-mcpu=cortex-m0 -mthumb".split()
CORTEX_M3 = "-mcpu=cortex-m3 -mthumb".split()
CORTEX_M4 = "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard".split()
TARGETS = {
    "m3": ("mps2-an385", [*CORTEX_M3, "-Os", "-std=c99"]),
    "m4": ("mps2-an386", [*CORTEX_M4, "-O2", "-std=gnu11"]),
    "m4 lto": ("mps2-an386", [*CORTEX_M4, "-O3", "-std=c99", "-flto", "-fsingle-precision-constant"]),
}
COMPILERS = {
    "gcc": ["gcc", "-O3", "-std=c99", "-fsingle-precision-constant"],
    "clang": ["clang", "-O2", "-std=c99"],
    "m0": ["arm-none-eabi-gcc", *CORTEX_M0, "-Os", "-std=c99"],
    "m3": ["arm-none-eabi-gcc", *CORTEX_M3, "-Os", "-std=c99", "-fsingle-precision-constant"],
    "m4": ["arm-none-eabi-gcc", *CORTEX_M4, "-O2", "-std=gnu11"],
}
FILES = sorted(runtime_dir().glob("*_s8.c"))


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def input_sizes(layer: QLayer) -> tuple[int, ...]:
    """Elements of each input."""
    if isinstance(layer, QConv2D | QConvTranspose2D | QPool2D | QResize):
        return (layer.batch * int(np.prod(layer.input)),)
    if isinstance(layer, QDense):
        return (layer.rows * layer.weights.shape[1],)
    if isinstance(layer, QMatMul):
        return (layer.batch * layer.m * layer.k, layer.batch * layer.k * layer.n)
    if isinstance(layer, QBinary):
        sizes = (int(np.prod(layer.a_shape)), int(np.prod(layer.b_shape)))
        return sizes if layer.constant is None else sizes[:1]
    if isinstance(layer, QSoftmax):
        return (layer.rows * layer.columns,)
    if isinstance(layer, QReduce):
        return (layer.outer * layer.count * layer.inner,)
    assert isinstance(layer, QTable)
    return (layer.elements,)


Expected = tuple[Case, QLayer, Array]


def cases_of(layers: Sequence[QLayer], rng: np.random.Generator) -> list[Expected]:
    """Each layer once, and once more in place where its driver allows it."""
    cases: list[Expected] = []
    for layer in layers:
        driver = drive_integer(layer, Need())
        types = input_dtypes(layer)
        data = tuple(numbers(rng, t, n) for t, n in zip(types, input_sizes(layer), strict=True))
        want = reference(layer, data)
        places = (False, True) if driver.in_place else (False,)
        dtype = output_dtype(layer)
        cases += [(Case(driver, data, want.size, dtype, place), layer, want) for place in places]
    return cases


def check(cases: list[Expected], run: Callable[[list[Case]], list[Array]]) -> None:
    results = run([case for case, _, _ in cases])
    for (case, layer, want), got in zip(cases, results, strict=True):
        difference = np.abs(got.astype(np.float64) - want.astype(np.float64)).max()
        # Only softmax in float has no exact definition: its sums round.
        allowed = 1.0 if case.driver.kernel == "softmax_float_s8" else 0.0
        assert difference <= allowed, f"{difference} {case.driver.kernel} in place: {case.in_place}\n{layer}"


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_shape_under_sanitizers(rounding: str, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(ROUNDINGS.index(rounding))
    layers = corners(rng, rounding) + random_layers(rng, rounding, 320)
    check(cases_of(layers, rng), lambda cases: run_on_host(cases, tmp_path, SANITIZED))


def test_every_shape_with_another_compiler(tmp_path: Path) -> None:
    needs("clang")
    rng = np.random.default_rng(3)
    layers = [x for r in ROUNDINGS for x in corners(rng, r) + random_layers(rng, r, 40)]
    check(cases_of(layers, rng), lambda cases: run_on_host(cases, tmp_path, CLANG))


@pytest.mark.parametrize("target", TARGETS)
def test_every_shape_on_the_target(target: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags = TARGETS[target]
    rng = np.random.default_rng(4)
    layers = [x for r in ROUNDINGS for x in corners(rng, r) + random_layers(rng, r, 24)]
    check(cases_of(layers, rng), lambda cases: run_on_target(cases, tmp_path, flags, machine))


# ---------------------------------------------------------------- the C files themselves


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_complains(compiler: str, tmp_path: Path) -> None:
    command = COMPILERS[compiler]
    needs(command[0])
    files = [str(file) for file in FILES]
    subprocess.run([*command, *STRICT, "-Wcast-align", "-c", *files], check=True, cwd=tmp_path)


@pytest.mark.parametrize("level", ["-O2", "-Os", "-O3"])
def test_symbols_and_stack_on_cortex_m4(level: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc")
    command = ["arm-none-eabi-gcc", *CORTEX_M4, level, *STRICT, "-fstack-usage", "-c"]
    subprocess.run([*command, *map(str, FILES)], check=True, cwd=tmp_path)
    objects = [str(o) for o in tmp_path.glob("*.o")]
    listing = subprocess.run(["arm-none-eabi-nm", "-g", *objects], check=True, capture_output=True, text=True)
    names = {line.split()[-1] for line in listing.stdout.splitlines() if line and not line.endswith(":")}
    assert {name for name in names if not name.startswith("tvm_")} == set()
    for usage in tmp_path.glob("*.su"):
        for line in usage.read_text().splitlines():
            where, size, kind = line.split("\t")
            assert kind == "static", where
            assert int(size) <= 256, where


# ---------------------------------------------------------------- multipliers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (1.0 - 2.0**-40, (2**30, 1)),  # the mantissa rounds up to one
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
        (0.0, (0, 0)),
        (2.0**40, (2**31 - 1, 30)),
    ],
)
def test_multipliers(value: float, expected: tuple[int, int]) -> None:
    assert quantize_multiplier(value) == expected


# ---------------------------------------------------------------- what networks with Q/DQ nodes compute


def quantized_network(
    operator: str,
    x: Sequence[Quantization],
    shape: Sequence[int],
    y: Quantization,
    **attributes: Any,
) -> bytes:
    """An ONNX model: operands dequantised, one operator, the result quantised."""
    from onnx import TensorProto, helper

    types = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}
    nodes, initializers, inputs = [], [], []
    for name, q in [*((f"x{i}", q) for i, q in enumerate(x)), ("y", y)]:
        initializers.append(helper.make_tensor(f"{name}_scale", TensorProto.FLOAT, [], [q.scale]))
        initializers.append(helper.make_tensor(f"{name}_zero", types[q.dtype], [], [q.zero_point]))
    for i, q in enumerate(x):
        inputs.append(helper.make_tensor_value_info(f"x{i}", types[q.dtype], shape))
        names = [f"x{i}", f"x{i}_scale", f"x{i}_zero"]
        nodes.append(helper.make_node("DequantizeLinear", names, [f"r{i}"]))
    nodes.append(helper.make_node(operator, [f"r{i}" for i in range(len(x))], ["r"], **attributes))
    nodes.append(helper.make_node("QuantizeLinear", ["r", "y_scale", "y_zero"], ["y"]))
    output = helper.make_tensor_value_info("y", types[y.dtype], [None] * len(shape))
    graph = helper.make_graph(nodes, "g", inputs, [output], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def run_network(model: bytes, inputs: Sequence[Array]) -> Array:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(model, options)
    result: Array = session.run(None, {f"x{i}": data for i, data in enumerate(inputs)})[0]
    return result


@pytest.mark.parametrize("kind", ["add", "sub", "mul"])
def test_operators_of_two_inputs_equal_onnxruntime(kind: str, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(5)
    cases: list[Expected] = []
    for a_type, b_type, y_type in (("int8", "int8", "int8"), ("uint8", "int8", "uint8")):
        a, b = Quantization(a_type, 0.0371, 5), Quantization(b_type, 0.0113, -3)
        y = Quantization(y_type, 0.0029 if kind == "mul" else 0.0217, 17)
        a, b, y = (Quantization(q.dtype, float(np.float32(q.scale)), q.zero_point) for q in (a, b, y))
        low, high = (-128, 127) if y_type == "int8" else (0, 255)
        pairs = np.meshgrid(np.arange(256).astype(np.uint8), np.arange(256).astype(np.uint8))
        data = (pairs[0].ravel().view(a_type), pairs[1].ravel().view(b_type))
        shape = (data[0].size,)
        layer = QBinary(kind, a, b, y, shape, shape, shape, (low, high), "single")
        want = run_network(quantized_network(kind.capitalize(), (a, b), shape, y), data)
        cases.append((Case(drive_integer(layer, Need()), data, want.size, y_type), layer, want))
    rng.shuffle(cases)
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


@pytest.mark.parametrize("same", [True, False])
def test_average_pools_equal_onnxruntime(same: bool, tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(7)
    cases: list[Expected] = []
    shapes: list[tuple[tuple[int, int, int], tuple[int, int], tuple[int, int], tuple[int, int, int, int]]] = [
        ((8, 8, 6), (2, 2), (2, 2), (0, 0, 0, 0)),
        ((7, 9, 5), (3, 4), (1, 2), (1, 2, 0, 1)),
        ((7, 19, 16), (3, 4), (1, 3), (1, 2, 0, 1)),
        ((4, 36, 16), (2, 34), (1, 1), (0, 0, 0, 0)),
        ((4, 4, 64), (4, 4), (1, 1), (0, 0, 0, 0)),
        ((4, 4, 64), (4, 4), (2, 1), (0, 0, 0, 0)),
        ((3, 5, 64), (3, 5), (1, 1), (0, 0, 0, 0)),
        ((1, 12, 9), (1, 2), (1, 2), (0, 0, 0, 0)),
    ]
    for image, kernel, strides, pads in shapes:
        layer = pool(rng, "single", "average", image, kernel, strides, pads, same)
        layer = dataclasses.replace(layer, clamp=(-128, 127) if layer.y.dtype == "int8" else (0, 255))
        data = rng.integers(0, 256, image).astype(np.uint8).view(layer.x.dtype)
        shape = (1, image[2], image[0], image[1])
        network = quantized_network(
            "AveragePool", (layer.x,), shape, layer.y, kernel_shape=kernel, strides=strides, pads=pads
        )
        want = run_network(network, (data.transpose(2, 0, 1)[None],)).transpose(0, 2, 3, 1)
        case = Case(drive_integer(layer, Need()), (data.ravel(),), want.size, layer.y.dtype)
        cases.append((case, layer, want.ravel()))
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_softmax_is_within_one_of_onnxruntime(tmp_path: Path) -> None:
    needs("gcc")
    rng = np.random.default_rng(6)
    cases: list[Expected] = []
    for columns in (1, 2, 3, 10, 12, 100, 1000):
        layer = softmax(rng, "single", 4, columns)
        data = numbers(rng, layer.x.dtype, 4, columns)
        want = run_network(quantized_network("Softmax", (layer.x,), (4, columns), layer.y), (data,))
        case = Case(drive_integer(layer, Need()), (data.ravel(),), want.size, layer.y.dtype)
        cases.append((case, layer, want.ravel()))
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))
