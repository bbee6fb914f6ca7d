"""The integer kernels."""

from __future__ import annotations

from ..layers import Driver, Need
from ..quantized_layers import QBinary, QConv2D, QDense, QLayer, QMatMul, QPool2D, QSoftmax
from .q_binary import binary
from .q_conv2d import conv2d
from .q_dense import dense
from .q_matmul import matmul
from .q_pool2d import pool2d
from .q_softmax import softmax
from .q_table import table


def drive_integer(layer: QLayer, _need: Need) -> Driver:
    """The best kernel for `layer`; these run on every core."""
    if isinstance(layer, QConv2D):
        return conv2d(layer)
    if isinstance(layer, QDense):
        return dense(layer)
    if isinstance(layer, QMatMul):
        return matmul(layer)
    if isinstance(layer, QBinary):
        return binary(layer)
    if isinstance(layer, QPool2D):
        return pool2d(layer)
    if isinstance(layer, QSoftmax):
        return softmax(layer)
    return table(layer)
