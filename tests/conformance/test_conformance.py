"""The committed results hold: a sample of what passed passes, and on request all of it.

`TVM_TOOL_CONFORMANCE=all pytest -n0 tests/conformance` runs every test of both sets.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence

import pytest

from tests.conformance.onnx_nodes import NodeTest, collect, version
from tests.conformance.outcome import CRASHED, HUNG, OUTSIDE, PASSED, WRONG, Outcome, Runnable
from tests.conformance.report import ONNX, PAGE, TFLITE, page, read_results, read_version
from tests.conformance.runner import run_tests

SAMPLE = 60
"""So many tests of different operators are run, and always the same ones."""

ON_REQUEST = pytest.mark.skipif(
    os.environ.get("TVM_TOOL_CONFORMANCE") != "all", reason="TVM_TOOL_CONFORMANCE=all"
)


def test_the_page_shows_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("key", [ONNX, TFLITE])
def test_nothing_is_wrong_or_crashes(key: str) -> None:
    assert [n for n, o in read_results(key).items() if o.status in (WRONG, CRASHED, HUNG)] == []


@pytest.mark.parametrize("key", [ONNX, TFLITE])
def test_most_of_what_is_in_scope_passes(key: str) -> None:
    counted = [o.status for o in read_results(key).values() if o.status != OUTSIDE]
    assert counted.count(PASSED) >= 0.9 * len(counted)


@pytest.fixture(scope="module")
def onnx_tests() -> list[NodeTest]:
    if read_version() != version():
        pytest.skip(f"the results are of another version of onnx than {version()}")
    return collect()


@pytest.fixture(scope="module")
def tflite_tests() -> Sequence[Runnable]:
    pytest.importorskip("tflite")
    pytest.importorskip("ai_edge_litert.interpreter")
    from tests.conformance.tflite_nodes import collect_tflite

    return collect_tflite()


def test_every_onnx_test_has_a_result(onnx_tests: list[NodeTest]) -> None:
    results = read_results(ONNX)
    assert [t.name for t in onnx_tests] == list(results)
    for test in onnx_tests:
        assert (test.outside is not None) == (results[test.name].status == OUTSIDE), test.name


def test_every_tflite_test_has_a_result(tflite_tests: Sequence[Runnable]) -> None:
    assert [t.name for t in tflite_tests] == list(read_results(TFLITE))


def test_every_tflite_operator_is_tested(tflite_tests: Sequence[Runnable]) -> None:
    from tvm_tool.compiler.frontend.tflite_model import TRANSLATIONS

    constant = {"FILL", "SHAPE"}  # of constant inputs only: nothing is left to run
    assert {t.operator for t in tflite_tests} >= set(TRANSLATIONS) - constant


def test_a_sample_of_onnx_passes(onnx_tests: list[NodeTest]) -> None:
    _check_sample(onnx_tests, read_results(ONNX))


def test_a_sample_of_tflite_passes(tflite_tests: Sequence[Runnable]) -> None:
    _check_sample(tflite_tests, read_results(TFLITE))


def _check_sample(tests: Sequence[Runnable], results: Mapping[str, Outcome]) -> None:
    passed = [t for t in tests if results[t.name].status == PASSED]
    random.Random(7).shuffle(passed)
    chosen = list({t.operator: t for t in passed}.values())[:SAMPLE]
    assert len(chosen) == SAMPLE
    outcomes = run_tests(chosen, processes=1)
    assert {n: o for n, o in outcomes.items() if o.status != PASSED} == {}


@ON_REQUEST
def test_all_of_onnx_is_as_before_or_better(onnx_tests: list[NodeTest]) -> None:
    _check_all(onnx_tests, read_results(ONNX))


@ON_REQUEST
def test_all_of_tflite_is_as_before_or_better(tflite_tests: Sequence[Runnable]) -> None:
    _check_all(tflite_tests, read_results(TFLITE))


def _check_all(tests: Sequence[Runnable], before: Mapping[str, Outcome]) -> None:
    outcomes = run_tests(tests)
    worse = {n: o for n, o in outcomes.items() if before[n].status != o.status != PASSED}
    assert worse == {}
