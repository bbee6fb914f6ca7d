"""Builds small firmwares around the hand-written model: scores = 2 * image + 1."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm_tool.board import Board
from tvm_tool.linker import linker_script
from tvm_tool.paths import runtime_dir, startup_dir

DATA = Path(__file__).parent
STARTUP = ("cortex_m", "tvm_semihosting")
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]


@dataclass(frozen=True)
class Firmware:
    elf: Path
    metadata: Path
    model: Path


def write_model(folder: Path, bias: float = 1.0) -> Path:
    """The model as ONNX: one Mul, one Add."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["image", "two"], ["doubled"]),
            helper.make_node("Add", ["doubled", "one"], ["scores"]),
        ],
        "fake",
        [value("image", TensorProto.FLOAT, [1, 8])],
        [value("scores", TensorProto.FLOAT, [1, 8])],
        [
            numpy_helper.from_array(np.full(8, 2, np.float32), "two"),
            numpy_helper.from_array(np.array(bias, np.float32), "one"),
        ],
    )
    path = folder / "fake.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def metadata_of(model: Path, **changes: Any) -> dict[str, Any]:
    """What the compiler would write about fake.c."""
    tensor = {"dtype": "float32", "shape": [1, 8], "bytes": 32, "offset": None}
    return {
        "format": 1,
        "name": "fake",
        "prefix": "tvmgen_fake",
        "model": {"file": model.name, "sha256": hashlib.sha256(model.read_bytes()).hexdigest(), "opset": 17},
        "inputs": [{"name": "image", "c_name": "image", **tensor}],
        "outputs": [{"name": "scores", "c_name": "scores", **tensor}],
        "workspace": {"symbol": "tvmgen_fake_workspace", "bytes": 32, "align": 16, "region": None},
        "weights": {
            "bytes": 32,
            "region": None,
            "symbols": [{"name": "tvmgen_fake_layer0_weights", "bytes": 32, "layer": 0}],
        },
        "layers": [{"function": "layer0_multiply"}, {"function": "layer1_add"}],
        **changes,
    }


def write_metadata(folder: Path, model: Path, **changes: Any) -> Path:
    path = folder / "fake.json"
    path.write_text(json.dumps(metadata_of(model, **changes)))
    return path


def build(
    folder: Path, board: Board, *flags: str, script: str = "", bias: float = 1.0, main: str = "main.c"
) -> Firmware:
    """Link `main`, the models, the startup files and the runtime for `board`; the map stands beside it."""
    script_file, elf = folder / "link.ld", folder / "firmware.elf"
    script_file.write_text(script or linker_script(board))
    sources = [DATA / main, DATA / "fake.c", DATA / "pair.c", *(startup_dir() / f"{n}.c" for n in STARTUP)]
    sources += [runtime_dir() / f"{n}.c" for n in ("tvm_aot", "tvm_platform")]
    includes = [f"-I{path}" for path in (DATA, runtime_dir(), startup_dir())]
    options = ["-Os", "-ffunction-sections", "-fdata-sections", "-nostartfiles", "--specs=nano.specs"]
    # A comma in a path would end an option of -Wl.
    link = ["-Wl,--gc-sections", "-Xlinker", f"-Map={elf.with_suffix('.map')}", "-T", script_file]
    command = [TOOLS[0], *board.core.flags, *options, *includes, *flags, *sources, *link, "-o", elf]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    model = write_model(folder, bias)
    return Firmware(elf, write_metadata(folder, model), model)


def plain_script(flash: int, ram: int, bss: str = ".bss*") -> str:
    """A vendor's linker script, with the stack at the end of the RAM."""
    text = (DATA / "plain.ld").read_text()
    return text.replace("@flash@", hex(flash)).replace("@ram@", str(ram)).replace("@bss@", bss)
