"""Every error that a user can meet, in one tree.

An error says four things, each at most once: where (file and thing), what is wrong, what was
expected, and the remedy. Front ends (the command line, SCons, CMake) print ``str(error)`` and exit
with ``error.exit_status``; they never print a trace.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class TVMToolError(Exception):
    """Base of the tree.

    Args:
        problem: what is wrong, one sentence without a full stop.
        file: the file that the user has to look at.
        where: the thing in it: a node, a field, an option, a region.
        expected: what would have been right.
        remedy: what to do about it.
    """

    exit_status = 1

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        where: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = None if file is None else str(file)
        self.where = where
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.where) if part)
        lines = [f"{place}: {self.problem}" if place else self.problem]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


class OptionError(TVMToolError):
    """An option is unknown, malformed or contradicts another."""

    exit_status = 2


class BoardError(TVMToolError):
    """A board description is missing or malformed."""


class ModelError(TVMToolError):
    """The model file cannot be read or is not valid."""


class UnsupportedError(ModelError):
    """The model is valid but uses something that cannot be compiled."""


class BudgetError(TVMToolError):
    """The model or the image does not fit the board or its budget."""


class ImageError(TVMToolError):
    """A linked image is not what it should be."""


class ToolchainError(TVMToolError):
    """A compiler, emulator or other program is missing, or contradicts the board."""


class VersionError(ToolchainError):
    """An installed Python package is not the version that this project is tested with."""


class TargetError(TVMToolError):
    """The emulator or the board did not do what was asked."""


class VerifyError(TVMToolError):
    """The outputs on the target differ from the reference runtime."""


@contextmanager
def naming(file: str | Path) -> Iterator[None]:
    """Errors raised inside, where they name no file yet, name `file`."""
    try:
        yield
    except TVMToolError as error:
        error.file = error.file or str(file)
        raise


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remedy for a mistyped `name`: the nearest of `known`, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.55)
    if close:
        return f"did you mean '{close[0]}'?"
    return "one of " + ", ".join(names) if names else "none is known"
