"""Ours beside what TVM's own lowering gives for the same model, core, compiler flags and firmware.

"TVM" is the same importer and C printer with `LegalizeOps`, `FuseOps` and `FuseTIR`, but with TVM's
layout and loops as they come, no kernels of ours, and a static plan of all tensors and padded copies.
Sizes are those of the whole image without its stack; instructions are exact, counted by the emulator.

    python benchmarks/tvm_default.py [--board BOARD] [MODEL.onnx | kws | vww | ic | ad ...]

The four names are the networks of MLPerf Tiny at full size in float32, with seeded weights.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import onnx  # noqa: E402
from elftools.elf.elffile import ELFFile  # noqa: E402

from tests.models import mlperf_tiny  # noqa: E402
from tests.support.firmware import build_firmware  # noqa: E402
from tvm_tool.target.verify import verify_image  # noqa: E402

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
TINY = ("kws", "vww", "ic", "ad")


@dataclass(frozen=True)
class Row:
    """Bytes in flash, bytes of weights in it, bytes in RAM, instructions of one inference."""

    flash: int
    weights: int
    ram: int
    instructions: int


def measure(model: Path, board: str, optimize: str, plain: bool) -> Row:
    """Build and run one firmware; its outputs must equal onnxruntime's."""
    with tempfile.TemporaryDirectory() as folder:
        firmware = build_firmware(model, board, Path(folder), optimize, plain=plain, name="model")
        result = verify_image(firmware.elf, firmware.metadata, model, firmware.board, samples=2)
        result.check()
        assert result.instructions is not None
        flash = ram = 0
        with firmware.elf.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if not section["sh_flags"] & 2 or section.name == ".stack":
                    continue
                flash += section["sh_size"] if section["sh_type"] != "SHT_NOBITS" else 0
                ram += section["sh_size"] if section["sh_flags"] & 1 else 0
        weights = sum(t.bytes for t in firmware.compiled.program.constants)
        return Row(flash, weights, ram, result.instructions[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=[str(DIGITS), *TINY])
    parser.add_argument("--board", default="mps2_an386")
    arguments = parser.parse_args()
    print("| model | optimize | | flash | without weights | RAM | instructions |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.models:
            compare(_file(name, Path(folder)), arguments.board)


def _file(name: str, folder: Path) -> Path:
    if name not in TINY:
        return Path(name)
    path = folder / f"{name}.onnx"
    onnx.save(getattr(mlperf_tiny, name)(), path)
    return path


def compare(model: Path, board: str) -> None:
    """Print the rows of one model."""
    for optimize in ("speed", "size"):
        ours = measure(model, board, optimize, plain=False)
        theirs = measure(model, board, optimize, plain=True)
        for name, row in (("ours", ours), ("TVM", theirs)):
            code = row.flash - row.weights
            cells = f"{row.flash:,} | {code:,} | {row.ram:,} | {row.instructions:,}"
            print(f"| {model.stem} | {optimize} | {name} | {cells} |")
        ratios = [
            theirs.flash / ours.flash,
            (theirs.flash - theirs.weights) / (ours.flash - ours.weights),
            theirs.ram / ours.ram,
            theirs.instructions / ours.instructions,
        ]
        print(f"| | | ratio | {' | '.join(f'{r:.2f}' for r in ratios)} |")


if __name__ == "__main__":
    main()
