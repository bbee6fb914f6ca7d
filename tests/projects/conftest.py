"""Sample firmwares for the tests of the SCons tool."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.projects.scons_project import HERE, SITE_INIT, Project


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Project]:
    """Copies the sample `name` to a folder called `to` and returns it."""

    def copy(name: str, to: str = "", fake: bool = True) -> Project:
        path = tmp_path / (to or name)
        shutil.copytree(HERE / "samples" / name, path)
        made = Project(path)
        if fake:
            made.write("site_scons/site_init.py", SITE_INIT.format(fake=str(HERE / "fake_compiler.py")))
        return made

    return copy
