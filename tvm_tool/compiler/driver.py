"""The pipeline: a model file in, C sources out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..board import Board
from ..errors import naming
from ..options import ModelOptions
from ..versions import check_versions, report
from .c_names import interface_names
from .frontend.model_file import default_profile, load_model
from .frontend.onnx_model import expand_functions
from .frontend.onnx_operators import check_operators
from .frontend.onnx_refusals import check_refused, refusing
from .layers import Need
from .memory import plan_memory
from .placement import check_regions, choose_places
from .program import MemoryPlan, Program

Progress = Callable[[str], None]


def _silent(_stage: str) -> None:
    pass


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
    progress: Progress = _silent,
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
    with naming(path):
        check_regions(options, board)
    progress("read")
    model = load_model(path, options.shapes)

    # TVM takes a second to load: only now, when the model is known to be good.
    from .emit import ModelSource, emit_files
    from .lower import lower, operators

    model = expand_functions(model, operators())
    with naming(path):
        check_operators(model.proto, operators())
        check_refused(model.proto)
    progress(f"lower {len(model.proto.graph.node)} operators")
    names = interface_names(model.inputs, model.outputs)
    profile = options.rounding or default_profile(path)
    with naming(path), refusing():
        program = lower(model, _need(options, board), *names, profile, plain)
    for layer in program.left_in_float:
        progress(f"warning: {layer} is quantised in the model and computed in float")
    progress(f"plan {len(program.calls)} layers")
    plan = plan_memory(program, options.workspace_io)
    with naming(path):
        weights, arena = choose_places(program, plan, options, board)
    progress("write")
    source = ModelSource(
        file=path.name,
        sha256=model.sha256,
        opset=model.opset,
        versions=report(),
        board=board.name if board else None,
        weights=weights,
        arena=arena,
    )
    files = emit_files(program, plan, options, source)
    return Compiled(program, plan, files, ("tvm_aot.c", "tvm_platform.c", *program.runtime))


def _need(options: ModelOptions, board: Board | None) -> Need:
    if board is None:
        return Need(optimize=options.optimize, fpu=True)
    return Need(isa=board.core.isa, fpu=board.core.fpu, optimize=options.optimize)
