"""What besides the model and its options decides the generated code: versions and the tool itself.

A change of any of it must compile again, without anybody deleting files; looking it up must be cheap,
because every build does it, also one that has nothing to do.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ToolchainError
from .paths import PACKAGE
from .versions import REPORTED, installed

if TYPE_CHECKING:
    from .board import Board

COMPILER_FILES = (
    "options.py",
    "board.py",
    "cores.py",
    "samples.py",
    "versions.py",
    "image/metadata.py",
    "compiler/**/*.py",
)
"""What the compiler is made of, as patterns in the package."""

_ASK = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    try: print(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError: print("none")
"""


def digest(files: Iterable[Path]) -> str:
    """A short hash of the names and contents of `files`, the same on every machine."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.name.encode() + b"\0")
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]


def board_digest(board: Board | None) -> str:
    """What of a board a signature shall contain: everything but where its file lies."""
    if board is None:
        return "none"
    return hashlib.sha256(repr(replace(board, file=Path(board.file.name))).encode()).hexdigest()[:16]


def package_files(*patterns: str) -> list[Path]:
    """The files of this package that match one of `patterns`."""
    return [file for pattern in patterns for file in PACKAGE.glob(pattern)]


def compiler_files(compiler: Path) -> list[Path]:
    """The files that `compiler`, the script that is started to compile a model, is made of."""
    return package_files(*COMPILER_FILES) if compiler.parent == PACKAGE else [compiler]


@cache
def versions(python: str, packages: tuple[str, ...] = REPORTED) -> tuple[str, ...]:
    """The versions of the packages that shape the generated code, as the interpreter `python` has them."""
    if Path(python).absolute() == Path(sys.executable).absolute():
        return tuple(installed(package) or "none" for package in packages)
    try:
        return tuple(_output([python, "-I", "-c", _ASK, *packages]).split())
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(
            f"the interpreter '{python}' does not run: {error}",
            where="TVM_PYTHON",
            remedy="set TVM_PYTHON to the Python interpreter in which tvm-tool is installed",
        ) from None


def _output(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
