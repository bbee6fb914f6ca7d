"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_text(path: str | Path, text: str, keep_same: bool = False) -> None:
    """Write `text` to `path`, all of it or nothing.

    Args:
        keep_same: leave a file alone that holds this text already, so that nothing which looks at
            times of files is built again.
    """
    path = Path(path)
    data = text.encode("utf-8")
    if keep_same and path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)
