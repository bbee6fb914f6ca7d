"""Integer convolution of any shape."""

from __future__ import annotations

from ..layers import Driver
from ..quantized_layers import QConv2D, QDense
from .q_common import rescaling, weights_of, window_of
from .q_dense import dense

RUNTIME = ("tvm_conv2d_s8.c", "tvm_dot_s8.c", "tvm_rescale_s8.c")
DEPTHWISE_RUNTIME = ("tvm_depthwise_s8.c", "tvm_rescale_s8.c")


def conv2d(layer: QConv2D) -> Driver:
    """Every convolution: each channel by itself, as a matrix product, or in general."""
    product = as_dense(layer)
    if product is not None:
        return dense(product)
    depthwise = layer.groups == layer.input[2] > 1
    order = (1, 2, 3, 0) if depthwise else (0, 1, 2, 3)
    weights = weights_of(layer, order, whole_windows=not depthwise)
    how = rescaling(layer.rounding, layer.x.scale, layer.weight_scales, layer.fraction, layer.y, layer.clamp)
    name = "depthwise" if depthwise else "conv2d"
    call = f"tvm_{name}_s8(&window, &weights, &how, input, output);"
    return Driver(
        kernel=f"{name}_s8",
        body="\n".join([window_of(layer), weights.text, how.text, call]),
        constants={**weights.constants, **how.constants},
        runtime=DEPTHWISE_RUNTIME if depthwise else RUNTIME,
        macs=layer.batch * layer.output[0] * layer.output[1] * layer.weights.size,
    )


def as_dense(layer: QConv2D) -> QDense | None:
    """`layer` as a dense layer, if it is one: also 1x1 convolutions and windows as large as the image."""
    if layer.groups != 1 or any(layer.pads):
        return None
    kernel = layer.weights.shape[1:3]
    positions = layer.output[0] * layer.output[1]
    pointwise = kernel == (1, 1) and layer.output[:2] == layer.input[:2]
    whole_image = kernel == layer.input[:2] and positions == 1
    if not (pointwise or whole_image):
        return None
    return QDense(
        x=layer.x,
        y=layer.y,
        rows=layer.batch * positions,
        weights=layer.weights.reshape(layer.weights.shape[0], -1),
        weight_scales=layer.weight_scales,
        weight_zeros=layer.weight_zeros,
        bias=layer.bias,
        fraction=layer.fraction,
        clamp=layer.clamp,
        rounding=layer.rounding,
    )
