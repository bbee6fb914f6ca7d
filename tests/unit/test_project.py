"""What the project ships: packages, pins, licences."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tvm_tool import __version__
from tvm_tool.versions import PINNED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
IN_PACKAGE = {
    "tvm_tool": "tvm_tool",
    "boards": "tvm_tool/boards",
    "linker_scripts": "tvm_tool/linker_scripts",
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
LEFTOVER = re.compile(r"/(__pycache__|build|\.\w+_cache)/|/\.sconsign")
OUR_SOURCES = ("*.c", "*.h", "*.S", "*.ld", "*.ld.in")


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def requirements() -> list[Requirement]:
    table = project()
    extras = [line for extra in table["optional-dependencies"].values() for line in extra]
    return [Requirement(line) for line in [*table["dependencies"], *extras]]


def constraints(python: str) -> dict[str, str]:
    """Package to version, as pip reads the file on Linux under `python`."""
    environment = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    pins: dict[str, str] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(environment):
                assert pin.name not in pins, f"{pin.name} is pinned twice for Python {python}"
                (specifier,) = pin.specifier
                assert specifier.operator == "=="
                pins[pin.name] = specifier.version
    return pins


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this checkout."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def shipped(folder: str) -> set[str]:
    """Files of one of our folders, as paths below the root."""
    files = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in files if not LEFTOVER.search(path.as_posix())}


def test_wheel_holds_the_package_with_all_its_data_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("tvm_tool-*-py3-none-any.whl")
    expected = {
        file.replace(folder, inside, 1) for folder, inside in IN_PACKAGE.items() for file in shipped(folder)
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(f"tvm_tool-{__version__}.dist-info/METADATA").decode()
    assert names == expected
    for name in ("py.typed", "runtime/tvm_aot.h", "boards/stm32f412.yaml", "linker_scripts/cortex_m.ld.in"):
        assert f"tvm_tool/{name}" in names
    assert "License-Expression: Apache-2.0" in metadata


def test_source_distribution_can_do_all_that_the_checkout_can(built: Path) -> None:
    (source,) = built.glob("tvm_tool-*.tar.gz")
    with tarfile.open(source) as archive:
        modes = {member.name.partition("/")[2]: member.mode for member in archive if member.isfile()}
    folders = [*IN_PACKAGE, "tests", "examples", "site_scons"]
    expected = set[str]().union(*(shipped(folder) for folder in folders))
    expected |= {"pyproject.toml", "constraints.txt", "bootstrap", "LICENSE", "README.md", "SConstruct"}
    assert expected - set(modes) == set()
    assert modes["bootstrap"] & 0o100


def test_tvm_is_pinned_to_what_the_compiler_accepts() -> None:
    exact = {r.name: str(r.specifier).removeprefix("==") for r in requirements() if r.name in PINNED}
    assert exact == PINNED


@pytest.mark.parametrize("python", PYTHONS)
def test_constraints_pin_what_is_required(python: str) -> None:
    pins = constraints(python)
    for requirement in requirements():
        version = pins[requirement.name.lower()]
        assert requirement.specifier.contains(version), f"{requirement}, but {version} is pinned"


def test_every_python_of_the_classifiers_is_allowed_and_no_other() -> None:
    table = project()
    named = re.findall(r"Python :: (3\.\d+)\b", "\n".join(table["classifiers"]))
    assert tuple(named) == PYTHONS
    assert table["requires-python"] == ">=3.10,<3.14"


def test_sources_name_their_licence() -> None:
    files = [ROOT / "bootstrap", ROOT / ".ci" / "run"]
    for folder in ("tvm_tool", "linker_scripts", "examples", "tests"):
        files += [path for pattern in OUR_SOURCES for path in (ROOT / folder).rglob(pattern)]
    samples = ROOT / "tests" / "projects" / "samples"  # They stand for the firmware of somebody else.
    files = [path for path in files if samples not in path.parents]
    without = [f for f in files if "SPDX-License-Identifier: Apache-2.0" not in f.read_text()[:300]]
    assert [str(path.relative_to(ROOT)) for path in without] == []
    assert "Apache License" in (ROOT / "LICENSE").read_text()
