"""Build a small firmware around a model for a board, without a build system."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm_tool.board import Board, load_board
from tvm_tool.compiler.driver import Compiled, compile_model
from tvm_tool.compiler.output import write_outputs
from tvm_tool.linker import linker_script
from tvm_tool.options import parse_options
from tvm_tool.paths import runtime_dir, startup_dir

OPTIMIZE = {"speed": ["-O2"], "size": ["-Os"]}
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections"]
LINK = ["-nostartfiles", "-Wl,--gc-sections"]

# A firmware whose only purpose is that the model is in it and can run.
MAIN = """
#include "@name@.h"

@buffers@
int main(void)
{
    struct tvmgen_@name@_inputs in = {@inputs@};
    struct tvmgen_@name@_outputs out = {@outputs@};
    return (int)tvmgen_@name@_run(&in, &out);
}
"""


@dataclass(frozen=True)
class Firmware:
    """A linked image with one model in it."""

    elf: Path
    metadata: Path
    board: Board
    compiled: Compiled


def build_firmware(
    model: Path,
    board_name: str,
    folder: Path,
    optimize: str = "speed",
    lto: bool = True,
    plain: bool = False,
    flags: Sequence[str] = (),
    **options: Any,
) -> Firmware:
    """Compile `model` for a board and link it with a main that runs it once."""
    board = load_board(board_name)
    parsed = parse_options(str(model), {"optimize": optimize, **options})
    compiled = compile_model(model, parsed, board, plain=plain)
    write_outputs(folder, compiled, with_runtime=True)
    metadata = folder / f"{parsed.name}.json"
    main = folder / "main.c"
    main.write_text(main_text(json.loads(metadata.read_text(encoding="utf-8"))))
    units = sorted(folder.glob("*.c"))
    elf = link(
        board,
        units,
        folder,
        folder / "firmware.elf",
        [*OPTIMIZE[optimize], *(["-flto"] if lto else []), *flags],
    )
    return Firmware(elf, metadata, board, compiled)


def main_text(metadata: Mapping[str, Any]) -> str:
    """A main that runs the model of `metadata` on buffers of its own."""
    buffers = []
    for side in ("inputs", "outputs"):
        for index, tensor in enumerate(metadata[side]):
            buffers.append(f"static uint64_t {side}{index}[{-(-tensor['bytes'] // 8)}];")
    text = MAIN.replace("@name@", metadata["name"]).replace("@buffers@", "\n".join(buffers))
    for side in ("inputs", "outputs"):
        text = text.replace(f"@{side}@", ", ".join(f"(void *){side}{i}" for i in range(len(metadata[side]))))
    return text


def link(board: Board, units: Iterable[Path], include: Path, elf: Path, flags: Sequence[str]) -> Path:
    """Compile `units` and the startup code with `flags` and link them by the board's script."""
    core = board.core
    script = elf.with_suffix(".ld")
    script.write_text(linker_script(board))
    startup = startup_dir() / core.startup
    command = [
        f"{core.toolchain}gcc",
        *core.flags,
        *core.libc,
        *FLAGS,
        *flags,
        f"-I{include}",
        f"-I{runtime_dir()}",
    ]
    command += [f"-I{startup_dir()}", *map(str, units), str(startup), *LINK, "-T", str(script)]
    command += [f"-Wl,-Map={elf.with_suffix('.map')}", "-lm", "-o", str(elf)]
    subprocess.run(command, check=True)
    return elf
