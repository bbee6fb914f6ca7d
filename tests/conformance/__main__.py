"""Run the conformance tests: ``python -m tests.conformance`` renews the results and the page about them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.conformance.onnx_nodes import collect
from tests.conformance.outcome import CRASHED, HUNG, PASSED, STATUSES, WRONG, Outcome, Runnable
from tests.conformance.report import ONNX, PAGE, RESULTS, TFLITE, page, read_results, write_results
from tests.conformance.runner import run_tests
from tests.conformance.tflite_nodes import collect_tflite


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="only tests whose name contains one of these; writes nothing"
    )
    parser.add_argument("--operator", action="append", default=[], help="only tests of this operator")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--sanitize", action="store_true", help="run under ASan and UBSan")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    parser.add_argument("--only", choices=(ONNX, TFLITE), help="only one of the two sets")
    given = parser.parse_args()
    for key in [] if given.page else [given.only] if given.only else [ONNX, TFLITE]:
        tests: Sequence[Runnable] = collect() if key == ONNX else collect_tflite()
        if given.operator:
            tests = [t for t in tests if t.operator in given.operator]
        if given.names:
            tests = [t for t in tests if any(part in t.name for part in given.names)]
        outcomes = run_tests(tests, given.jobs, given.sanitize, _print)
        print(f"{key}: " + ", ".join(f"{n} {s}" for s, n in _totals(outcomes).items()), flush=True)
        if not (given.names or given.operator):
            write_results({key: outcomes})
    if given.names or given.operator:
        return 0
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {RESULTS} and {PAGE}")
    bad = [
        o for key in (ONNX, TFLITE) for o in read_results(key).values() if o.status in (WRONG, CRASHED, HUNG)
    ]
    return 1 if bad else 0


def _print(name: str, outcome: Outcome) -> None:
    if outcome.status != PASSED:
        print(f"{outcome.status:8} {name}: {outcome.reason}", flush=True)


def _totals(outcomes: dict[str, Outcome]) -> dict[str, int]:
    count = Counter(o.status for o in outcomes.values())
    return {status: count[status] for status in STATUSES}


if __name__ == "__main__":
    sys.exit(main())
