"""One conformance test: compile it, build the C for this machine, run it, compare."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tests.support.host import Array, HostModel, main_text
from tvm_tool.compiler.output import write_outputs
from tvm_tool.errors import TVMToolError
from tvm_tool.options import parse_options
from tvm_tool.paths import runtime_dir

PASSED, REFUSED, WRONG, CRASHED, HUNG, OUTSIDE = (
    "passed",
    "refused",
    "wrong",
    "crashed",
    "hung",
    "out of scope",
)
STATUSES = (PASSED, REFUSED, WRONG, CRASHED, HUNG, OUTSIDE)

FLOOR = 1e-5
"""Differences up to this part of the largest value expected are rounding, whatever a test says."""

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")


class Runnable(Protocol):
    """What can be run: a `NodeTest` or a `TFLiteTest`."""

    @property
    def name(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def outside(self) -> str | None: ...
    @property
    def rtol(self) -> float: ...
    @property
    def options(self) -> Mapping[str, str]: ...
    @property
    def runs(self) -> Sequence[tuple[Mapping[str, Array], Sequence[Array]]]: ...
    def write(self, folder: Path) -> Path:
        """The model as a file in a folder."""


@dataclass(frozen=True)
class Outcome:
    """How a test ended; `reason` is empty if it passed."""

    operator: str
    status: str
    reason: str = ""


def build_runtime(folder: Path, sanitize: bool) -> Path:
    """The runtime as a library, compiled once for all models."""
    flags = SANITIZERS if sanitize else ()
    sources = sorted(runtime_dir().glob("*.c"))
    subprocess.run(["gcc", "-std=c99", "-O1", *flags, "-c", *sources], cwd=folder, check=True)
    library = folder / "libruntime.a"
    subprocess.run(["ar", "rcs", library, *sorted(folder.glob("*.o"))], check=True)
    return library


def run_test(test: Runnable, library: Path, sanitize: bool) -> Outcome:
    """Compile and run one test that is in scope."""
    from tvm_tool.compiler.driver import compile_model

    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        path = test.write(folder)
        options = parse_options(str(path), dict(test.options))
        try:
            compiled = compile_model(path, options)
        except TVMToolError as error:
            return Outcome(test.operator, REFUSED, _reason(error))
        except Exception as error:  # noqa: BLE001 - whatever it is: it should have been a TVMToolError
            return Outcome(test.operator, CRASHED, f"{type(error).__name__}: {str(error).strip()[-300:]}")
        write_outputs(folder, compiled, with_runtime=True)
        metadata = json.loads((folder / f"{options.name}.json").read_text(encoding="utf-8"))
        (folder / "main.c").write_text(main_text(metadata), encoding="utf-8")
        flags = SANITIZERS if sanitize else ()
        units = ["main.c", f"{options.name}.c", f"{options.name}_weights.c"]
        built = subprocess.run(
            ["gcc", "-std=gnu11", "-w", "-O1", *flags, *units, library, "-lm", "-o", "program"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            return Outcome(test.operator, CRASHED, f"gcc: {built.stderr.strip()[:300]}")
        try:
            results = HostModel(compiled, metadata, folder / "program").run([r[0] for r in test.runs])
        except AssertionError as error:
            return Outcome(test.operator, CRASHED, f"the program fails: {str(error)[-300:]}")
    problems = (compare(got, run[1], test.rtol) for got, run in zip(results, test.runs, strict=True))
    problem = next(filter(None, problems), "")
    return Outcome(test.operator, WRONG if problem else PASSED, problem)


def compare(outputs: Sequence[Array], expected: Sequence[Array], rtol: float) -> str:
    """What is wrong with the outputs; empty if nothing is."""
    for index, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            return f"output {index} is {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
        if want.dtype.kind in "iub":
            differ = got != want
        else:
            exact, wide = want.astype(np.float64), got.astype(np.float64)
            finite = np.abs(exact[np.isfinite(exact)])
            with np.errstate(invalid="ignore"):
                allowed = np.maximum(rtol * np.abs(exact), FLOOR * finite.max(initial=0.0))
                close = (wide == exact) | (np.isnan(wide) & np.isnan(exact))
                differ = ~(close | (np.abs(wide - exact) <= allowed))
        if differ.any():
            place = tuple(int(i) for i in np.argwhere(differ)[0])
            return (
                f"output {index}: {int(differ.sum())} of {want.size} values differ, first at {list(place)}: "
                f"{got[place]} instead of {want[place]}"
            )
    return ""


def _reason(error: TVMToolError) -> str:
    """The message without the file, which is a temporary one."""
    return f"{error.where}: {error.problem}" if error.where else error.problem
