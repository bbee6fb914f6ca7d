"""Find the layers for which there is a kernel, with their bias and activation.

A matched layer becomes ``call_dps_packed("layer_<index>", inputs)`` in NHWC between two transposes;
its constants leave the graph and live in the `LayerTable`. What is not matched stays Relax and is
printed from TIR.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ..layers import Clamp, Conv2D, Dense, Layer, Pool2D, Softmax
from ..quantized_layers import QLayer, output_dtype
from ..relax_graph import (
    Builder,
    Expr,
    Var,
    bindings,
    constant,
    dtype_of,
    ints,
    is_var,
    op_name,
    rewrite,
    shape_of,
    use_counts,
)
from .generic import ALIASES

TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)
SYMBOL = "layer_"


@dataclass
class LayerTable:
    """The matched layers of one model, by the index in their symbol.

    `nodes` holds the name of the variable that each was found at: it tells the ONNX node.
    """

    layers: list[Layer | QLayer] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)

    def call(self, layer: Layer | QLayer, data: list[Expr], shape: tuple[int, ...], node: str) -> Expr:
        """A call of `layer` on `data`, entered into the table."""
        self.layers.append(layer)
        self.nodes.append(node)
        out = relax.TensorType(shape, output_dtype(layer) if isinstance(layer, QLayer) else "float32")
        return relax.op.call_dps_packed(f"{SYMBOL}{len(self.layers) - 1}", data, out_ty=out)

    def called_in(self, module: tvm.IRModule) -> dict[int, Layer | QLayer]:
        """The layers that ``main`` of `module` calls, by index."""
        found = (self.index_of(value) for _, value in bindings(module["main"]))
        return {index: self.layers[index] for index in found if index is not None}

    def reading_inputs(self, module: tvm.IRModule) -> set[int]:
        """Those of them whose first operand is an input of the model, perhaps in another shape."""
        main = module["main"]
        inputs: set[Expr] = set(main.params)
        found = set()
        for var, value in bindings(main):
            index = self.index_of(value)
            if index is not None and value.args[1].fields[0] in inputs:
                found.add(index)
            source = value.args[0] if f"relax.{op_name(value)}" in ALIASES else value
            if is_var(source) and source in inputs:
                inputs.add(var)
        return found

    def index_of(self, expr: Expr) -> int | None:
        """Index of the layer that `expr` calls, None if it calls none."""
        if op_name(expr) != "call_dps_packed":
            return None
        symbol = str(expr.args[0].global_symbol)
        return int(symbol.removeprefix(SYMBOL)) if symbol.startswith(SYMBOL) else None


@dataclass(frozen=True)
class _Chain:
    """A layer with what was absorbed into it: it computes the value of `last`."""

    layer: Conv2D | Dense
    last: Var


def match_layers(module: tvm.IRModule, table: LayerTable) -> tvm.IRModule:
    """Replace what our kernels can compute by calls of layers, which are entered into `table`."""
    module = relax.transform.FoldConstant()(module)
    chains = _find_chains(module["main"])
    started: dict[Var, tuple[Conv2D | Dense, Expr, str]] = {}

    def visit(builder: Builder, var: Var, value: Expr) -> Expr | None:
        chain = chains.get(var)
        if chain is not None:
            started[chain.last] = (chain.layer, value.args[0], var.name)
        if var in started:
            layer, data, node = started[var]
            return _emit_chain(builder, table, layer, data, shape_of(var), node)
        return _match_single(builder, table, value, var.name)

    return rewrite(module, visit)


def _emit_chain(
    builder: Builder, table: LayerTable, layer: Conv2D | Dense, data: Expr, shape: tuple[int, ...], name: str
) -> Expr:
    if isinstance(layer, Dense):
        return table.call(layer, [data], shape, name)
    return _emit_nhwc(builder, table, layer, data, name)


def _emit_nhwc(builder: Builder, table: LayerTable, layer: Conv2D | Pool2D, data: Expr, name: str) -> Expr:
    nhwc = builder.emit(relax.op.permute_dims(data, TO_NHWC), name_hint=name)
    call = table.call(layer, [nhwc], (layer.batch, *layer.output), name)
    return relax.op.permute_dims(builder.emit(call, name_hint=name), TO_NCHW)


# ---------------------------------------------------------------- chains


def _find_chains(main: Any) -> dict[Var, _Chain]:
    counts = use_counts(main)
    order = list(bindings(main))
    readers: dict[Var, tuple[Var, Expr]] = {}
    for var, value in order:
        if isinstance(value, relax.Call):
            for arg in value.args:
                readers[arg] = (var, value)
    chains = {}
    for var, value in order:
        start = _conv2d(value) or _dense(value)
        if start is not None:
            chains[var] = _absorb(start, var, readers, counts)
    return chains


def _absorb(
    layer: Conv2D | Dense, var: Var, readers: dict[Var, tuple[Var, Expr]], counts: Counter[Var]
) -> _Chain:
    while counts[var] == 1 and var in readers:
        reader, value = readers[var]
        grown = _with_bias(layer, var, value) or _with_clamp(layer, var, value)
        if grown is None or shape_of(reader) != shape_of(var):
            break
        layer, var = grown, reader
    return _Chain(layer, var)


def _with_bias(layer: Conv2D | Dense, var: Var, value: Expr) -> Conv2D | Dense | None:
    if op_name(value) != "add" or layer.clamp != Clamp():
        return None
    other = value.args[1] if value.args[0].same_as(var) else value.args[0]
    array = constant(other)
    if array is None:
        return None
    axis = 1 if isinstance(layer, Conv2D) else len(shape_of(var)) - 1
    channels = layer.bias.shape[0]
    rank = len(shape_of(var))
    full = array.reshape((1,) * (rank - array.ndim) + array.shape)
    # Exporters like to write a bias out over the whole tensor: what counts is along what it varies.
    for other_axis in range(rank):
        first = full.take([0], axis=other_axis)
        if other_axis != axis and np.array_equal(np.broadcast_to(first, full.shape), full):
            full = first
    if full.size not in (1, channels) or full.shape[axis] != full.size:
        return None
    return replace(layer, bias=(layer.bias + full.reshape(-1)).astype(np.float32))


def _with_clamp(layer: Conv2D | Dense, var: Var, value: Expr) -> Conv2D | Dense | None:
    low, high = layer.clamp.low, layer.clamp.high
    name = op_name(value)
    if name == "nn.relu":
        new = (0.0, math.inf)
    elif name == "nn.relu6":
        new = (0.0, 6.0)
    elif name == "clip":
        new = (_scalar(value.args[1], -math.inf), _scalar(value.args[2], math.inf))
    elif name in ("maximum", "minimum"):
        other = constant(value.args[1] if value.args[0].same_as(var) else value.args[0])
        if other is None or other.size != 1:
            return None
        bound = float(other.reshape(()))
        new = (bound, math.inf) if name == "maximum" else (-math.inf, bound)
    else:
        return None
    # Two clamps in a row are one only if the second does not cut across the first.
    lower = max(-math.inf if low is None else low, new[0])
    upper = min(math.inf if high is None else high, new[1])
    if lower > upper or math.isnan(lower) or math.isnan(upper):
        return None
    clamp = Clamp(None if lower == -math.inf else lower, None if upper == math.inf else upper)
    return replace(layer, clamp=clamp)


def _scalar(expr: Expr, otherwise: float) -> float:
    array = constant(expr)
    if array is not None:
        return float(array.reshape(()))
    value = getattr(expr, "value", None)
    number = value if isinstance(value, (int, float)) else getattr(value, "value", otherwise)
    return float(number)


def _conv2d(value: Expr) -> Conv2D | None:
    if op_name(value) != "nn.conv2d" or dtype_of(value) != "float32":
        return None
    weights = constant(value.args[1])
    attrs = value.attrs
    if weights is None or str(attrs.data_layout) != "NCHW" or str(attrs.kernel_layout) != "OIHW":
        return None
    batch, channels, height, width = shape_of(value.args[0])
    _, out_channels, out_height, out_width = shape_of(value)
    top, left, bottom, right = ints(attrs.padding)
    return Conv2D(
        input=(height, width, channels),
        output=(out_height, out_width, out_channels),
        weights=np.ascontiguousarray(weights.transpose(0, 2, 3, 1)),
        bias=np.zeros(out_channels, np.float32),
        strides=pair(attrs.strides),
        dilations=pair(attrs.dilation),
        pads=(top, left, bottom, right),
        groups=int(attrs.groups),
        batch=batch,
    )


def _dense(value: Expr) -> Dense | None:
    if op_name(value) != "matmul" or dtype_of(value) != "float32":
        return None
    weights = constant(value.args[1])
    if weights is None or weights.ndim != 2:
        return None
    rows = math.prod(shape_of(value.args[0])[:-1])
    bias = np.zeros(weights.shape[1], np.float32)
    return Dense(rows=rows, weights=np.ascontiguousarray(weights.T), bias=bias)


def pair(values: Any) -> tuple[int, int]:
    """Two numbers of an attribute of TVM."""
    first, second = ints(values)
    return first, second


# ---------------------------------------------------------------- single operators


def _match_single(builder: Builder, table: LayerTable, value: Expr, name: str) -> Expr | None:
    if isinstance(value, relax.Call) and value.args and getattr(value.args[0], "ty", None) is not None:
        pool = _window_pool(value) or _global_pool(value)
        if pool is not None:
            nchw = _emit_nhwc(builder, table, pool, value.args[0], name)
            if len(shape_of(value)) == 4:
                return nchw
            return relax.op.reshape(builder.emit(nchw, name_hint=name), shape_of(value))
        return _softmax(table, value, name)
    return None


def _window_pool(value: Expr) -> Pool2D | None:
    kinds = {"nn.max_pool2d": "max", "nn.avg_pool2d": "average"}
    kind = kinds.get(op_name(value))
    if kind is None or dtype_of(value) != "float32" or str(value.attrs.layout) != "NCHW":
        return None
    attrs = value.attrs
    batch, channels, height, width = shape_of(value.args[0])
    _, _, out_height, out_width = shape_of(value)
    top, left, bottom, right = ints(attrs.padding)
    kernel, strides, dilations = pair(attrs.pool_size), pair(attrs.strides), pair(attrs.dilation)
    include_pad = bool(attrs.count_include_pad)
    if include_pad and bool(attrs.ceil_mode):
        # A last window that hangs over the padding has a divisor of its own: leave it to TIR.
        return None
    return Pool2D(
        kind=kind,
        input=(height, width, channels),
        output=(out_height, out_width, channels),
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=(top, left, bottom, right),
        include_pad=include_pad,
        batch=batch,
    )


def _global_pool(value: Expr) -> Pool2D | None:
    kind = {"mean": "average", "max": "max"}.get(op_name(value))
    if kind is None or dtype_of(value) != "float32" or len(shape_of(value.args[0])) != 4:
        return None
    if value.attrs.axis is None or sorted(a % 4 for a in ints(value.attrs.axis)) != [2, 3]:
        return None
    batch, channels, height, width = shape_of(value.args[0])
    return Pool2D(
        kind=kind,
        input=(height, width, channels),
        output=(1, 1, channels),
        kernel=(height, width),
        strides=(1, 1),
        batch=batch,
    )


def _softmax(table: LayerTable, value: Expr, name: str) -> Expr | None:
    if op_name(value) != "nn.softmax" or dtype_of(value) != "float32":
        return None
    shape = shape_of(value)
    axis = int(value.attrs.axis) % len(shape)
    if math.prod(shape[axis + 1 :]) != 1:
        return None
    columns = shape[axis]
    return table.call(Softmax(math.prod(shape) // columns, columns), [value.args[0]], shape, name)
