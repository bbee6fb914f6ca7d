"""The runtimes that models are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime

from tests.fuzz.case import OutsideError
from tests.support.host import Array
from tvm_tool.compiler.frontend.tflite_file import read_tflite
from tvm_tool.compiler.frontend.tflite_tensors import Tensor
from tvm_tool.target.tflm import tflm_outputs


def onnx_session(model: Path | bytes) -> onnxruntime.InferenceSession:
    """onnxruntime without optimisations, so that each operator is computed as it stands."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options)


def run_onnx(path: Path, samples: Sequence[dict[str, Array]]) -> list[list[Array]]:
    session = onnx_session(path)
    return [session.run(None, sample) for sample in samples]


def run_litert(path: Path, samples: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """LiteRT with its reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    places = {d["name"]: d["index"] for d in interpreter.get_input_details()}
    results = []
    for sample in samples:
        for name, array in sample.items():
            interpreter.set_tensor(places[name], array)
        interpreter.invoke()
        results.append([interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()])
    return results


def run_micro(path: Path, samples: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """TensorFlow Lite Micro; OutsideError for what it lacks, or computes as if scales were others."""
    file = read_tflite(path)
    for operator in file.operators:
        if operator.kind == "SPACE_TO_BATCH_ND":
            raise OutsideError("SPACE_TO_BATCH_ND is filled with the number 0")
        if operator.kind == "RELU6" and _quantization(operator.x) != _quantization(operator.y):
            raise OutsideError("RELU6 takes numbers of one scale for those of another")
    found = tflm_outputs(path, samples, [tensor.name for tensor in file.outputs])
    if found is None:
        raise OutsideError("it does not take the model")
    return found


def _quantization(tensor: Tensor) -> list[float]:
    assert tensor.scales is not None
    return [*tensor.scales.scale.tolist(), *tensor.scales.zero_point.tolist()]
