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

from .bits import BITS_FUNCTIONS, bit_cast, call_bits
from .integer_products import INTEGER_PRODUCTS, integer_product
from .pictures import register_resize


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

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        pass  # `onnx_operators` says what is supported, ours included

    def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        self.bb.node = int(attrs["tvm_custom"]["name"].rpartition("#")[2])
        if op_name in BITS_FUNCTIONS:
            return call_bits(self.bb, op_name, inputs[0])
        if op_name == "BitCast":
            return bit_cast(self.bb, inputs[0], onnx_frontend.get_type(attrs["to"]))
        if op_name in INTEGER_PRODUCTS:
            return self.bb.emit(integer_product(op_name, inputs, attrs))
        # The importer turns Clip into opaque TIR, which no pattern could see through.
        if op_name == "Clip" and (clip := _clip(inputs, attrs)) is not None:
            return self.bb.emit(clip)
        if op_name == "Pad" and (pad := _pad(inputs, attrs)) is not None:
            return self.bb.emit(pad)
        if op_name == "Tile" and isinstance(inputs[1], tvm.ir.GenericConst):
            return self.bb.emit(relax.op.tile(inputs[0], inputs[1].value.numpy().tolist()))
        # It reduces a stack of both, of which no pattern could find the operands.
        if op_name in _EXTREMES and _are_two_floats(inputs):
            return self.bb.emit(_EXTREMES[op_name](inputs[0], inputs[1]))
        result = super()._convert_operator(op_name, inputs, attrs, opset)
        if isinstance(result, relax.Tuple):
            return relax.Tuple([self._named(part) for part in result.fields])
        return self._named(result)

    def _named(self, value: Any) -> Any:
        # What the builder has named itself is an intermediate step to it.
        is_step = isinstance(value, relax.Var) and value.name.startswith("lv")
        return self.bb.emit(value) if is_step or isinstance(value, relax.Call) else value


def _pad(inputs: Any, attrs: Any) -> Any:
    """Padding of floats with a constant, as an operator that patterns can see."""
    given = [i.value.numpy() if isinstance(i, tvm.ir.GenericConst) else i for i in inputs[1:]]
    if attrs.get("mode", "constant") not in ("constant", b"constant") or str(inputs[0].ty.dtype) != "float32":
        return None
    if (len(given) > 2 and given[2] is not None) or not all(isinstance(g, np.ndarray) for g in given[:2]):
        return None
    amounts = given[0].reshape(2, -1).T
    value = float(given[1].reshape(())) if len(given) > 1 else 0.0
    if (amounts < 0).any() or not np.isfinite(value):
        return None
    return relax.op.nn.pad(inputs[0], [int(a) for a in amounts.ravel()], "constant", value)


_EXTREMES = {"Max": relax.op.maximum, "Min": relax.op.minimum}


def _are_two_floats(inputs: Any) -> bool:
    return len(inputs) == 2 and all(hasattr(i.ty, "dtype") and str(i.ty.dtype) == "float32" for i in inputs)


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
    """Names of the ONNX operators that can be imported."""
    return frozenset(onnx_frontend._get_convert_map()) | INTEGER_PRODUCTS | {"BitCast"}


def import_onnx(model: Any, opset: int) -> tvm.IRModule:
    """Relax of a normalised ONNX model whose node names end in ``#<index>``.

    Variables of the result are named ``n<index>_...`` after the node that they come from.
    Raises whatever TVM raises; the caller knows the model and words the error.
    """
    register_resize()
    importer = _Importer()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return importer.from_onnx(model.graph, opset)


def node_of(var_name: str) -> int | None:
    """Index of the ONNX node after which a Relax variable is named."""
    match = re.match(r"n(\d+)_", var_name)
    return int(match[1]) if match else None
