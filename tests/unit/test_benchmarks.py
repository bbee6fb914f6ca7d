"""The tables of the benchmarks, without measuring anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import compile_cost, mlperf_tiny
from benchmarks.mlperf_tiny import BEGIN, END, Row, tables, write_page

ROWS = {
    ("mps2_an386", "kws"): Row(3_312_400, 40_000, 17_000),
    ("mps2_an386", "ad"): Row(262_000, 275_000, 1_500),
    ("virt_rv32", "kws"): Row(9_000_000, 42_000, 17_000),
}


def test_our_figures_stand_beside_the_published_ones() -> None:
    lines = "\n".join(tables(ROWS, "speed")).splitlines()
    assert "| | | KWS | AD |" in lines
    assert "| cortex-m4f | **tvm-tool** | 3,312 | 262 |" in lines
    assert "| cortex-m4f | TFLM + CMSIS-NN | 7,700 | 583 |" in lines
    assert "| rv32imc | **tvm-tool** | 9,000 |  |" in lines
    assert "| cortex-m4f | **tvm-tool** | 40,000 | 275,000 |" in lines
    assert "| cortex-m4f | microTVM 0.18 + CMSIS-NN | 50,500 | 274,500 |" in lines


def test_only_what_is_between_the_marks_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nbehind\n")
    monkeypatch.setattr(mlperf_tiny, "PAGE", page)
    write_page("new")
    write_page("newer")
    assert page.read_text() == f"before\n{BEGIN}\nnewer\n{END}\nbehind\n"


def test_the_page_has_the_marks() -> None:
    page = mlperf_tiny.PAGE.read_text(encoding="utf-8")
    assert page.index(BEGIN) < page.index(END)


def test_both_benchmarks_know_the_same_models() -> None:
    assert dict(compile_cost.MODELS) == dict(mlperf_tiny.FILES)


def test_a_model_that_does_not_compile_has_no_cost(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"none\.onnx: not compiled"):
        compile_cost.compile_once(tmp_path / "none.onnx", None)


@pytest.mark.parametrize(
    ("wall", "megabytes", "within"), [(3.9, 399, True), (4.1, 1, False), (1, 401, False)]
)
def test_the_bounds_of_a_compile(wall: float, megabytes: float, within: bool) -> None:
    assert compile_cost.Cost(wall, 9.0, megabytes).is_within == within
