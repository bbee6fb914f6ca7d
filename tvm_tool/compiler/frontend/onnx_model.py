"""ONNX models, from the file to the normal form that is imported into TVM.

The normal form: opset 13 or newer; static types for every value; no shape arithmetic, no control flow;
constants as initialisers, none that repeats another; convolutions and poolings in two dimensions with
explicit windows; batch normalisation and constant factors in the weights; Gemm with [N, K] weights.
Inputs, outputs and node names stay those of the file. The same file always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto

from ...errors import naming
from ..quantized_layers import Quantization
from . import onnx_affine, onnx_rewrites, onnx_simplify, onnx_windows
from .onnx_expand import expand, has_body
from .onnx_file import read_model
from .onnx_fold import infer_and_fold
from .onnx_graph import Graph
from .onnx_halves import compute_in_single
from .onnx_inputs import Shape, fix_inputs
from .onnx_legacy import modernise
from .onnx_opset import needs_upgrade, upgrade
from .onnx_resize import plain_resizes
from .onnx_state import State, keep_states
from .onnx_validity import (
    check_nodes,
    check_structure,
    check_versions,
    inline_functions,
    name_nodes,
    shield_early_operators,
)
from .onnx_wide import widen

PASSES: tuple[Callable[[Graph], None], ...] = (
    onnx_simplify.name_nodes,
    onnx_simplify.check_inference_mode,
    onnx_simplify.remove_identities,
    onnx_rewrites.rewrite,
    onnx_windows.explicit_windows,
    onnx_windows.merge_pads,
    plain_resizes,
    onnx_affine.split_batch_norms,
    onnx_affine.use_gemm,
    onnx_affine.plain_gemms,
    onnx_affine.fold_factors,
    widen,
    onnx_simplify.use_plain_reshapes,
    onnx_simplify.merge_transposes,
    onnx_simplify.use_reshapes_for_transposes,
    onnx_simplify.merge_reshapes,
    onnx_simplify.remove_identities,
    onnx_simplify.remove_dead,
    onnx_simplify.cut_what_is_read,
    onnx_simplify.share_constants,
    onnx_simplify.compute_outputs,
    onnx_simplify.name_nodes,
)
"""What is done to a graph whose types are known, in this order."""


@dataclass(frozen=True)
class OnnxModel:
    """A normalised model.

    Attributes:
        proto: the model in normal form.
        opset: the opset that the file was written in.
        sha256: of the file.
        inputs: names in order.
        outputs: names in order.
        states: what one run leaves for the next. In `proto` they are further inputs, behind `inputs`, and
            their new values further outputs, behind `outputs`.
        files: the model file and the files of its external data.
        quantization: of inputs and outputs, where the file tells it and not the graph.
    """

    proto: onnx.ModelProto
    opset: int
    sha256: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    files: tuple[Path, ...]
    quantization: Mapping[str, Quantization] = field(default_factory=dict)
    states: tuple[State, ...] = ()


def load_onnx(path: Path, shapes: Mapping[str, Shape], state: Sequence[str] = ()) -> OnnxModel:
    """Read, check and normalise a model.

    Args:
        path: an ONNX file.
        shapes: shapes of inputs whose dimensions the model leaves free, by name.
        state: what is kept between two runs, see `keep_states`.

    Raises:
        ModelError: the file is no valid model, or leaves dimensions free.
        UnsupportedError: the model is valid but cannot be compiled.
        OptionError: `shapes` or `state` contradicts the model.
    """
    with naming(path):
        file = read_model(path)
        proto = _checked(file.proto, shapes)
        opset = next(o.version for o in proto.opset_import if o.domain == "")
        graph = Graph.from_proto(proto)
        states = _keep(graph, state)
        normal = _normalised(graph)
    count = len(states)
    return OnnxModel(
        proto=normal,
        opset=opset,
        sha256=file.sha256,
        inputs=tuple(v.name for v in normal.graph.input)[: len(normal.graph.input) - count],
        outputs=tuple(v.name for v in normal.graph.output)[: len(normal.graph.output) - count],
        files=file.files,
        states=states,
    )


def with_open_states(
    path: Path, shapes: Mapping[str, Shape], state: Sequence[str]
) -> tuple[onnx.ModelProto, tuple[State, ...]]:
    """The model of a file, operators as they are, with its states as last inputs and last outputs."""
    with naming(path):
        graph = Graph.from_proto(_checked(read_model(path).proto, shapes))
        states = _keep(graph, state)
        onnx_simplify.compute_outputs(graph)  # no name stands twice
    return graph.to_proto(), states


def _keep(graph: Graph, state: Sequence[str]) -> tuple[State, ...]:
    if not state:
        return ()
    modernise(graph)
    infer_and_fold(graph)
    return keep_states(graph, state)


def expand_functions(model: OnnxModel, supported: Collection[str]) -> OnnxModel:
    """Replace operators that are not `supported` by what ONNX defines them by, where it does.

    What stays unsupported is left in place, for `check_operators` to name.
    """
    if all(node.op_type in supported for node in model.proto.graph.node):
        return model
    with naming(model.files[0]):
        graph = Graph.from_proto(model.proto)
        infer_and_fold(graph)
        while any(_is_expandable(node, graph, supported) for node in graph.nodes):
            graph.rewrite(lambda n: expand(graph, n) if _is_expandable(n, graph, supported) else None)
            infer_and_fold(graph)
        return replace(model, proto=_normalised(graph))


def with_graph(model: OnnxModel, proto: onnx.ModelProto) -> OnnxModel:
    """The same model with another graph, brought to normal form. Inputs and outputs keep their names."""
    with naming(model.files[0]):
        return replace(model, proto=_normalised(Graph.from_proto(proto)))


def _is_expandable(node: NodeProto, graph: Graph, supported: Collection[str]) -> bool:
    return node.op_type not in supported and has_body(node, graph.opset)


def _checked(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> onnx.ModelProto:
    """The model, valid, its own functions inlined, its inputs static."""
    check_versions(proto)
    name_nodes(proto)
    check_structure(proto.graph)
    fix_inputs(proto, shapes)
    proto = inline_functions(proto)
    name_nodes(proto)
    shield_early_operators(proto)
    check_nodes(proto)
    return proto


def _normalised(graph: Graph) -> onnx.ModelProto:
    modernise(graph)
    infer_and_fold(graph)
    if needs_upgrade(graph):
        onnx_simplify.check_inference_mode(graph)
        onnx_simplify.compute_outputs(graph)  # the converter knows no other outputs
        graph = upgrade(graph)
        infer_and_fold(graph)
    compute_in_single(graph)
    with np.errstate(all="ignore"):  # weights may be infinite; that is the model's affair
        for rewrite in PASSES:
            rewrite(graph)
    return graph.to_proto()
