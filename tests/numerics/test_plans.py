"""The planned bytes of the quantised MLPerf Tiny models for a core with DSP kernels, their scratch included.

Without a board, `test_tflite_exact.py` holds the plan.
"""

from __future__ import annotations

import pytest

from tests.numerics.test_tflite_exact import MODEL_FACTS, MODELS
from tvm_tool.board import load_board
from tvm_tool.compiler.driver import compile_model
from tvm_tool.options import parse_options

DSP_PLANS = {
    "kws_ref_model": 9_568,
    "vww_96_int8": 55_296,
    "pretrainedResnet_quant": 36_064,
    "ad01_int8": 256,
    "str_ww_ref_model": 4_864,
}
"""Most bytes without the caller's input and output."""


@pytest.mark.parametrize("name", MODEL_FACTS)
def test_the_plan_with_dsp_kernels_does_not_grow(name: str) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    compiled = compile_model(path, parse_options(str(path), {}), load_board("mps2_an386"))
    assert any("dsp" in call.kernel for call in compiled.program.calls)
    assert compiled.plan.lower_bound <= compiled.plan.bytes <= DSP_PLANS[name] <= MODEL_FACTS[name][0]


def test_scratch_only_where_it_takes_no_memory() -> None:
    path = MODELS / "ad01_int8.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    compiled = compile_model(path, parse_options(str(path), {}), load_board("mps2_an386"))
    kernels = [call.kernel for call in compiled.program.calls]
    # The last layer expands its input where that lies, the one of 8 inputs beside it; the others read theirs.
    assert [i for i, kernel in enumerate(kernels) if kernel == "dense_dsp"] == [5, 9]
    assert kernels.count("dense_direct_dsp") == 8
    assert compiled.plan.scratch[9, 0] == compiled.plan.tensors[compiled.program.calls[9].inputs[0]]
