"""Integer dense layer."""

from __future__ import annotations

from ..layers import Driver
from ..quantized_layers import QDense
from .q_common import rescaling, weights_of

RUNTIME = ("tvm_dense_s8.c", "tvm_dot_s8.c", "tvm_rescale_s8.c")


def dense(layer: QDense) -> Driver:
    """Every dense layer."""
    channels, depth = layer.weights.shape
    weights = weights_of(layer, (0, 1), whole_windows=True)
    how = rescaling(layer.rounding, layer.x.scale, layer.weight_scales, layer.fraction, layer.y, layer.clamp)
    call = f"tvm_dense_s8({layer.rows}, {depth}, {channels}, &weights, &how, input, output);"
    return Driver(
        kernel="dense_s8",
        body="\n".join([weights.text, how.text, call]),
        constants={**weights.constants, **how.constants},
        runtime=RUNTIME,
        macs=layer.rows * layer.weights.size,
    )
