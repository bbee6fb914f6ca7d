"""The steps of post-training quantisation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx

from ...errors import OptionError, UnsupportedError
from ...image.metadata import TensorInfo
from ...samples import load_samples
from ..frontend.onnx_graph import Type, label, numpy_dtype
from ..frontend.onnx_model import OnnxModel, with_graph
from ..frontend.onnx_quantization import interface_quantization
from ..quantized_layers import Quantization
from .boundary import integer_interface
from .measure import measure
from .report import Report
from .static import quantize_static

QUANTIZED = frozenset(
    "QuantizeLinear DequantizeLinear DynamicQuantizeLinear ConvInteger MatMulInteger".split()
)
"""What a quantised model has in its normal form, and a float model has not."""


@dataclass(frozen=True, eq=False)
class Quantized:
    """A quantised model.

    Attributes:
        model: in normal form.
        file: contents of an ONNX file that holds it, for ONNX Runtime and for inspection.
        report: what it has cost.
        left: inputs and outputs that stay in float although integers were asked for.
    """

    model: OnnxModel
    file: bytes
    report: Report
    left: tuple[str, ...]

    @staticmethod
    def file_name(name: str) -> str:
        """How `file` is called beside the C sources of the model `name`."""
        return f"{name}_quantized.onnx"

    def metadata(self, name: str) -> dict[str, Any]:
        """What ``NAME.json`` says about it."""
        digest = hashlib.sha256(self.file).hexdigest()
        return {"model": self.file_name(name), "sha256": digest, **self.report.as_json()}


def quantize(model: OnnxModel, calibration: Path, integers: bool) -> Quantized:
    """Quantise a float model to int8.

    Args:
        model: in normal form.
        calibration: an ``.npz`` file or a folder, see `tvm_tool.samples`.
        integers: let inputs and outputs be integers as well.

    Raises:
        OptionError: the model is quantised already, or the data do not fit it.
        ModelError: ONNX Runtime cannot quantise it, or there is nothing to quantise.
        ToolchainError: ONNX Runtime is not installed.
    """
    _check_float(model)
    graph = model.proto.graph
    samples = load_samples(calibration, _tensors(graph.input), None, _tensors(graph.output), strict=True)
    proto = quantize_static(model.proto, samples.inputs)
    if not any(node.op_type == "QuantizeLinear" for node in proto.graph.node):
        raise UnsupportedError(
            "there is nothing in it that onnxruntime quantises",
            file=model.files[0],
            where="option 'quantize'",
            remedy="compile it in float",
        )
    if integers:
        integer_interface(proto)
    scales = interface_quantization(proto)
    inputs, outputs = _tensors(proto.graph.input, scales), _tensors(proto.graph.output, scales)
    left = tuple(t.name for t in (*inputs, *outputs) if integers and t.scale is None)
    report = measure(model.proto, proto, inputs, outputs, samples)
    file = proto.SerializeToString(deterministic=True)
    return Quantized(with_graph(model, proto), file, report, left)


def _check_float(model: OnnxModel) -> None:
    node = next((n for n in model.proto.graph.node if n.op_type in QUANTIZED), None)
    if node is not None:
        raise OptionError(
            "the model is quantised already",
            file=model.files[0],
            where=f"option 'quantize', {label(node)}",
            expected="a float model",
            remedy="leave out 'quantize' and 'calibration'",
        )


def _tensors(
    values: Iterable[onnx.ValueInfoProto], scales: Mapping[str, Quantization] = MappingProxyType({})
) -> list[TensorInfo]:
    tensors = []
    for value in values:
        tensor = value.type.tensor_type
        kind = Type(tensor.elem_type, tuple(d.dim_value for d in tensor.shape.dim))
        how = scales.get(value.name)
        tensors.append(
            TensorInfo(
                name=value.name,
                dtype=str(numpy_dtype(kind.elem)),
                shape=kind.shape,
                bytes=kind.bytes,
                scale=how.scale if how else None,
                zero_point=how.zero_point if how else 0,
            )
        )
    return tensors
