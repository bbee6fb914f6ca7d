"""One case: make it, compile it, build the C under sanitizers, run it, compare."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from tests.fuzz.case import CRASHED, OUTSIDE, PASSED, REFUSED, TIED, WRONG, Case, Outcome, OutsideError
from tests.fuzz.kinds import KINDS
from tests.fuzz.names import EXACT, ROUNDED
from tests.fuzz.reference import run_onnx
from tests.fuzz.ties import departs, is_tied
from tests.support.host import ONLY, STRICT, Array, HostModel, error_of, main_text
from tvm_tool.board import load_board
from tvm_tool.compiler.driver import Compiled, compile_model
from tvm_tool.compiler.output import write_outputs
from tvm_tool.errors import TVMToolError
from tvm_tool.options import parse_options
from tvm_tool.paths import runtime_dir

FLAGS = ("-O1", "-g0", *ONLY["gcc"])
FLOAT_ERROR = 1e-5


def check(
    kind: str,
    seed: int,
    objects: Path,
    without: Collection[int] = (),
    keep: Path | None = None,
    board: str = "",
) -> Outcome:
    """How case `seed` of `kind` ends.

    Args:
        objects: folder of the runtime's object files, shared by all cases.
        without: steps that are left out.
        keep: where the model and its C stay.
        board: the board whose kernels are tried, in their portable form; the scalar ones if empty.
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make, reference = KINDS[kind]
        case = make(seed, folder, without)
        try:
            wanted = reference(case.path, case.samples)
        except OutsideError as error:
            return Outcome(kind, seed, OUTSIDE, str(error))
        options = parse_options(str(case.path), {"name": "model", **case.options})
        try:
            compiled = compile_model(case.path, options, load_board(board) if board else None)
        except TVMToolError as error:
            return Outcome(kind, seed, REFUSED, f"{error.where}: {error.problem}")
        except Exception as error:  # noqa: BLE001 - whatever it is: it should have been a TVMToolError
            return Outcome(kind, seed, CRASHED, f"{type(error).__name__}: {str(error).strip()[-400:]}")
        try:
            outputs = _build(compiled, folder, objects).run(case.samples)
        except (AssertionError, subprocess.SubprocessError) as error:
            return Outcome(kind, seed, CRASHED, f"C: {str(error)[-1500:]}")
        return _compared(kind, seed, case, outputs, wanted)


def _compared(
    kind: str, seed: int, case: Case, outputs: list[list[Array]], wanted: list[list[Array]]
) -> Outcome:
    tied, problems = 0, []
    for index, (sample, got, want) in enumerate(zip(case.samples, outputs, wanted, strict=True)):
        path, definition, exact = case.path, case.definition, kind in EXACT
        problem = _difference(got, want, exact)
        if problem and definition and departs(path, sample, definition):
            path, definition = definition, None
            problem = _difference(got, run_onnx(path, [sample])[0], exact)
        if problem and kind in ROUNDED and is_tied(path, sample, definition):
            tied += 1
        elif problem:
            problems.append(f"sample {index}, {problem}")
    status = WRONG if problems else TIED if tied else PASSED
    return Outcome(kind, seed, status, "; ".join(problems), len(case.samples), tied)


def _difference(got: list[Array], want: list[Array], exact: bool) -> str:
    """What is wrong with the outputs of a sample; empty if nothing is."""
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        theirs = np.asarray(theirs)
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"output {index} is {ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
        if exact:
            differ = int((ours != theirs).sum())
            if differ:
                most = np.abs(ours.astype(np.float64) - theirs).max()
                return f"output {index}: {differ} of {ours.size} differ by up to {most:g}"
        else:
            error = error_of(ours, theirs)
            if not error <= FLOAT_ERROR:
                return f"output {index}: error {error:g}"
    return ""


def _build(compiled: Compiled, folder: Path, objects: Path) -> HostModel:
    """The C of the model, with the objects of the runtime from `objects`."""
    write_outputs(folder, compiled, with_runtime=True)
    metadata = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    (folder / "main.c").write_text(main_text(metadata), encoding="utf-8")
    own = [folder / "model.c", folder / "model_weights.c"]
    runtime = [_object(name, objects) for name in compiled.runtime]
    program = folder / "program"
    _gcc([*STRICT, "-c", *own], folder)
    _gcc(["-o", program, folder / "main.c", *(f.with_suffix(".o") for f in own), *runtime, "-lm"], folder)
    return HostModel(compiled, metadata, program)


def _gcc(arguments: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run(["gcc", *FLAGS, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _object(name: str, objects: Path) -> Path:
    """Compiled by the first process that needs it."""
    headers = b"".join(h.read_bytes() for h in sorted(runtime_dir().glob("*.h")))
    digest = hashlib.sha256(headers + (runtime_dir() / name).read_bytes()).hexdigest()[:16]
    output = objects / f"{name}-{digest}.o"
    if not output.exists():
        unfinished = output.with_suffix(f".{os.getpid()}")
        _gcc([*STRICT, "-c", runtime_dir() / name, "-o", unfinished], objects)
        unfinished.replace(output)
    return output
