"""``python -m tvm_tool``; also works as a plain script path from an interpreter of one's choice."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    # Started by path: find the package that this file belongs to, and then forget the folder around
    # it: in another interpreter's site-packages, everything beside us is not meant for this one.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    import tvm_tool  # noqa: F401

    del sys.path[0]

from tvm_tool.cli import main

sys.exit(main())
