"""The examples of the README, as a reader would try them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_example_for_scons_builds_the_example_in_c(tmp_path: Path) -> None:
    (sconstruct,) = [b for b in blocks("python") if "TVMModel" in b]
    (code,) = [b for b in blocks("c") if "tvmgen_digits_run" in b]
    include, _, body = code.partition("\n")
    shutil.copy(DIGITS, tmp_path)
    # The host's compiler stands in for the reader's: what counts is that all of it fits together.
    (tmp_path / "SConstruct").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        + sconstruct.replace(
            "CC='arm-none-eabi-gcc', ...", "CCFLAGS=['-Wall', '-Wextra', '-Werror']"
        ).replace(", board='stm32f412'", ", board=None")
    )
    (tmp_path / "main.c").write_text(
        f"{include}\nstatic float pixels[TVMGEN_DIGITS_IMAGE_SIZE], scores[TVMGEN_DIGITS_SCORES_SIZE];\n"
        f"int main(void)\n{{\n{body}\nreturn (int)status;\n}}\n"
    )
    scons = [sys.executable, "-m", "SCons", "-Q"]
    done = subprocess.run(scons, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([tmp_path / "firmware.elf"], check=True)


def test_the_commands_of_the_tool_work(tmp_path: Path) -> None:
    commands = [line for b in blocks("sh") for line in b.splitlines() if line.startswith("tvm-tool ")]
    assert commands
    shutil.copy(DIGITS, tmp_path)
    for command in commands:
        words = shlex.split(command, comments=True)[1:]
        path = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        subprocess.run([sys.executable, "-m", "tvm_tool", *words], cwd=tmp_path, env=path, check=True)
    assert (tmp_path / "generated" / "digits.c").exists()
    assert (tmp_path / "generated" / "tvm_aot.c").exists()


@pytest.mark.parametrize("command", ["boards", "doctor", "--help", "--version"])
def test_commands_that_only_tell(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tvm_tool", command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
    assert done.returncode in ({0, 1} if command == "doctor" else {0})
