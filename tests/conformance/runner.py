"""Runs conformance tests in worker processes, so that none can take the others with it."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from tests.conformance.outcome import CRASHED, HUNG, OUTSIDE, Outcome, Runnable, build_runtime, run_test

TIME_LIMIT = 600.0
"""Seconds after which a test counts as hung: far more than the slowest takes on a busy machine."""

Progress = Callable[[str, Outcome], None]


def _silent(_name: str, _outcome: Outcome) -> None:
    pass


@dataclass(eq=False)
class _Worker:
    process: SpawnProcess
    connection: Connection
    test: Runnable | None = None
    deadline: float = 0.0


def run_tests(
    tests: Sequence[Runnable], processes: int = 2, sanitize: bool = False, progress: Progress = _silent
) -> dict[str, Outcome]:
    """Outcomes by name, in the order of `tests`. Told to `progress` as they come."""
    found = {t.name: Outcome(t.operator, OUTSIDE, t.outside) for t in tests if t.outside is not None}
    waiting = [t for t in reversed(tests) if t.outside is None]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        library = build_runtime(Path(folder), sanitize)
        # Spawned, not forked: this process may have loaded TVM, which has threads.
        workers = [_start(library, sanitize) for _ in range(min(processes, len(waiting)))]
        while waiting or any(w.test for w in workers):
            for worker in workers:
                if worker.test is None and waiting:
                    worker.test = waiting.pop()
                    worker.deadline = time.monotonic() + TIME_LIMIT
                    worker.connection.send(worker.test)
            wait([w.connection for w in workers if w.test], timeout=1.0)
            for index, worker in enumerate(workers):
                outcome = _outcome(worker)
                if worker.test is None or outcome is None:
                    continue
                found[worker.test.name] = outcome
                progress(worker.test.name, outcome)
                worker.test = None
                if outcome.status == HUNG or not worker.process.is_alive():
                    worker.process.kill()
                    workers[index] = _start(library, sanitize)
        for worker in workers:
            worker.process.kill()
            worker.process.join()
    return {t.name: found[t.name] for t in tests}


def _start(library: Path, sanitize: bool) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, library, sanitize), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection, library: Path, sanitize: bool) -> None:
    while True:
        connection.send(run_test(connection.recv(), library, sanitize))


def _outcome(worker: _Worker) -> Outcome | None:
    """How the worker's test ended, None while it runs."""
    if worker.test is None:
        return None
    if worker.connection.poll():
        try:
            outcome: Outcome = worker.connection.recv()
        except EOFError:
            worker.process.join()
            return Outcome(worker.test.operator, CRASHED, f"the compiler died: {worker.process.exitcode}")
        else:
            return outcome
    if time.monotonic() > worker.deadline:
        return Outcome(worker.test.operator, HUNG, f"no result after {TIME_LIMIT:.0f} s")
    return None
