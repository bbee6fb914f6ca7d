"""Does the model inside an image compute what the original computes?

The image is the firmware itself, unmodified: it starts in the emulator and is stopped at ``main``; then
the model's run function is called as a debugger would, with inputs and outputs in RAM that is free.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.frontend.model_file import default_profile
from ..errors import ImageError, OptionError, VerifyError
from ..image.elf import read_image
from ..image.metadata import Metadata, TensorInfo, load_metadata
from ..samples import load_samples, numbers, random_samples, reals
from .compare import Array, best, difference
from .litert import litert_kernels
from .reference import reference_outputs
from .runner import Runner
from .session import start_session
from .tflm import has_tflm, tflm_outputs
from .verdict import Kernels, Mismatch, Original, VerifyResult

if TYPE_CHECKING:
    from ..board import Board


def verify_image(
    elf: Path,
    metadata: Path,
    model: Path,
    board: Board,
    inputs: Path | None = None,
    samples: int = 16,
    *,
    optimisation: str = "default",
    timeout: float = 120.0,
) -> VerifyResult:
    """Run the model in `elf` on the emulator of `board` and compare it with what the original answers.

    Recorded answers come first. Else onnxruntime is asked; for a TFLite model of profile `tflm` TensorFlow
    Lite Micro, if it is installed and takes the model, else LiteRT's reference kernels. These round as
    profile `litert` does: a model of another profile that differs is not shown to be right.

    A model that was quantised when it was compiled is compared with the quantised model; what it has in
    common with the original is told as well.

    Args:
        elf: the firmware.
        metadata: the ``<name>.json`` of the model in it.
        model: the original file.
        inputs: recorded inputs, see `tvm_tool.samples`; random ones if None.
        samples: how many of them are used at most.
        optimisation: graph optimisations of onnxruntime, see `reference.OPTIMISATIONS`.
        timeout: seconds that one run may take in the emulator.

    Returns:
        What was found; its `check` raises if the outputs differ too much.

    Raises:
        VerifyError: the model failed, faulted, hung, or wrote where it must not.
        TargetError: the image does not run in the emulator.
    """
    if samples < 1:
        raise OptionError(f"{samples} samples verify nothing", expected="at least 1")
    info = load_metadata(metadata)
    _check_file(model, info.sha256, f"the file that {info.file.name} was made from: {info.model}")
    image = read_image(elf)
    if inputs:
        feed = load_samples(inputs, info.inputs, samples, () if info.quantized else info.outputs)
    else:
        feed = random_samples(info.inputs, samples)
    names = [tensor.name for tensor in info.outputs]
    fed = [{t.name: numbers(t, sample[t.name]) for t in info.inputs} for sample in feed.inputs]
    want = original = asked = None
    if feed.outputs:
        pairs = [zip(info.outputs, answers, strict=True) for answers in feed.outputs]
        want = [[numbers(tensor, values) for tensor, values in pair] for pair in pairs]
    if info.quantized:
        _check_file(info.quantized, info.quantized_sha256, "the file that was made with it")
        want = list(reference_outputs(info.quantized, fed, names, "none"))
        real = [{t.name: reals(t, sample[t.name]) for t in info.inputs} for sample in feed.inputs]
        original = list(reference_outputs(model, real, names, optimisation))
    elif want is None and model.suffix.lower() == ".tflite":
        asked, want = _tflite_answers(model, fed, names, info)
    elif want is None:
        want = list(reference_outputs(model, fed, names, optimisation, info))
    run = image.function(f"{info.prefix}_run")
    if run is None:
        raise ImageError(
            f"the image has no function {info.prefix}_run",
            file=elf,
            remedy=f"the linker drops it if nothing calls it: link with -Wl,--undefined={info.prefix}_run",
        )
    # Link-time optimisation may merge main with its caller; then the model's first call is as good.
    with start_session(image, board, image.function("main") or run) as session:
        runner = Runner(session, image, info, board, run, timeout)
        runs = [runner.run(sample) for sample in fed]
        stack_bytes = runner.stack_bytes()
    outputs = [values for _, values in runs]
    counts = [called.instructions for called, _ in runs if called.instructions is not None]
    return VerifyResult(
        title=f"{elf.name}: {info.model} on {board.name}",
        elf=elf,
        origin=feed.origin,
        samples=len(runs),
        largest=_largest(info.outputs, outputs, want),
        agreement=_hits(outputs, [best(values[0]) for values in want]),
        accuracy=_hits(outputs, feed.labels),
        original=_compare(info.outputs, outputs, original, feed.labels) if original else None,
        stack_bytes=stack_bytes,
        stack_reserve=runner.stack.top - runner.stack.bottom,
        instructions=(min(counts), max(counts)) if counts else None,
        kernels=asked,
    )


def _tflite_answers(
    model: Path, samples: Sequence[dict[str, Array]], names: Sequence[str], info: Metadata
) -> tuple[Kernels, list[list[Array]]]:
    """Who is asked about a TFLite model, and the answers."""
    rounding = info.rounding or default_profile(model)
    if rounding == "tflm" and has_tflm():
        answers = tflm_outputs(model, samples, names)
        if answers is not None:
            return Kernels("TensorFlow Lite Micro", rounding, round_alike=True), answers
    kind = litert_kernels(model)
    alike = rounding == "litert" and kind == "reference"
    found = list(reference_outputs(model, samples, names, info=info))
    return Kernels(f"LiteRT's {kind} kernels", rounding, alike), found


def _check_file(model: Path, sha256: str, expected: str) -> None:
    try:
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
    except OSError as error:
        raise VerifyError("the model cannot be read", file=model, where=error.strerror) from None
    if digest != sha256:
        raise VerifyError(
            "this is not the model that was compiled",
            file=model,
            expected=expected,
            remedy="build the firmware again, or name the other file",
        )


def _largest(
    tensors: Sequence[TensorInfo], got: Sequence[Sequence[Array]], want: Sequence[Sequence[Array]]
) -> Mismatch:
    """The largest difference of all runs; one that is wrong comes before one that is not."""
    found = []
    for number, (outputs, references) in enumerate(zip(got, want, strict=True)):
        for tensor, values, reference in zip(tensors, outputs, references, strict=True):
            if reference.shape != tensor.shape:
                raise VerifyError(
                    f"the reference has shape {list(reference.shape)}, the image {list(tensor.shape)}",
                    where=f"output '{tensor.name}'",
                )
            found.append(Mismatch(number, tensor.name, difference(values, reference)))
    return max(found, key=lambda m: (m.difference.wrong, m.difference.error))


def _hits(outputs: Sequence[Sequence[Array]], classes: Sequence[int | None] | None) -> int | None:
    """How many runs name the expected class in their first output; None if there are no classes."""
    if classes is None or not outputs or best(outputs[0][0]) is None:
        return None
    return sum(best(values[0]) == wanted for values, wanted in zip(outputs, classes, strict=True))


def _compare(
    tensors: Sequence[TensorInfo],
    outputs: Sequence[Sequence[Array]],
    original: Sequence[Sequence[Array]],
    labels: Sequence[int] | None,
) -> Original:
    """What quantising has changed: the image beside the float model."""
    errors = [
        float(np.abs(reals(tensor, got).astype(np.float64) - want).max(initial=0.0))
        for values, wanted in zip(outputs, original, strict=True)
        for tensor, got, want in zip(tensors, values, wanted, strict=True)
    ]
    return Original(
        largest=max(errors),
        agreement=_hits(outputs, [best(values[0]) for values in original]),
        accuracy=_hits(original, labels),
    )
