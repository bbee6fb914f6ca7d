"""Every integer kernel on every core equals the scalar reference, byte for byte, over random layers.

TVM_TOOL_SHAPES says how many layers each core computes; 1,000 take some minutes for all cores.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path

import pytest

from tests.firmware.batch.builder import Case, Target, cases_of
from tests.firmware.batch.shapes import layers_for
from tests.numerics.test_kernels_s8 import needs
from tvm_tool.board import Board, load_board
from tvm_tool.target.qemu import run_image

BOARDS = (
    *("mps2_an382", "mps2_an383", "mps2_an385", "mps2_an386"),
    *("mps2_an500", "mps2_an505", "mps3_an547", "virt_rv32"),
)
SHAPES = int(os.environ.get("TVM_TOOL_SHAPES", "60"))
BATCH = 60


@functools.cache
def batches() -> list[list[Case]]:
    return cases_of(layers_for(1, SHAPES), 2, BATCH)


def board_with_tools(name: str) -> Board:
    board = load_board(name)
    needs(f"{board.core.toolchain}gcc", board.core.qemu)
    return board


@pytest.mark.parametrize("name", BOARDS)
def test_random_layers(name: str, tmp_path: Path) -> None:
    board = board_with_tools(name)
    targets = []
    for optimize, flags in (("speed", "-O2"), ("size", "-Os")):
        folder = tmp_path / optimize
        folder.mkdir()
        targets.append(Target(board, folder, (flags,), optimize))
    wrong: list[str] = []
    for number, cases in enumerate(batches()):
        wrong += targets[0].run(cases)
        if number % 4 == 0:
            wrong += targets[1].run(cases[: BATCH // 4])
    assert not wrong, "\n".join(wrong)
    assert len(targets[0].kernels) > 5


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    cases = cases_of(layers_for(3, 4), 4, 4)[0]
    last = cases[2].output
    cases[2] = dataclasses.replace(cases[2], output=last[:-1] + bytes([last[-1] ^ 1]))
    wrong = Target(board_with_tools("mps2_an386"), tmp_path).run(cases)
    assert wrong
    assert all("has a wrong output" in line and type(cases[2].layer).__name__ in line for line in wrong)


BEHIND = """
#include "batch.h"
static void behind(const void *const *inputs, void *output, uint8_t *scratch)
{
    (void)inputs;
    (void)scratch;
    ((uint8_t *)output)[1] = 0;
}
static void input(const void *const *inputs, void *output, uint8_t *scratch)
{
    (void)scratch;
    *(uint8_t *)output = 0;
    ++*(uint8_t *)(uintptr_t)inputs[0];
}
static void below(const void *const *inputs, void *output, uint8_t *scratch)
{
    (void)inputs;
    *(uint8_t *)output = 0;
    scratch[-1] = 0;
}
const struct batch_case batch_cases[] = {
    {behind, {{1, 0, 0}, {0, 0, 0}}, 1, 0, 0, 1, 0xD202EF8Du},
    {input, {{1, 0, 0}, {0, 0, 0}}, 1, 0, 0, 1, 0xD202EF8Du},
    {below, {{1, 0, 0}, {0, 0, 0}}, 1, 0, 0, 1, 0xD202EF8Du},
};
const uint32_t batch_case_count = 3;
static uint8_t memory[4][48];
uint8_t *const batch_places[4] = {memory[0] + 16, memory[1] + 16, memory[2] + 16, memory[3] + 16};
"""


def test_writes_beside_the_output_are_noticed(tmp_path: Path) -> None:
    board = board_with_tools("mps2_an386")
    source = tmp_path / "cases.c"
    source.write_text(BEHIND)
    elf = Target(board, tmp_path).link(source, [])
    result = run_image(elf, board)
    assert result.status == 3
    assert result.output.splitlines() == [
        "0 writes beside its output",
        "1 changes an input",
        "2 writes beside its scratch",
    ]
