"""What CMake's functions need to know, as CMake variables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..atomic import write_text
from ..board import Board, load_board
from ..board_file import board_files, is_path
from ..compiler.placement import check_regions
from ..errors import OptionError, TargetError
from ..linker import linker_script, linker_supplement, wants_regions
from ..options import ModelOptions, option_arguments, parse_options
from ..paths import boards_dir, linker_scripts_dir, startup_dir
from ..signature import COMPILER_FILES, board_digest, digest, package_files
from ..versions import report
from .arguments import split_arguments
from .text import assignments


def describe_model(target: str, source: Path, folder: Path, default_board: str, words: Sequence[str]) -> str:
    """Variables for `tvm_add_model(target words...)`.

    Where the model uses memories that the firmware's own linker script may not know, a script that adds
    them is written.

    Args:
        source: the folder that paths are relative to.
        folder: where linker scripts go.
        default_board: the board if `words` name none; empty for none.

    Raises:
        OptionError, BoardError: naming the keyword, with the nearest known one.
    """
    function = f"tvm_add_model({target})"
    given = split_arguments(words, function)
    model = given.pop("model", None)
    if model is None:
        raise OptionError("no model is given", where=function, expected="MODEL and the model's file")
    board_name = given.pop("board", default_board)
    given.setdefault("name", target)
    options = parse_options(str(model), given)
    if options.calibration is not None:
        options = replace(options, calibration=source / options.calibration)
    board = _board(board_name, source) if board_name else None
    check_regions(options, board)
    compiler = package_files("__init__.py", *COMPILER_FILES)
    regions = _regions(board, folder) if board and wants_regions(options, board) else ""
    variables: dict[str, str | Sequence[str]] = {
        "_tvm_file": str(source / str(model)),
        "_tvm_calibration": str(options.calibration) if options.calibration else "",
        "_tvm_prefix": options.name,
        "_tvm_arguments": [*option_arguments(options), *(["--board", _word(board)] if board else [])],
        "_tvm_board": _word(board) if board else "",
        "_tvm_configure_depends": [*_files(board), *map(str, compiler)],
        "_tvm_request": _request(options, board, compiler),
        "_tvm_regions": regions,
    }
    return assignments(variables)


def board_word(name: str, source: Path, emulated: bool) -> str:
    """How commands that run in any folder name the board that is called `name` in the folder `source`.

    Raises:
        BoardError: there is no such board.
        TargetError: it shall be `emulated`, and no emulator is known for it.
    """
    board = _board(name, source)
    if emulated and board.emulator is None:
        raise TargetError(
            "no emulator is known for this board",
            file=board.file,
            remedy="verify on a board with the same core that has one: BOARD name",
        )
    return _word(board)


def describe_board(name: str, source: Path, folder: Path) -> str:
    """Variables for `tvm_target_board`; the board's linker scripts are written to `folder`."""
    board = _board(name, source)
    script = folder / f"board-{board.name}.ld"
    write_text(script, linker_script(board), keep_same=True)
    variables: dict[str, str | Sequence[str]] = {
        "_tvm_board": _word(board),
        "_tvm_configure_depends": [
            *_files(board),
            *(str(p) for p in sorted(linker_scripts_dir().glob("*.in"))),
        ],
        "_tvm_flags": [*board.core.flags, *board.core.libc],
        "_tvm_script": str(script),
        "_tvm_startup": [str(startup_dir() / n) for n in (board.core.startup, "tvm_stack_usage.c")],
        "_tvm_semihosting": str(startup_dir() / "tvm_semihosting.c"),
        "_tvm_startup_folder": str(startup_dir()),
        "_tvm_emulated": "ON" if board.emulator else "OFF",
    }
    return assignments(variables)


def _regions(board: Board, folder: Path) -> str:
    script = folder / f"regions-{board.name}.ld"
    write_text(script, linker_supplement(board), keep_same=True)
    return str(script)


def _board(name: str, source: Path) -> Board:
    return load_board(os.path.normpath(source / name) if is_path(name) else name)


def _word(board: Board) -> str:
    """How a command line names `board`."""
    return board.name if board.file.parent == boards_dir() else str(board.file)


def _files(board: Board | None) -> list[str]:
    return [str(file) for file in board_files(board.file)] if board else []


def _request(options: ModelOptions, board: Board | None, compiler: Sequence[Path]) -> str:
    """Everything besides the model that decides what is generated: a change compiles it again."""
    lines = [*(f"{name} {version}" for name, version in report().items())]
    lines.append(f"compiler {digest(compiler)}")
    lines.append(f"board {board_digest(board)}")
    return "\n".join([*lines, *option_arguments(options)])
