"""``env.TVMModel``: a model file becomes sources or objects of a program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import SCons.Util

from ..errors import ModelError, OptionError, did_you_mean
from ..options import parse_options
from .boards import UNSAID, find_board
from .folder import folder_of
from .nodes import include
from .usererror import user_errors

Env = Any
Node = Any

ENDINGS = (".npz", ".npy")
"""Of the files that a folder of calibration data consists of."""


@user_errors
def tvm_model(env: Env, model: Any, sources: bool = False, board: Any = UNSAID, **options: Any) -> list[Node]:
    """Compile a model and return what a program that uses it must be linked with.

    Args:
        env: the environment that compiles the objects and the sources that include the model's header.
        model: the model file, as a path or a node.
        sources: return the C sources instead of the objects.
        board: name or file of the board; None for none. Default: ``env['BOARD']``, ``scons board=...``.
        options: see `tvm_tool.options.OPTIONS`.

    Returns:
        A plain list of nodes: the model, its weights, and the runtime that all models of this build
        folder share.
    """
    source = _file(env, model)
    calibration, files = _calibration(env, options.pop("calibration", None))
    given = {**options, "calibration": calibration}
    parsed = parse_options(str(source.srcnode()), given, also=("board", "sources"))
    folder = folder_of(env, source)
    made = folder.model(source, parsed, find_board(env, board), files)
    include(env, [made.header.dir, folder.dir])
    if sources:
        return [*made.sources, *folder.runtime]
    return [
        *_objects(env, made.sources, [made.header, *folder.headers]),
        *_objects(env, folder.runtime, folder.headers),
    ]


def _objects(env: Env, sources: Sequence[Node], headers: Sequence[Node]) -> list[Node]:
    objects = [node for source in sources for node in env.Object(source)]
    # Headers that are found only after they were generated would cost one needless rebuild.
    env.Depends(objects, headers)
    return objects


def _file(env: Env, model: Any) -> Node:
    nodes = env.arg2nodes(SCons.Util.flatten([model]), env.fs.File)
    if len(nodes) != 1:
        raise OptionError(
            f"TVMModel was given {len(nodes)} models", expected="one model; call it once for each"
        )
    file = nodes[0]
    original = file.srcnode()
    if not (file.is_derived() or file.exists() or original.exists()):
        there = [e for e in _names(original.dir.get_abspath()) if e.endswith((".onnx", ".tflite"))]
        raise ModelError(
            "there is no such model file",
            file=str(original),
            remedy=did_you_mean(original.name, there)
            if there
            else "check the path; if another step of the build makes it, declare that step first",
        )
    return file


def _calibration(env: Env, given: Any) -> tuple[str | None, list[Node]]:
    """Calibration data as a path for the compiler, and the files that they are; `given` as for `_file`."""
    if not given:
        return None, []
    nodes = env.arg2nodes(SCons.Util.flatten([given]), env.fs.Entry)
    if len(nodes) != 1:
        raise OptionError(
            f"{len(nodes)} files were given",
            where="option 'calibration'",
            expected="one .npz file, or a folder of .npz or .npy files",
        )
    node = nodes[0]
    if node.is_derived():
        return node.get_internal_path(), [node]
    node = node.dir.srcnode().Entry(node.name).disambiguate()
    file, place = node.get_internal_path(), node.get_abspath()
    if os.path.isdir(place):
        return file, [node.File(name) for name in sorted(_names(place)) if name.endswith(ENDINGS)]
    if not os.path.exists(place):
        there = [name for name in _names(os.path.dirname(place)) if name.endswith(".npz")]
        raise OptionError(
            "there are no such calibration data",
            file=file,
            where="option 'calibration'",
            remedy=did_you_mean(node.name, there) if there else "check the path",
        )
    return file, [node]


def _names(directory: str) -> list[str]:
    return os.listdir(directory) if os.path.isdir(directory) else []
