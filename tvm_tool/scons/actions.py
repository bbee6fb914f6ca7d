"""The actions that make the files of a build folder's `tvm/`, and their builders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder
from SCons.Scanner import Scanner

from ..atomic import write_text
from ..errors import ToolchainError
from ..external_data import external_files
from ..kernel_file import needed_kernels, write_kernel_file
from .usererror import build_errors

Env = Any
Node = Any

TVMCOM = (
    "$( $TVM_PYTHON $TVM_COMPILER $) compile $( $SOURCE --output ${TARGET.dir} $_TVMQUIET $) "
    "--no-runtime $_TVMOPTIONS $_TVMCALIBRATION $_TVMBOARD"
)
"""What the machine has its own paths for stands in ``$( $)``: it is no part of the signature."""


def scan(node: Node, env: Env, path: object) -> list[Node]:
    """The files in which a model keeps its weights, as far as there are any."""
    file = Path(node.rfile().get_abspath())
    if file.suffix.lower() != ".onnx" or not file.is_file():
        return []
    found = [node.dir.File(name) for name in external_files(file.read_bytes())]
    return [other for other in found if other.exists() or other.srcnode().exists()]


def copy(target: list[Node], source: list[Node], env: Env) -> None:
    """Copy each source to the target at its place."""
    for made, original in zip(target, source, strict=True):
        write_text(made.get_abspath(), Path(original.get_abspath()).read_text(encoding="utf-8"))


@build_errors
def write_kernels(target: list[Node], source: list[Node], env: Env) -> None:
    """Join the kernels that the models described by `source`, metadata files, need into one file."""
    names = needed_kernels(metadata.get_text_contents() for metadata in source)
    write_kernel_file(target[0].get_abspath(), names, Path(env["TVM_RUNTIME"]))


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
    write_text(target[0].get_abspath(), text)


def builders() -> dict[str, Any]:
    """The builders of a folder's private environment."""
    return {
        "TVMCompile": Builder(
            action=Action(
                "$TVMCOM", "$TVMCOMSTR", varlist=["SOURCE.file", "_TVMVERSIONS", "_TVMBOARDDIGEST"]
            ),
            source_scanner=Scanner(function=scan, name="TVMExternalData"),
        ),
        "TVMCopy": Builder(action=Action(copy, "$TVMCOPYCOMSTR")),
        "TVMKernels": Builder(
            action=Action(write_kernels, "$TVMKERNELSCOMSTR", varlist=["_TVMRUNTIMEDIGEST"]), multi=True
        ),
        "TVMScript": Builder(
            action=Action(write_script, "$TVMSCRIPTCOMSTR", varlist=["TVM_FULL", "_TVMBOARDDIGEST"])
        ),
    }
