"""Whole networks through the compiler, on this machine, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.models import mlperf_tiny
from tests.support.host import HostModel, build, error_of
from tests.unit.onnx_models import Net

TOLERANCE = 1e-5
DIGITS = Path(__file__).parents[2] / "examples" / "digits"

# Planned bytes are at most these: the lower bound, which the planner must reach.
TINY = {
    "kws": (mlperf_tiny.kws, 2_656_768, 65_000),
    "vww": (mlperf_tiny.vww, 7_489_664, 222_000),
    "ic": (mlperf_tiny.ic, 12_501_632, 198_000),
    "ad": (mlperf_tiny.ad, 264_192, 1_024),
}


def check(model: onnx.ModelProto | Path, folder: Path, samples: int = 3) -> HostModel:
    built = build(model, folder)
    path = model if isinstance(model, Path) else folder / "model.onnx"
    session = onnxruntime.InferenceSession(str(path))
    rng = np.random.default_rng(0)
    data = [
        {i["name"]: rng.standard_normal(i["shape"]).astype(i["dtype"]) for i in built.metadata["inputs"]}
        for _ in range(samples)
    ]
    for sample, outputs in zip(data, built.run(data), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            assert error_of(got, np.asarray(want)) <= TOLERANCE
    return built


@pytest.mark.parametrize("name", TINY)
def test_mlperf_tiny(name: str, tmp_path: Path) -> None:
    make, macs, workspace = TINY[name]
    built = check(make(), tmp_path)
    plan = built.compiled.plan
    assert built.compiled.program.macs == macs
    assert plan.bytes == plan.lower_bound <= workspace
    transposes = [c for c in built.compiled.program.calls if "transpose" in c.operator]
    assert len(transposes) <= 1, "one at the input at most"


def test_every_layer_is_named_after_a_node_of_the_model(tmp_path: Path) -> None:
    """Also where the importer makes several steps of a node: a bias, transposed weights, unused outputs."""
    net = Net(17)
    data = net.op("Conv", net.input(1, 3, 6, 6), net.weight(4, 3, 3, 3), net.weight(4))
    data = net.op("LayerNormalization", data, net.positive(4), net.weight(4))
    data = net.op("Gemm", net.op("Flatten", data), net.weight(5, 64), net.weight(5), transB=1)
    model = net.model(net.op("Softmax", data))
    for node in model.graph.node:
        node.name = f"the {node.op_type}"
    layers = check(model, tmp_path).metadata["layers"]
    assert {layer["operator"]: layer["name"] for layer in layers if layer["operator"] != "transpose"} == {
        "conv2d 3x3": "the Conv",
        "layer_norm": "the LayerNormalization",
        "dense": "the Gemm",
        "softmax": "the Softmax",
    }


def test_digits(tmp_path: Path) -> None:
    built = build(DIGITS / "digits.onnx", tmp_path)
    images = np.load(DIGITS / "test_images.npz")
    outputs = built.run([{"image": image[None]} for image in images["image"]])
    session = onnxruntime.InferenceSession(str(DIGITS / "digits.onnx"))
    for image, (scores,) in zip(images["image"], outputs, strict=True):
        assert error_of(scores, session.run(None, {"image": image[None]})[0]) <= TOLERANCE


@pytest.mark.parametrize("make", [mlperf_tiny.kws, mlperf_tiny.ad])
def test_the_smallest_code_gives_the_same(make: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(make(), path)
    speed, size = build(path, tmp_path / "speed"), build(path, tmp_path / "size", optimize="size")
    sample = {i["name"]: np.ones(i["shape"], i["dtype"]) for i in speed.metadata["inputs"]}
    assert error_of(size.run([sample])[0][0], speed.run([sample])[0][0]) <= TOLERANCE
    assert speed.metadata["runtime"] != size.metadata["runtime"]


def test_clang_builds_the_same_code(tmp_path: Path) -> None:
    built = build(DIGITS / "digits.onnx", tmp_path, compiler="clang")
    scores = built.run([{"image": np.zeros((1, 1, 8, 8), np.float32)}])[0][0]
    assert abs(float(scores.sum()) - 1.0) < 1e-5


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (build(DIGITS / "digits.onnx", tmp_path / name).compiled.files for name in ("a", "b"))
    assert first == second
