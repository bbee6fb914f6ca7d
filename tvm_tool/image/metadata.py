"""The ``<name>.json`` that stands beside a generated model, as far as a linked image is concerned."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ImageError

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1


@dataclass(frozen=True)
class TensorInfo:
    """One input or output of the model.

    Attributes:
        name: as in the original model.
        dtype: as numpy spells it, or bfloat16.
        shape: dimensions, none of them free.
        scale: real values are ``scale * (q - zero_point)``; None where it is not quantised.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    scale: float | None = None
    zero_point: int = 0

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def element(self) -> np.dtype[Any]:
        """The type of the elements; numpy knows bfloat16 from ml_dtypes, on which onnx depends."""
        if self.dtype == "bfloat16":
            import ml_dtypes  # noqa: F401 - tells numpy the name
        import numpy as np

        return np.dtype(self.dtype)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype


@dataclass(frozen=True)
class LayerInfo:
    """One layer of the model: its name there, what it computes, the kernel, and why no faster one does."""

    name: str
    operator: str
    kernel: str
    declined: str
    macs: int
    weights_bytes: int
    scratch_bytes: int


@dataclass(frozen=True)
class Metadata:
    """What the compiler says about one model.

    Attributes:
        file: the JSON file, for messages.
        model: file name of the original model.
        sha256: its digest.
        workspace: symbol of the static workspace.
        workspace_bytes: its size.
        workspace_align: its alignment.
        workspace_region: region that it was put in, None for the board's own place.
        weights: symbols of the constants.
        weights_region: region that they were put in, None for the board's own place.
        functions: C functions of the layers, in order.
        state: the option of this name: what the model keeps from one run to the next.
        states: what it keeps, under the names that the compiler gave them.
        rounding: the option of this name; empty for the default.
        shapes: the option of this name.
        layers: in order.
        quantized: the model that was made of the original by post-training quantisation, beside `file`;
            None if there was none.
        quantized_sha256: its digest.
    """

    file: Path
    name: str
    prefix: str
    model: str
    sha256: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    workspace: str
    workspace_bytes: int
    workspace_align: int
    workspace_region: str | None
    weights: tuple[str, ...]
    weights_region: str | None
    functions: tuple[str, ...]
    quantized: Path | None = None
    quantized_sha256: str = ""
    state: tuple[str, ...] = ()
    states: tuple[TensorInfo, ...] = ()
    rounding: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    layers: tuple[LayerInfo, ...] = ()


def load_metadata(file: Path) -> Metadata:
    """Read `file`; ImageError if it is not what the compiler writes."""
    remedy = "compile the model again"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ImageError(
            "the metadata of the model cannot be read", file=file, where=error.strerror, remedy=remedy
        ) from None
    except ValueError:
        raise ImageError("this is not JSON", file=file, remedy=remedy) from None
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise ImageError(
            f"the metadata has format {found}", file=file, expected=f"format {FORMAT}", remedy=remedy
        )
    try:
        return _metadata(file, data)
    except (KeyError, TypeError, ValueError) as error:
        raise ImageError(f"the metadata is incomplete: {error}", file=file, remedy=remedy) from None


def _metadata(file: Path, data: Mapping[str, Any]) -> Metadata:
    workspace, weights = data["workspace"], data["weights"]
    made, options = data.get("quantization"), data.get("options", {})
    return Metadata(
        file=file,
        name=data["name"],
        prefix=data["prefix"],
        model=data["model"]["file"],
        sha256=data["model"]["sha256"],
        inputs=tuple(_tensor(t) for t in data["inputs"]),
        outputs=tuple(_tensor(t) for t in data["outputs"]),
        workspace=workspace["symbol"],
        workspace_bytes=int(workspace["bytes"]),
        workspace_align=int(workspace["align"]),
        workspace_region=workspace["region"],
        weights=tuple(s["name"] for s in weights["symbols"]),
        weights_region=weights["region"],
        functions=tuple(layer["function"] for layer in data["layers"]),
        quantized=file.parent / made["model"] if made else None,
        quantized_sha256=made["sha256"] if made else "",
        state=tuple(options.get("state", ())),
        states=tuple(_tensor(t) for t in data.get("states", ())),
        rounding=options.get("rounding") or "",
        shapes={name: tuple(shape) for name, shape in options.get("shapes", {}).items()},
        layers=tuple(_layer(layer) for layer in data["layers"]),
    )


def _layer(data: Mapping[str, Any]) -> LayerInfo:
    return LayerInfo(
        name=str(data.get("name", "")),
        operator=str(data.get("operator", "")),
        kernel=str(data.get("kernel", "")),
        declined=str(data.get("declined", "")),
        macs=int(data.get("macs", 0)),
        weights_bytes=int(data.get("weights_bytes", 0)),
        scratch_bytes=int(data.get("scratch_bytes", 0)),
    )


def _tensor(data: Mapping[str, Any]) -> TensorInfo:
    shape = tuple(int(d) for d in data["shape"])
    scale, zero_point = data.get("scale"), data.get("zero_point")
    return TensorInfo(data["name"], data["dtype"], shape, int(data["bytes"]), scale, zero_point or 0)
