"""What happens when a program or a library is made of a model's objects."""

from __future__ import annotations

from typing import Any

from .boards import check_environment
from .folder import Folder, Model, mark_of
from .nodes import append
from .setup import Setup
from .usererror import user_errors

Env = Any
Node = Any


@user_errors
def one_runtime(target: list[Node], source: list[Node], env: Env) -> tuple[list[Node], list[Node]]:
    """An emitter for programs and libraries: several models share one runtime.

    ``[*a, *b]`` names the runtime twice. Of one build folder, every node is kept once; of several
    folders, the runtime of the first is kept, and gets the kernels of the others' models as well.
    """
    kept: list[Node] = []
    first: Folder | None = None
    for node in source:
        mark = mark_of(node)
        if mark is not None:
            first = first or mark.folder
            if mark.folder is not first:
                if mark.model is None:
                    continue
                first.needs(mark.model.metadata)
            if mark.model is not None and mark.model.board is not None:
                check_environment(env, mark.model.board)
            if node in kept:
                continue
        kept.append(node)
    return target, kept


@user_errors
def for_the_board(target: list[Node], source: list[Node], env: Env) -> tuple[list[Node], list[Node]]:
    """An emitter for programs: startup code, linker script and map file of the board."""
    setup: Setup | None = env.get("_TVM_SETUP")
    if setup is not None:
        env.Depends(target, setup.script)
        source = [*source, *(node for node in setup.objects if node not in source)]
        return [*target, target[0].target_from_source("", ".map")], source
    boards = {model.board.name: model for model in models_of(source) if model.wants_regions and model.board}
    for model in boards.values():
        _add_regions(target[0], model, env)
    return target, source


def models_of(nodes: list[Node]) -> list[Model]:
    """The models that are among `nodes`, objects or sources, or in libraries among them."""
    found: list[Model] = []
    for node in nodes:
        mark = mark_of(node)
        for model in models_of(node.sources) if mark is None else [mark.model]:
            if model is not None and model not in found:
                found.append(model)
    return found


def _add_regions(program: Node, model: Model, env: Env) -> None:
    """Link `program` with a script that adds the board's further regions to the firmware's own."""
    mark = mark_of(model.sources[0])
    assert mark is not None
    assert model.board is not None
    script = mark.folder.script(model.board, full=False)
    env.Depends(program, script)
    scripts = getattr(program.attributes, "tvm_scripts", [])
    program.attributes.tvm_scripts = [*scripts, script]
    if "$_TVM_SCRIPTS" not in str(env.get("LINKFLAGS", "")):
        append(env, "LINKFLAGS", ["$_TVM_SCRIPTS"])


def link_scripts(target: list[Node], source: list[Node], env: Env, for_signature: bool) -> list[Any]:
    """The value of ``$_TVM_SCRIPTS``: the options that add scripts to the link of this target only."""
    scripts = getattr(target[0].attributes, "tvm_scripts", []) if target else []
    return [word for script in scripts for word in ("-T", script)]
