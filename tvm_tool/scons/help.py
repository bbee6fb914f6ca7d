"""``env.TVMHelp``: what a user of the firmware's SConstruct can say on the command line."""

from __future__ import annotations

from typing import Any

from .usererror import user_errors

Env = Any


@user_errors
def tvm_help(env: Env) -> str:
    """A paragraph for ``Help(...)`` about ``board=``; empty unless ``scons -h`` was asked for."""
    if not env.GetOption("help"):
        return ""
    from ..board import board_names, load_board

    lines = [f"    {name:<16}{load_board(name).description}" for name in board_names()]
    return "\n".join(
        ["board=NAME          What to build for:", *lines, "    FILE.yaml       a board of your own", ""]
    )
