"""Softmax over rows."""

from __future__ import annotations

from ..layers import Driver, Layer, Need, Softmax

RUNTIME = ("tvm_softmax_f32.c", "tvm_math_f32.c")


def softmax(layer: Layer, _need: Need) -> Driver | None:
    """Every softmax."""
    if not isinstance(layer, Softmax):
        return None
    return Driver(
        kernel="softmax_f32",
        body=f"tvm_softmax_f32({layer.rows}, {layer.columns}, input, output);",
        in_place=True,
        runtime=RUNTIME,
    )
