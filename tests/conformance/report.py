"""Results as JSON and as a page of the documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tests.conformance.onnx_nodes import version
from tests.conformance.outcome import OUTSIDE, PASSED, REFUSED, STATUSES, Outcome

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "operators.md"

ONNX, TFLITE = "onnx", "tflite"
"""The two sets of tests."""

INTRODUCTION = """\
# Operators

## ONNX

What the compiler makes of each ONNX operator, measured with the ONNX project's own node tests: every
model is compiled to C, the C is built and run, and its outputs are compared with the expected ones.
`python -m tests.conformance` writes this page.

Axes, shapes, pads, scales and the like must be constant in a model, so they are in these tests; so are
the type input of CastLike, `sequence_lens`, and inputs without elements. Integers must be exact; floats
may differ by what the test allows (1e-3 of the value, mostly) or 1e-5 of the largest value. An
operator that TVM's importer does not know is compiled as the function that ONNX defines it by, if it
does. What cannot be compiled is refused with a message that names the node.

float16 and bfloat16 are types to store: the interface of the model holds their bits in `uint16_t`, and all
is computed in float32. What ONNX would round in between is not rounded. For float16 the tests allow that;
for bfloat16, with its 8 bits, they do not, so what was computed in bfloat16 may only be moved and given
out.

Not counted: """

TFLITE_INTRODUCTION = """\
## TFLite

The same with files of one operator each, float and int8, with paddings, strides, activations, axes and the
like varied. They are compiled with `rounding='litert'` and compared with LiteRT's reference kernels on
four inputs (with its other kernels where the reference has none, or a wrong one: CEIL, ELU, ROUND,
LOCAL_RESPONSE_NORMALIZATION, SUM). Integers must be equal, floats may differ by 1e-5 of the largest value.
"""


def write_results(found: Mapping[str, dict[str, Outcome]]) -> None:
    """Write outcomes by set and name; a set that is not there stays as it is."""
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    for key, outcomes in found.items():
        data[key] = {name: asdict(outcome) for name, outcome in sorted(outcomes.items())}
    if ONNX in found:
        data["version"] = version()
    RESULTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_version() -> str:
    """The version of onnx that the results are of."""
    return str(json.loads(RESULTS.read_text(encoding="utf-8"))["version"])


def read_results(key: str) -> dict[str, Outcome]:
    """Outcomes of a set by name, as committed."""
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: Outcome(**outcome) for name, outcome in data[key].items()}


def page() -> str:
    """The page that shows the committed results."""
    outcomes = read_results(ONNX)
    outside = Counter(o.reason for o in outcomes.values() if o.status == OUTSIDE)
    not_counted = "; ".join(f"{reason} ({count})" for reason, count in sorted(outside.items()))
    lines = [INTRODUCTION + not_counted + ".", "", *_tables(outcomes), "", TFLITE_INTRODUCTION]
    return "\n".join([*lines, *_tables(read_results(TFLITE))]) + "\n"


def _tables(outcomes: Mapping[str, Outcome]) -> list[str]:
    """How many tests end how, and what becomes of each operator."""
    counted = [o for o in outcomes.values() if o.status != OUTSIDE]
    totals = Counter(o.status for o in counted)
    lines = [
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
    return lines


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
