"""Indices that come with the input never lead outside of a tensor."""

from __future__ import annotations

import tvm
from tvm import relax

from ..relax_graph import Builder, Expr, Var, op_name, rewrite


def clip_indices(module: tvm.IRModule) -> tvm.IRModule:
    """Clip the indices of Gather, which TVM would trust: ONNX leaves bad ones undefined, we do not."""
    return rewrite(module, _visit)


def _visit(_builder: Builder, _var: Var, value: Expr) -> Expr | None:
    if op_name(value) != "take" or str(value.attrs.mode) != "fast":
        return None
    data, indices = value.args
    axis = value.attrs.axis
    return relax.op.take(data, indices, None if axis is None else int(axis), mode="clip")
