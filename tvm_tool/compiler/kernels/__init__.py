"""The kernels: which C function computes a layer, and how its weights are packed for it.

Each module offers functions ``kernel(layer, need)`` that answer with a `Driver`, or with None where
they do not apply. `KERNELS` lists them from the most special to the most general; the last ones take
every shape, so that no layer is ever refused.
"""

from __future__ import annotations

from collections.abc import Callable

from ..layers import Driver, Layer, Need
from .conv2d_f32 import conv2d
from .conv2d_small_f32 import conv2d_small
from .conv2d_thin_f32 import conv2d_thin
from .dense_f32 import dense
from .dense_small_f32 import dense_small
from .depthwise_f32 import depthwise
from .depthwise_small_f32 import depthwise_small
from .matmul_f32 import matmul
from .pool2d_f32 import pool2d
from .softmax_f32 import softmax

Kernel = Callable[[Layer, Need], Driver | None]

KERNELS: tuple[Kernel, ...] = (
    softmax,
    pool2d,
    dense,
    matmul,
    depthwise,
    conv2d_thin,
    conv2d,
    dense_small,
    depthwise_small,
    conv2d_small,
)


def drive(layer: Layer, need: Need) -> Driver:
    """The best kernel for `layer`."""
    for kernel in KERNELS:
        driver = kernel(layer, need)
        if driver is not None:
            return driver
    raise AssertionError(f"no kernel for {type(layer).__name__}")
