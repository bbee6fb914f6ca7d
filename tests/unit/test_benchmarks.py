"""The tables of the benchmarks, without measuring anything."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from benchmarks import compile_cost, cortex_m4, mlperf_tiny
from benchmarks import tables as tables_module
from benchmarks.qemu_trace import Executed, read_traces, total
from benchmarks.tables import BEGIN, END, Row, tables, write_page
from tvm_tool.image.elf import Image

ROWS = {
    ("mps2_an386", "kws"): Row(3_312_400, 40_000, 17_000, cycles=3_700_400),
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
    assert "| model | **tvm-tool** | 3,700 |  |" in lines
    assert "| model, a MAC | **tvm-tool** | 1.39 |  |" in lines
    assert "| model | TFLM + CMSIS-NN | 9,304 | 727 |" in lines
    assert "| board, a MAC | microTVM | 4.5 | 3.9 |" in lines


def test_only_what_is_between_the_marks_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nbehind\n")
    monkeypatch.setattr(tables_module, "PAGE", page)
    write_page("new")
    write_page("newer")
    assert page.read_text() == f"before\n{BEGIN}\nnewer\n{END}\nbehind\n"


def test_the_page_has_the_marks() -> None:
    page = tables_module.PAGE.read_text(encoding="utf-8")
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


LOG = """\
----------------
IN: run
0x00000100:  2002       movs     r0, #2

Trace 0: 0x7f01 [00800408/00000100/00000010/ff020200] run
----------------
IN: run
0x00000102:  f1b0 0001  subs.w   r0, r0, #1
0x00000106:  d1fc       bne      #0x102

Trace 0: 0x7f02 [00800408/00000102/00000010/ff020200] run
Trace 0: 0x7f02 [00800408/00000102/00000010/ff020200] run
Stopped execution of TB chain before 0x7f02 [00000102] run
Trace 0: 0x7f02 [00800408/00000102/00000010/ff020200] run
----------------
IN: leave
0x00000108:  4770       bx       lr

Trace 0: 0x7f03 [00800408/00000108/00000010/ff020200] leave
"""


def test_a_log_becomes_counts() -> None:
    (trace,) = read_traces(LOG.splitlines())
    assert trace == {
        0x100: Executed(1, 0),
        0x102: Executed(2, 0),
        0x106: Executed(2, 1),
        0x108: Executed(1, 0),
    }
    parts = read_traces(LOG.splitlines(), {0x108})
    assert [total(part) for part in parts] == [5, 1]


def test_a_log_without_code_is_refused() -> None:
    lines = [line for line in LOG.splitlines() if not line.startswith("0x")]
    with pytest.raises(ValueError, match="without a disassembler"):
        read_traces(lines)


@pytest.mark.parametrize(
    ("code", "counts", "spent"),
    [
        ("0868 4b68 8a68", [(1, 0)] * 3, 2 + 1 + 1),  # three loads in a row
        ("0968 0968", [(1, 0)] * 2, 2 + 2),  # the second address is what the first loads
        ("fed1", [(10, 9)], 10 + 2 * 9),  # bne
        ("2de9f04f", [(1, 0)], 1 + 9),  # push {r4-r11, lr}
        ("bde8f08f", [(1, 1)], 1 + 9 + 2),  # pop {r4-r11, pc}
        ("20fb0120", [(5, 0)], 5),  # smlad
        ("90fbf1f0", [(1, 0)], 7),  # sdiv
        ("d1e90023", [(1, 0)], 3),  # ldrd
        ("a0ee800a 30ee000a", [(1, 0)] * 2, 3 + 1 + 1),  # vfma, and vadd that waits for its sum
        ("90ed000b", [(1, 0)], 3),  # vldr of a double word
        ("51ec100b", [(1, 0)], 2),  # vmov of two words
    ],
)
def test_cycles_by_the_manual(code: str, counts: list[tuple[int, int]], spent: int) -> None:
    class Code:
        path = "code"

        @staticmethod
        def read(address: int, size: int) -> bytes:
            return bytes.fromhex(code)[address - 0x100 :][:size]

    address, trace = 0x100, {}
    for part, (count, left) in zip(code.split(), counts, strict=True):
        trace[address] = Executed(count, left)
        address += len(part) // 2
    assert cortex_m4.cycles(cast(Image, Code()), trace) == spent
