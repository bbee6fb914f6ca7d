"""Every instruction that an emulated Cortex-M executes in a call, counted from QEMU's own log.

QEMU logs each block of code when it translates it and each time that it enters one. Nothing is compiled
or linked in, and the counts are exact: their sum is what the emulator itself counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tvm_tool.target.session import Session

_INSTRUCTION = re.compile(r"0x([0-9a-f]+):\s+([0-9a-f]{4})(?: ([0-9a-f]{4}))?\s")
_ENTRY = re.compile(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/[0-9a-f]+/([0-9a-f]+)\]")


@dataclass
class Executed:
    """How often one instruction was executed, and how often another than the following one came next."""

    count: int = 0
    left: int = 0


Trace = dict[int, Executed]
"""By address."""


@dataclass(frozen=True)
class _Block:
    addresses: tuple[int, ...]
    end: int


@contextmanager
def traced(session: Session, log: Path) -> Iterator[None]:
    """Let the emulator write `log` meanwhile: about 20 bytes an instruction."""
    session.monitor(f"logfile {log}")
    session.monitor("log in_asm,exec,nochain")
    try:
        yield
    finally:
        session.monitor("log none")


def read_traces(lines: Iterable[str], splits: Collection[int] = ()) -> list[Trace]:
    """What was executed before the first entry of a function in `splits`, up to the next one, and so on.

    Raises ValueError if the log says too little.
    """
    blocks: dict[tuple[str, str], _Block] = {}
    traces: list[Trace] = [{}]
    translated: list[tuple[int, int]] = []
    before: _Block | None = None
    for line in lines:
        if entry := _ENTRY.match(line):
            key = (entry[1], entry[2])
            start = int(entry[1], 16)
            if key not in blocks:
                blocks[key] = _block(start, translated)
            if before is not None and start != before.end:
                traces[-1][before.addresses[-1]].left += 1
            if start in splits:
                traces.append({})
            before = blocks[key]
            _count(traces[-1], before, 1)
        elif line.startswith("IN:"):
            translated = []
        elif line.startswith("Stopped execution") and before is not None:
            # The block before this line was entered, but not executed; it is entered again.
            _count(traces[-1], before, -1)
            before = None
        elif instruction := _INSTRUCTION.match(line):
            translated.append((int(instruction[1], 16), 4 if instruction[3] else 2))
    return traces


def _block(start: int, translated: list[tuple[int, int]]) -> _Block:
    if not translated or translated[0][0] != start:
        raise ValueError(
            f"the log does not show the code at {start:#x}: is this QEMU without a disassembler?"
        )
    address, size = translated[-1]
    return _Block(tuple(address for address, _ in translated), address + size)


def _count(trace: Trace, block: _Block, times: int) -> None:
    for address in block.addresses:
        trace.setdefault(address, Executed()).count += times


def total(trace: Trace) -> int:
    """Instructions in all."""
    return sum(executed.count for executed in trace.values())
