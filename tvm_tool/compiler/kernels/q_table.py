"""Any function of one quantised number."""

from __future__ import annotations

from ..layers import Driver
from ..quantized_layers import QTable
from .q_common import flip

RUNTIME = ("tvm_table_s8.c",)


def table(layer: QTable) -> Driver:
    """Every table; outputs wider than a byte are looked up in line."""
    if layer.table.itemsize == 1:
        call = f"tvm_table_s8({layer.elements}, 0x{flip(layer.x_dtype):02x}, @table@, input, output);"
        return Driver("table_s8", call, {"table": layer.table}, in_place=True, runtime=RUNTIME)
    index = "input[i]" + (f" + {flip(layer.x_dtype)}" if flip(layer.x_dtype) else "")
    loop = f"for (int32_t i = 0; i < {layer.elements}; i++) {{\n    output[i] = @table@[{index}];\n}}"
    return Driver(f"table_{layer.table.dtype}", loop, {"table": layer.table})
