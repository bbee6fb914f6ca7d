"""Model files of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .onnx_inputs import Shape
from .onnx_model import OnnxModel, load_onnx

TFLITE = ".tflite"


def load_model(path: Path, shapes: Mapping[str, Shape], state: Sequence[str] = ()) -> OnnxModel:
    """Read a model by the ending of its name: ``.tflite``, anything else is ONNX."""
    if path.suffix.lower() == TFLITE:
        from .tflite_model import load_tflite

        return load_tflite(path, shapes, state)
    return load_onnx(path, shapes, state)


def default_profile(path: Path) -> str:
    """The rounding profile that the authors of a model in this format have in mind."""
    return "tflm" if path.suffix.lower() == TFLITE else "onnx"
