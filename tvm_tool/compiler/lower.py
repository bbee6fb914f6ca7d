"""From a normalised ONNX model to a `Program`: the part of the pipeline that runs inside TVM."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from onnx import ModelProto

from ..errors import UnsupportedError
from .frontend.onnx_model import OnnxModel
from .layers import Need
from .linearise import linearise
from .passes.generic import fuse_tir, lower_rest
from .passes.layout import sink_transposes
from .passes.match_layers import match_layers
from .program import Program
from .relax_graph import bindings
from .tvm_internals import import_onnx, node_of, onnx_operators

Names = Sequence[tuple[str, str]]


def operators() -> frozenset[str]:
    """ONNX operators that can be compiled."""
    return onnx_operators()


def lower(model: OnnxModel, need: Need, inputs: Names, outputs: Names) -> Program:
    """Compile `model` to kernel calls.

    Args:
        inputs: name in the model and C name of each input; `outputs` likewise.
    """
    nodes = [node.name for node in model.proto.graph.node]
    module = _import(model)
    module, layers = match_layers(module)
    module = sink_transposes(module, layers)
    module = lower_rest(module)
    groups = _origins(module)
    module = fuse_tir(module)
    return linearise(module, layers, need, inputs, outputs, nodes, groups)


def _import(model: OnnxModel) -> tvm.IRModule:
    numbered = ModelProto()
    numbered.CopyFrom(model.proto)
    for index, node in enumerate(numbered.graph.node):
        node.name = f"{node.name}#{index}"
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


def _origins(module: tvm.IRModule) -> dict[str, int]:
    """Index of the first ONNX node inside each fused function, by the function's name."""
    origins = {}
    for var, function in module.functions.items():
        if function.attrs and function.attrs.get("Primitive"):
            indices = [node_of(v.name) for v, _ in bindings(function)]
            known = [i for i in indices if i is not None]
            if known:
                origins[str(var.name_hint)] = known[0]
    return origins
