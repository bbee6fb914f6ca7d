"""Models that other people made, in generated C, against the runtime of their format.

They stand in the folder `field` of the model collection; without it nothing is tested here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from tests.support.host import Array, HostModel, build, error_of
from tvm_tool.compiler.frontend.onnx_model import load_onnx

MODELS = Path(os.environ.get("TVM_TOOL_MODELS", Path(__file__).parents[3] / "shared" / "models")) / "field"
TOLERANCE = 1e-5
SAMPLES = 20

if not MODELS.is_dir():
    pytest.skip(f"{MODELS} is not here", allow_module_level=True)

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Model:
    """A file, and the shapes of inputs that it leaves free."""

    file: str
    shapes: Shapes = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return MODELS / self.file

    def build(self, folder: Path) -> HostModel:
        return build(self.path, folder, shapes=dict(self.shapes)) if self.shapes else build(self.path, folder)


KWS_INPUT = "serving_default_input:0"
KWS_QDQ = Model("micro_kws_m_static_qdq.onnx", {KWS_INPUT: (1, 1960)})
KWS_QOPERATOR = Model("micro_kws_m_static_qoperator.onnx")

FLOAT = (
    Model("averagepool_count_include_pad.onnx"),
    Model("cct_tiny_transformer.onnx"),
    Model("conv_2ch_3kernels_randombias.onnx", {"conv2d_input": (2, 5, 5, 2)}),
    Model("lstm_k1_b1_r1.onnx", {"input_1": (1, 4, 5)}),
    Model("mnist-8.onnx"),
    Model("micro_kws_m_static_fp32.onnx"),
)
QUANTISED = (KWS_QDQ, KWS_QOPERATOR, Model("qtdnn_qlinearconv_1d.onnx", {"input": (7, 10)}))


def session_of(model: Path | onnx.ModelProto) -> onnxruntime.InferenceSession:
    """onnxruntime, node by node."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    data = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, settings)


def samples_of(built: HostModel, count: int = SAMPLES) -> list[dict[str, Array]]:
    """Loud and quiet, noise and steps: a network that was trained answers differently to each."""
    rng = np.random.default_rng(1)

    def one(shape: list[int]) -> Array:
        steps = rng.standard_normal(shape).cumsum(-1) / rng.choice([1, 5, 30])
        return np.asarray(rng.choice([0.2, 1.0, 5.0]) * steps + rng.choice([-3, 0, 3]))

    return [
        {i["name"]: one(i["shape"]).astype(i["dtype"]) for i in built.metadata["inputs"]}
        for _ in range(count)
    ]


def outputs_of(built: HostModel, data: list[dict[str, Array]]) -> list[list[Array]]:
    """What the C computes; a network that always answers the same proves nothing."""
    outputs = built.run(data)
    assert len({output[0].tobytes() for output in outputs}) > 1
    return outputs


@pytest.mark.parametrize("model", FLOAT, ids=lambda model: model.file)
def test_float(model: Model, tmp_path: Path) -> None:
    built = model.build(tmp_path)
    data = samples_of(built)
    session = session_of(model.path)
    for sample, outputs in zip(data, outputs_of(built, data), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            assert error_of(got, np.asarray(want)) <= TOLERANCE
    assert built.compiled.plan.bytes == built.compiled.plan.lower_bound


@pytest.mark.parametrize("model", QUANTISED, ids=lambda model: model.file)
def test_quantised(model: Model, tmp_path: Path) -> None:
    """Equal to onnxruntime to the bit; no float between the first quantize and the last dequantize."""
    built = model.build(tmp_path)
    program = built.compiled.program
    assert not program.left_in_float
    kinds = [{program.tensors[i].dtype for i in (*call.inputs, *call.outputs)} for call in program.calls]
    assert {"float32"} not in kinds
    data = samples_of(built)
    session = session_of(model.path)
    for sample, outputs in zip(data, outputs_of(built, data), strict=True):
        for got, want in zip(outputs, session.run(None, sample), strict=True):
            np.testing.assert_array_equal(got, want)


def test_quantised_operators_taken_apart_mean_the_same(tmp_path: Path) -> None:
    """Keyword spotting in QOperator form, and what the importer makes of it: equal in onnxruntime."""
    normal = load_onnx(KWS_QOPERATOR.path, {}).proto
    assert not any(node.domain or node.op_type.startswith("QLinear") for node in normal.graph.node)
    before, after = session_of(KWS_QOPERATOR.path), session_of(normal)
    for sample in samples_of(KWS_QOPERATOR.build(tmp_path)):
        np.testing.assert_array_equal(after.run(None, sample)[0], before.run(None, sample)[0])


def test_two_encodings_of_one_network(tmp_path: Path) -> None:
    """Keyword spotting in QDQ and in QOperator form.

    Their weights are the same numbers with the same scales. Their activations are not: each file was
    calibrated by itself. So the scores differ as those of two quantisations do, the words hardly.
    """
    weights = []
    for model in (KWS_QDQ, KWS_QOPERATOR):
        tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(model.path).graph.initializer}
        weights.append(
            {(a.shape, a.tobytes()) for a in tensors.values() if a.dtype == np.int8 and a.ndim > 1}
        )
    assert weights[0] == weights[1] and len(weights[0]) == 6

    # Inputs of the range that both were calibrated for.
    rng = np.random.default_rng(1)
    data = [{KWS_INPUT: rng.uniform(0, 3, (1, 1960)).astype(np.float32)} for _ in range(SAMPLES)]
    data += [{KWS_INPUT: np.full((1, 1960), level, np.float32)} for level in np.linspace(-3, 3, SAMPLES)]
    qdq, qoperator = (
        np.concatenate([outputs[0] for outputs in outputs_of(model.build(tmp_path / model.file), data)])
        for model in (KWS_QDQ, KWS_QOPERATOR)
    )
    assert np.ptp(qdq, axis=0).max() > 0.2
    np.testing.assert_array_equal(qdq.argmax(axis=1), qoperator.argmax(axis=1))
    np.testing.assert_allclose(qdq, qoperator, atol=0.05)


def test_hello_world(tmp_path: Path) -> None:
    """An int8 TFLite file against the reference kernels of LiteRT, for every input that there is."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    path = MODELS / "hello_world_int8.tflite"
    built = build(path, tmp_path, rounding="litert")
    program = built.compiled.program
    assert not program.left_in_float
    assert {t.dtype for t in program.tensors} <= {"int8", "uint8", "int32"}
    (tensor,) = built.metadata["inputs"]
    data = [{tensor["name"]: np.full(tensor["shape"], x, np.int8)} for x in range(-128, 128)]
    interpreter = Interpreter(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source, target = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    for sample, (got,) in zip(data, outputs_of(built, data), strict=True):
        interpreter.set_tensor(source["index"], sample[tensor["name"]])
        interpreter.invoke()
        np.testing.assert_array_equal(got, interpreter.get_tensor(target["index"]))
