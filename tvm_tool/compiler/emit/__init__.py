"""From a program and its memory plan to files: C sources, header, weights and metadata."""

from __future__ import annotations

from .files import ModelSource, emit_files

__all__ = ["ModelSource", "emit_files"]
