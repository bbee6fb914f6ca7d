"""The int8 models of MLPerf Tiny on every core: exact instructions, flash and RAM of whole images.

    python benchmarks/mlperf_tiny.py [--models DIR] [--boards BOARD,...] [--optimize speed|size]
                                     [--winograd VALUE] [--layers] [--write] [kws vww ic ad sww]

Every image is built as the demo is, runs in its board's emulator, and must give the recorded bytes for four
inputs before anything is printed. --layers prints the instructions of each layer; --write puts the tables
into docs/performance.md, beside the figures of published.yaml. DIR holds the models and the recorded outputs;
default: the environment's TVM_TOOL_MODELS. Cycles are those of a model of the Cortex-M4 (cortex_m4.py): an
emulator knows none.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from elftools.elf.elffile import ELFFile  # noqa: E402

from benchmarks import cortex_m4  # noqa: E402
from benchmarks.qemu_trace import read_traces, total, traced  # noqa: E402
from benchmarks.tables import MODELLED, Layer, Row, tables, write_page  # noqa: E402
from tests.numerics.test_tflite_exact import MODEL_FACTS, pattern  # noqa: E402
from tests.support.firmware import Firmware, build_firmware  # noqa: E402
from tvm_tool.image.elf import read_image  # noqa: E402
from tvm_tool.image.metadata import load_metadata  # noqa: E402
from tvm_tool.target.runner import Runner  # noqa: E402
from tvm_tool.target.session import Called, start_session  # noqa: E402

BOARDS = (
    *("mps2_an386", "mps2_an500", "mps2_an505", "mps3_an547"),
    *("mps2_an385", "mps2_an383", "virt_rv32"),
)
FILES = {short: name for name, (_, short) in MODEL_FACTS.items()}
HOOKS = ("tvm_platform_layer_begin", "tvm_platform_layer_end")
HOOKS_TEXT = '#include "tvm_platform.h"\n' + "".join(
    f'__attribute__((noinline)) void {name}(uint32_t index)\n{{\n    __asm__ volatile("" ::"r"(index));\n}}\n'
    for name in HOOKS
)
"""Functions to stop at; the optimiser would inline the runtime's empty ones."""


@dataclass(frozen=True)
class Counted:
    """What an inference took, in all and up to each pass of a watched function."""

    instructions: int
    cycles: int | None
    passed: tuple[int, ...] = ()
    cycles_between: tuple[int, ...] = ()


def measure(models: Path, short: str, board: str, layers: bool, **options: Any) -> Row:
    """Build the model, check its bytes, and count."""
    with tempfile.TemporaryDirectory() as folder:
        path = models / f"{FILES[short]}.tflite"
        plain = build_firmware(path, board, Path(folder, "plain"), name=short, **options)
        counted = run(plain, models, short, [])
        found: list[Layer] = []
        if layers:
            flags = ["-DTVM_PROFILE_LAYERS"]
            Path(folder, "hooked").mkdir()
            Path(folder, "hooked", "hooks.c").write_text(HOOKS_TEXT, encoding="utf-8")
            hooked = build_firmware(path, board, Path(folder, "hooked"), flags=flags, name=short, **options)
            inside = run(hooked, models, short, HOOKS)
            calls = hooked.compiled.program.calls
            assert len(inside.passed) == 2 * len(calls)
            parts = [after - before for before, after in pairwise(inside.passed)][::2]
            modelled = inside.cycles_between[1::2] or (None,) * len(calls)
            found = [
                Layer(call.function, call.kernel, count, spent)
                for call, count, spent in zip(calls, parts, modelled, strict=True)
            ]
        return Row(counted.instructions, *sizes(plain.elf), counted.cycles, tuple(found))


def run(firmware: Firmware, models: Path, short: str, stops: Sequence[str]) -> Counted:
    """The second inference; every one must give the recorded bytes."""
    image, info = read_image(firmware.elf), load_metadata(firmware.metadata)
    function, main = image.function(f"{info.prefix}_run"), image.function("main")
    assert function is not None
    watched = [symbol.address for name in stops if (symbol := image.function(name)) is not None]
    recorded = (models / "expected_tflm_layers" / f"layers_{short}_m4f.txt").read_text(encoding="utf-8")
    wanted = re.findall(r"^OUT=([0-9a-f]+)$", recorded, re.MULTILINE)
    with start_session(image, firmware.board, main or function) as session:
        runner = Runner(session, image, info, firmware.board, function, 600.0)

        def infer(number: int, watch: Sequence[int] = ()) -> Called:
            source = info.inputs[0]
            data = pattern(number, source.bytes).reshape(source.shape)
            called, outputs = runner.run({source.name: data}, watch)
            got = np.ascontiguousarray(outputs[0]).tobytes().hex()
            if got != wanted[number]:
                raise SystemExit(f"{short} on {firmware.board.name}, input {number}: {got}")
            assert called.instructions is not None
            return called

        results = [infer(number, watched if number == 1 else ()) for number in range(len(wanted))]
        passed = tuple(count for _, count in results[1].passed if count is not None)
        if firmware.board.core.name != MODELLED:
            return Counted(results[1].instructions or 0, None, passed)
        log = firmware.elf.with_suffix(".log")
        with traced(session, log):
            again = infer(1)
    with log.open(encoding="utf-8", errors="replace") as lines:
        traces = read_traces(lines, watched)
    # Every instruction must be in the trace once.
    assert sum(map(total, traces)) == again.instructions
    between = tuple(cortex_m4.cycles(image, trace) for trace in traces)
    return Counted(results[1].instructions or 0, sum(between), passed, between)


def sizes(elf: Path) -> tuple[int, int]:
    """Bytes in flash and in RAM, without the stack."""
    flash = ram = 0
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if not section["sh_flags"] & 2 or section.name == ".stack":
                continue
            flash += section["sh_size"] if section["sh_type"] != "SHT_NOBITS" else 0
            ram += section["sh_size"] if section["sh_flags"] & 1 else 0
    return flash, ram


def _counts(what: Row | Layer) -> str:
    cycles = f"{what.cycles:,}" if what.cycles is not None else "-"
    return f"{what.instructions:12,} {cycles:>12}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", default=list(FILES))
    parser.add_argument("--models", type=Path, default=os.environ.get("TVM_TOOL_MODELS"))
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--optimize", default="speed", choices=["speed", "size"])
    parser.add_argument("--winograd", default="false")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in FILES]
    if unknown or arguments.models is None:
        parser.error(f"there is no model '{unknown[0]}'" if unknown else "name the models' folder: --models")
    options = {"optimize": arguments.optimize, "winograd": arguments.winograd}
    rows: dict[tuple[str, str], Row] = {}
    for board in arguments.boards.split(","):
        for short in arguments.names:
            row = measure(arguments.models, short, board, arguments.layers, **options)
            rows[board, short] = row
            print(f"{board:12} {short:4} {_counts(row)} {row.flash:9,} {row.ram:9,}", flush=True)
            for layer in row.layers:
                share = 100 * layer.instructions / row.instructions
                print(f"  {_counts(layer)} {share:5.1f} % {layer.kernel:24} {layer.function}")
    text = "\n".join(tables(rows, arguments.optimize))
    print(text)
    if arguments.write:
        write_page(text)


if __name__ == "__main__":
    main()
