"""The command line: ``tvm-tool`` or ``python -m tvm_tool``.

The build systems call the same commands. Errors are printed as one message and end with the status
that their class says; nobody sees a trace unless TVM_TOOL_TRACE is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from . import __version__
from .atomic import write_text
from .cmake.commands import cmake
from .errors import OptionError, TVMToolError, did_you_mean
from .options import OPTIONS, parse_options
from .paths import PACKAGE

Function = TypeVar("Function", bound=Callable[..., Any])

PathArgument = click.Path(path_type=Path)


class _Group(click.Group):
    """Adds "did you mean" to mistyped commands."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            raise OptionError(f"there is no command '{args[0]}'", remedy=did_you_mean(args[0], known))
        return super().resolve_command(ctx, args)


def _print_cmakedir(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo((PACKAGE / "cmake").as_posix())
        context.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tvm-tool")
@click.option(
    "--cmakedir",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_cmakedir,
    help="Print the folder of the CMake package: the value of tvm_tool_DIR.",
)
def cli() -> None:
    """Put neural networks into firmware."""


def _board_option(required: bool) -> Callable[[Function], Function]:
    return click.option(
        "--board",
        metavar="BOARD",
        required=required,
        help="A board's name, or the path of a board's YAML file.",
    )


def _model_options(function: Function) -> Function:
    for option in reversed(OPTIONS):
        function = click.option(
            f"--{option.name.replace('_', '-')}",
            option.name,
            metavar=option.metavar,
            help=f"{option.help} [default: {option.default}]",
        )(function)
    return function


@cli.command("compile")
@click.argument("model", type=PathArgument)
@click.option("--output", type=PathArgument, required=True, metavar="DIR", help="Folder for the files.")
@_board_option(required=False)
@_model_options
@click.option(
    "--depfile", type=PathArgument, metavar="FILE", help="Write what was read, as a rule for Make or Ninja."
)
@click.option("--depfile-target", metavar="PATH", help="The rule's target [default: NAME.json in DIR].")
@click.option("--no-runtime", is_flag=True, help="Leave out the runtime's files: the build has them.")
@click.option("--quiet", is_flag=True, help="No progress.")
def compile_command(
    model: Path,
    output: Path,
    board: str | None,
    depfile: Path | None,
    depfile_target: str | None,
    no_runtime: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compile MODEL to C in DIR: a self-contained folder that any build can take."""
    from .board import load_board
    from .compiler.driver import compile_model
    from .compiler.output import depfile_rule, write_outputs
    from .external_data import external_files

    parsed = parse_options(str(model), options)
    target = load_board(board) if board else None

    def progress(stage: str) -> None:
        if not quiet:
            click.echo(f"  {parsed.name}: {stage}", err=True)

    compiled = compile_model(model, parsed, target, progress)
    write_outputs(output, compiled, with_runtime=not no_runtime)
    if depfile:
        read = [model, *(model.parent / name for name in external_files(model.read_bytes()))]
        data = parsed.calibration
        if data is not None:
            read += sorted(data.iterdir()) if data.is_dir() else [data]
        rule = depfile_rule(depfile_target or str(output / f"{parsed.name}.json"), read)
        write_text(depfile, rule)
    if not quiet:
        plan = compiled.plan
        gap = plan.bytes - plan.lower_bound
        note = f", {gap:,} above the lower bound" if gap else ""
        click.echo(f"  {parsed.name}: workspace {plan.bytes:,} bytes{note}", err=True)


@cli.command("size")
@click.argument("elf", type=PathArgument)
@_board_option(required=True)
@click.option(
    "--metadata", type=PathArgument, multiple=True, metavar="NAME.json", help="A model in the image."
)
def size_command(elf: Path, board: str, metadata: Sequence[Path]) -> None:
    """Print what is in a linked image; fail if it breaks the board's budget or its layout is wrong."""
    from .board import load_board
    from .image import report_sizes

    click.echo(report_sizes(elf, list(metadata), load_board(board)))


@cli.command("report")
@click.argument("metadata", type=PathArgument, metavar="NAME.json")
def report_command(metadata: Path) -> None:
    """Print the layers of a compiled model: the kernel of each, its cost, and why no faster one takes it."""
    from .image.layer_table import report_layers

    click.echo(report_layers(metadata))


@cli.command("run")
@click.argument("elf", type=PathArgument)
@_board_option(required=True)
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds.")
def run_command(elf: Path, board: str, timeout: float) -> None:
    """Run an image in the emulator of the board and end with its exit status."""
    from .board import load_board
    from .target.qemu import run_image

    result = run_image(elf, load_board(board), timeout=timeout)
    click.echo(result.output, nl=False)
    sys.exit(result.status)


@cli.command("verify")
@click.argument("elf", type=PathArgument)
@click.option("--model", type=PathArgument, required=True, metavar="MODEL", help="The original model.")
@click.option("--metadata", type=PathArgument, required=True, metavar="NAME.json", help="Made by compile.")
@_board_option(required=True)
@click.option("--inputs", type=PathArgument, metavar="FILE.npz", help="Recorded inputs [default: random].")
@click.option("--samples", type=int, help="How many inputs [default: all recorded ones, 16 random ones].")
def verify_command(
    elf: Path, model: Path, metadata: Path, board: str, inputs: Path | None, samples: int | None
) -> None:
    """Run the model inside an unmodified image on the emulated core and compare with the original."""
    from .board import load_board
    from .target.verify import verify_image

    count = samples or (sys.maxsize if inputs else 16)
    result = verify_image(elf, metadata, model, load_board(board), inputs=inputs, samples=count)
    click.echo(result.report())
    result.check()


@cli.command("boards")
def boards_command() -> None:
    """List the boards that are known."""
    from .board import board_names, load_board

    for name in board_names():
        board = load_board(name)
        click.echo(f"{name:16} {board.core.name:12} {board.description}")


@cli.command("doctor")
def doctor_command() -> None:
    """Say what is installed, what is missing, and what to do about it."""
    from .doctor import examine

    text, healthy = examine()
    click.echo(text)
    sys.exit(0 if healthy else 1)


cli.add_command(cmake)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        cli.main(
            args=None if arguments is None else list(arguments), prog_name="tvm-tool", standalone_mode=False
        )
    except TVMToolError as error:
        return _fail(str(error), error.exit_status, error)
    except click.ClickException as error:
        text = error.format_message()
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            text = f"there is no option '{error.option_name}'"
            text += f"\n  remedy: did you mean '{error.possibilities[0]}'?"
        return _fail(text, error.exit_code, error)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130, None)
    except SystemExit as request:
        return request.code if isinstance(request.code, int) else 1
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}", 1, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets a message
        text = f"this is a fault of tvm-tool: {type(error).__name__}: {str(error).splitlines()[-1:] or ''}"
        return _fail(f"{text}\n  remedy: report it with the trace that TVM_TOOL_TRACE=1 prints", 70, error)
    return 0


def _fail(text: str, status: int, error: BaseException | None) -> int:
    if error is not None and os.environ.get("TVM_TOOL_TRACE"):
        raise error
    click.echo(f"error: {text}", err=True)
    return status
