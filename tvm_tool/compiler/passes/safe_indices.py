"""Indices that come with the input never lead outside of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm
from tvm import relax

from ..relax_graph import Builder, Expr, Var, constant, dtype_of, op_name, rewrite, shape_of


def clip_indices(module: tvm.IRModule) -> tvm.IRModule:
    """Clip the indices of gathering operators, which TVM would trust: ONNX leaves bad ones undefined."""
    return rewrite(module, _visit)


def _visit(builder: Builder, _var: Var, value: Expr) -> Expr | None:
    name = op_name(value)
    if name == "take" and str(value.attrs.mode) == "fast":
        data, indices = value.args
        axis = value.attrs.axis
        return relax.op.take(data, indices, None if axis is None else int(axis), mode="clip")
    if name == "gather_elements" and constant(value.args[1]) is None:
        data, indices = value.args
        axis = int(value.attrs.axis)
        inside = _inside(builder, indices, [shape_of(data)[axis]])
        return relax.op.gather_elements(data, inside, axis)
    if name == "gather_nd" and constant(value.args[1]) is None:
        data, indices = value.args
        first = int(value.attrs.batch_dims)
        depth = shape_of(indices)[-1]
        inside = _inside(builder, indices, shape_of(data)[first : first + depth])
        return relax.op.gather_nd(data, inside, first)
    return None


def _inside(builder: Builder, indices: Expr, sizes: Sequence[int]) -> Expr:
    """`indices`, the last axis of which runs over `sizes`, clipped. They are counted from the front."""
    dtype = dtype_of(indices)
    size = np.array(sizes, dtype) if len(sizes) > 1 else np.array(sizes[0], dtype)
    above = builder.emit(relax.op.maximum(indices, relax.const(np.zeros_like(size), dtype)))
    return builder.emit(relax.op.minimum(above, relax.const(size - 1, dtype)))
