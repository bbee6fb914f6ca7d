"""What the docs say of options is what options.py says, and links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tvm_tool.options import OPTIONS

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("examples/*/*.md")),
]


def test_the_table_of_options_is_complete() -> None:
    rows = []
    for option in OPTIONS:
        metavar = option.metavar.replace("|", r"\|")
        rows.append(f"| `{option.name}` | {metavar} | {option.default} | {option.help} |")
    assert "\n".join(rows) in (ROOT / "docs" / "options.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_left_to_fill_in(page: Path) -> None:
    assert not re.search(r"PLACEHOLDER|TODO|FIXME|TBD", page.read_text(encoding="utf-8"))
