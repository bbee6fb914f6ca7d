"""One C file with just the kernels that some models need, each once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from .atomic import write_text
from .errors import ToolchainError

RUNTIME_SOURCES = ("tvm_aot.c", "tvm_platform.c")
"""Files of the runtime that every model needs; the others hold kernels."""

HEAD = """\
/* The kernels that the models of this folder need. Generated; do not edit. */
#include "tvm_aot.h"
"""
"""Some header, because a C file must not be empty where no model needs a kernel."""


def needed_kernels(metadata: Iterable[str]) -> list[str]:
    """Names of the kernel files that models need, from the text of their metadata."""
    needed = {name for text in metadata for name in json.loads(text)["runtime"]}
    return sorted(needed.difference(RUNTIME_SOURCES))


def write_kernel_file(path: str | Path, names: Iterable[str], runtime: Path) -> None:
    """Join the files `names` of the folder `runtime`; ToolchainError if there is none of that name."""
    text = HEAD
    for name in names:
        file = runtime / name
        if not file.is_file():
            raise ToolchainError(
                "a model needs this kernel, and the runtime has no such file",
                file=file,
                remedy="let TVM_PYTHON, TVM_COMPILER and TVM_RUNTIME belong to one version of tvm-tool",
            )
        text += "\n" + file.read_text(encoding="utf-8")
    write_text(path, text, keep_same=True)
