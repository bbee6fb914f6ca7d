"""Small things about SCons' nodes, command lines and construction variables."""

from __future__ import annotations

import atexit
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import SCons.Util
from SCons.Subst import Literal

Env = Any
Node = Any


def words(arguments: Iterable[str]) -> list[Any]:
    """Arguments of a command line that reach the program as they are, quoted only where it is needed."""
    return [word if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) else Literal(word) for word in arguments]


def append(env: Env, variable: str, flags: Sequence[Any]) -> None:
    """Add `flags` to the end of `variable`, and keep the type that it has: one string stays one."""
    before = env.get(variable, [])
    if SCons.Util.is_String(before):
        env[variable] = " ".join([before, *flags]) if flags else before
    else:
        env[variable] = before + (tuple(flags) if isinstance(before, tuple) else list(flags))


def include(env: Env, directories: Sequence[Node]) -> None:
    """Add each directory once to the end of CPPPATH, and keep the type that it has."""
    path = env.get("CPPPATH", [])
    if SCons.Util.is_String(path):
        parts = path.split(os.pathsep) if path else []
        new = [str(d) if os.path.isabs(str(d)) else f"#{d}" for d in directories]
        env["CPPPATH"] = os.pathsep.join([*parts, *(d for d in new if d not in parts)])
    else:
        append(env, "CPPPATH", [d for d in directories if d not in path])


def remove_when_cleaned(env: Env, place: Node) -> None:
    """After ``scons -c``, which leaves directories alone, remove `place` if nothing is left in it.

    What a killed compilation left (``.tvm-...``) is no more than nothing.
    """

    def remove() -> None:
        path = Path(place.get_abspath())
        try:
            for leftover in path.glob(".tvm-*"):
                shutil.rmtree(leftover)
            path.rmdir()
        except OSError:
            return
        if not env.GetOption("silent"):
            print(f"Removed directory {place}")

    if env.GetOption("clean") and not env.GetOption("no_exec"):
        atexit.register(remove)
