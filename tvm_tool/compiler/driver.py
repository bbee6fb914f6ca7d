"""The pipeline: a model file in, C sources out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..board import Board, Region
from ..errors import BoardError, BudgetError, did_you_mean, naming
from ..options import ModelOptions
from ..versions import check_versions, report
from .frontend.onnx_model import OnnxModel, expand_functions, load_onnx
from .frontend.onnx_operators import check_operators
from .layers import Need
from .program import MemoryPlan, Program

Progress = Callable[[str], None]

C_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile "
    "while bool true false and or not xor class delete new operator private public protected this template "
    "throw try catch using virtual namespace friend export asm".split()
)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled model.

    Attributes:
        files: text of the generated files by name.
        runtime: files of the runtime that they need.
    """

    program: Program
    plan: MemoryPlan
    files: dict[str, str]
    runtime: tuple[str, ...]


def compile_model(
    path: Path,
    options: ModelOptions,
    board: Board | None = None,
    progress: Progress = lambda stage: None,
    plain: bool = False,
) -> Compiled:
    """Compile the model at `path`.

    Args:
        board: what it is compiled for; plain C for any core if None.
        progress: told about each stage when it begins.
        plain: TVM's own lowering instead of ours: what benchmarks compare with.

    Raises:
        TVMToolError: of the class that says which part is to blame.
    """
    check_versions()
    progress("read")
    model = load_onnx(path, options.shapes)

    # TVM takes a second to load: only now, when the model is known to be good.
    from .emit import ModelSource, emit_files
    from .lower import lower, operators
    from .memory import plan_memory

    model = expand_functions(model, operators())
    with naming(path):
        check_operators(model.proto, operators())
    progress(f"lower {len(model.proto.graph.node)} operators")
    program = lower(model, _need(options, board), *_interface_names(model), plain)
    progress(f"plan {len(program.calls)} layers")
    plan = plan_memory(program, options.workspace_io)
    weights, arena = _regions(path, program, plan, options, board)
    progress("write")
    source = ModelSource(
        file=path.name,
        sha256=model.sha256,
        opset=model.opset,
        versions=report(),
        board=board.name if board else None,
        weights_region=weights,
        arena_region=arena,
    )
    files = emit_files(program, plan, options, source)
    return Compiled(program, plan, files, ("tvm_aot.c", "tvm_platform.c", *program.runtime))


def _need(options: ModelOptions, board: Board | None) -> Need:
    if board is None:
        return Need(optimize=options.optimize, fpu=True)
    return Need(isa=board.core.isa, fpu=board.core.fpu, optimize=options.optimize)


def _interface_names(model: OnnxModel) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names in the model and C names of the inputs and outputs; no C name twice."""
    taken: set[str] = set()

    def c_names(names: Iterable[str]) -> list[tuple[str, str]]:
        pairs = []
        for name in names:
            word = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower() or "tensor"
            word = f"t{word}" if word[0].isdigit() else word
            word = f"{word}_" if word in C_WORDS else word
            unique, count = word, 1
            while unique in taken:
                count += 1
                unique = f"{word}_{count}"
            taken.add(unique)
            pairs.append((name, unique))
        return pairs

    return c_names(model.inputs), c_names(model.outputs)


# ---------------------------------------------------------------- regions and room


def _regions(
    path: Path, program: Program, plan: MemoryPlan, options: ModelOptions, board: Board | None
) -> tuple[str | None, str | None]:
    """Regions of weights and workspace; None where the board's own place will do."""
    if board is None:
        for option in ("weights", "arena"):
            if getattr(options, option):
                raise BoardError(
                    f"a region is named but no board", file=path, where=f"option '{option}'", remedy="board=..."
                )
        return None, None
    sizes = sorted(((sum(program.tensors[i].bytes for i in c.constants), c) for c in program.calls), key=lambda s: -s[0])
    weights = sum(t.bytes for t in program.constants)
    largest = [f"{c.layer or c.operator} {size:,} bytes" for size, c in sizes[:3] if size]
    flash = _choose(path, board, "weights", options.weights or (board.placement.weights,), weights, largest)
    peaks = sorted(((_peak(plan, c.index), c) for c in program.calls), key=lambda s: -s[0])
    largest = [f"{c.layer or c.operator} {size:,} bytes" for size, c in peaks[:3]]
    ram = _choose(path, board, "arena", options.arena or (board.placement.arena,), plan.bytes, largest)
    return (
        None if flash.name == board.placement.weights else flash.name,
        None if ram.name == board.placement.arena else ram.name,
    )


def _peak(plan: MemoryPlan, call: int) -> int:
    return sum(b.bytes for b in plan.buffers if b.first <= call <= b.last)


def _choose(
    path: Path, board: Board, what: str, names: Iterable[str], size: int, largest: list[str]
) -> Region:
    tried = []
    for name in names:
        region = board.regions.get(name)
        if region is None:
            raise BoardError(
                f"board {board.name} has no region '{name}'",
                file=path,
                where=f"option '{what}'",
                remedy=did_you_mean(name, board.regions),
            )
        if size <= region.length:
            return region
        tried.append(f"{name} has {region.length:,} bytes, {size - region.length:,} too few")
    noun = {"weights": "weights", "arena": "workspace"}[what]
    raise BudgetError(
        f"the {noun} of {size:,} bytes does not fit {board.name}: " + "; ".join(tried),
        file=path,
        where=what,
        expected=f"at most what the region holds; largest layers: {', '.join(largest)}",
        remedy=f"a smaller or quantised model, or another region: {what}=...",
    )
