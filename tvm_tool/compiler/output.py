"""Writing the outputs of a compile so that nobody ever sees half of them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..errors import TVMToolError
from ..paths import runtime_dir
from .driver import Compiled

STAGING = ".tvm-"
"""How the folders are called that a killed compile may leave behind."""


def write_outputs(folder: Path, compiled: Compiled, with_runtime: bool) -> list[Path]:
    """Write the files of `compiled` to `folder`, and the runtime's if `with_runtime`.

    All are written beside their places first and moved there together; the metadata comes last, so
    a folder whose ``.json`` is new is complete. Returns the paths written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left_over in folder.glob(f"{STAGING}*"):
            shutil.rmtree(left_over, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    except OSError as error:
        raise TVMToolError(
            f"cannot write here: {error.strerror}", file=folder, remedy="name another output folder"
        ) from None
    try:
        names = []
        if with_runtime:
            for source in runtime_files(compiled.runtime, compiled.files.values()):
                shutil.copyfile(source, staging / source.name)
                names.append(source.name)
        for name, content in compiled.binaries.items():
            (staging / name).write_bytes(content)
            names.append(name)
        for name, text in compiled.files.items():
            (staging / name).write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
        for name in names:
            _place(staging / name, folder / name)
        return [folder / name for name in names]
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def depfile_rule(target: str, files: Iterable[Path]) -> str:
    """A rule in the syntax of Make that says: `target` is made from `files`."""

    def word(path: str) -> str:
        return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")

    return f"{word(target)}: {' '.join(word(str(file)) for file in files)}\n"


def _place(made: Path, place: Path) -> None:
    """Move a file to its place; one with the same contents keeps its time, for Make and Ninja."""
    if not (place.is_file() and place.read_bytes() == made.read_bytes()):
        made.replace(place)


def runtime_files(needed: Iterable[str], texts: Iterable[str]) -> list[Path]:
    """The runtime's C files in `needed`, and its headers that these or C `texts` include."""
    folder = runtime_dir()
    found = [folder / name for name in needed]
    headers: set[Path] = set()
    waiting = [*texts, *(_read(file) for file in found)]
    while waiting:
        included = {
            folder / name for name in re.findall(r'^#include "(\w+\.h)"', waiting.pop(), re.MULTILINE)
        }
        new = {header for header in included - headers if header.is_file()}
        headers |= new
        waiting += map(_read, new)
    return [*sorted(headers), *found]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
