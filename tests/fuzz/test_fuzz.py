"""Random models against the runtimes of their formats. TVM_TOOL_FUZZ=N for N models, many at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.case import OUTSIDE, REFUSED
from tests.fuzz.names import BOARDS, KINDS, WITH_KERNELS
from tests.fuzz.runner import failures, run

GRAPHS = int(os.environ.get("TVM_TOOL_FUZZ", "80"))
SETS = [(kind, "") for kind in KINDS] + [(kind, board) for board in BOARDS for kind in WITH_KERNELS]
"""Kinds, and the boards whose kernels they are compiled with."""
EACH = -(-GRAPHS // len(SETS))
CHUNK = 50
PARTS = [
    (kind, board, range(first, min(first + CHUNK, EACH)))
    for first in range(0, EACH, CHUNK)
    for kind, board in SETS
]


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Object files of the runtime, of all processes of this session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fuzz-objects"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("kind", "board", "seeds"),
    PARTS,
    ids=["-".join(filter(None, (k, b, str(s.start), str(s.stop - 1)))) for k, b, s in PARTS],
)
def test_random_models(kind: str, board: str, seeds: range, objects: Path) -> None:
    if kind.startswith("tflite"):
        pytest.importorskip("ai_edge_litert.interpreter" if kind != "tflite_micro" else "tflite_micro")
    outcomes = run(kind, seeds, objects, board)
    on = f" --board {board}" if board else ""
    failed = [f"python -m tests.fuzz {kind} {o.seed}{on}: {o.status}, {o.reason}" for o in failures(outcomes)]
    assert not failed, "\n".join(failed)
    # A reference that decides by a rounding error, and a refusal, are exceptions: they must not hide faults.
    assert sum(o.tied for o in outcomes) <= max(2, sum(o.samples for o in outcomes) // 50)
    assert sum(o.status == REFUSED for o in outcomes) <= max(1, len(outcomes) // 50)
    assert sum(o.status == OUTSIDE for o in outcomes) <= max(4, len(outcomes) // 4)
    if board:
        names = {path.name.partition(".c-")[0] for path in objects.iterdir()}
        assert any(name.endswith(BOARDS[board]) for name in names), "no model used the kernels of the board"
