"""The actions that make the files of a build folder's `tvm/`, and their builders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder

from ..errors import ToolchainError
from .usererror import build_errors

Env = Any
Node = Any

RUNTIME_SOURCES = ("tvm_aot.c", "tvm_platform.c")
"""Files of the runtime that every model needs; the others hold kernels."""

TVMCOM = (
    "$( $TVM_PYTHON $TVM_COMPILER $) compile $( $SOURCE --output ${TARGET.dir} $_TVMQUIET $) "
    "--no-runtime $_TVMOPTIONS $_TVMBOARD"
)
"""What the machine has its own paths for stands in ``$( $)``: it is no part of the signature."""


KERNELS_HEAD = """\
/* The kernels that the models of this folder need. Generated; do not edit. */
#include "tvm_aot.h"
"""
"""Some header, because a C file must not be empty where no model needs a kernel."""


def write(path: str, text: str) -> None:
    """Write `text` to `path`, all of it or nothing."""
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(partial, path)


def copy(target: list[Node], source: list[Node], env: Env) -> None:
    """Copy each source to the target at its place."""
    for made, original in zip(target, source, strict=True):
        write(made.get_abspath(), Path(original.get_abspath()).read_text(encoding="utf-8"))


@build_errors
def write_kernels(target: list[Node], source: list[Node], env: Env) -> None:
    """Join the kernels that the models described by `source`, metadata files, need into one file."""
    needed: set[str] = set()
    for metadata in source:
        needed.update(json.loads(metadata.get_text_contents())["runtime"])
    text = KERNELS_HEAD
    for name in sorted(needed.difference(RUNTIME_SOURCES)):
        file = Path(env["TVM_RUNTIME"]) / name
        if not file.is_file():
            raise ToolchainError(
                "a model needs this kernel, and the runtime has no such file",
                file=file,
                remedy="let TVM_PYTHON, TVM_COMPILER and TVM_RUNTIME belong to one version of tvm-tool",
            )
        text += "\n" + file.read_text(encoding="utf-8")
    write(target[0].get_abspath(), text)


@build_errors
def write_script(target: list[Node], source: list[Node], env: Env) -> None:
    """Write the linker script of ``env['TVM_BOARD']``, a full one or a supplement."""
    try:
        from ..linker import linker_script, linker_supplement

        make = linker_script if env["TVM_FULL"] else linker_supplement
        text = make(env["TVM_BOARD"])
    except ImportError as error:
        raise ToolchainError(
            f"the linker script cannot be made: {error}",
            remedy=f"install the package {error.name} for the interpreter that runs SCons",
        ) from None
    write(target[0].get_abspath(), text)


def builders() -> dict[str, Any]:
    """The builders of a folder's private environment."""
    return {
        "TVMCompile": Builder(
            action=Action("$TVMCOM", "$TVMCOMSTR", varlist=["SOURCE.file", "_TVMVERSIONS", "_TVMBOARDDIGEST"])
        ),
        "TVMCopy": Builder(action=Action(copy, "$TVMCOPYCOMSTR")),
        "TVMKernels": Builder(
            action=Action(write_kernels, "$TVMKERNELSCOMSTR", varlist=["_TVMRUNTIMEDIGEST"]), multi=True
        ),
        "TVMScript": Builder(
            action=Action(write_script, "$TVMSCRIPTCOMSTR", varlist=["TVM_FULL", "_TVMBOARDDIGEST"])
        ),
    }
