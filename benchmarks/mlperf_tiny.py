"""The int8 models of MLPerf Tiny on every core: exact instructions, flash and RAM of whole images.

    python benchmarks/mlperf_tiny.py [--models DIR] [--boards BOARD,...] [--optimize speed|size]
                                     [--layers] [--write] [kws vww ic ad sww]

Every image is built as the demo is, runs in its board's emulator, and must give the recorded bytes for four
inputs before anything is printed. --layers prints the instructions of each layer; --write puts the tables
into docs/performance.md, beside the figures of published.yaml. DIR holds the models and the recorded outputs;
default: the environment's TVM_TOOL_MODELS. An emulator knows no cycles, so there are none.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import yaml  # noqa: E402
from elftools.elf.elffile import ELFFile  # noqa: E402

from tests.numerics.test_tflite_exact import MODEL_FACTS, pattern  # noqa: E402
from tests.support.firmware import Firmware, build_firmware  # noqa: E402
from tvm_tool.board import load_board  # noqa: E402
from tvm_tool.image.elf import read_image  # noqa: E402
from tvm_tool.image.metadata import load_metadata  # noqa: E402
from tvm_tool.target.runner import Runner  # noqa: E402
from tvm_tool.target.session import start_session  # noqa: E402

BOARDS = (
    *("mps2_an386", "mps2_an500", "mps2_an505", "mps3_an547"),
    *("mps2_an385", "mps2_an383", "virt_rv32"),
)
FILES = {short: name for name, (_, short) in MODEL_FACTS.items()}
PUBLISHED = Path(__file__).with_name("published.yaml")
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- mlperf_tiny.py: begin -->", "<!-- mlperf_tiny.py: end -->"
HOOKS = ("tvm_platform_layer_begin", "tvm_platform_layer_end")
HOOKS_TEXT = '#include "tvm_platform.h"\n' + "".join(
    f'__attribute__((noinline)) void {name}(uint32_t index)\n{{\n    __asm__ volatile("" ::"r"(index));\n}}\n'
    for name in HOOKS
)
"""Functions to stop at; the optimiser would inline the runtime's empty ones."""


@dataclass(frozen=True)
class Row:
    """One model on one board.

    Attributes:
        instructions: of the second of four inferences.
        flash: bytes of code, constants and initialised data.
        ram: bytes of variables, workspace, inputs and outputs; not the stack.
        layers: function, kernel and instructions of each layer, if asked for.
    """

    instructions: int
    flash: int
    ram: int
    layers: tuple[tuple[str, str, int], ...] = ()


def measure(models: Path, short: str, board: str, optimize: str, layers: bool) -> Row:
    """Build the model, check its bytes, and count."""
    with tempfile.TemporaryDirectory() as folder:
        path = models / f"{FILES[short]}.tflite"
        plain = build_firmware(path, board, Path(folder, "plain"), optimize, name=short)
        instructions, _ = run(plain, models, short, [])
        found: list[tuple[str, str, int]] = []
        if layers:
            flags = ["-DTVM_PROFILE_LAYERS"]
            Path(folder, "hooked").mkdir()
            Path(folder, "hooked", "hooks.c").write_text(HOOKS_TEXT, encoding="utf-8")
            hooked = build_firmware(path, board, Path(folder, "hooked"), optimize, flags=flags, name=short)
            _, counts = run(hooked, models, short, HOOKS)
            calls = hooked.compiled.program.calls
            assert len(counts) == 2 * len(calls)
            parts = [after - before for before, after in pairwise(counts)][::2]
            found = [(c.function, c.kernel, n) for c, n in zip(calls, parts, strict=True)]
        return Row(instructions, *sizes(plain.elf), tuple(found))


