"""Where the files that ship with the package are.

In a wheel everything is inside the package; in a checkout ``boards/`` and ``linker_scripts/`` stand
at the top, beside it.
"""

from __future__ import annotations

from pathlib import Path

from .errors import TVMToolError

PACKAGE = Path(__file__).resolve().parent


def _data_dir(name: str) -> Path:
    for parent in (PACKAGE, PACKAGE.parent):
        if (parent / name).is_dir():
            return parent / name
    raise TVMToolError(
        f"the folder '{name}' is missing",
        file=PACKAGE,
        remedy="the installation is incomplete: install tvm-tool again",
    )


def boards_dir() -> Path:
    """The YAML files of the boards and families that ship with the package."""
    return _data_dir("boards")


def linker_scripts_dir() -> Path:
    """The templates of linker scripts."""
    return _data_dir("linker_scripts")


def runtime_dir() -> Path:
    """The C files that models need at run time."""
    return PACKAGE / "runtime"


def startup_dir() -> Path:
    """The C files of reset, vectors and semihosting."""
    return PACKAGE / "startup"
