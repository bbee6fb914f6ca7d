"""The integer kernels on the layers of trained networks, and whole networks against their known outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.numerics.q_host import Case, run_on_host, run_on_target
from tests.numerics.q_model import reference
from tests.numerics.q_tflite import TFLiteLayers
from tests.numerics.test_kernels_s8 import SANITIZED, TARGETS, Expected, check, needs
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.layers import Array, Need

CHECKOUT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("TVM_TOOL_MODELS", CHECKOUT.parent / "shared" / "models"))
NAMES = ("kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8", "str_ww_ref_model")


def layers_of(name: str) -> tuple[list[Expected], Array]:
    """Each layer with the data that reaches it for a fixed input, and the network's output."""
    file = MODELS / f"{name}.tflite"
    if not file.exists():
        pytest.skip(f"needs {file.name}")
    network = TFLiteLayers(file)
    pattern = (np.arange(network.input_size, dtype=np.int64) * 7919 + 13) % 256 - 128
    values: dict[int, Array] = {network.first: pattern.astype(np.int8)}
    cases: list[Expected] = []
    for step in network.steps:
        data = tuple(values[tensor] for tensor in step.inputs)
        values[step.output] = data[0]
        if step.layer is not None:
            want = reference(step.layer, data)
            values[step.output] = want
            case = Case(drive_integer(step.layer, Need()), data, want.size, "int8")
            cases.append((case, step.layer, want))
    return cases, values[network.last]


@pytest.mark.parametrize("name", NAMES)
def test_layers_of_trained_networks(name: str, tmp_path: Path) -> None:
    needs("gcc")
    cases, output = layers_of(name)
    known = json.loads((MODELS / "expected_tflm.json").read_text())["outputs"][f"{name}.tflite"]
    assert output.tobytes().hex().startswith(known)
    check(cases, lambda c: run_on_host(c, tmp_path, SANITIZED))


@pytest.mark.parametrize("target", ["m3", "m4"])
def test_layers_of_a_trained_network_on_the_target(target: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags = TARGETS[target]
    cases, _ = layers_of("kws_ref_model")
    check(cases, lambda c: run_on_target(c, tmp_path, flags, machine))
