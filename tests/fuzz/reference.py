"""The runtimes that models are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime

from tests.support.host import Array


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
