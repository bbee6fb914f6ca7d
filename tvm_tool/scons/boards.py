"""Which board something is built for, and how a command line and a signature name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..errors import BoardError, OptionError, ToolchainError
from ..paths import boards_dir
from .nodes import words

if TYPE_CHECKING:
    from ..board import Board

Env = Any

UNSAID = object()
"""The default of every `board`: None means "no board"."""


def find_board(env: Env, name: Any = UNSAID) -> Board | None:
    """The board called `name`; else that of TVMBoard, of ``env['BOARD']``, of ``scons board=``; else None."""
    from SCons.Script import ARGUMENTS

    origin, folder = "board", env.Dir(".")
    if name is UNSAID:
        setup = env.get("_TVM_SETUP")
        name = setup.board if setup else env.get("BOARD") or ARGUMENTS.get("board")
        origin, folder = ("env['BOARD']" if env.get("BOARD") else "board"), env.Dir("#")
    if not isinstance(name, str):
        return cast("Board | None", name)
    try:
        from ..board import load_board
        from ..board_file import is_path
    except ImportError as error:
        raise ToolchainError(
            f"boards cannot be read: {error}",
            where=f"board '{name}'",
            remedy=f"install the package {error.name} for the interpreter that runs SCons",
        ) from None
    try:
        return load_board(_absolute(env, name, folder) if is_path(name) else name)
    except BoardError as error:
        error.where = error.where or origin
        raise


def _absolute(env: Env, file: str, folder: Any) -> str:
    """A path as a call in `folder` means it, also where that is a variant directory."""
    path: str = folder.File(env.subst(file)).srcnode().get_abspath()
    return path


def require_board(env: Env, name: Any = UNSAID) -> Board:
    """`find_board`, where there must be one."""
    board = find_board(env, name)
    if board is None:
        raise OptionError(
            "no board was chosen", where="board", remedy="scons board=NAME, or board='NAME' in the call"
        )
    return board


def board_words(board: Board | None) -> list[Any]:
    """The arguments that name `board` on a command line; where its file lies is no part of signatures."""
    if board is None:
        return []
    if board.file.parent == boards_dir():
        return ["--board", board.name]
    return ["$(", *words(["--board", str(board.file)]), "$)"]


def check_environment(env: Env, board: Board) -> None:
    """Refuse flags of `env` that contradict the core of `board`."""
    from ..cores import check_flags

    for variable in ("CC", "CCFLAGS", "CFLAGS", "LINKFLAGS"):
        check_flags(board.core, env.subst(f"${variable}"), where=variable)
