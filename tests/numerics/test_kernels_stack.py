"""The stack of every kernel along its deepest path, blocks and what it calls through pointers included."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.batch.shapes import layers_for
from tests.numerics.q_host import HARNESS, prepare
from tests.numerics.test_kernels_dsp import cases_of, every_layer
from tests.numerics.test_kernels_s8 import needs
from tests.numerics.test_winograd_dsp import winograd_cases
from tvm_tool.board import load_board
from tvm_tool.compiler.layers import Need
from tvm_tool.paths import runtime_dir

MOST_STACK = 256
BOARDS = {
    "m4": "mps2_an386",
    "m3": "mps2_an385",
    "m0": "microbit",
    "m55": "mps3_an547",
    "rv32": "virt_rv32",
}
NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(([^)]+)\)')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
INDIRECT = "__indirect_call"


@dataclass
class Calls:
    """Functions of several files: bytes on the stack, and what each calls."""

    stack: dict[str, int] = field(default_factory=dict)
    called: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def read(self, report: Path) -> None:
        text = report.read_text()
        for name, size, kind in NODE.findall(text):
            assert kind == "static", f"{name} has a stack of unknown size"
            self.stack[_plain(name)] = int(size)
        for source, target in EDGE.findall(text):
            self.called[_plain(source)].add(_plain(target))

    def deepest(self, name: str, behind_pointers: frozenset[str]) -> tuple[int, list[str]]:
        """Bytes along the deepest path from function `name` on, and that path."""
        rest = behind_pointers - {name}
        targets = set(self.called[name])
        if INDIRECT in targets:
            # What makes outputs of sums calls a function of the runtime, everything else may call a block.
            targets |= {other for other in rest if other.startswith("tvm_") or "finish" not in name}
        most, path = max((self.deepest(t, rest) for t in targets if t in self.stack), default=(0, []))
        return self.stack[name] + most, [name, *path]


def _plain(name: str) -> str:
    """A static function without its file, a copy of one without what the compiler appends."""
    return name.rsplit(":", 1)[-1].split(".", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("core", "level"), [*((core, level) for core in BOARDS for level in ("-O2", "-Os")), ("m4", "-O3")]
)
def test_no_kernel_takes_more_stack_than_it_may(core: str, level: str, tmp_path: Path) -> None:
    board = load_board(BOARDS[core]).core
    needs(f"{board.toolchain}gcc")
    need = Need(isa=board.isa, fpu=board.fpu, optimize="size" if level == "-Os" else "speed")
    cases = cases_of(
        [*every_layer(np.random.default_rng(6)), *layers_for(3, 60)], np.random.default_rng(7), need
    )
    if board.isa == "dsp":
        cases += winograd_cases(8, 6)
    files = prepare([case for case, _, _ in cases], tmp_path)
    command = [
        f"{board.toolchain}gcc",
        *board.flags,
        *board.libc,
        "-std=c99",
        level,
        "-fcallgraph-info=su",
        "-c",
    ]
    include = [f"-I{runtime_dir()}", f"-I{HARNESS}"]
    subprocess.run([*command, *include, *files], check=True, cwd=tmp_path)
    calls = Calls()
    for report in tmp_path.glob("*.ci"):
        calls.read(report)
    worst: dict[str, tuple[int, list[str]]] = {}
    for index, (case, _, _) in enumerate(cases):
        named = frozenset(re.findall(r"\w+", case.driver.body)) & set(calls.stack)
        for kernel in calls.called[f"case{index}"] & set(calls.stack):
            found = calls.deepest(kernel, named - {kernel})
            worst[kernel] = max(found, worst.get(kernel, found))
    assert len(worst) > 12
    assert sorted(found for found in worst.values() if found[0] > MOST_STACK) == []
