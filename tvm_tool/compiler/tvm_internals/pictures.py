"""Resizing of pictures, where TVM's own divides by zero."""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import topi


@functools.cache
def register_resize() -> None:
    """Teach TVM to align the corners of pictures that become one pixel high or wide.

    Folding constants asks TVM's own table, too, and that refuses a second entry: hence the cache.
    """
    tvm.ir.register_op_attr("relax.image.resize2d", "FLegalize", _resize2d, level=11)


def _resize2d(builder: Any, call: Any) -> Any:
    """TVM's own, but where an axis that becomes one pixel long has no second corner to align."""
    attrs = call.attrs
    how = {
        "roi": attrs.roi,
        "method": attrs.method,
        "coordinate_transformation_mode": attrs.coordinate_transformation_mode,
        "rounding_method": attrs.rounding_method,
        "bicubic_alpha": attrs.cubic_alpha,
        "bicubic_exclude": attrs.cubic_exclude,
        "extrapolation_value": attrs.extrapolation_value,
    }
    flat = str(attrs.coordinate_transformation_mode) == "align_corners" and str(attrs.layout) == "NCHW"
    if flat and 1 in [int(n) for n in call.args[1].values]:
        return builder.call_te(_resize1d, call.args[0], call.args[1], how, primfunc_name_hint="resize2d")
    return builder.call_te(topi.image.resize2d, call.args[0], size=call.args[1], layout=attrs.layout, **how)


def _resize1d(data: Any, size: Any, how: dict[str, Any]) -> Any:
    """To a picture of one row or one column: the first of `data`, resampled along the other axis."""
    batch, channels = (int(n) for n in data.shape[:2])
    sizes = [int(n) for n in size]
    kept = [1 if wanted == 1 else int(given) for given, wanted in zip(data.shape[2:], sizes, strict=True)]
    first = topi.strided_slice(data, [0, 0, 0, 0], [batch, channels, *kept], [1, 1, 1, 1])
    if sizes == [1, 1]:
        return first
    row = topi.reshape(first, (batch, channels, max(kept)))
    resized = topi.image.resize1d(row, size=[max(sizes)], **how)
    return topi.reshape(resized, (batch, channels, *sizes))
