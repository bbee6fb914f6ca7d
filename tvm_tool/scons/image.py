"""What follows the link: images to flash, the size table, a run, the comparison with the original."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Node
import SCons.Util
from SCons.Action import Action

from ..atomic import write_text
from ..errors import OptionError, did_you_mean
from ..signature import board_digest, digest, package_files
from .boards import UNSAID, board_words, require_board
from .folder import Model, folder_of
from .link import models_of
from .usererror import user_errors

if TYPE_CHECKING:
    from ..board import Board

Env = Any
Node = Any

TVMSIZECOM = "$TVM_PYTHON $TVM_CLI size $SOURCE $_TVMBOARD $_TVMMETADATA"
TVMRUNCOM = "$TVM_PYTHON $TVM_CLI run $SOURCE $_TVMBOARD"
TVMVERIFYCOM = (
    "$TVM_PYTHON $TVM_CLI verify $SOURCE $_TVMBOARD --model ${SOURCES[1]} --metadata ${SOURCES[2]} "
    "$_TVMVERIFYOPTIONS"
)
BINCOM = "$OBJCOPY -O binary $_TVMREMOVE $SOURCE $TARGET"
HEXCOM = "$OBJCOPY -O ihex $SOURCE $TARGET"


@user_errors
def tvm_binary(env: Env, program: Any, board: Any = UNSAID) -> list[Node]:
    """Make ``.bin`` and ``.hex`` of a linked program and return both.

    What lies in memories outside of the board's flash, such as weights in a QSPI chip, is only in the
    ``.hex``: a ``.bin`` has one start address, and the gap up to another memory would fill gigabytes.
    """
    elf = _elf(env, program)
    chosen = require_board(env, board)
    outside = [r.name for r in chosen.regions.values() if not r.writable and r.name != chosen.placement.code]
    remove = [word for name in outside for word in ("-R", f".tvm_{name}")]
    flash = Action(BINCOM, "$TVMBINCOMSTR"), Action(HEXCOM, "$TVMHEXCOMSTR")
    return [
        *env.Command(elf.target_from_source("", ".bin"), elf, flash[0], _TVMREMOVE=remove),
        *env.Command(elf.target_from_source("", ".hex"), elf, flash[1]),
    ]


@user_errors
def tvm_size(
    env: Env, program: Any, models: Any = (), board: Any = UNSAID, alias: str = "size"
) -> list[Node]:
    """Print what is in a linked program beside the board's budget; the build fails beyond it.

    The table is also a file, ``<program>.size.txt``, which is returned: it is made, and printed,
    whenever the program has changed. ``scons size`` prints it at any time.
    """
    elf = _elf(env, program)
    metadata = [model.metadata for model in _models(env, elf, models)]
    private, words = _private(env, require_board(env, board))
    table = private.Command(
        elf.target_from_source("", ".size.txt"),
        [elf, *metadata],
        Action(_measure, "$TVMSIZECOMSTR", varlist=["TVMSIZECOM", "_TVMBOARD", "_TVMDIGEST"]),
        _TVMMETADATA=[word for node in metadata for word in ("--metadata", node)],
        _TVMDIGEST=digest(package_files("image/*.py")),
        **words,
    )
    private.NoCache(table)  # It shall be printed.
    _phony(private, alias, elf, table, Action(_show, strfunction=None), {})
    return list(table)


@user_errors
def tvm_run(env: Env, program: Any, board: Any = UNSAID, alias: str = "run") -> list[Node]:
    """``scons run``: run a linked program in the board's emulator."""
    elf = _elf(env, program)
    private, words = _private(env, require_board(env, board))
    return _phony(private, alias, elf, [elf], Action("$TVMRUNCOM", "$TVMRUNCOMSTR"), words)


@user_errors
def tvm_verify(
    env: Env,
    program: Any,
    models: Any = (),
    inputs: Any = None,
    samples: int | None = None,
    board: Any = UNSAID,
    alias: str = "verify",
) -> list[Node]:
    """``scons verify``: compare the models inside a linked program with the reference runtime.

    Args:
        env: the environment.
        program: what ``env.Program`` returned.
        models: what ``env.TVMModel`` returned. Default: all models that are linked into the program.
        inputs: a ``.npz`` file with recorded inputs, or several by name of the model. Default: random.
        samples: how many inputs are used at most. Default: see ``tvm-tool verify --help``.
        board: name or file of the board whose emulator is used.
        alias: the target's name.
    """
    elf = _elf(env, program)
    private, words = _private(env, require_board(env, board))
    found = _models(env, elf, models)
    names = [model.options.name for model in found]
    recorded = inputs if isinstance(inputs, Mapping) else dict.fromkeys(names, inputs)
    for name in recorded:
        if name not in names:
            raise OptionError(
                f"no model is called '{name}'", where="TVMVerify", remedy=did_you_mean(name, names)
            )
    made: list[Node] = []
    for model in found:
        sources = [elf, model.source, model.metadata]
        further = [model.quantized] if model.quantized else []
        file = recorded.get(model.options.name)
        given = env.arg2nodes([file], env.fs.File) if file else []
        action = Action("$TVMVERIFYCOM", "$TVMVERIFYCOMSTR")
        options = [
            *(["--inputs", *given] if given else []),
            *(["--samples", str(samples)] if samples else []),
        ]
        arguments = {"_TVMVERIFYOPTIONS": options, **words}
        made += _phony(
            private, alias, f"{elf}:{model.options.name}", [*sources, *further, *given], action, arguments
        )
    return made


def _elf(env: Env, program: Any) -> Node:
    nodes = env.arg2nodes(SCons.Util.flatten([program]), env.fs.File)
    if not nodes:
        raise OptionError("no program was given", expected="what env.Program returned")
    return nodes[0]


def _models(env: Env, elf: Node, given: Any) -> list[Model]:
    found = models_of(env.arg2nodes(SCons.Util.flatten([given]), env.fs.File) if given else elf.sources)
    if not found:
        raise OptionError(
            "no model is linked into this program, as far as can be seen",
            file=str(elf),
            remedy="give the nodes of TVMModel: models=nodes",
        )
    return found


def _private(env: Env, board: Board) -> tuple[Env, dict[str, Any]]:
    """The environment in which commands of the tool run, and the variables that tell them the board."""
    return folder_of(env).env, {"_TVMBOARD": board_words(board), "_TVMBOARDDIGEST": board_digest(board)}


def _phony(
    private: Env, alias: str, what: Any, sources: Sequence[Node], action: Any, variables: Mapping[str, Any]
) -> list[Node]:
    """A target that is no file and runs whenever it is asked for, by `alias`, with others of this alias."""
    made: list[Node] = private.Alias(f"{alias}:{what}", sources, action, **variables)
    private.AlwaysBuild(made)
    private.Alias(alias, made)
    return made


def _measure(target: list[Node], source: list[Node], env: Env) -> int:
    command = [str(word) for word in env.subst_list("$TVMSIZECOM", target=target, source=source)[0]]
    variables = {name: str(value) for name, value in env["ENV"].items()}
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, encoding="utf-8", env=variables)
    if done.returncode == 0:
        write_text(target[0].get_abspath(), done.stdout)
    print(done.stdout, end="", flush=True)
    return done.returncode


def _show(target: list[Node], source: list[Node], env: Env) -> None:
    """Print the table, unless it was made, and printed, just now."""
    if source[0].get_state() == SCons.Node.up_to_date:
        print(Path(source[0].get_abspath()).read_text(encoding="utf-8"), end="", flush=True)
