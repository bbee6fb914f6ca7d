"""Quantised operators as float operators between DequantizeLinear and QuantizeLinear.

These are the operators of ONNX and of onnxruntime's domain that take numbers with their scales and zero
points: what QuantFormat.QOperator and onnxruntime's own optimiser write. Their meaning is the rounded real
value, so that nothing is lost by taking them apart: the compiler puts integer layers together again.
Sums without an output scale (ConvInteger, MatMulInteger) stay integers, exact in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from onnx import NodeProto

from . import onnx_quantized_integer, onnx_quantized_linear, onnx_quantized_local, onnx_quantized_windows
from .onnx_emit import Emitter
from .onnx_graph import Graph
from .onnx_opset import OLDEST_KEPT, SHIELD
from .onnx_quantized_values import check_parameters

MICROSOFT = "com.microsoft"

Expansion = Callable[[Emitter], bool]
"""Emits what replaces the emitter's node. False, and nothing emitted, if the node may stay."""

EXPANSIONS: Mapping[tuple[str, str], Expansion] = MappingProxyType(
    {
        ("", "ConvInteger"): onnx_quantized_integer.conv_integer,
        ("", "DynamicQuantizeLinear"): onnx_quantized_integer.dynamic_quantize,
        ("", "MatMulInteger"): onnx_quantized_integer.matmul_integer,
        ("", "QLinearConv"): onnx_quantized_linear.conv,
        ("", "QLinearMatMul"): onnx_quantized_linear.matmul,
        (MICROSOFT, "DequantizeLinear"): onnx_quantized_local.dequantize_linear,
        (MICROSOFT, "DynamicQuantizeMatMul"): onnx_quantized_integer.dynamic_matmul,
        (MICROSOFT, "MatMulIntegerToFloat"): onnx_quantized_integer.matmul_to_float,
        (MICROSOFT, "NhwcMaxPool"): onnx_quantized_windows.nhwc_max_pool,
        (MICROSOFT, "QGemm"): onnx_quantized_linear.gemm,
        (MICROSOFT, "QLinearAdd"): onnx_quantized_local.add,
        (MICROSOFT, "QLinearAveragePool"): onnx_quantized_windows.average_pool,
        (MICROSOFT, "QLinearConcat"): onnx_quantized_local.concat,
        (MICROSOFT, "QLinearConv"): onnx_quantized_linear.conv,
        (MICROSOFT, "QLinearGlobalAveragePool"): onnx_quantized_windows.global_average_pool,
        (MICROSOFT, "QLinearLeakyRelu"): onnx_quantized_local.leaky_relu,
        (MICROSOFT, "QLinearMul"): onnx_quantized_local.mul,
        (MICROSOFT, "QLinearReduceMean"): onnx_quantized_windows.reduce_mean,
        (MICROSOFT, "QLinearSigmoid"): onnx_quantized_local.sigmoid,
        (MICROSOFT, "QLinearSoftmax"): onnx_quantized_local.softmax,
        (MICROSOFT, "QLinearWhere"): onnx_quantized_local.where,
        (MICROSOFT, "QuantizeLinear"): onnx_quantized_local.quantize_linear,
    }
)
"""Expansions by domain and operator."""


UNSUPPORTED = frozenset(
    """
    DynamicQuantizeLSTM GatherBlockQuantized MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulNBits MulInteger
    QAttention QEmbedLayerNormalization QMoE QOrderedAttention QOrderedGelu QOrderedLayerNormalization
    QOrderedLongformerAttention QOrderedMatMul ReduceSumInteger
    """.split()
)
"""Quantised operators of onnxruntime that are refused: most are fusions of many operators."""

INSTEAD = "quantise the network with QuantFormat.QDQ, without fusing its layers first"
"""What to do about the operators that are refused."""


def expand_quantized(graph: Graph, node: NodeProto) -> list[NodeProto] | None:
    """The nodes that compute what `node` does; None if it is no quantised operator.

    The types of its inputs must be known. What replaces a node of an old model is written in the opset
    that the model is brought to.

    Raises:
        ModelError: its parameters are missing or do not fit together.
        UnsupportedError: it computes with numbers of a kind that is not supported.
    """
    if not node.domain and node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        check_parameters(graph, node)
        return None
    write = EXPANSIONS.get((node.domain, node.op_type))
    if write is None:
        return None
    emit = Emitter(graph, node)
    if not write(emit):
        return None
    if graph.opset < OLDEST_KEPT:
        for new in emit.nodes:
            new.domain = SHIELD
    return emit.nodes
