"""Maximum and average of a window."""

from __future__ import annotations

from ..layers import Driver, Layer, Need, Pool2D
from .float32 import window_text

RUNTIME = ("tvm_pool2d_f32.c",)


def pool2d(layer: Layer, _need: Need) -> Driver | None:
    """Every pool."""
    if not isinstance(layer, Pool2D):
        return None
    if layer.kind == "max":
        call = "tvm_max_pool_f32(&window, input, output);"
    else:
        include_pad = "true" if layer.include_pad else "false"
        call = f"tvm_average_pool_f32(&window, {include_pad}, input, output);"
    return Driver(kernel=f"{layer.kind}_pool_f32", body=f"{window_text(layer)}\n{call}", runtime=RUNTIME)
