"""Both models on the calibration data: what the quantised one gets otherwise, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx

from ...image.metadata import TensorInfo
from ...samples import Samples, numbers, reals
from ..layers import Array
from .report import Errors, LayerReport, OutputReport, Report, decibels
from .runtime import Run, runner

LAYER_SAMPLES = 32
"""So many samples show where precision is lost; all of them are used for the outputs."""


def measure(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    samples: Samples,
) -> Report:
    """Compare the float model `before` with the quantised model `after`.

    The latter is computed as it stands, operator by operator: what its C code gives as well.

    Args:
        inputs: of the quantised model, in order; `outputs` likewise.
        samples: real inputs, and what is known of the right answers.
    """
    names = [tensor.name for tensor in outputs]
    float_run, int8_run = runner(before), runner(after)
    wanted, got = [], []
    for sample in samples.inputs:
        found = float_run(sample)
        wanted.append([found[name] for name in names])
        found = int8_run(_fed(inputs, sample))
        got.append([reals(tensor, found[tensor.name]) for tensor in outputs])
    recorded = samples.outputs
    reports = [
        OutputReport(
            name,
            _errors([g[i] for g in got], [w[i] for w in wanted]),
            _errors([w[i] for w in wanted], [r[i] for r in recorded]) if recorded else None,
            _errors([g[i] for g in got], [r[i] for r in recorded]) if recorded else None,
        )
        for i, name in enumerate(names)
    ]
    classes = samples.labels
    if classes is None and recorded and recorded[0][0].size > 1:
        classes = [int(answers[0].argmax()) for answers in recorded]
    right = None
    if classes is not None and wanted[0][0].size > 1:
        right = _hits(wanted, classes), _hits(got, classes)
    layers = _layers(before, after, inputs, outputs, samples.inputs[:LAYER_SAMPLES])
    return Report(samples.origin, len(samples.inputs), right, tuple(reports), layers)


def _fed(inputs: Sequence[TensorInfo], sample: Mapping[str, Array]) -> dict[str, Array]:
    return {tensor.name: numbers(tensor, sample[tensor.name]) for tensor in inputs}


def _hits(outputs: Sequence[Sequence[Array]], classes: Sequence[int]) -> int:
    return sum(int(values[0].argmax()) == right for values, right in zip(outputs, classes, strict=True))


def _errors(got: Sequence[Array], want: Sequence[Array]) -> Errors:
    a, b = (np.stack(values).astype(np.float64) for values in (got, want))
    sizes = np.abs(a - b)
    agreement = None
    if b[0].size > 1:
        places = (values.reshape(len(values), -1).argmax(axis=1) for values in (a, b))
        agreement = int(np.equal(*places).sum())
    signal, noise = float(np.square(b).sum()), float(np.square(sizes).sum())
    return Errors(float(sizes.max()), float(sizes.mean()), decibels(signal, noise), agreement)


# Layer by layer


def _layers(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    samples: Sequence[Mapping[str, Array]],
) -> tuple[LayerReport, ...]:
    """Each node of `before`, or several that became one, whose result also exists in `after`."""
    floats = [name for node in before.graph.node for name in node.output[:1]]
    floats += [tensor.name for tensor in inputs]
    twins = _twins(after, floats)
    ratios = _ratios(
        runner(before, [name for name in floats if name in twins]),
        runner(after, twins.values()),
        twins,
        [*inputs, *outputs],
        samples,
        inputs,
    )
    first: dict[str, onnx.NodeProto] = {}
    layers = []
    for node in before.graph.node:
        name = node.output[0]
        sources = [r for r in (ratios.get(source) for source in node.input) if r is not None]
        worst = min(sources, default=None)
        owner = next((first[source] for source in node.input if source in first), node)
        if name in twins:
            own = ratios[name]
            lost = None if own is None or worst is None else worst - own
            layers.append(LayerReport(owner.name, owner.op_type, own, lost))
        else:  # One with the nodes behind it, such as a convolution with its activation.
            first[name], ratios[name] = owner, worst
    return tuple(layers)


def _twins(after: onnx.ModelProto, names: Iterable[str]) -> dict[str, str]:
    """The value in the quantised model that stands for each of `names`, where there is one.

    That is what comes out of the Q/DQ pair behind the value: limits and rounding are in it.
    """
    quantised = {n.input[0]: n.output[0] for n in after.graph.node if n.op_type == "QuantizeLinear"}
    real = {n.input[0]: n.output[0] for n in after.graph.node if n.op_type == "DequantizeLinear"}
    made = {name for node in after.graph.node for name in node.output}
    made |= {value.name for value in after.graph.input}
    twins = {}
    for name in names:
        if name in made:
            numbers_of = quantised.get(name, name)
            twins[name] = real.get(numbers_of, numbers_of)
    return twins


def _ratios(
    float_run: Run,
    int8_run: Run,
    twins: Mapping[str, str],
    interface: Sequence[TensorInfo],
    samples: Sequence[Mapping[str, Array]],
    inputs: Sequence[TensorInfo],
) -> dict[str, float | None]:
    """Signal to noise, in decibels, of each value in `twins`."""
    tensors = {tensor.name: tensor for tensor in interface}
    signal = dict.fromkeys(twins, 0.0)
    noise = dict.fromkeys(twins, 0.0)
    for sample in samples:
        fed = _fed(inputs, sample)
        wanted = {**sample, **float_run(sample)}
        got = {**fed, **int8_run(fed)}
        for name, twin in twins.items():
            values = got[twin]
            values = reals(tensors[twin], values) if twin in tensors else values
            want = wanted[name].astype(np.float64)
            signal[name] += float(np.square(want).sum())
            noise[name] += float(np.square(values.astype(np.float64) - want).sum())
    return {name: decibels(signal[name], noise[name]) for name in twins}
