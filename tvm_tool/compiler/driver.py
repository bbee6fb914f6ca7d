"""The pipeline: a model file in, C sources out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..board import Board
from ..errors import OptionError, naming
from ..options import ModelOptions
from ..versions import QUANTIZING, check_versions, report
from .c_names import interface_names
from .frontend.model_file import default_profile, load_model
from .frontend.onnx_model import OnnxModel, expand_functions
from .frontend.onnx_operators import check_operators
from .frontend.onnx_quantization import interface_quantization
from .frontend.onnx_refusals import check_refused, refusing
from .layers import Need
from .memory import plan_memory, with_room
from .placement import check_regions, choose_places
from .program import MemoryPlan, Program

if TYPE_CHECKING:
    from .lower import Lowered
    from .quantize import Quantized

Progress = Callable[[str], None]


def _silent(_stage: str) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled model.

    Attributes:
        files: text of the generated files by name.
        runtime: files of the runtime that they need.
        binaries: contents of files that are not text, by name.
    """

    program: Program
    plan: MemoryPlan
    files: dict[str, str]
    runtime: tuple[str, ...]
    binaries: dict[str, bytes] = field(default_factory=dict)


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
    model = load_model(path, options.shapes, options.state)

    # TVM takes a second to load: only now, when the model is known to be good.
    from .choose import spending_of
    from .emit import ModelSource, emit_files
    from .lower import lower, operators

    model = expand_functions(model, operators())
    with naming(path):
        check_operators(model.proto, operators())
        check_refused(model.proto)
    quantized = _quantized(model, options, progress)
    model = quantized.model if quantized else model
    progress(f"lower {len(model.proto.graph.node)} operators")
    names = interface_names(model.inputs, model.outputs)
    profile = options.rounding or default_profile(path)
    with naming(path), refusing():
        lowered = lower(model, _need(options, board), *names, profile, plain, spending_of(options, board))
        program = lowered.program()
    for layer in program.left_in_float:
        progress(f"warning: {layer.node} is quantised in the model and computed in float: {layer.reason}")
    progress(f"plan {len(program.calls)} layers")
    program, plan = _planned(lowered, program, options.workspace_io)
    with naming(path):
        weights, arena = choose_places(program, plan, options, board)
    progress("write")
    source = ModelSource(
        file=path.name,
        sha256=model.sha256,
        opset=model.opset,
        versions=report(also=QUANTIZING if quantized else ()),
        board=board.name if board else None,
        weights=weights,
        arena=arena,
        scales={**interface_quantization(model.proto), **model.quantization},
        quantization=quantized.metadata(options.name) if quantized else None,
    )
    files = emit_files(program, plan, options, source)
    binaries = {quantized.file_name(options.name): quantized.file} if quantized else {}
    return Compiled(program, plan, files, ("tvm_aot.c", "tvm_platform.c", *program.runtime), binaries)


def _planned(lowered: Lowered, program: Program, workspace_io: bool) -> tuple[Program, MemoryPlan]:
    """`program` and its plan. Layers that could use more scratch get it where the plan has room anyway."""
    plan = plan_memory(program, workspace_io)
    roomy = with_room(program, plan)
    if not roomy:
        return program, plan
    faster = lowered.program(roomy)
    larger = plan_memory(faster, workspace_io)
    return (faster, larger) if larger.bytes <= plan.bytes else (program, plan)


def _quantized(model: OnnxModel, options: ModelOptions, progress: Progress) -> Quantized | None:
    """What `options` want `model` to become, if they do."""
    if options.calibration is None:
        return None
    if model.states:
        raise OptionError(
            "a model that keeps states from one run to the next cannot be quantised here",
            file=model.files[0],
            where="option 'quantize'",
            remedy="quantise it before: export it with QuantizeLinear and DequantizeLinear",
        )
    from .quantize import quantize

    progress("quantise")
    with naming(model.files[0]):
        made = quantize(model, options.calibration, options.io == "int8")
    for line in made.report.lines():
        progress(line)
    for name in made.left:
        progress(f"warning: '{name}' stays as it is: it is not quantised with one scale")
    return made


def _need(options: ModelOptions, board: Board | None) -> Need:
    if board is None:
        return Need(optimize=options.optimize, fpu=True)
    return Need(board.core.isa, board.core.fpu, options.optimize)
