"""Quantised TFLite models give the bytes of TensorFlow Lite Micro with CMSIS-NN."""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.host import Array, build
from tvm_tool.compiler.frontend import tflite_model
from tvm_tool.compiler.frontend.tflite_file import read_tflite
from tvm_tool.compiler.frontend.tflite_tensors import TfliteFile

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
    # Layers are called after the tensors that they compute.
    tensors = {tensor.name for tensor in read_tflite(path).tensors}
    assert {layer["name"] for layer in built.metadata["layers"]} <= tensors


@dataclass(frozen=True)
class Layer:
    """What is recorded of the output of one operator."""

    tensor: int
    crc: int
    first: str


def recorded_layers(layers: str) -> list[list[Layer]]:
    """The layers for each input pattern."""
    text = (MODELS / "expected_tflm_layers" / f"layers_{layers}_m4f.txt").read_text(encoding="utf-8")
    line = re.compile(r"^OP \d+ tensor=(\d+) bytes=\d+ crc32=([0-9a-f]+) first=([0-9a-f]+)$", re.MULTILINE)
    return [
        [Layer(int(tensor), int(crc, 16), first) for tensor, crc, first in line.findall(part)]
        for part in text.split("PATTERN")[1:]
    ]


@pytest.mark.parametrize("name", MODEL_FACTS)
def test_every_layer_is_that_of_tflm(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of every operator is made an output of the model."""
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    patterns = recorded_layers(MODEL_FACTS[name][1])
    assert len(patterns) == 4
    recorded = {layer.tensor for layer in patterns[0]}

    def read(path: Path) -> TfliteFile:
        file = read_tflite(path)
        inner = [t for t in file.tensors if t.index in recorded - {o.index for o in file.outputs}]
        return replace(file, outputs=(*file.outputs, *inner))

    monkeypatch.setattr(tflite_model, "read_tflite", read)
    built = build(path, tmp_path)
    tensors = [tensor.index for tensor in read(path).outputs]
    assert set(tensors) == recorded
    source = built.metadata["inputs"][0]
    samples = [{source["name"]: pattern(p, source["bytes"]).reshape(source["shape"])} for p in range(4)]
    for outputs, layers in zip(built.run(samples), patterns, strict=True):
        data = {tensor: output.tobytes() for tensor, output in zip(tensors, outputs, strict=True)}
        for layer in layers:
            found = data[layer.tensor]
            assert found.hex().startswith(layer.first), layer
            assert zlib.crc32(found) == layer.crc, layer


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
