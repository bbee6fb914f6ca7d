"""Quantised TFLite models give the bytes of TensorFlow Lite Micro with CMSIS-NN."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.host import Array, build

MODELS = Path(os.environ.get("TVM_TOOL_MODELS", Path(__file__).parents[3] / "shared" / "models"))

# Most bytes of the plan, without the caller's input and output; and the file of recorded layers.
MODEL_FACTS = {
    "kws_ref_model": (16_000, "kws"),
    "vww_96_int8": (55_296, "vww"),
    "pretrainedResnet_quant": (49_152, "ic"),
    "ad01_int8": (264, "ad"),
    "str_ww_ref_model": (6_656, "sww"),
}


def pattern(number: int, count: int) -> Array:
    """The inputs for which the outputs are recorded."""
    if number == 0:
        return (((np.arange(count) * 7919 + 13) % 256) - 128).astype(np.int8)
    state, values = number, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(state >> 24)
    return np.array(values, np.uint8).view(np.int8)


def recorded_outputs(layers: str) -> list[str]:
    """The output for each input pattern, in hexadecimal."""
    text = (MODELS / "expected_tflm_layers" / f"layers_{layers}_m4f.txt").read_text(encoding="utf-8")
    return re.findall(r"^OUT=([0-9a-f]+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", MODEL_FACTS)
def test_the_bytes_are_those_of_tflm(name: str, tmp_path: Path) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    most_bytes, layers = MODEL_FACTS[name]
    built = build(path, tmp_path)
    program = built.compiled.program
    assert not program.left_in_float
    assert not any(t.dtype == "float32" for t in program.tensors if t.role != "constant")
    assert built.compiled.plan.bytes <= most_bytes

    source = built.metadata["inputs"][0]
    wanted = recorded_outputs(layers)
    assert len(wanted) == 4
    samples = [{source["name"]: pattern(p, source["bytes"]).reshape(source["shape"])} for p in range(4)]
    assert [one[0].tobytes().hex() for one in built.run(samples)] == wanted


@pytest.mark.parametrize("name", MODEL_FACTS)
def test_the_bytes_are_those_of_litert(name: str, tmp_path: Path) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    built = build(path, tmp_path, rounding="litert")
    source = built.metadata["inputs"][0]
    reference = litert.Interpreter(str(path), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    reference.allocate_tensors()
    rng = np.random.default_rng(0)
    samples = [{source["name"]: rng.integers(-128, 128, source["shape"]).astype(np.int8)} for _ in range(200)]
    for sample, outputs in zip(samples, built.run(samples), strict=True):
        reference.set_tensor(reference.get_input_details()[0]["index"], sample[source["name"]])
        reference.invoke()
        assert np.array_equal(outputs[0], reference.get_tensor(reference.get_output_details()[0]["index"]))
