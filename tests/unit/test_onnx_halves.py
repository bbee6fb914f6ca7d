"""float16 and bfloat16: stored as halves, computed in float32."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto

from tests.unit.onnx_models import load, operators, text
from tvm_tool.compiler.frontend.onnx_model import OnnxModel
from tvm_tool.errors import UnsupportedError

FLOAT16, BFLOAT16, FLOAT = TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT


def kinds(model: OnnxModel) -> dict[str, int]:
    graph = model.proto.graph
    values = [*graph.input, *graph.output, *graph.value_info]
    found = {v.name: v.type.tensor_type.elem_type for v in values}
    return found | {t.name: t.data_type for t in graph.initializer}


def test_only_the_interface_is_half(tmp_path: Path) -> None:
    source = (
        "g (float16[2,3] x) => (float16[2,2] y) <float16[3,2] w = {1, 2, 3, 4, 5, 6}> "
        "{ h = MatMul(x, w)\n y = Relu(h) }"
    )
    model = load(source, tmp_path)
    assert operators(model) == ["Cast", "Gemm", "Relu", "Cast"]
    found = kinds(model)
    assert (found.pop("x"), found.pop("y")) == (FLOAT16, FLOAT16)
    assert FLOAT16 not in found.values()


def test_a_cast_that_only_rounds_stays(tmp_path: Path) -> None:
    model = load("g (float[3] x) => (float[3] y) { h = Cast<to = 10>(x)\n y = Cast<to = 1>(h) }", tmp_path)
    assert operators(model) == ["Cast", "Cast"]
    assert kinds(model)[model.proto.graph.node[0].output[0]] == FLOAT16


def test_casts_around_computation_go(tmp_path: Path) -> None:
    body = "h = Cast<to = 10>(x)\n k = Exp(h)\n y = Cast<to = 1>(k)"
    assert operators(load(f"g (float[3] x) => (float[3] y) {{ {body} }}", tmp_path)) == ["Exp"]


def test_halves_that_are_only_moved_through(tmp_path: Path) -> None:
    model = load("g (float16[3] x) => (float16[3] y) { y = Identity(x) }", tmp_path)
    assert operators(model) == ["Identity"]


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_one_operator(kind: str, tmp_path: Path) -> None:
    model = load(f"g ({kind}[3] x, {kind}[3] w) => ({kind}[3] y) {{ y = Add(x, w) }}", tmp_path)
    assert operators(model) == ["Cast", "Cast", "Add", "Cast"]


@pytest.mark.parametrize(
    "body", ["h = Exp(x)\n y = Add(h, x)", "h = Exp(x)\n k = Cast<to = 1>(h)\n y = Cast<to = 16>(k)"]
)
def test_bfloat16_is_not_computed_with(body: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="intermediate values in bfloat16"):
        load(f"g (bfloat16[3] x) => (bfloat16[3] y) {{ {body} }}", tmp_path)


def test_bits_of_halves_are_refused(tmp_path: Path) -> None:
    head = '<ir_version: 12, opset_import: ["": 26]>\n'
    model = text("g (float16[3] x) => (int16[3] y) { y = BitCast<to = 5>(x) }", head)
    with pytest.raises(UnsupportedError, match="bits of half precision"):
        load(model, tmp_path)
