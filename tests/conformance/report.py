"""Results as JSON and as a page of the documentation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.conformance.onnx_nodes import version
from tests.conformance.outcome import OUTSIDE, PASSED, REFUSED, STATUSES, Outcome

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "operators.md"

INTRODUCTION = """\
# Operators

What the compiler makes of each ONNX operator, measured with the ONNX project's own node tests: every
model is compiled to C, the C is built and run, and its outputs are compared with the expected ones.
`python -m tests.conformance` writes this page.

Axes, shapes, pads, scales and the like must be constant in a model, so they are in these tests; so are
the type input of CastLike, `sequence_lens`, and inputs without elements. Integers must be exact; floats
may differ by what the test allows (1e-3 of the value, mostly) or 1e-5 of the largest value. An
operator that TVM's importer does not know is compiled as the function that ONNX defines it by, if it
does. What cannot be compiled is refused with a message that names the node.

Not counted: """


def write_results(outcomes: dict[str, Outcome]) -> None:
    data = {
        "onnx": version(),
        "tests": {name: asdict(outcome) for name, outcome in sorted(outcomes.items())},
    }
    RESULTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_results() -> dict[str, Outcome]:
    """Outcomes by name, as committed."""
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: Outcome(**outcome) for name, outcome in data["tests"].items()}


def page(outcomes: dict[str, Outcome]) -> str:
    """The page that shows `outcomes`."""
    outside = Counter(o.reason for o in outcomes.values() if o.status == OUTSIDE)
    counted = [o for o in outcomes.values() if o.status != OUTSIDE]
    totals = Counter(o.status for o in counted)
    lines = [
        INTRODUCTION + "; ".join(f"{reason} ({count})" for reason, count in sorted(outside.items())) + ".",
        "",
        "| tests | |",
        "|---|---:|",
        f"| in scope | {len(counted)} |",
        *(f"| {status} | {totals[status]} |" for status in STATUSES if status != OUTSIDE),
        "",
        "| operator | | passed | of | why not the others |",
        "|---|---|---:|---:|---|",
    ]
    for operator in sorted({o.operator for o in counted}, key=str.lower):
        own = [o for o in counted if o.operator == operator]
        passed = sum(o.status == PASSED for o in own)
        word = "supported" if passed == len(own) else "partly" if passed else "refused"
        lines.append(f"| {operator} | {word} | {passed} | {len(own)} | {_why(own)} |")
    return "\n".join(lines) + "\n"


def _why(outcomes: list[Outcome]) -> str:
    """The reasons, the most frequent first."""
    reasons = Counter(_short(o) for o in outcomes if o.status != PASSED)
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{reason} ({count})" if count > 1 else reason for reason, count in ordered[:4])


def _short(outcome: Outcome) -> str:
    """A reason without the node that it is about, which says nothing to a reader of the page."""
    reason = outcome.reason
    if reason.startswith(("node", "input", "output", "constant")):
        reason = reason.partition(": ")[2]
    reason = reason.replace("TVM cannot import this model: ", "").replace("|", r"\|").splitlines()[0]
    reason = reason if len(reason) <= 120 else reason[:117] + "..."
    return reason if outcome.status == REFUSED else f"{outcome.status}: {reason}"
