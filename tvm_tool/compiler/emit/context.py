"""What the generated files are made from, and what several of them need."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...options import ModelOptions
from ..c_text import c_type
from ..program import MemoryPlan, Place, Program, Tensor
from ..quantized_layers import Quantization

ALIGN = 16
"""Alignment in bytes of the workspace, of every constant, and of tensors in an instance's memory."""


@dataclass(frozen=True)
class ModelSource:
    """What the files say about where the model came from and what compiled it.

    Attributes:
        weights: where the constants go.
        arena: where the workspace goes.
        scales: how the integers of inputs and outputs stand for real values, by name in the model.
        quantization: what the metadata say about post-training quantisation; None if there was none.
    """

    file: str
    sha256: str
    opset: int
    versions: Mapping[str, str]
    board: str | None
    weights: Place
    arena: Place
    scales: Mapping[str, Quantization] = field(default_factory=dict)
    quantization: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Context:
    program: Program
    plan: MemoryPlan
    options: ModelOptions
    source: ModelSource

    @property
    def prefix(self) -> str:
        return f"tvmgen_{self.options.name}"

    def symbol(self, tensor: Tensor) -> str:
        return f"{self.prefix}_{tensor.name}"

    @property
    def ready(self) -> int:
        """The word in the workspace that says that the states are set: another for every model."""
        tensors = [self.program.tensors[state.tensor] for state in self.program.states]
        layout = [(t.name, t.dtype, t.shape) for t in tensors]
        return zlib.crc32(repr((self.options.name, self.source.sha256, layout)).encode()) | 1


def aligned(value: int) -> int:
    """`value` rounded up to `ALIGN`."""
    return -(-value // ALIGN) * ALIGN


def comment_safe(text: str) -> str:
    """`text` without what would end or nest a C comment, break a line or a string."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace('"', "'")
    return "".join(c if c.isprintable() else "?" for c in safe)


def interface(context: Context) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and outputs; their place in an instance's memory comes behind the workspace."""
    place = aligned(context.plan.bytes)
    sides: list[list[dict[str, Any]]] = []
    for indices in (context.program.inputs, context.program.outputs):
        side = []
        for index in indices:
            tensor = context.program.tensors[index]
            how = context.source.scales.get(tensor.source)
            offset = context.plan.tensors.get(index) if context.options.workspace_io else None
            side.append(
                {
                    "label": comment_safe(tensor.source),
                    "source": tensor.source,
                    "c_name": tensor.name,
                    "C_NAME": tensor.name.upper(),
                    "dtype": tensor.dtype,
                    "dtype_code": f"TVM_{tensor.dtype.upper()}",
                    "c_type": c_type(tensor.dtype),
                    "shape": list(tensor.shape),
                    "dims": "".join(f"[{d}]" for d in tensor.shape),
                    "elements": tensor.elements,
                    "bytes": tensor.bytes,
                    "itemsize": tensor.bytes // tensor.elements,
                    "scale": how.scale if how else None,
                    "zero_point": how.zero_point if how else None,
                    "scale_text": f"{np.float32(how.scale)!s}f" if how else "0.0f",
                    "offset": offset,
                    "memory_offset": place if offset is None else offset,
                }
            )
            if offset is None:
                place += aligned(tensor.bytes)
        sides.append(side)
    return sides[0], sides[1]
