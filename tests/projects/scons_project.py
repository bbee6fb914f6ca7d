"""Real scons processes on sample firmwares, copied to a fresh folder for each test.

The samples are what a user would write. The stand-in for the model compiler (`fake_compiler.py`)
reaches them through their ``site_scons/site_init.py``, which gives Environment() one more default.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]

SITE_INIT = """\
from SCons.Environment import Environment as Original

def Environment(*args, **kw):
    return Original(*args, **{{"TVM_COMPILER": {fake!r}, **kw}})
"""


@dataclass(frozen=True)
class Run:
    """One finished scons process."""

    status: int
    output: str

    @property
    def made(self) -> list[tuple[str, str]]:
        """What was made, as (kind, file); kind is the word in capitals that starts a sample's ...COMSTR."""
        return re.findall(r"^([A-Z]+) (.+)$", self.output, re.MULTILINE)

    def files(self, kind: str) -> list[str]:
        return [Path(file).name for word, file in self.made if word == kind]


@dataclass(frozen=True)
class Project:
    """A firmware in a folder of its own."""

    path: Path
    python_path: str = str(CHECKOUT)

    def run(self, *arguments: str, ok: bool = True) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "SCons", *arguments],
            check=False,
            cwd=self.path,
            env=environment(self.python_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
        )
        assert (done.returncode == 0) == ok, done.stdout
        assert "Traceback" not in done.stdout, done.stdout
        return Run(done.returncode, done.stdout)

    def fails(self, *arguments: str) -> str:
        """The output of a run that must fail."""
        return self.run(*arguments, ok=False).output

    def up_to_date(self, *arguments: str) -> None:
        run = self.run(*arguments, "--debug=explain")
        assert not run.made, run.output
        assert "is up to date" in run.output, run.output

    def not_up_to_date(self, *arguments: str) -> Run:
        run = self.run(*arguments)
        assert run.made, run.output
        return run

    def program(self, name: str = "firmware") -> str:
        """What a program that was linked for this machine prints; it must succeed."""
        return subprocess.run([self.path / name], check=True, capture_output=True, text=True).stdout

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def files(self) -> set[str]:
        """Everything in the project but SCons' own file, as paths; directories end in a slash."""
        return {
            path.relative_to(self.path).as_posix() + ("/" if path.is_dir() else "")
            for path in self.path.rglob("*")
            if path.name not in (".sconsign.dblite", "__pycache__")
            and path.parent.name not in ("site_scons", "__pycache__")
        }


def environment(python_path: str = str(CHECKOUT)) -> dict[str, str]:
    """The environment variables of a user's shell; by default tvm_tool can be imported."""
    return {**os.environ, "PYTHONPATH": python_path, "PYTHONIOENCODING": "utf-8", "SCONSFLAGS": ""}
