"""Integer transposed convolution."""

from __future__ import annotations

from ..layers import Driver
from ..quantized_layers import QConvTranspose2D
from .q_common import rescaling, weights_of, window_of

RUNTIME = ("tvm_conv2d_transposed_s8.c", "tvm_rescale_s8.c")


def conv2d_transposed(layer: QConvTranspose2D) -> Driver:
    """Every transposed convolution."""
    weights = weights_of(layer, (0, 1, 2, 3), whole_windows=False)
    how = rescaling(layer.rounding, layer.x.scale, layer.weight_scales, layer.fraction, layer.y, layer.clamp)
    call = "tvm_conv2d_transposed_s8(&window, &weights, &how, input, output);"
    return Driver(
        kernel="conv2d_transposed_s8",
        body="\n".join([window_of(layer), weights.text, how.text, call]),
        constants={**weights.constants, **how.constants},
        runtime=RUNTIME,
        macs=layer.batch * layer.input[0] * layer.input[1] * layer.weights.size,
    )
