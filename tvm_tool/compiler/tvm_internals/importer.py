"""TVM's ONNX importer, with names that lead back to the ONNX nodes."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import onnx_frontend


class _NamingBuilder(relax.BlockBuilder):  # type: ignore[misc]
    """Names every variable after the ONNX node that it comes from: ``n<index>_``."""

    node = 0

    def emit(self, expr: Any, name_hint: str = "") -> Any:
        return super().emit(expr, name_hint or f"n{self.node}_")


class _Importer(onnx_frontend.ONNXGraphImporter):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__({}, "float32", False, True)
        self.bb = _NamingBuilder()

    def _sanitize_name(self, name: str) -> str:
        # Parameters keep their order; their names are ours to make.
        return f"input{self._num_input - 1}"

    def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        self.bb.node = int(attrs["tvm_custom"]["name"].rpartition("#")[2])
        # The importer turns Clip into opaque TIR, which no pattern could see through.
        if op_name == "Clip" and (clip := _clip(inputs, attrs)) is not None:
            return self.bb.emit(clip)
        result = super()._convert_operator(op_name, inputs, attrs, opset)
        return self.bb.emit(result) if isinstance(result, relax.Call) else result


def _clip(inputs: Any, attrs: Any) -> Any:
    bounds = [float(attrs.get("min", -np.inf)), float(attrs.get("max", np.inf))]
    for position in (1, 2):
        if len(inputs) > position and inputs[position] is not None:
            if not isinstance(inputs[position], tvm.ir.GenericConst):
                return None
            bounds[position - 1] = float(inputs[position].value.numpy().reshape(()))
    if np.isnan(bounds).any() or str(inputs[0].ty.dtype) != "float32":
        return None
    return relax.op.clip(inputs[0], *bounds)


def onnx_operators() -> frozenset[str]:
    """Names of the ONNX operators that TVM's importer converts."""
    return frozenset(onnx_frontend._get_convert_map())


def import_onnx(model: Any, opset: int) -> tvm.IRModule:
    """Relax of a normalised ONNX model whose node names end in ``#<index>``.

    Variables of the result are named ``n<index>_...`` after the node that they come from.
    Raises whatever TVM raises; the caller knows the model and words the error.
    """
    importer = _Importer()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return importer.from_onnx(model.graph, opset)


def node_of(var_name: str) -> int | None:
    """Index of the ONNX node after which a Relax variable is named."""
    match = re.match(r"n(\d+)_", var_name)
    return int(match[1]) if match else None
