"""The `tvm/` of one build folder: its models, and the one runtime that they share.

All generated text of a folder is made in one private environment, so that several environments of a
firmware may use the same model; only objects belong to the caller's environment.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import OptionError
from ..kernel_file import RUNTIME_SOURCES
from ..linker import wants_regions
from ..options import ModelOptions, option_arguments
from ..paths import PACKAGE, linker_scripts_dir, startup_dir
from ..signature import board_digest, compiler_files, digest, versions
from ..versions import QUANTIZING
from .actions import builders
from .boards import board_words
from .nodes import remove_when_cleaned, words

if TYPE_CHECKING:
    from ..board import Board

Env = Any
Node = Any


@dataclass(frozen=True, eq=False)
class Model:
    """One compiled model: what it is made from, and the nodes that its compilation makes.

    Attributes:
        quantized: the ONNX file of a model that is quantised when it is compiled.
    """

    source: Node
    options: ModelOptions
    board: Board | None
    sources: tuple[Node, Node]
    header: Node
    metadata: Node
    quantized: Node | None

    @property
    def wants_regions(self) -> bool:
        """Whether it may lie elsewhere than among the firmware's other constants and variables."""
        return self.board is not None and wants_regions(self.options, self.board)


@dataclass(frozen=True, eq=False)
class Mark:
    """Says of a generated source which folder it belongs to, and which model (None: the runtime)."""

    folder: Folder
    model: Model | None = None


def mark_of(node: Node) -> Mark | None:
    """What `node`, a generated source or an object of one, is; None for everything else."""
    for candidate in (node, *node.sources[:1]):
        found: Mark | None = getattr(candidate.attributes, "tvm_mark", None)
        if found is not None:
            return found
    return None


@dataclass(eq=False)
class Folder:
    """See `folder_of`.

    Attributes:
        dir: the folder.
        env: the private environment.
        headers: the runtime's headers.
        runtime: the runtime's sources, the last one with the kernels that the folder's models need.
        models: the models by name.
        scripts: linker scripts by name, and whose they are.
    """

    dir: Node
    env: Env
    headers: list[Node]
    runtime: list[Node]
    models: dict[str, Model] = field(default_factory=dict)
    scripts: dict[str, tuple[Board, Node]] = field(default_factory=dict)

    def model(
        self, source: Node, options: ModelOptions, board: Board | None, calibration: Sequence[Node] = ()
    ) -> Model:
        """The model `source` compiled as `options` say; made once, however often it is asked for.

        `calibration` are the files with which it is quantised.
        """
        known = self.models.get(options.name)
        if known is None:
            known = self.models[options.name] = self._compile(source, options, board, calibration)
        elif (known.source, known.options, known.board) != (source, options, board):
            raise OptionError(
                f"two models of one build folder are called '{options.name}'",
                file=str(source.srcnode()),
                expected="the same options wherever this model is used"
                if known.source is source
                else f"a name other than that of {known.source.srcnode()}",
                remedy=f"give one of them another name, for example name='{options.name}_2', "
                "or build it in another variant_dir",
            )
        return known

    def needs(self, metadata: Node) -> None:
        """Let the runtime of this folder hold the kernels of one more model."""
        kernels = self.dir.File("tvm_kernels.c")
        self.env.TVMKernels(kernels, metadata)
        if kernels not in self.runtime:
            self.runtime.append(kernels)
            kernels.attributes.tvm_mark = Mark(self)

    def startup(self, board: Board) -> dict[str, Node]:
        """Copies of the startup code for `board`, sources and headers, by name."""
        place = self.dir.Dir(f"board-{board.name}")
        remove_when_cleaned(self.env, place)
        headers = sorted(file.name for file in startup_dir().glob("*.h"))
        names = [board.core.startup, "tvm_stack_usage.c", "tvm_semihosting.c", *headers]
        return dict(zip(names, copies(self.env, place, startup_dir(), names), strict=True))

    def script(self, board: Board, full: bool) -> Node:
        """The linker script of `board`, or one that adds its further regions to a firmware's own."""
        name = f"board-{board.name}/link.ld" if full else f"regions-{board.name}.ld"
        known = self.scripts.get(name)
        if known is None:
            known = self.scripts[name] = board, self._script(name, board, full)
        elif known[0] != board:
            raise OptionError(f"two boards of one build folder are called '{board.name}'", file=board.file)
        return known[1]

    def _compile(
        self, source: Node, options: ModelOptions, board: Board | None, calibration: Sequence[Node]
    ) -> Model:
        name = options.name
        place = self.dir.Dir(name)
        suffixes, more = [".c", "_weights.c", ".h", ".json"], {}
        if options.calibration is not None:
            suffixes.append("_quantized.onnx")
            also = versions(self.env["_TVMINTERPRETER"], QUANTIZING)
            more = {
                "_TVMCALIBRATION": ["$(", *words(["--calibration", str(options.calibration)]), "$)"],
                "_TVMVERSIONS": [*self.env["_TVMVERSIONS"], *also],
            }
        made = self.env.TVMCompile(
            [place.File(name + suffix) for suffix in suffixes],
            source,
            _TVMOPTIONS=words(option_arguments(replace(options, calibration=None))),
            _TVMBOARD=board_words(board),
            _TVMBOARDDIGEST=board_digest(board),
            **more,
        )
        self.env.Depends(made, calibration)
        code, weights, header, metadata, *quantized = made
        model = Model(source, options, board, (code, weights), header, metadata, *(quantized or [None]))
        for node in model.sources:
            node.attributes.tvm_mark = Mark(self, model)
        self.needs(metadata)
        remove_when_cleaned(self.env, place)
        return model

    def _script(self, name: str, board: Board, full: bool) -> Node:
        signature = board_digest(board) + digest(linker_scripts_dir().glob("*.in"))
        script = self.dir.File(name)
        return self.env.TVMScript(script, [], TVM_BOARD=board, TVM_FULL=full, _TVMBOARDDIGEST=signature)[0]


