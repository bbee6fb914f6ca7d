"""Is everything here that a build needs?"""

from __future__ import annotations

import shutil
import sys

from . import __version__
from .versions import PINNED, installed

PROGRAMS = {
    "arm-none-eabi-gcc": "compiles firmware; Debian and Ubuntu: apt install gcc-arm-none-eabi",
    "qemu-system-arm": "runs images; Debian and Ubuntu: apt install qemu-system-arm",
}
PACKAGES = {"onnx": None, "onnxruntime": None, "SCons": None, **PINNED}


def examine() -> tuple[str, bool]:
    """A report, one line a thing, and whether nothing is missing or of a wrong version."""
    lines = [f"     tvm-tool {__version__}, Python {sys.version.split()[0]}"]
    healthy = True
    for package, wanted in PACKAGES.items():
        found = installed(package)
        good = found is not None and wanted in (None, found)
        healthy &= good
        remedy = "" if good else f"  pip install {package}{'==' + wanted if wanted else ''}"
        lines.append(f"{'ok  ' if good else 'BAD '} {package} {found or 'missing'}{remedy}")
    for program, why in PROGRAMS.items():
        where = shutil.which(program)
        healthy &= where is not None
        lines.append(f"{'ok  ' if where else 'BAD '} {program} {where or 'missing: ' + why}")
    return "\n".join(lines), healthy
