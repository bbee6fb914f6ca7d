"""What the original model answers: onnxruntime or LiteRT, imported only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ModelError, ToolchainError, did_you_mean
from ..image.metadata import Metadata
from .feedback import open_states
from .litert import litert_outputs

Array = npt.NDArray[Any]

OPTIMISATIONS = ("default", "all", "extended", "basic", "none")


def reference_outputs(
    model: Path,
    samples: Sequence[Mapping[str, Array]],
    outputs: Sequence[str],
    optimisation: str = "default",
    info: Metadata | None = None,
) -> Iterator[list[Array]]:
    """The values of `outputs`, one list for each of `samples`, in their order.

    Args:
        model: the original file.
        samples: arrays by the name of the model's input, with their full shape.
        outputs: names of the model's outputs, in the wanted order.
        optimisation: graph optimisations of onnxruntime, one of `OPTIMISATIONS`. ``default`` means its
            own for a float model, and none for a quantised one: they would round otherwise than the
            model says.
        info: what the compiler says about the model. States that it keeps between two runs start from
            their initial values and go from one sample to the next.
    """
    if model.suffix.lower() == ".tflite":
        yield from litert_outputs(model, samples, outputs, info.shapes if info else {})
        return
    if info and any(tensor.dtype == "bfloat16" for tensor in (*info.inputs, *info.outputs)):
        yield from _defined_outputs(model, samples, outputs, info)
        return
    try:
        import onnxruntime as ort
    except ImportError:
        raise ToolchainError("onnxruntime is not installed", remedy="pip install onnxruntime") from None
    options = ort.SessionOptions()
    options.log_severity_level = 3
    # One thread: the order of additions, and with it the last bit, is the same every time.
    options.intra_op_num_threads = 1
    if optimisation == "default" and _is_quantized(model):
        optimisation = "none"
    if optimisation != "default":
        level = "DISABLE_ALL" if optimisation == "none" else f"ENABLE_{optimisation.upper()}"
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    feedback = open_states(model, info)
    try:
        session = ort.InferenceSession(feedback.model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's own classes have no common base
        raise ModelError(
            f"onnxruntime does not take the model: {str(error).splitlines()[0]}", file=model
        ) from None
    known = [output.name for output in session.get_outputs()]
    for name in outputs:
        if name not in known:
            raise ModelError(
                f"the model has no output '{name}'", file=model, remedy=did_you_mean(name, known)
            )
    states = dict(feedback.first)
    for sample in samples:
        try:
            found = session.run([*outputs, *feedback.inputs], {**sample, **states})
        except Exception as error:  # noqa: BLE001 - as above
            raise ModelError(
                f"onnxruntime cannot run the model: {str(error).splitlines()[0]}", file=model
            ) from None
        values = [np.asarray(value) for value in found]
        states = dict(zip(feedback.inputs.values(), values[len(outputs) :], strict=True))
        yield values[: len(outputs)]


def _defined_outputs(
    model: Path, samples: Sequence[Mapping[str, Array]], outputs: Sequence[str], info: Metadata
) -> Iterator[list[Array]]:
    """What onnx's own reference evaluator answers: onnxruntime has next to no kernels for bfloat16."""
    from onnx.reference import ReferenceEvaluator

    feedback = open_states(model, info)
    try:
        evaluator = ReferenceEvaluator(feedback.model)
        states = dict(feedback.first)
        for sample in samples:
            found = evaluator.run([*outputs, *feedback.inputs], {**sample, **states})
            values = [np.asarray(value) for value in found]
            states = dict(zip(feedback.inputs.values(), values[len(outputs) :], strict=True))
            yield values[: len(outputs)]
    except Exception as error:  # noqa: BLE001 - it raises whatever numpy raises
        raise ModelError(
            f"onnx's reference evaluator cannot run the model: {(str(error).splitlines() or ['?'])[0]}",
            file=model,
        ) from None


def _is_quantized(model: Path) -> bool:
    import onnx

    try:
        graph = onnx.load(model, load_external_data=False).graph
    except Exception:  # noqa: BLE001 - onnxruntime will say what is wrong with it
        return False
    return any(node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear") for node in graph.node)
