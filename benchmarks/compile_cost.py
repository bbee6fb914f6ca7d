"""What compiling costs: time and memory of `tvm-tool compile` for the int8 models of MLPerf Tiny.

    python benchmarks/compile_cost.py [--models DIR] [--boards BOARD,...] [kws vww ic ad sww]

Each model is compiled in a process of its own, three times, without a board and for each of the boards;
printed is the fastest of the three. CPU time depends less than wall time on what else the machine does. What
takes more than 4 s of wall time or 400 MB is marked, and the status is 1. DIR holds the models; default: the
environment's TVM_TOOL_MODELS.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Nothing is imported for this: a process counts the memory of the one that it was forked from.
MODELS = {
    "kws": "kws_ref_model",
    "vww": "vww_96_int8",
    "ic": "pretrainedResnet_quant",
    "ad": "ad01_int8",
    "sww": "str_ww_ref_model",
}
RUNS = 3
MOST_SECONDS, MOST_MEGABYTES = 4.0, 400.0


@dataclass(frozen=True)
class Cost:
    """Of one process: seconds of wall and of CPU time, and the most memory in MB."""

    wall: float
    cpu: float
    megabytes: float

    @property
    def is_within(self) -> bool:
        return self.wall <= MOST_SECONDS and self.megabytes <= MOST_MEGABYTES


def compile_once(model: Path, board: str | None) -> Cost:
    """Compile `model`, for `board` if it is not None."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tvm_tool", "compile", str(model), "--output", folder, "--quiet"]
        command += ["--board", board] if board else []
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{model.name}: not compiled")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="model", help=", ".join(MODELS))
    parser.add_argument("--models", dest="folder", type=Path, default=os.environ.get("TVM_TOOL_MODELS"))
    parser.add_argument("--boards", default="mps2_an386", help="default: mps2_an386")
    given = parser.parse_args()
    wanted = given.models or list(MODELS)
    if given.folder is None or any(name not in MODELS for name in wanted):
        parser.error(f"say where the models are (--models), and name some of {', '.join(MODELS)}")
    print(f"{'model':6} {'board':12} {'wall s':>7} {'CPU s':>7} {'MB':>5}")
    all_within = True
    for name in wanted:
        for board in (None, *filter(None, given.boards.split(","))):
            model = Path(given.folder, f"{MODELS[name]}.tflite").resolve()
            cost = min((compile_once(model, board) for _ in range(RUNS)), key=lambda cost: cost.wall)
            all_within &= cost.is_within
            verdict = "" if cost.is_within else "  beyond the bounds"
            print(
                f"{name:6} {board or '-':12} {cost.wall:7.2f} {cost.cpu:7.2f} {cost.megabytes:5.0f}{verdict}",
                flush=True,
            )
    return 0 if all_within else 1


if __name__ == "__main__":
    sys.exit(main())
