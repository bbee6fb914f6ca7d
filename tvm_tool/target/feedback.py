"""How the reference runtime keeps the states of a model: outputs that are fed back by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..image.metadata import Metadata

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Feedback:
    """What onnxruntime runs, step by step.

    Attributes:
        model: a path, or the bytes of a model.
        inputs: inputs by the outputs that feed them.
        first: what these inputs are in the first step.
    """

    model: str | bytes
    inputs: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, Array] = field(default_factory=dict)


def open_states(model: Path, info: Metadata | None) -> Feedback:
    """The ONNX file `model` with the states that `info` tells of within reach."""
    if info is None or not info.states:
        return Feedback(str(model))
    import onnx

    from ..compiler.frontend.onnx_model import with_open_states
    from ..compiler.frontend.onnx_state import PERSISTENT, find_pairs

    if PERSISTENT in info.state:
        proto, states = with_open_states(model, info.shapes, info.state)
        inputs, outputs = (
            [v.name for v in side][-len(states) :] for side in (proto.graph.input, proto.graph.output)
        )
        first = {name: state.initial for name, state in zip(inputs, states, strict=True)}
        return Feedback(proto.SerializeToString(), dict(zip(outputs, inputs, strict=True)), first)
    graph = onnx.load(model, load_external_data=False).graph
    pairs = find_pairs(info.state, [v.name for v in graph.input], [v.name for v in graph.output])
    return Feedback(str(model), dict(pairs), {s.name: np.zeros(s.shape, s.dtype) for s in info.states})
