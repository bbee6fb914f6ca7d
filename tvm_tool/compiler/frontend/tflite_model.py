"""TFLite models, from the file to the same normal form that ONNX models get.

Float operators become float ONNX operators; quantised ones become DequantizeLinear, the operator, its
activation, QuantizeLinear. Convolutions and poolings stand between two transposes, since ONNX wants NCHW.
Inputs and outputs keep their names, types and shapes, and each node the name of the tensor it computes.
Where integer weights meet float data (dynamic range quantisation) the weights become floats: TFLite's own
runtime quantises the data on the fly instead, so that its results differ by that rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from onnx import helper

from ...errors import ModelError, OptionError, UnsupportedError, did_you_mean, naming
from ..quantized_layers import Quantization
from . import tflite_elementwise, tflite_linear, tflite_movement, tflite_pictures, tflite_pieces, tflite_state
from .onnx_fold import infer_and_fold
from .onnx_inputs import Shape
from .onnx_model import PASSES, OnnxModel
from .onnx_state import keep_states
from .tflite_builder import OPSET, Builder
from .tflite_file import read_tflite
from .tflite_tensors import Operator, TfliteFile

TRANSLATIONS: Mapping[str, Callable[[Builder, Operator], None]] = MappingProxyType(
    {
        **tflite_linear.TRANSLATIONS,
        **tflite_elementwise.TRANSLATIONS,
        **tflite_movement.TRANSLATIONS,
        **tflite_pictures.TRANSLATIONS,
        **tflite_pieces.TRANSLATIONS,
    }
)
"""The operators that can be compiled, by their names in the TFLite schema."""

LISTED = 12
"""At most so many operators are listed in a message."""


def load_tflite(path: Path, shapes: Mapping[str, Shape], state: Sequence[str] = ()) -> OnnxModel:
    """Read, check and translate a model.

    Args:
        path: a TFLite file.
        shapes: shapes of inputs by name; they must be those of the file, whose tensors are all static.
        state: what is kept between two runs besides variables, see `keep_states`.

    Raises:
        ModelError: the file is no valid model.
        UnsupportedError: the model is valid but cannot be compiled.
        OptionError: `shapes` or `state` contradicts the model.
        ToolchainError: the package that reads TFLite files is not installed.
    """
    with naming(path):
        file = read_tflite(path)
        _check_operators(file)
        _check_interface(file, shapes)
        tflite_state.check_pairs(file, state)
        builder = Builder.of(file)
        variables = tflite_state.Variables.of(builder, file, translate)
        for op in file.operators:
            if op.kind in tflite_state.KINDS:
                variables.translate(op)
            else:
                translate(builder, op)
        for tensor in file.outputs:
            builder.value(tensor)
        graph = builder.graph
        states = variables.states()
        infer_and_fold(graph)
        _check_shapes(file, builder)
        states = keep_states(graph, state, states)
        with np.errstate(all="ignore"):
            for rewrite in PASSES:
                rewrite(graph)
        proto = graph.to_proto()
    return OnnxModel(
        proto=proto,
        opset=OPSET,
        sha256=file.sha256,
        inputs=tuple(v.name for v in proto.graph.input)[: len(proto.graph.input) - len(states)],
        outputs=tuple(v.name for v in proto.graph.output)[: len(proto.graph.output) - len(states)],
        files=(path,),
        quantization=_quantization(file),
        states=states,
    )


def _quantization(file: TfliteFile) -> dict[str, Quantization]:
    """Of the inputs and outputs that are integers with one scale, by name."""
    found = {}
    for tensor in (*file.inputs, *file.outputs):
        scales, dtype = tensor.scales, tensor.dtype
        if scales is not None and scales.is_per_tensor and dtype is not None and dtype.kind in "iu":
            found[tensor.name] = Quantization(str(dtype), scales.scale.item(), scales.zero_point.item())
    return found


def translate(builder: Builder, op: Operator) -> None:
    """Append what `op` does. Numbers in the file that make no sense end in a `ModelError` naming it."""
    try:
        TRANSLATIONS[op.kind](builder, op)
    except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
        raise ModelError(f"its options and shapes do not fit together: {error}", where=op.label) from None


def _check_operators(file: TfliteFile) -> None:
    parts = (file, *file.initialisers.values())
    known = {*TRANSLATIONS, *tflite_state.KINDS}
    refused = [op for part in parts for op in part.operators if op.is_custom or op.kind not in known]
    if refused:
        kinds = sorted({f"custom operator {op.kind}" if op.is_custom else op.kind for op in refused})
        shown = [f"'{op.name}' ({op.kind})" for op in refused[:LISTED]]
        if len(refused) > LISTED:
            shown.append(f"and {len(refused) - LISTED} more")
        raise UnsupportedError(
            f"{', '.join(kinds)} cannot be compiled",
            where=f"operator{'s' if len(refused) > 1 else ''} {', '.join(shown)}",
            remedy="convert the network without them",
        )
    if file.subgraphs > 1 + len(file.initialisers):
        raise UnsupportedError(
            f"it holds {file.subgraphs} subgraphs",
            expected="one, and those that CALL_ONCE names",
            remedy="convert the network without control flow",
        )
    if not file.operators or not file.outputs:
        raise ModelError("it computes nothing", remedy="convert the network again")


def _check_interface(file: TfliteFile, shapes: Mapping[str, Shape]) -> None:
    known = {t.name: t for t in file.inputs}
    for name, wanted in shapes.items():
        if name not in known:
            raise OptionError(
                f"the model has no input '{name}'", where="option 'shapes'", remedy=did_you_mean(name, known)
            )
        if tuple(wanted) != known[name].shape:
            raise OptionError(
                f"{list(wanted)} contradicts the model",
                where=f"option 'shapes', input '{name}'",
                expected=f"{list(known[name].shape)}, to which the file was converted",
            )
    for tensor, what in (*((t, "input") for t in file.inputs), *((t, "output") for t in file.outputs)):
        if tensor.unusable:
            raise UnsupportedError(tensor.unusable, where=f"{what} '{tensor.name}'")
        if 0 in tensor.shape:
            raise ModelError(f"its shape is {list(tensor.shape)}", where=f"{what} '{tensor.name}'")


def _check_shapes(file: TfliteFile, builder: Builder) -> None:
    """What operators compute has the shapes and types that the file declares."""
    outputs = {t.index for t in file.outputs}
    for tensor in file.tensors:
        found = builder.graph.types.get(builder.names[tensor.index])
        if tensor.index not in builder.computed or found is None:
            continue
        # Shapes inside the network may be left open; the caller's buffers must fit.
        is_known = tensor.index in outputs or (tensor.shape and not tensor.is_dynamic)
        if is_known and found.shape != tensor.shape:
            raise ModelError(
                f"its shape is {list(found.shape)}", where=tensor.label, expected=f"{list(tensor.shape)}"
            )
        if found.elem != helper.np_dtype_to_tensor_dtype(tensor.dtype):
            raise ModelError(f"it is not of type {tensor.dtype}", where=tensor.label)
