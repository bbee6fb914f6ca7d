"""From a program and its memory plan to files: C sources, header, weights and metadata."""

from __future__ import annotations

from .context import ModelSource
from .files import emit_files

__all__ = ["ModelSource", "emit_files"]
