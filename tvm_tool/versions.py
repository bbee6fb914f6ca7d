"""The versions that this project is made for, checked without importing what they name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

from . import __version__
from .errors import VersionError

PINNED = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
"""Exact, because the compiler leans on the inside of TVM, and a newer ffi crashes it."""

REPORTED = ("apache-tvm", "apache-tvm-ffi", "onnx", "numpy")

QUANTIZING = ("onnxruntime",)
"""What besides shapes the code of a model that is quantised here."""


def installed(package: str) -> str | None:
    """Version of an installed distribution, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_versions() -> None:
    """Refuse to start on a TVM that this project is not made for."""
    wrong = {p: installed(p) for p, v in PINNED.items() if installed(p) != v}
    if wrong:
        found = ", ".join(f"{p} {v}" if v else f"no {p}" for p, v in wrong.items())
        wanted = " ".join(f"{p}=={v}" for p, v in PINNED.items())
        raise VersionError(
            f"found {found}",
            where="Python packages",
            expected=wanted,
            remedy=f"python -m pip install {wanted}",
        )


def report(also: Sequence[str] = ()) -> dict[str, str]:
    """Versions of everything that shapes the generated code, of the packages `also` too."""
    return {"tvm-tool": __version__, **{p: installed(p) or "none" for p in (*REPORTED, *also)}}
