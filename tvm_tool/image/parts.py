"""To which part of a firmware a symbol or a file belongs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from ..paths import runtime_dir, startup_dir
from .elf import Symbol
from .linker_map import LinkerMap
from .metadata import Metadata

WEIGHTS, MODEL, KERNELS, RUNTIME, STARTUP = "weights", "model code", "kernels", "runtime", "startup"
LIBC, LIBM, APPLICATION = "libc, libgcc", "libm", "application"
ARENA, STACK, HEAP, OTHER = "arena", "stack", "heap", "other, padding"
PARTS = (
    *(WEIGHTS, MODEL, KERNELS, RUNTIME, STARTUP, LIBC, LIBM),
    *(APPLICATION, ARENA, STACK, HEAP, OTHER),
)
"""In the order of the table."""

_RUNTIME_SYMBOL = re.compile(r"tvm_(aot|platform)_\w+|tvm_status_text|status_texts")
_RUNTIME_FILE = re.compile(r"tvm_(aot|platform)")
_STARTUP_SYMBOL = re.compile(
    r"\w+_Handler|trap_handler|_start|tvm_(vectors|start|fault|exit|semihosting\w*|stack_used)|g_pfnVectors"
)
_STARTUP_FILE = re.compile(r"cortex_m|riscv|startup_\w+|tvm_(memory|semihosting|stack_usage)")
_STARTUP_SECTION = re.compile(r"\.?(isr_)?vectors?(_table)?|\.start")
_STATIC_FUNCTION = re.compile(r"^(?:static|TVM_INLINE)\s[^;=()]*\b(\w+)\(", re.MULTILINE)
_MODEL_STATICS = ("run_in_memory", "model_inputs", "model_outputs", "window")
_LINKER_DATA = re.compile(r"(BYTE|SHORT|LONG|QUAD) ")  # what the linker script itself stores
_LIBRARIES = (
    (re.compile(r"libm(_nano)?\.a"), LIBM),
    (re.compile(r"lib(c|g|gcc|nosys|rdimon|rdpmon|stdc\+\+|supc\+\+)(_nano)?\.a|crt\w*\.o"), LIBC),
)


class Classifier:
    """Answers for one image, which holds `models`."""

    def __init__(self, models: Sequence[Metadata], linker_map: LinkerMap) -> None:
        self._map = linker_map
        self._prefixes = tuple(f"{model.prefix}_" for model in models)
        self._files = {stem for model in models for stem in (model.name, f"{model.name}_weights")}
        self._functions = {name for model in models for name in model.functions}
        self._parts: dict[str, str] = {}
        for model in models:
            suffix = f" {model.name}" if len(models) > 1 else ""
            self._parts[model.workspace] = ARENA + suffix
            self._parts |= dict.fromkeys(model.weights, WEIGHTS + suffix)
        self._statics = dict.fromkeys(_MODEL_STATICS, MODEL) | self._static_functions()

    def part_of_section(self, name: str) -> str | None:
        """The part of a section that is for one thing as a whole; None if its symbols decide."""
        lower = name.lower()
        if "stack" in lower:
            return STACK
        if "heap" in lower:
            return HEAP
        return STARTUP if _STARTUP_SECTION.fullmatch(lower) else None

    def part_of_symbol(self, symbol: Symbol) -> str:
        """The part that `symbol` belongs to: by its name, else by the file that it comes from."""
        name = symbol.name
        if name in self._parts:
            return self._parts[name]
        if name.startswith(self._prefixes) or name in self._functions:
            return MODEL
        if _STARTUP_SYMBOL.fullmatch(name):
            return STARTUP
        if _RUNTIME_SYMBOL.fullmatch(name):
            return RUNTIME
        if name.startswith("tvm_"):
            return KERNELS
        owner = self._map.at(symbol.address)
        mapped = self.part_of_file(owner.file) if owner is not None else None
        if mapped in (LIBC, LIBM):
            return mapped
        named = self.part_of_file(symbol.source) if symbol.source else None
        return named or mapped or self._statics.get(name, APPLICATION)

    def part_of_file(self, file: str) -> str | None:
        """The part of a source, an object or an archive's member; None if it may hold several."""
        if _LINKER_DATA.match(file):
            return STARTUP
        # 'lib/libc.a(lib_a-memcpy.o)' on every system; 'build\\main.o' on Windows.
        archive, _, _ = file.partition("(")
        base = PurePath(archive.replace("\\", "/")).name
        for pattern, part in _LIBRARIES:
            if pattern.fullmatch(base):
                return part
        # Link-time optimisation puts several sources into one object.
        if ".ltrans" in base or base.startswith("<") or not base:
            return None
        stem = base.split(".")[0]
        if stem in self._files:
            return MODEL
        if _STARTUP_FILE.fullmatch(stem):
            return STARTUP
        if _RUNTIME_FILE.fullmatch(stem):
            return RUNTIME
        return KERNELS if stem.startswith("tvm_") else APPLICATION

    def _static_functions(self) -> dict[str, str]:
        """Parts of our own static functions: link-time optimisation forgets which file they were in."""
        found: dict[str, str] = {}
        for source in (*runtime_dir().glob("*.[ch]"), *startup_dir().glob("*.[ch]")):
            part = self.part_of_file(source.name)
            if part is not None:
                found |= dict.fromkeys(_STATIC_FUNCTION.findall(source.read_text(encoding="utf-8")), part)
        return found


def order_of(part: str) -> tuple[int, str]:
    """Key that sorts parts as the table shows them, several models by name."""
    for index, known in enumerate(PARTS):
        if part == known or part.startswith(f"{known} "):
            return index, part
    return len(PARTS), part
