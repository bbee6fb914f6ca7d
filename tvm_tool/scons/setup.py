"""``env.TVMBoard``: everything that a firmware needs to be built for a board."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ToolchainError
from .boards import UNSAID, check_environment, require_board
from .folder import folder_of
from .nodes import append, include
from .usererror import user_errors

if TYPE_CHECKING:
    from ..board import Board
    from ..cores import Core

Env = Any
Node = Any

PROGRAMS = {
    "CC": "gcc",
    "CXX": "g++",
    "AS": "as",
    "AR": "gcc-ar",
    "RANLIB": "gcc-ranlib",
    "NM": "gcc-nm",
    "OBJCOPY": "objcopy",
}
"""Construction variables and the programs of a GNU toolchain; gcc's own ar knows LTO objects."""

COMPILE = ("-ffunction-sections", "-fdata-sections", "-flto")

LINK = (
    "-flto",
    "-nostartfiles",
    "-Wl,--gc-sections",
    "-Wl,-Map=${TARGET.base}.map",
    "-T",
    "$_TVM_SCRIPT",
)


@dataclass(frozen=True, eq=False)
class Setup:
    """What `tvm_board` gave an environment, for its link hook."""

    board: Board
    script: Node
    objects: tuple[Node, ...]


@user_errors
def tvm_board(env: Env, board: Any = UNSAID, startup: bool = True, semihosting: bool = False) -> Board:
    """Build for a board: toolchain, core flags, link options, linker script and startup code.

    For firmwares that have no flags and no linker script of their own. What the environment already
    has stays; what contradicts the board's core is an error.

    Args:
        env: every program of this environment is linked for the board from now on.
        board: name or file of the board. Default: ``env['BOARD']``, ``scons board=...``.
        startup: link the startup code: vectors and reset.
        semihosting: link tvm_semihosting.c as well, for an emulator or a debugger.

    Returns:
        The board, as `tvm_tool.board.load_board` reads it.
    """
    chosen = require_board(env, board)
    check_environment(env, chosen)
    _toolchain(env, chosen.core)
    _flags(env, chosen)
    folder = folder_of(env)
    env["_TVM_SCRIPT"] = script = folder.script(chosen, full=True)
    names = [chosen.core.startup, "tvm_stack_usage.c"] if startup else []
    names += ["tvm_semihosting.c"] if semihosting else []
    objects = []
    if names:
        files = folder.startup(chosen)
        include(env, [script.dir])
        objects = [node for name in names for node in env.Object(files[name])]
        env.Depends(objects, [file for name, file in files.items() if name.endswith(".h")])
    env["_TVM_SETUP"] = Setup(chosen, script, tuple(objects))
    return chosen


def _toolchain(env: Env, core: Core) -> None:
    """Let the variables name the programs of the toolchain, unless they already do."""
    prefix = core.toolchain
    compiler = shutil.which(f"{prefix}gcc")
    if compiler and not env.WhereIs(f"{prefix}gcc"):
        env.AppendENVPath("PATH", os.path.dirname(compiler))
    for variable, program in PROGRAMS.items():
        if prefix not in env.subst(f"${variable}"):
            env[variable] = prefix + program
    if not (env.WhereIs(env.subst("$CC").split()[0]) or env.GetOption("help") or env.GetOption("clean")):
        raise ToolchainError(
            f"the compiler '{env.subst('$CC')}' is not installed",
            where="TVMBoard",
            remedy=f"install it (Debian, Ubuntu: apt-get install {core.toolchain_packages}), "
            "or add its folder to PATH",
        )


def _flags(env: Env, board: Board) -> None:
    libc = board.core.libc  # With its headers: some toolchains have none of their own.
    for variable, more in {"CCFLAGS": COMPILE + libc, "ASFLAGS": (), "LINKFLAGS": LINK + libc}.items():
        given = env.subst(f"$CC ${variable}").split()
        append(env, variable, [*(flag for flag in board.core.flags if flag not in given), *more])
    env.AppendUnique(LIBS=["m"])  # Some models need it, and for the others it links nothing.
    if env.subst("$PROGSUFFIX") in ("", ".exe"):
        env["PROGSUFFIX"] = ".elf"
