"""What a TFLite model answers: LiteRT's interpreter, imported only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compiler.frontend.tflite_file import read_tflite
from ..errors import ModelError, ToolchainError, did_you_mean
from .compare import Array

OPTIMISED = frozenset({"CEIL", "ELU", "ROUND", "LOCAL_RESPONSE_NORMALIZATION", "SUM"})
"""Operators that the reference kernels lack or get wrong: their normalisation leaves out the last channel of
each window, their sum takes int8 for unsigned. Models with one of them are given to the optimised kernels."""


def litert_kernels(model: Path) -> str:
    """Which kernels of LiteRT are asked, in words."""
    operators = {operator.kind for operator in read_tflite(model).operators}
    return "optimised" if operators & OPTIMISED else "reference"


def litert_outputs(
    model: Path, samples: Sequence[Mapping[str, Array]], outputs: Sequence[str], shapes: Mapping[str, Any]
) -> Iterator[list[Array]]:
    """The values of `outputs`, one list for each of `samples`, in their order.

    One interpreter takes all samples: variables go from one to the next, as in the firmware.

    Args:
        model: a TFLite file.
        samples: arrays by the name of the model's input.
        shapes: inputs whose shape is set by the option of this name.

    Raises:
        ToolchainError: LiteRT is not installed.
        ModelError: it does not take the model, or the model has no such output.
    """
    interpreter, file = _interpreter(model), read_tflite(model)
    inputs = {tensor.name: tensor.index for tensor in file.inputs}
    try:
        for name, shape in shapes.items():
            interpreter.resize_tensor_input(inputs[name], shape)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"LiteRT does not take the model: {_first_line(error)}", file=model) from None
    found = {tensor.name: tensor.index for tensor in file.outputs}
    for name in outputs:
        if name not in found:
            raise ModelError(
                f"the model has no output '{name}'", file=model, remedy=did_you_mean(name, found)
            )
    for sample in samples:
        try:
            for name, values in sample.items():
                interpreter.set_tensor(inputs[name], values)
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"LiteRT cannot run the model: {_first_line(error)}", file=model) from None
        yield [interpreter.get_tensor(found[name]).copy() for name in outputs]


def _interpreter(model: Path) -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        raise ToolchainError(
            "there is no reference for a TFLite model: LiteRT is not installed",
            file=model,
            expected="LiteRT, or recorded answers: arrays under the outputs' names in the .npz of the inputs",
            remedy="pip install ai-edge-litert, or --inputs FILE.npz with the answers",
        ) from None
    kinds = {
        "reference": OpResolverType.BUILTIN_REF,
        "optimised": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    }
    try:
        return Interpreter(str(model), experimental_op_resolver_type=kinds[litert_kernels(model)])
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"LiteRT does not take the model: {_first_line(error)}", file=model) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
