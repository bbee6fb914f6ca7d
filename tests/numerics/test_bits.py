"""Halves and bits: the functions of the runtime on every half, and models that use them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.support.host import STRICT, Array, build
from tests.unit.onnx_models import text
from tvm_tool.paths import runtime_dir

MAIN = """
#include "tvm_kernels.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    float x;
    uint16_t half;
    if (argc > 1 && argv[1][0] == 'w') {
        while (fread(&half, 2, 1, stdin) == 1) {
            x = argv[1][1] == 'f' ? tvm_f32_from_f16(half) : tvm_f32_from_bf16(half);
            fwrite(&x, 4, 1, stdout);
        }
    } else {
        while (fread(&x, 4, 1, stdin) == 1) {
            half = argv[1][1] == 'f' ? tvm_f16_from_f32(x) : tvm_bf16_from_f32(x);
            fwrite(&half, 2, 1, stdout);
        }
    }
    return 0;
}
"""
TYPES = {"f": np.dtype("float16"), "b": np.dtype(ml_dtypes.bfloat16)}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bits")
    (folder / "main.c").write_text(MAIN)
    out = folder / "program"
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command: list[str | Path] = ["gcc", *STRICT, *sanitize, "-O1", f"-I{runtime_dir()}", folder / "main.c"]
    subprocess.run([*command, runtime_dir() / "tvm_bits_f32.c", "-o", out], check=True)
    return out


def call(program: Path, mode: str, data: Array, dtype: str) -> Array:
    done = subprocess.run([program, mode], input=data.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, dtype)


def same_numbers(got: Array, want: Array) -> bool:
    return bool(
        ((got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))).all()
    )


@pytest.mark.parametrize("kind", TYPES)
def test_every_half_is_widened_exactly(kind: str, program: Path) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    got = call(program, f"w{kind}", halves, "float32")
    assert same_numbers(got, halves.view(TYPES[kind]).astype(np.float32))


@pytest.mark.parametrize("kind", TYPES)
def test_floats_are_narrowed_to_the_nearest(kind: str, program: Path) -> None:
    """Every half, the middle between each and the next, what lies beside the middle, and random bits."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(TYPES[kind]).astype(np.float32).view(np.uint32)
    unit = 13 if kind == "f" else 16
    ties = halves + np.uint32(1 << (unit - 1))
    rng = np.random.default_rng(0)
    subnormal = (np.arange(4096) / 4096 * 2.0**-13).astype(np.float32).view(np.uint32)
    bits = np.concatenate(
        [halves, ties, ties - 1, ties + 1, subnormal, rng.integers(0, 1 << 32, 200_000, np.uint32)]
    )
    floats = bits.view(np.float32)
    got = call(program, f"n{kind}", floats, "uint16").view(TYPES[kind]).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        want = floats.astype(TYPES[kind]).astype(np.float32)
    assert same_numbers(got, want)


def test_a_model_of_halves(tmp_path: Path) -> None:
    model = build(
        text(
            "g (float16[2,8] x) => (float16[2,8] y, float[2,8] z) <float[8] v = {1, 2, 3, 4, 5, 6, 7, 8}> "
            "{ w = Cast<to = 10>(v)\n m = Mul(x, w)\n y = Sqrt(m)\n h = Cast<to = 1>(x)\n e = Exp(h)\n "
            "r = Cast<to = 10>(e)\n z = Cast<to = 1>(r) }"
        ),
        tmp_path,
    )
    assert [t["dtype"] for t in model.metadata["inputs"] + model.metadata["outputs"]] == [
        "float16",
        "float16",
        "float32",
    ]
    assert "const uint16_t *x;" in model.compiled.files["model.h"]
    assert "float16[2][8], the bits of each in a uint16_t" in model.compiled.files["model.h"]
    x = np.random.default_rng(1).uniform(0, 9, (2, 8)).astype(np.float16)
    ((y, z),) = model.run([{"x": x}])
    root = np.sqrt(x.astype(np.float32) * np.arange(1, 9, dtype=np.float32))
    np.testing.assert_array_equal(y, root.astype(np.float16))
    exact = np.exp(x.astype(np.float64)).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(z, exact, rtol=1e-3)
    assert (z == z.astype(np.float16).astype(np.float32)).all()


def test_bits_of_numbers(tmp_path: Path) -> None:
    head = '<ir_version: 12, opset_import: ["": 26]>\n'
    model = build(
        text(
            "g (float[9] x, int64[9] n) => (int32[9] i, double[9] d, uint32[9] u) "
            "{ i = BitCast<to = 6>(x)\n d = BitCast<to = 11>(n)\n u = BitCast<to = 12>(x) }",
            head,
        ),
        tmp_path,
    )
    rng = np.random.default_rng(2)
    x = rng.integers(0, 1 << 32, 9, np.uint32)
    n = rng.integers(-(1 << 62), 1 << 62, 9)
    ((i, d, u),) = model.run([{"x": x.view(np.float32), "n": n}])
    np.testing.assert_array_equal(i, x.view(np.int32))
    np.testing.assert_array_equal(d.view(np.int64), n)
    np.testing.assert_array_equal(u, x)
