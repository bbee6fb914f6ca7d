"""ConvInteger and MatMulInteger: exact sums of products of integers of any width, in 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

INTEGER_PRODUCTS = frozenset({"ConvInteger", "MatMulInteger"})


def integer_product(operator: str, inputs: Sequence[Any], attrs: Any) -> Any:
    """A call for a node without zero points, as the frontend leaves them.

    Weights keep their width: TVM's own conversion would store them in 32 bits.
    """
    x, w = inputs[0], inputs[1]
    if operator == "MatMulInteger":
        return relax.op.matmul(x, w, out_dtype="int32")
    conv = {4: relax.op.nn.conv2d, 5: relax.op.nn.conv3d}[len(x.ty.shape)]
    return conv(
        x,
        w,
        strides=list(attrs["strides"]),
        padding=list(attrs["pads"]),
        dilation=list(attrs["dilations"]),
        groups=int(attrs.get("group", 1)),
        out_dtype="int32",
    )
