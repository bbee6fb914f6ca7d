"""What the original TFLite model answers: LiteRT's reference kernels, imported only when they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ModelError, ToolchainError
from ..image.metadata import Metadata

Array = npt.NDArray[Any]

RECORDED = "recorded answers: arrays named as the model's outputs in the .npz of the inputs"
INTEGERS = ("int8", "uint8")


def litert_outputs(
    model: Path, samples: Sequence[Mapping[str, Array]], outputs: Sequence[str], info: Metadata | None
) -> Iterator[list[Array]]:
    """The values of `outputs`, one list for each of `samples`; variables go from one sample to the next.

    Raises:
        ToolchainError: LiteRT is not installed.
        ModelError: LiteRT does not take the model, or rounds otherwise than the compiled one.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        raise ToolchainError(
            "LiteRT, the reference runtime of TFLite models, is not installed",
            file=model,
            expected=f"LiteRT, or {RECORDED}",
            remedy="pip install ai-edge-litert, or --inputs FILE.npz with them, see numpy.savez",
        ) from None
    try:
        kernels = OpResolverType.BUILTIN_REF
        interpreter = Interpreter(model_path=str(model), experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"LiteRT does not take the model: {_first_line(error)}", file=model) from None
    _check_rounding(model, interpreter, info)
    places = {d["name"]: d["index"] for d in interpreter.get_input_details()}
    results = {d["name"]: d["index"] for d in interpreter.get_output_details()}
    for sample in samples:
        try:
            for name, array in sample.items():
                interpreter.set_tensor(places[name], array)
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"LiteRT cannot run the model: {_first_line(error)}", file=model) from None
        yield [np.array(interpreter.get_tensor(results[name])) for name in outputs]


def _check_rounding(model: Path, interpreter: Any, info: Metadata | None) -> None:
    """LiteRT and TensorFlow Lite Micro differ by one unit now and then, in layer after layer."""
    if info is None or info.rounding == "litert":
        return
    if any(np.dtype(t["dtype"]).name in INTEGERS for t in interpreter.get_tensor_details()):
        raise ModelError(
            "the model is compiled to round as TensorFlow Lite Micro does; LiteRT rounds otherwise",
            file=model,
            expected=RECORDED,
            remedy="--inputs FILE.npz with them, see numpy.savez; or compile with rounding='litert'",
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
