"""The rules of the house that a reader of one file cannot see."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tvm_tool"
INTERNALS = PACKAGE / "compiler" / "tvm_internals"
PUBLIC = {"tvm", "tvm.relax"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Absolute names of what a file imports, with what it takes from ``tvm``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            if node.module == "tvm":
                yield from (f"tvm.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_compiler_imports_tvm(path: Path) -> None:
    used = {name for name in imports(path) if name.split(".")[0] in ("tvm", "tvm_ffi")}
    if PACKAGE / "compiler" not in path.parents:
        assert not used
    elif INTERNALS not in path.parents:
        assert used <= PUBLIC, "TVM's inside belongs to tvm_internals"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_tvm_is_not_reached_by_name(path: Path) -> None:
    if INTERNALS in path.parents:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tvm":
            assert node.attr in {"IRModule", "ir"}
        if isinstance(node, ast.Attribute):
            assert node.attr != "get_global_func"


@pytest.mark.parametrize("module", ["tvm_tool", "tvm_tool.cli", "tvm_tool.board", "tvm_tool.scons.tool"])
def test_build_systems_never_load_tvm(module: str) -> None:
    heavy = "any(m.split('.')[0] in ('tvm', 'onnx', 'numpy') for m in sys.modules)"
    code = f"import sys, {module}; sys.exit({heavy})"
    subprocess.run([sys.executable, "-c", code], check=True)
