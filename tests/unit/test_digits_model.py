"""The network of the demo is as good as its README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


def dims(value: onnx.ValueInfoProto) -> list[int]:
    tensor = value.type.tensor_type
    assert tensor.elem_type == onnx.TensorProto.FLOAT
    return [dim.dim_value for dim in tensor.shape.dim]


def test_model_has_the_promised_form() -> None:
    model = onnx.load(DIGITS / "digits.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    assert model.ir_version <= 10
    assert {value.name: dims(value) for value in model.graph.input} == {"image": [1, 1, 8, 8]}
    assert {value.name: dims(value) for value in model.graph.output} == {"scores": [1, 10]}
    operators = [node.op_type for node in model.graph.node]
    assert [operators.count(kind) for kind in ("Conv", "Gemm", "Softmax")] == [3, 2, 1]
    assert sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer) == 8162


def test_most_held_out_images_are_recognised() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(DIGITS / "digits.onnx", providers=["CPUExecutionProvider"])
    with np.load(DIGITS / "test_images.npz") as data:
        images, labels = data["image"], data["labels"]
    assert (images.dtype, images.shape) == (np.float32, (360, 1, 8, 8))
    assert (labels.dtype, labels.shape) == (np.int64, (360,))
    assert set(labels) == set(range(10))
    scores = [session.run(["scores"], {"image": image[None]})[0][0] for image in images]
    right = sum(int(np.argmax(score) == label) for score, label in zip(scores, labels, strict=True))
    # 359 when it was trained; another build of the runtime may round the odd one differently.
    assert right >= 358
    assert f"{right} of these 360 right" in (DIGITS / "README.md").read_text()


def test_held_out_images_are_held_out() -> None:
    """The images are the last fifth of scikit-learn's own, in the order that training shuffles them."""
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    order = np.random.default_rng(20).permutation(len(data.images))
    with np.load(DIGITS / "test_images.npz") as stored:
        np.testing.assert_array_equal(stored["image"][:, 0] * 16, data.images[order[:360]])
        np.testing.assert_array_equal(stored["labels"], data.target[order[:360]])


def test_images_for_calibration_are_of_the_training() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    some = np.random.default_rng(20).permutation(len(data.images))[360:560]
    with np.load(DIGITS / "calibration_images.npz") as stored:
        np.testing.assert_array_equal(stored["image"][:, 0] * 16, data.images[some])
        np.testing.assert_array_equal(stored["labels"], data.target[some])
