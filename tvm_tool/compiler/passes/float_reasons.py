"""Why a quantised result is computed in float, in words."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import Expr, constant, is_var, op_name
from .look_back import LookBack
from .quantized_constants import scalar_quantization

ACTIVATIONS = frozenset({"nn.relu", "clip"})

HAVE_KERNELS = frozenset(
    "nn.conv1d nn.conv2d nn.conv1d_transpose nn.conv2d_transpose matmul nn.max_pool1d nn.max_pool2d "
    "nn.avg_pool1d nn.avg_pool2d nn.softmax add subtract multiply maximum minimum nn.prelu concat "
    "mean sum max min".split()
)


def reason_for_float(look: LookBack, quantize: Expr) -> str:
    """Why there is no integer layer for what `quantize` is applied to."""
    if scalar_quantization(quantize) is None:
        return "its output is not int8 or uint8 with one scale"
    call = look.value(quantize.args[0])
    while op_name(call) in ACTIVATIONS or (look.is_move(call) and op_name(call) != "nn.pad"):
        call = look.value(call.args[0])
    name = op_name(call)
    word = name.rpartition(".")[2]
    if name not in HAVE_KERNELS:
        return f"there is no integer kernel for {word}" if word else "there is no integer kernel for it"
    if not all(_is_quantised(look, part) for part in _operands(call)):
        return f"not all that goes into {word} is quantised with one scale"
    return f"there is no integer kernel for {word} with these attributes or scales"


def _operands(call: Expr) -> list[Expr]:
    first = call.args[0]
    return list(first.fields) if isinstance(first, relax.Tuple) else list(call.args)


def _is_quantised(look: LookBack, expr: Expr) -> bool:
    if look.leaf(expr) is not None or look.constant(expr) is not None:
        return True
    return not is_var(expr) and constant(expr) is None
