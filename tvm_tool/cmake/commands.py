"""What the CMake package asks for: commands that print CMake code. Users never call them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..errors import OptionError, did_you_mean

PathArgument = click.Path(path_type=Path)


@click.group("cmake", hidden=True)
def cmake() -> None:
    """Answers for tvm_tool-config.cmake."""


@cmake.command("model", context_settings={"ignore_unknown_options": True})
@click.argument("target")
@click.option("--source", type=PathArgument, required=True)
@click.option("--output", type=PathArgument, required=True)
@click.option("--board", default="")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def model_command(target: str, source: Path, output: Path, board: str, words: Sequence[str]) -> None:
    """What `tvm_add_model(TARGET WORDS...)` in the folder SOURCE means."""
    from .describe import describe_model

    click.echo(describe_model(target, source, output, board, words))


@cmake.command("board")
@click.argument("board")
@click.option("--source", type=PathArgument, required=True)
@click.option("--output", type=PathArgument, required=True)
def board_command(board: str, source: Path, output: Path) -> None:
    """Write the linker scripts of BOARD to OUTPUT and print what a firmware for it needs."""
    from .describe import describe_board

    click.echo(describe_board(board, source, output))


@cmake.command("name")
@click.argument("board")
@click.option("--source", type=PathArgument, required=True)
@click.option("--emulated", is_flag=True)
def name_command(board: str, source: Path, emulated: bool) -> None:
    """Print how to name, from any folder, what is called BOARD in the folder SOURCE."""
    from .describe import board_word

    click.echo(board_word(board, source, emulated))


@cmake.command("flags", context_settings={"ignore_unknown_options": True})
@click.argument("board")
@click.option("--target", required=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def flags_command(board: str, target: str, words: Sequence[str]) -> None:
    """Fail if WORDS, the compiler flags of a target, contradict the core of BOARD."""
    from ..board import load_board
    from ..cores import check_flags

    flags = [word.removeprefix("SHELL:") for word in words]
    check_flags(load_board(board).core, flags, where=f"target '{target}'")


@cmake.command("kernels")
@click.option("--output", type=PathArgument, required=True)
@click.argument("metadata", nargs=-1, type=PathArgument)
def kernels_command(output: Path, metadata: Sequence[Path]) -> None:
    """Join the kernels that the models described by METADATA need into one file."""
    from ..kernel_file import needed_kernels, write_kernel_file
    from ..paths import runtime_dir

    texts = [file.read_text(encoding="utf-8") for file in metadata]
    write_kernel_file(output, needed_kernels(texts), runtime_dir())


@cmake.command("keywords", context_settings={"ignore_unknown_options": True})
@click.option("--function", required=True)
@click.option("--known", required=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def keywords_command(function: str, known: str, words: Sequence[str]) -> None:
    """Fail: WORDS are no keywords of FUNCTION, or have no value."""
    names = known.split(",")
    word = words[0]
    if word in names:
        raise OptionError(f"{word} has no value", where=function)
    raise OptionError(
        f"there is no keyword '{word}'",
        where=function,
        expected=", ".join(names),
        remedy=did_you_mean(word.upper(), names),
    )


@cmake.command("missing")
@click.argument("file", type=PathArgument)
@click.option("--function", required=True)
def missing_command(file: Path, function: str) -> None:
    """Fail: FILE, named in a call of FUNCTION, does not exist and no step of the build makes it."""
    there = [p.name for p in file.parent.glob("*") if p.suffix in (".onnx", ".tflite", ".npz")]
    raise OptionError(
        "there is no such file",
        file=file,
        where=function,
        remedy=did_you_mean(file.name, there)
        if there
        else "check the path; if another step of the build makes it, declare that step first",
    )


@cmake.command("check")
def check_command() -> None:
    """Fail if what a compile needs is missing or of another version; TVM itself is not loaded."""
    from ..versions import check_versions

    check_versions()
