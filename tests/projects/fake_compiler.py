"""A stand-in for the model compiler: the same command line and outputs, from a toy model, in no time.

A toy model is a text file with lines of one word and a value:

    scale 2                 the model multiplies its four inputs by this
    kernels tvm_x.c         files of the runtime that it needs
    seconds 5               how long the compilation takes after the first output is there
    error some text         the compilation fails

With calibration data, a text file or a folder of them, the numbers in them are added to the scale.

It knows nothing of the package under test, so it cannot hide an error of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

HEADER = """\
#ifndef TVMGEN_{NAME}_H
#define TVMGEN_{NAME}_H
#include "tvm_aot.h"
#ifdef __cplusplus
extern "C" {{
#endif
#define TVMGEN_{NAME}_IMAGE_SIZE 4u
struct tvmgen_{name}_inputs {{ const float *image; }};
struct tvmgen_{name}_outputs {{ float *scores; }};
int32_t tvmgen_{name}_run(const struct tvmgen_{name}_inputs *inputs,
                          const struct tvmgen_{name}_outputs *outputs);
#ifdef __cplusplus
}}
#endif
#endif
"""

SOURCE = """\
#include "{name}.h"

extern const float tvmgen_{name}_weights[1];

int32_t tvmgen_{name}_run(const struct tvmgen_{name}_inputs *inputs,
                          const struct tvmgen_{name}_outputs *outputs)
{{
    int i;
    for (i = 0; i < 4; ++i) {{
        outputs->scores[i] = tvmgen_{name}_weights[0] * inputs->image[i];
    }}
    return TVM_OK; /* {options} */
}}
"""

WEIGHTS = """\
extern const float tvmgen_{name}_weights[1];
const float tvmgen_{name}_weights[1] = {{{scale}f}};
"""


def write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["compile"])
    parser.add_argument("model", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--no-runtime", action="store_true", required=True)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--calibration", type=Path)
    for option in (
        "name",
        "board",
        "optimize",
        "shapes",
        "weights",
        "arena",
        "workspace-io",
        "quantize",
        "io",
    ):
        parser.add_argument(f"--{option}")
    given = parser.parse_args()
    text = given.model.read_text(encoding="utf-8", errors="replace")
    toy = {key: value for key, _, value in (line.partition(" ") for line in text.splitlines())}
    if "error" in toy:
        print(f"error: {given.model}: {toy['error']}", file=sys.stderr)
        return 1
    if not given.quiet:
        print(f"toy: {given.name}: done")
    options = {k: v for k, v in vars(given).items() if k in ("board", "optimize", "shapes") and v}
    offset = 0.0
    if given.calibration:
        data = given.calibration
        offset = sum(float(f.read_text()) for f in (data.glob("*.np[yz]") if data.is_dir() else [data]))
    words = {
        "name": given.name,
        "NAME": given.name.upper(),
        "scale": float(toy.get("scale", "1")) + offset,
        "options": " ".join(f"{k}={v}" for k, v in options.items()),
    }
    metadata = {
        "format": 1,
        "name": given.name,
        "prefix": f"tvmgen_{given.name}",
        "model": {"file": given.model.name, "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "options": options,
        "runtime": ["tvm_aot.c", *toy.get("kernels", "").split()],
    }
    given.output.mkdir(parents=True, exist_ok=True)
    write(given.output / f"{given.name}.c", SOURCE.format(**words))
    time.sleep(float(toy.get("seconds", "0")))
    write(given.output / f"{given.name}.h", HEADER.format(**words))
    write(given.output / f"{given.name}_weights.c", WEIGHTS.format(**words))
    if given.calibration:
        write(given.output / f"{given.name}_quantized.onnx", str(offset))
    write(given.output / f"{given.name}.json", json.dumps(metadata, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