def copies(env: Env, place: Node, original: Path, names: Sequence[str]) -> list[Node]:
    """Files of the package, copied to `place`: an installation may be read-only, and objects lie beside."""
    sources = [env.fs.File(str(original / name)) for name in names]
    return list(env.TVMCopy([place.File(name) for name in names], sources))


def folder_of(env: Env, model: Node | None = None) -> Folder:
    """The folder of the SConscript that is being read, made when it is first asked for.

    Where an SConstruct names a `model` in a variant directory (``build/model.onnx``), the folder is in
    that directory.
    """
    base = env.Dir(".")
    if model is not None and base.srcnode() is base and model.dir.srcnode() is not model.dir:
        base = model.dir
        while base.up().srcnode() is not base.up():
            base = base.up()
    place = base.Dir(env.subst("$TVM_DIR"))
    folder: Folder | None = getattr(place.attributes, "tvm_folder", None)
    if folder is None:
        folder = place.attributes.tvm_folder = _make(env, place)
    return folder


def _make(env: Env, place: Node) -> Folder:
    top = env.Dir("#").get_abspath()
    compiler, runtime = (os.path.join(top, env.subst(path)) for path in ("$TVM_COMPILER", "$TVM_RUNTIME"))
    python = env.subst("$TVM_PYTHON")
    if os.path.dirname(python):
        python = os.path.join(top, python)
    files = sorted(Path(runtime).glob("*.[ch]"))
    private = env.Clone(
        TVM_PYTHON=words([python]),
        TVM_COMPILER=words([compiler]),
        TVM_CLI=words([str(PACKAGE / "__main__.py")]),
        TVM_RUNTIME=runtime,
        _TVMQUIET=["--quiet"] if env.GetOption("silent") else [],
        _TVMINTERPRETER=python,
        _TVMVERSIONS=[__version__, *versions(python), digest(compiler_files(Path(compiler)))],
        _TVMRUNTIMEDIGEST=digest(files),
        IMPLICIT_COMMAND_DEPENDENCIES=False,
    )
    # The emulator may be where SCons, which hides the user's PATH, does not look.
    private.AppendENVPath("PATH", os.environ.get("PATH", ""))
    private["BUILDERS"].update(builders())
    remove_when_cleaned(env, place)
    headers = [file.name for file in files if file.suffix == ".h"]
    nodes = copies(private, place, Path(runtime), [*headers, *RUNTIME_SOURCES])
    folder = Folder(place, private, nodes[: len(headers)], nodes[len(headers) :])
    for node in folder.runtime:
        node.attributes.tvm_mark = Mark(folder)
    return folder
