"""``python -m tests.fuzz KIND SEED`` repeats and shrinks a case; ``KIND FIRST:END`` runs many in parallel."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.case import OUTSIDE, PASSED, TIED, Outcome
from tests.fuzz.draw import MOST_STEPS
from tests.fuzz.names import KINDS
from tests.fuzz.runner import failures, run, shrink, work

CHUNK = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seeds", help="a seed, or FIRST:END")
    parser.add_argument("--board", default="", help="the board whose kernels are tried, in portable C")
    parser.add_argument("--without", default="", help="steps to leave out, for example 2,5")
    parser.add_argument("--keep", type=Path, help="where the model and its C stay")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--objects", type=Path, help="folder of the runtime's object files")
    parser.add_argument("--worker", action="store_true", help="print outcomes as JSON")
    given = parser.parse_args()
    first, colon, end = given.seeds.partition(":")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        objects = given.objects.resolve() if given.objects else Path(folder)
        if given.worker:
            work(given.kind, range(int(first), int(end)), objects, given.board)
            return 0
        if colon:
            return _many(given.kind, range(int(first), int(end)), objects, given.jobs, given.board)
        without = {int(step) for step in given.without.split(",") if step}
        return _one(given.kind, int(first), objects, without, given.keep, given.board)


def _many(kind: str, seeds: range, objects: Path, jobs: int, board: str) -> int:
    began = time.monotonic()
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(jobs) as pool:
        chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
        for done in pool.map(lambda chunk: run(kind, chunk, objects, board), chunks):
            outcomes += done
            for outcome in done:
                if outcome.status not in (PASSED, TIED, OUTSIDE):
                    print(f"{kind} {outcome.seed} {outcome.status}: {outcome.reason}", flush=True)
    counts = ", ".join(f"{n} {status}" for status, n in sorted(Counter(o.status for o in outcomes).items()))
    tied, samples = (sum(getattr(o, name) for o in outcomes) for name in ("tied", "samples"))
    print(
        f"{kind} {board}".strip() + f": {counts}; {tied} of {samples} inputs tied; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if failures(outcomes) else 0


def _one(kind: str, seed: int, objects: Path, without: set[int], keep: Path | None, board: str) -> int:
    from tests.fuzz.check import check

    outcome = check(kind, seed, objects, without, keep, board)
    print(f"{kind} {seed} {outcome.status}: {outcome.reason}")
    if not failures([outcome]):
        return 0
    if not without:
        without = shrink(outcome, MOST_STEPS, lambda steps: check(kind, seed, objects, steps, board=board))
        steps = ",".join(map(str, sorted(without)))
        on = f" --board {board}" if board else ""
        print(f"the same with less: python -m tests.fuzz {kind} {seed}{on} --without {steps} --keep FOLDER")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
