"""The committed results hold: a sample of what passed passes, and on request all of it.

`TVM_TOOL_CONFORMANCE=all pytest -n0 tests/conformance` runs every test of the ONNX project.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.conformance.onnx_nodes import NodeTest, collect, version
from tests.conformance.outcome import CRASHED, HUNG, OUTSIDE, PASSED, WRONG
from tests.conformance.report import PAGE, RESULTS, page, read_results
from tests.conformance.runner import run_tests

SAMPLE = 60


def test_the_page_shows_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_results())


def test_nothing_is_wrong_or_crashes() -> None:
    assert [n for n, o in read_results().items() if o.status in (WRONG, CRASHED, HUNG)] == []


@pytest.fixture(scope="module")
def tests() -> list[NodeTest]:
    if f'"onnx": "{version()}"' not in RESULTS.read_text(encoding="utf-8"):
        pytest.skip(f"the results are of another version of onnx than {version()}")
    return collect()


def test_every_test_has_a_result(tests: list[NodeTest]) -> None:
    results = read_results()
    assert [t.name for t in tests] == list(results)
    for test in tests:
        assert (test.outside is not None) == (results[test.name].status == OUTSIDE), test.name


def test_a_sample_passes(tests: list[NodeTest]) -> None:
    """One test each of as many operators, and always the same ones."""
    results = read_results()
    passed = [t for t in tests if results[t.name].status == PASSED]
    random.Random(7).shuffle(passed)
    chosen = list({t.operator: t for t in passed}.values())[:SAMPLE]
    assert len(chosen) == SAMPLE
    outcomes = run_tests(chosen, processes=1)
    assert {n: o for n, o in outcomes.items() if o.status != PASSED} == {}


@pytest.mark.skipif(os.environ.get("TVM_TOOL_CONFORMANCE") != "all", reason="TVM_TOOL_CONFORMANCE=all")
def test_all_are_as_before_or_better(tests: list[NodeTest]) -> None:
    before = read_results()
    outcomes = run_tests(tests)
    worse = {n: o for n, o in outcomes.items() if before[n].status != o.status != PASSED}
    assert worse == {}
