"""Integer bilinear resizing."""

from __future__ import annotations

from ..layers import Driver
from ..quantized_layers import QResize
from .q_common import flip

RUNTIME = ("tvm_resize_s8.c",)

ONE = 1024
"""Units of a pixel."""


def resize(layer: QResize) -> Driver:
    """Every bilinear resizing."""
    axes = [
        f"    .{name} = {{.input = {size}, .output = {out}, .step = {step}, .start = {start}}},"
        for name, size, out, (step, start) in (
            ("height", layer.input[0], layer.output[0], steps(layer, 0)),
            ("width", layer.input[1], layer.output[1], steps(layer, 1)),
        )
    ]
    head = f"    .batch = {layer.batch}, .channels = {layer.input[2]}, .flip = 0x{flip(layer.x.dtype):02x},"
    fields = "\n".join([head, *axes])
    return Driver(
        kernel="resize_bilinear_s8",
        body=f"static const struct tvm_resize_s8 resize = {{\n{fields}\n}};\n"
        "tvm_resize_bilinear_s8(&resize, input, output);",
        runtime=RUNTIME,
    )


def steps(layer: QResize, axis: int) -> tuple[int, int]:
    """Distance of two outputs along `axis`, and where the first lies, in units of 1 / 1024 pixel."""
    size, out = layer.input[axis], layer.output[axis]
    if layer.align_corners and out > 1:
        step = (ONE * (size - 1) + (out - 1) // 2) // (out - 1)
    else:
        step = (ONE * size + out // 2) // out
    return step, step // 2 - ONE // 2 if layer.half_pixels else 0
