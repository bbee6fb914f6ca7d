"""Errors as SCons shows them: the message and the line of the SConstruct, never a trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

import SCons.Errors

from ..errors import TVMToolError

P = ParamSpec("P")
R = TypeVar("R")


def user_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn each `TVMToolError` of `function` into an error of the line that called it."""

    @wraps(function)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TVMToolError as error:
            raise SCons.Errors.UserError(str(error)) from None

    # SCons names the innermost frame that is not its own; its own are those with /SCons/ in their path.
    if isinstance(reporting, FunctionType):
        reporting.__code__ = reporting.__code__.replace(
            co_filename=os.path.join(os.sep, "SCons", __file__[1:])
        )
    return reporting


def build_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn each `TVMToolError` of `function`, an action, into a failure of the build."""

    @wraps(function)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TVMToolError as error:
            raise SCons.Errors.BuildError(errstr=str(error), status=error.exit_status) from None

    return reporting
