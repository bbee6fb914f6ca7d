"""Compile a model to C, build it for this machine under sanitizers, and run it."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from tvm_tool.compiler.driver import Compiled, compile_model
from tvm_tool.compiler.output import write_outputs
from tvm_tool.options import parse_options

Array = npt.NDArray[Any]

STRICT = (
    "-std=c99 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wundef "
    "-Wredundant-decls -Wshadow -Wcast-align -Werror -fno-builtin"
).split()
# Debian's clang comes without the sanitizers' runtime: there a violation traps.
ONLY = {
    "gcc": ["-fsingle-precision-constant", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "clang": ["-fsanitize=undefined", "-fsanitize-trap=all"],
}

# Runs the model on one set of inputs after another: reads them from standard input, writes outputs
# to standard output. The workspace is heap memory of the exact size, full of NaNs before each run, but for
# the states of the model.
MAIN = """
#include "@name@.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    uint8_t *workspace = aligned_alloc(16, (TVMGEN_@NAME@_WORKSPACE_SIZE + 15u) / 16u * 16u + 16u);
    struct tvmgen_@name@_inputs in;
    struct tvmgen_@name@_outputs out;
@allocate@
@reset@
    while (@read@) {
        memset(workspace + @kept@, 0xff, TVMGEN_@NAME@_WORKSPACE_SIZE - @kept@);
        int32_t status = tvmgen_@name@_run_in(workspace, &in, &out);
        if (status != TVM_OK) {
            return 2;
        }
@write@
    }
    return 0;
}
"""


@dataclass(frozen=True)
class HostModel:
    """A model built for this machine."""

    compiled: Compiled
    metadata: dict[str, Any]
    program: Path

    def run(self, samples: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
        """Outputs of each sample, in the order of the model."""
        data = b"".join(
            np.ascontiguousarray(sample[i["name"]], dtype=i["dtype"]).tobytes()
            for sample in samples
            for i in self.metadata["inputs"]
        )
        if not self.metadata["inputs"]:
            data = b"x" * len(samples)
        done = subprocess.run(
            [self.program],
            input=data,
            capture_output=True,
            timeout=120,
            check=False,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
        outputs: list[list[Array]] = []
        position = 0
        for _ in samples:
            one = []
            for tensor in self.metadata["outputs"]:
                raw = done.stdout[position : position + tensor["bytes"]]
                one.append(np.frombuffer(raw, tensor["dtype"]).reshape(tensor["shape"]))
                position += tensor["bytes"]
            outputs.append(one)
        assert position == len(done.stdout)
        return outputs


def build(model: onnx.ModelProto | Path, folder: Path, compiler: str = "gcc", **options: Any) -> HostModel:
    """Compile `model` and build it with `compiler` under ASan and UBSan."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Path):
        path = model
    else:
        path = folder / "model.onnx"
        onnx.save(model, path)
    parsed = parse_options(str(path), options)
    compiled = compile_model(path, parsed)
    source = folder / "c"
    files = write_outputs(source, compiled, with_runtime=True)
    metadata = json.loads((source / f"{parsed.name}.json").read_text(encoding="utf-8"))
    (source / "main.c").write_text(main_text(metadata))
    program = folder / "program"
    own = [source / f"{parsed.name}.c", source / f"{parsed.name}_weights.c"]
    shared = [f for f in files if f.suffix == ".c" and f not in own]
    objects = [_object(compiler, unit, source, folder / f"{unit.stem}.o") for unit in own]
    objects += [_shared_object(compiler, unit.name, unit.read_bytes(), source) for unit in shared]
    command: list[str | Path] = [
        compiler,
        *ONLY[compiler],
        "-O1",
        f"-I{source}",
        source / "main.c",
        *objects,
        "-lm",
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    return HostModel(compiled, metadata, program)


def _object(compiler: str, unit: Path, include: Path, output: Path) -> Path:
    command: list[str | Path] = [
        compiler,
        *STRICT,
        *ONLY[compiler],
        "-O1",
        "-g",
        f"-I{include}",
        "-c",
        unit,
        "-o",
        output,
    ]
    subprocess.run(command, check=True)
    return output


@functools.cache
def _cache() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tvm-tool-tests-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@functools.cache
def _shared_object(compiler: str, name: str, text: bytes, include: Path) -> Path:
    """A file of the runtime is the same for every model: compiled once a session."""
    output = _cache() / f"{compiler}-{name}-{hashlib.sha256(text).hexdigest()[:16]}.o"
    return output if output.exists() else _object(compiler, include / name, include, output)


def main_text(metadata: Mapping[str, Any]) -> str:
    name = metadata["name"]
    allocate, write = [], []
    read = []
    for side, tensors in (("in", metadata["inputs"]), ("out", metadata["outputs"])):
        for index, tensor in enumerate(tensors):
            place = f"{side}{index}"
            allocate.append(
                f"    void *{place} = malloc({tensor['bytes']});\n    {side}.{tensor['c_name']} = {place};"
            )
            if side == "in":
                read.append(f"fread({place}, {tensor['bytes']}, 1, stdin) == 1")
            else:
                write.append(f"        fwrite({place}, {tensor['bytes']}, 1, stdout);")
    if not read:
        read.append("getchar() != EOF")
    text = MAIN.replace("@name@", name).replace("@NAME@", name.upper())
    kept = metadata["workspace"]["state_bytes"]
    reset = f"    if (tvmgen_{name}_reset_in(workspace) != TVM_OK) {{ return 3; }}" if kept else ""
    text = text.replace("@kept@", str(kept)).replace("@reset@", reset)
    text = text.replace("@allocate@", "\n".join(allocate)).replace("@read@", " && ".join(read))
    return text.replace("@write@", "\n".join(write))


def error_of(got: Array, want: Array) -> float:
    """Largest difference, relative to the largest value expected (or 1). NaN matches NaN."""
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    if want.size == 0:
        return 0.0
    if want.dtype.kind != "f":
        return float(np.max(got.astype(np.int64) != want.astype(np.int64)))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    difference = np.where(same, 0.0, np.abs(got.astype(np.float64) - want.astype(np.float64)))
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    return float(np.max(difference)) / max(1.0, float(finite.max(initial=0.0)))
