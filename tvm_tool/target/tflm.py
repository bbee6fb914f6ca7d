"""What TensorFlow Lite Micro answers about a TFLite model, from its package for Python.

Its interpreter runs in a process of its own: where it meets something that it does not expect, it ends it.

    python -m tvm_tool.target.tflm MODEL < INPUTS.npz > OUTPUTS.npz
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..compiler.frontend.tflite_file import read_tflite
from .compare import Array

ARENA = 64 << 20
"""Bytes for the tensors of a model: more than any microcontroller has."""


def has_tflm() -> bool:
    """Whether the package is installed."""
    return find_spec("tflite_micro") is not None


def tflm_outputs(
    model: Path, samples: Sequence[Mapping[str, Array]], outputs: Sequence[str]
) -> list[list[Array]] | None:
    """The values of `outputs` for each of `samples`, one after the other in one interpreter.

    None if TensorFlow Lite Micro does not take the model.

    Args:
        model: a TFLite file.
        samples: arrays by the name of the model's input.
    """
    file = read_tflite(model)
    places = {tensor.name: index for index, tensor in enumerate(file.outputs)}
    if any(name not in places for name in outputs):
        return None
    feeds = {
        f"{number}/{index}": sample[tensor.name]
        for number, sample in enumerate(samples)
        for index, tensor in enumerate(file.inputs)
    }
    data = io.BytesIO()
    np.savez(data, **feeds)  # type: ignore[arg-type]  # names are never those of its parameters
    command = [sys.executable, "-m", __spec__.name, str(model)]
    done = subprocess.run(command, input=data.getvalue(), capture_output=True, check=False)
    if done.returncode:
        return None
    with np.load(io.BytesIO(done.stdout)) as answers:
        return [[answers[f"{number}/{places[name]}"] for name in outputs] for number in range(len(samples))]


def _main() -> None:
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=ARENA)
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as feeds:
        inputs = [(*map(int, key.split("/")), feeds[key]) for key in feeds]
    count = len(read_tflite(Path(sys.argv[1])).outputs)
    answers: dict[str, Array] = {}
    for number in sorted({number for number, _, _ in inputs}):
        for sample, index, array in inputs:
            if sample == number:
                interpreter.set_input(array, index)
        interpreter.invoke()
        answers |= {f"{number}/{index}": interpreter.get_output(index) for index in range(count)}
    result = io.BytesIO()
    np.savez(result, **answers)  # type: ignore[arg-type]
    sys.stdout.buffer.write(result.getvalue())


if __name__ == "__main__":
    _main()
