"""From a normalised ONNX model to a `Program`: the part of the pipeline that runs inside TVM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import tvm
from onnx import ModelProto

from ..errors import UnsupportedError
from .c_names import state_names
from .choose import NOTHING, Spending, choose_kernels
from .frontend.onnx_model import OnnxModel
from .halves import as_stored, as_words, name_halves, word_dtype
from .layers import Driver, Need
from .linearise import linearise
from .origins import find_origins, name_steps
from .passes.constant_channels import drop_constant_channels
from .passes.generic import fuse_tir, lower_rest
from .passes.integer import LeftInFloat, lower_integers
from .passes.layout import sink_transposes
from .passes.match_layers import LayerTable, match_layers
from .passes.safe_indices import clip_indices
from .passes.signed_numbers import sign_numbers
from .program import FloatLayer, Program
from .tvm_internals import import_onnx, node_of, onnx_operators

Names = Sequence[tuple[str, str]]

_NOT_FOR_C = {
    "a call of TVM's runtime library, which firmware does not have": "TopK Unique CumSum AllClassNMS "
    "NonMaxSuppression",
    "a shape that depends on values": "NonZero Compress",
    "another element type than ONNX gives": "OneHot",
    "not a tensor": "Optional OptionalHasElement OptionalGetElement SequenceConstruct SequenceEmpty "
    "SequenceErase SequenceInsert SequenceLength SequenceAt ConcatFromSequence SplitToSequence",
}
"""Operators that TVM imports but that cannot become a static C program, by what TVM makes of them."""


def operators() -> frozenset[str]:
    """ONNX operators that can be compiled."""
    return onnx_operators() - set(" ".join(_NOT_FOR_C.values()).split())


@dataclass(frozen=True, eq=False)
class Lowered:
    """A model whose layers have kernels.

    Attributes:
        linearised: gives the program for a driver of each layer.
        drivers: by index of the layer; by default those that need the least scratch.
    """

    linearised: Callable[[Mapping[int, Driver]], Program]
    drivers: Mapping[int, Driver]

    def program(self, roomy: Collection[int | None] = ()) -> Program:
        """The program, in which the layers `roomy`, by index, take more scratch for fewer instructions."""
        chosen = {
            index: driver.roomy if index in roomy and driver.roomy else driver
            for index, driver in self.drivers.items()
        }
        return self.linearised(chosen)


def lower(
    model: OnnxModel,
    need: Need,
    inputs: Names,
    outputs: Names,
    rounding: str = "onnx",
    plain: bool = False,
    spending: Spending = NOTHING,
) -> Lowered:
    """Compile `model` to kernel calls.

    Args:
        inputs: name in the model and C name of each input; `outputs` likewise.
        rounding: profile of integer layers, see `quantized_layers`.
        plain: what TVM's own lowering gives, without our kernels, layout and loops: for comparisons.
        spending: flash for Winograd's products.
    """
    nodes = [node.name for node in model.proto.graph.node]
    module = name_steps(_import(model))
    _check_types(model, module)
    layers = LayerTable()
    left_in_float: list[LeftInFloat] = []
    if not plain:
        module, left_in_float = lower_integers(sign_numbers(module), layers, rounding)
        module = match_layers(module, layers)
        module = sink_transposes(module, layers)
        module = drop_constant_channels(module, layers)
    module = lower_rest(clip_indices(module))
    origins = find_origins(module)
    module = fuse_tir(module)
    states = [
        (state.name, c_name, as_stored(state.initial))
        for state, c_name in zip(model.states, state_names(s.name for s in model.states), strict=True)
    ]
    left = [(node_of(one.variable), one.reason) for one in left_in_float]
    named = tuple(FloatLayer(nodes[i], reason) for i, reason in left if i is not None)

    def linearised(drivers: Mapping[int, Driver]) -> Program:
        program = linearise(module, layers, drivers, inputs, outputs, nodes, origins, plain, states)
        return replace(name_halves(program, model.proto.graph), left_in_float=named)

    loose = layers.reading_inputs(module)
    return Lowered(linearised, choose_kernels(layers.called_in(module), need, spending, loose))


def _import(model: OnnxModel) -> tvm.IRModule:
    numbered = ModelProto()
    numbered.CopyFrom(model.proto)
    for index, node in enumerate(numbered.graph.node):
        node.name = f"{node.name}#{index}"
    as_words(numbered.graph)
    try:
        return import_onnx(numbered, numbered.opset_import[0].version)
    except Exception as error:
        # TVM raises whatever it likes; the last line of it is all that helps.
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        raise UnsupportedError(
            f"TVM cannot import this model: {reason[0]}",
            file=model.files[0],
            remedy="simplify the node, or export the model with another opset",
        ) from error


def _check_types(model: OnnxModel, module: tvm.IRModule) -> None:
    """Refuse a model whose outputs TVM understands otherwise than ONNX does."""
    result = module["main"].ret_ty
    types = list(result.fields) if hasattr(result, "fields") else [result]
    for output, kind in zip(model.proto.graph.output, types, strict=True):
        tensor = output.type.tensor_type
        shape = tuple(d.dim_value for d in tensor.shape.dim)
        dtype = word_dtype(tensor.elem_type)
        found = tuple(int(d) for d in kind.shape), str(kind.dtype)
        if found != (shape, dtype):
            raise UnsupportedError(
                f"TVM would compute {found[1]}{list(found[0])} instead of {dtype}{list(shape)}",
                file=model.files[0],
                where=f"output '{output.name}'",
                remedy="compute this output outside of the model",
            )
