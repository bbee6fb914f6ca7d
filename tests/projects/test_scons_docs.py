"""Every SConstruct in docs/scons.md builds."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.projects.scons_project import CHECKOUT, HERE, SITE_INIT, Project

TEXT = (CHECKOUT / "docs/scons.md").read_text(encoding="utf-8")

BLOCKS = re.findall(r"```python\n# (\S*SCons(?:truct|cript))\n(.*?)```", TEXT, re.DOTALL)
"""Name and text of each complete file, in order; an SConscript belongs to the SConstruct before it."""

EXAMPLES = [i for i, (name, _) in enumerate(BLOCKS) if name == "SConstruct"]

LINKER_SCRIPT = """\
MEMORY { FLASH (rx) : ORIGIN = 0x8000000, LENGTH = 1024K  RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 128K }
ENTRY(main)
SECTIONS
{
    .text : { *(.text* .rodata*) } >FLASH
    .data : { *(.data*) } >RAM AT>FLASH
    .bss : { *(.bss*) } >RAM
}
"""


def main_of(names: list[str]) -> str:
    """A program that runs each model once."""
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    runs = "".join(
        f"    {{\n        const struct tvmgen_{name}_inputs in = {{image}};\n"
        f"        const struct tvmgen_{name}_outputs out = {{scores}};\n"
        f"        status |= tvmgen_{name}_run(&in, &out);\n    }}\n"
        for name in names
    )
    return (
        f"{includes}static float image[4], scores[4];\nint main(void)\n"
        f"{{\n    int32_t status = 0;\n{runs}    return (int)status;\n}}\n"
    )


def test_all_files_of_the_page_are_found() -> None:
    assert len(EXAMPLES) == TEXT.count("\n# SConstruct\n") >= 7


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_of_the_page_builds(example: int, tmp_path: Path) -> None:
    project = Project(tmp_path)
    after = [i for i in EXAMPLES if i > example]
    files = dict(BLOCKS[example : after[0] if after else None])
    text = "".join(files.values())
    if ("TVMBoard" in text or "arm-none-eabi" in text) and not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("arm-none-eabi-gcc is not installed")
    project.write("site_scons/site_init.py", SITE_INIT.format(fake=str(HERE / "fake_compiler.py")))
    project.write("link.ld", LINKER_SCRIPT)
    project.write(".venv/bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / ".venv/bin/python").chmod(0o755)
    folder = "app/" if "app/SConscript" in files else ""
    models = re.findall(r"""TVMModel\(["']([^"']+)["'](?:[^)]*name=["'](\w+)["'])?""", text)
    for file, _ in models:
        project.write(folder + file, "scale 2\n")
    project.write("recorded.npz", "")
    project.write(folder + "main.c", main_of(sorted({name or Path(file).stem for file, name in models})))
    for name, block in files.items():
        project.write(name, block)
    board = ["board=stm32f412"] if "TVMBoard()" in text else []
    targets = ["firmware.elf", "firmware.bin", "firmware.hex"] if board else []
    project.run("-j2", *board, *targets)
    if not board and "arm-none-eabi" not in text:
        project.program("build/app/firmware.elf" if folder else "firmware.elf")
    project.run("-h", *board)
