"""Random TFLite models, in floats and in int8."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tests.fuzz import tflite_elementwise as elementwise
from tests.fuzz import tflite_movement as movement
from tests.fuzz import tflite_products as products
from tests.fuzz.case import Case
from tests.fuzz.draw import CHANNELS, INPUTS, MOST_STEPS, SAMPLES, Draw, noise
from tests.fuzz.tflite_graph import Graph

STEPS: Sequence[Callable[[Graph, str], str | None]] = (
    *[products.conv_2d] * 7, *[products.depthwise_conv_2d] * 4, *[products.fully_connected] * 3,
    *[products.pool_2d] * 3, *[products.batch_matmul] * 2, *[products.transpose_conv] * 2,
    *[elementwise.binary] * 5, *[elementwise.unary] * 3, *[elementwise.reduce] * 2,
    *[elementwise.extremum] * 2, elementwise.leaky_relu, elementwise.prelu, elementwise.requantise,
    elementwise.softmax, *[movement.concatenation] * 2, movement.depth_to_space, movement.gather,
    movement.pad, *[movement.reshape] * 2, *[movement.resize] * 2, movement.slice_, movement.split,
    movement.strided_slice, movement.transpose,
)  # fmt: skip


def _case(quantised: bool, seed: int, folder: Path, without: Collection[int] = ()) -> Case:
    """A model of NHWC pictures."""
    graph = Graph(quantised)
    graph.draw = d = Draw(seed, 0)
    shape = (1, d.whole(2, 9), d.whole(1, 9), d.one(CHANNELS))
    first = x = graph.tensor(shape)
    ends = []
    for step in range(1, d.whole(2, MOST_STEPS) + 1):
        graph.draw = Draw(seed, step)
        made = None if step in without else graph.draw.one(STEPS)(graph, x)
        if made and graph.draw.chance(0.15):
            ends.append(made)
        x = made or x
    if x == first:
        x = elementwise.unary(graph, x)
    path = folder / "model.tflite"
    graph.write(path, [first], list(dict.fromkeys([x, *ends])))
    rng = np.random.default_rng([seed, INPUTS])
    dtype = graph.tensors[first].dtype
    samples = [{first: noise(rng, shape, dtype)} for _ in range(SAMPLES)]
    options = {"optimize": "size" if seed % 3 == 0 else "speed", "workspace_io": seed % 2 == 0}
    return Case(path, samples, {**options, "rounding": "litert"})


float_case = partial(_case, False)
int8_case = partial(_case, True)


def micro_case(seed: int, folder: Path, without: Collection[int]) -> Case:
    """The int8 case of the same seed as TensorFlow Lite Micro rounds."""
    case = int8_case(seed, folder, without)
    return replace(case, options={**case.options, "rounding": "tflm"})