def run(firmware: Firmware, models: Path, short: str, stops: Sequence[str]) -> tuple[int, list[int]]:
    """Instructions of the second inference, and of it up to each pass of the functions `stops`."""
    image, info = read_image(firmware.elf), load_metadata(firmware.metadata)
    function, main = image.function(f"{info.prefix}_run"), image.function("main")
    assert function is not None
    watched = [symbol.address for name in stops if (symbol := image.function(name)) is not None]
    recorded = (models / "expected_tflm_layers" / f"layers_{short}_m4f.txt").read_text(encoding="utf-8")
    wanted = re.findall(r"^OUT=([0-9a-f]+)$", recorded, re.MULTILINE)
    counts, passed = [], []
    with start_session(image, firmware.board, main or function) as session:
        runner = Runner(session, image, info, firmware.board, function, 600.0)
        for number, want in enumerate(wanted):
            source = info.inputs[0]
            data = pattern(number, source.bytes).reshape(source.shape)
            called, outputs = runner.run({source.name: data}, watched if number == 1 else ())
            got = np.ascontiguousarray(outputs[0]).tobytes().hex()
            if got != want:
                raise SystemExit(f"{short} on {firmware.board.name}, input {number}: {got}, not {want}")
            assert called.instructions is not None
            counts.append(called.instructions)
            passed += [count for _, count in called.passed if count is not None]
    return counts[1], passed


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


Rows = Mapping[tuple[str, str], Row]
"""By board and model."""


def tables(rows: Rows, optimize: str) -> Iterator[str]:
    """The tables as Markdown: ours in bold beside what was published."""
    published = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    boards = list(dict.fromkeys(board for board, _ in rows))
    shorts = [short for short in FILES if any(short == s for _, s in rows)]
    head = f"| | | {' | '.join(s.upper() for s in shorts)} |\n|---|---|{'---|' * len(shorts)}"
    yield f"Instructions of one inference, in thousands, `optimize={optimize}`:\n\n{head}"
    for board in boards:
        core = load_board(board).core.name
        cells = [_thousands(rows, board, short) for short in shorts]
        yield f"| {core} | **tvm-tool** | {' | '.join(cells)} |"
        for other in published["runtimes"]:
            if other["core"] == core:
                yield f"| {core} | {other['name']} | {_cells(other['instructions'], shorts)} |"
    for what, meaning in (("flash", "Flash of the whole image"), ("ram", "RAM without the stack")):
        yield f"\n{meaning}, in bytes:\n\n{head}"
        for board in boards:
            core = load_board(board).core.name
            values = {s: getattr(rows[board, s], what) for s in shorts if (board, s) in rows}
            yield f"| {core} | **tvm-tool** | {_cells(values, shorts)} |"
            for other in published["runtimes"]:
                if other["core"] == core and what in other:
                    yield f"| {core} | {other['name']} | {_cells(other[what], shorts)} |"
    yield "\nHow the others were measured:\n"
    for other in published["runtimes"]:
        yield f"- {other['name']} on {other['core']}: {other['conditions']}."
    yield "\nPublished for a Cortex-M4 at 120 MHz, in cycles for each multiply-accumulate:\n"
    for record in published["records"]:
        figures = ", ".join(f"{s.upper()} {v}" for s, v in record["cycles_per_mac"].items())
        yield f"- {record['name']}: {figures}."


def _thousands(rows: Rows, board: str, short: str) -> str:
    row = rows.get((board, short))
    return f"{row.instructions / 1000:,.0f}" if row else ""


def _cells(values: Mapping[str, Any], shorts: Sequence[str]) -> str:
    return " | ".join(f"{values[s]:,}" if s in values else "" for s in shorts)


def write_page(text: str) -> None:
    """Put `text` between the markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n{text}\n{page[end:]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", default=list(FILES))
    parser.add_argument("--models", type=Path, default=os.environ.get("TVM_TOOL_MODELS"))
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--optimize", default="speed", choices=["speed", "size"])
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in FILES]
    if unknown or arguments.models is None:
        parser.error(f"there is no model '{unknown[0]}'" if unknown else "name the models' folder: --models")
    rows: dict[tuple[str, str], Row] = {}
    for board in arguments.boards.split(","):
        for short in arguments.names:
            row = measure(arguments.models, short, board, arguments.optimize, arguments.layers)
            rows[board, short] = row
            print(f"{board:12} {short:4} {row.instructions:12,} {row.flash:9,} {row.ram:9,}", flush=True)
            for function, kernel, count in row.layers:
                print(f"  {count:12,} {100 * count / row.instructions:5.1f} % {kernel:24} {function}")
    text = "\n".join(tables(rows, arguments.optimize))
    print(text)
    if arguments.write:
        write_page(text)


if __name__ == "__main__":
    main()
