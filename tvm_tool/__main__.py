"""``python -m tvm_tool``; also works as a plain script path from an interpreter of one's choice."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    # Started by path: this folder would hide the package that it is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tvm_tool.cli import main

sys.exit(main())
