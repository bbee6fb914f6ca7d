"""A compiled model as a library in this process: one run after another, in as many instances as wanted."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.host import STRICT
from tvm_tool.compiler.driver import compile_model
from tvm_tool.compiler.output import write_outputs
from tvm_tool.options import parse_options

Array = npt.NDArray[Any]
JUNK = 0xA5


class Library:
    """A model, compiled and loaded. Memory of instances is full of junk at first."""

    def __init__(self, model: Path, folder: Path, **options: Any) -> None:
        parsed = parse_options(str(model), options)
        self.compiled = compile_model(model, parsed)
        files = write_outputs(folder, self.compiled, with_runtime=True)
        self.header = (folder / f"{parsed.name}.h").read_text(encoding="utf-8")
        self.metadata = json.loads((folder / f"{parsed.name}.json").read_text(encoding="utf-8"))
        library = folder / "model.so"
        sources = [str(f) for f in files if f.suffix == ".c"]
        checks = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
        command = ["gcc", *STRICT, *checks, "-O1", "-shared", "-fPIC", f"-I{folder}", *sources, "-lm"]
        subprocess.run([*command, "-o", str(library)], check=True)
        self.c: Any = ctypes.CDLL(str(library))
        self.prefix = f"tvmgen_{parsed.name}"

    def function(self, name: str) -> Any:
        return getattr(self.c, f"{self.prefix}_{name}")

    def run(self, sample: Mapping[str, Array], workspace: Array | None = None) -> tuple[int, list[Array]]:
        """Status and outputs of one run, in `workspace` or in the static one."""
        inputs = [aligned(sample[t["name"]].astype(t["dtype"])) for t in self.metadata["inputs"]]
        outputs = [aligned(np.zeros(t["shape"], t["dtype"])) for t in self.metadata["outputs"]]
        structs = [(ctypes.c_void_p * max(1, len(s)))(*(a.ctypes.data for a in s)) for s in (inputs, outputs)]
        if workspace is None:
            status = self.function("run")(*structs)
        else:
            status = self.function("run_in")(ctypes.c_void_p(workspace.ctypes.data), *structs)
        return status, outputs

    def workspace(self) -> Array:
        return aligned(np.full(self.metadata["workspace"]["bytes"], JUNK, np.uint8))

    def reset_in(self, workspace: Array) -> int:
        return int(self.function("reset_in")(ctypes.c_void_p(workspace.ctypes.data)))


def aligned(values: Array) -> Array:
    """A copy of `values` at a multiple of 16."""
    room = np.zeros(values.nbytes + 16, np.uint8)
    start = -room.ctypes.data % 16
    place = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    place[...] = values
    return place


class Handle:
    """An instance of a model behind a handle of tvm_aot.h."""

    def __init__(self, library: Library) -> None:
        self.library, self.c = library, library.c
        size = sum(
            16 + -(-t["bytes"] // 16) * 16 for side in ("inputs", "outputs") for t in library.metadata[side]
        )
        self.memory = aligned(np.full(library.metadata["workspace"]["bytes"] + 16 + size, JUNK, np.uint8))
        self.handle = ctypes.create_string_buffer(64)
        model = ctypes.c_char.in_dll(self.c, f"{library.prefix}_model")
        place = ctypes.c_void_p(self.memory.ctypes.data)
        room = ctypes.c_size_t(self.memory.nbytes)
        assert self.c.tvm_aot_create(self.handle, ctypes.byref(model), place, room) == 0

    def init(self) -> None:
        assert self.c.tvm_aot_init(self.handle) == 0

    def run(self, sample: Mapping[str, Array]) -> list[Array]:
        """Outputs of one run."""
        for index, tensor in enumerate(self.library.metadata["inputs"]):
            values = np.ascontiguousarray(sample[tensor["name"]], tensor["dtype"])
            place, size = ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
            assert self.c.tvm_aot_set_input(self.handle, index, place, size) == 0
        assert self.c.tvm_aot_run(self.handle) == 0
        outputs = []
        for index, tensor in enumerate(self.library.metadata["outputs"]):
            values = np.zeros(tensor["shape"], tensor["dtype"])
            place, size = ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
            assert self.c.tvm_aot_get_output(self.handle, index, place, size) == 0
            outputs.append(values)
        return outputs
