"""What TVM is known to get wrong, refused by name: a wrong value is worse than a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import onnx
from onnx import NodeProto, TensorProto

from ...errors import TVMToolError, UnsupportedError
from .onnx_graph import attributes, label


def check_refused(model: onnx.ModelProto) -> None:
    """Refuse a normalised model that would be compiled to wrong values.

    Raises:
        UnsupportedError: naming the node or the value, and the reason.
    """
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.value_info]
    empty = {v.name for v in values if any(d.dim_value == 0 for d in v.type.tensor_type.shape.dim)}
    # An empty list of integers is the shape of a scalar, or no axes.
    shapes = {t.name for t in graph.initializer if list(t.dims) == [0] and t.data_type == TensorProto.INT64}
    empty = (empty | {t.name for t in graph.initializer if 0 in t.dims}) - shapes
    for output in graph.output:
        if output.name in empty:
            raise UnsupportedError("it has no elements", where=f"output '{output.name}'")
    for node in graph.node:
        reason = "" if node.domain else _REFUSED.get(node.op_type, _fine)(node)
        if any(name in empty for name in node.input) and node.op_type != "Resize":
            reason = "it works on a tensor without elements"
        if reason:
            raise UnsupportedError(reason, where=label(node))


@contextmanager
def refusing() -> Iterator[None]:
    """What TVM stumbles over inside is refused, in its own words."""
    try:
        yield
    except TVMToolError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith("tvm"):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UnsupportedError(
            f"TVM cannot compile this model: {lines[-1] if lines else type(error).__name__}",
            remedy="find the operator by compiling parts of the model, and replace it",
        ) from error


def _fine(_node: NodeProto) -> str:
    return ""


def _roi_align(node: NodeProto) -> str:
    return "" if attributes(node).get("mode", "avg") == "avg" else "its maximum is not that of ONNX"


_REFUSED: Mapping[str, Callable[[NodeProto], str]] = MappingProxyType({"RoiAlign": _roi_align})
"""Why a node would be wrong, by operator; an empty text if it would not."""
