"""Runs cases in processes of their own, so that what kills one is an outcome like any other."""

from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.fuzz.case import CRASHED, OUTSIDE, PASSED, REFUSED, TIED, Outcome

TIME_LIMIT = 120
"""Seconds after which a case counts as hung: far more than the slowest takes on a busy machine."""

ROOT = Path(__file__).parents[2]


def run(kind: str, seeds: range, objects: Path, board: str = "") -> list[Outcome]:
    """Outcomes of `seeds` in order, made in one process as long as it lives; `board` as of `check`."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(seeds):
        rest = seeds[len(outcomes) :]
        command = [sys.executable, "-m", "tests.fuzz", "--worker", "--objects", str(objects)]
        command += ["--board", board, kind, f"{rest.start}:{rest.stop}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        outcomes += [Outcome(**line) for line in lines]
        if len(lines) < len(rest):
            reason = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
            outcomes.append(Outcome(kind, rest[len(lines)], CRASHED, reason))
    return outcomes


def work(kind: str, seeds: Iterable[int], objects: Path, board: str = "") -> None:
    """Print the outcome of each seed as a line of JSON."""
    from tests.fuzz.check import check

    for seed in seeds:
        faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)
        print(json.dumps(check(kind, seed, objects, board=board).record()), flush=True)
        faulthandler.cancel_dump_traceback_later()


def failures(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [o for o in outcomes if o.status not in (PASSED, TIED, REFUSED, OUTSIDE)]


def shrink(failure: Outcome, steps: int, run_without: Callable[[set[int]], Outcome]) -> set[int]:
    """Steps that can be left out while the case fails in the same way."""
    without: set[int] = set()
    for step in range(steps, 0, -1):
        if run_without(without | {step}).status == failure.status:
            without |= {step}
    return without
