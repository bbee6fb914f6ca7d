"""C in the docs compiles, the tables of docs/c-api.md agree with the headers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "tvm_tool" / "runtime"
DATA = ROOT / "tests" / "firmware" / "data_target"
TEXT = (ROOT / "docs" / "c-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```c\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
MICROTVM = re.findall(
    r"^```c\n(.*?)^```$",
    (ROOT / "docs" / "from-microtvm.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
STRICT = "-std=c99 -Wall -Wextra -Wpedantic -Wundef -Wshadow -Wcast-align -Werror".split()


def of_the_test_models(text: str) -> str:
    """The example for the test models: `fake` for digits, `pair` for kws, `tally` for spotter."""
    pairs = {"digits": "fake", "DIGITS": "FAKE", "kws": "pair", "KWS": "PAIR", "spotter": "tally"}
    pairs |= {"default.h": "fake.h", "default_": "fake_"}
    return re.sub("|".join(pairs), lambda match: pairs[match[0]], text)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 7
    assert len(MICROTVM) == 1


@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
@pytest.mark.parametrize("example", [*EXAMPLES, *MICROTVM], ids=range(len(EXAMPLES) + len(MICROTVM)))
def test_examples_compile(example: str, compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "example.c"
    source.write_text(of_the_test_models(example))
    files = ["-c", str(source), "-o", str(tmp_path / "example.o")]
    command = [compiler, *STRICT, f"-I{RUNTIME}", f"-I{DATA}", *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_examples_run(tmp_path: Path) -> None:
    """All of them in one program; what the examples leave out is here."""
    for number, example in enumerate(EXAMPLES[:-1]):
        (tmp_path / f"example{number}.c").write_text(of_the_test_models(example))
    (tmp_path / "main.c").write_text(
        """
#include "fake.h"
TVM_ALIGNED uint8_t shared_memory[TVMGEN_FAKE_WORKSPACE_SIZE];
static TVM_ALIGNED uint8_t memory[TVMGEN_FAKE_MEMORY_SIZE];
static const float pixels[8] = {0, 1, 2, 9, 4, 5, 6, 7};
int classify(const float *pixels);
int32_t classify_in_shared_memory(const float *pixels, float *scores);
int32_t start(void);
int32_t begin(void);
int32_t hear(const float *frame, float *scores);
int32_t infer(tvm_aot_t *, const void *, size_t, void *, size_t);
int32_t classify_without_copies(tvm_aot_t *, const float **);
int32_t classify_next(tvm_aot_t *);
void camera_dma_done(int failed);
void read_camera(float *to, size_t count) { for (size_t i = 0; i < count; ++i) to[i] = pixels[i]; }
void camera_dma_start(void *to, size_t bytes)
{
    read_camera((float *)to, bytes / sizeof(float));
    camera_dma_done(0);
}
int main(void)
{
    tvm_aot_t handle;
    float scores[8];
    const float *result;
    float sum;
    if (classify(pixels) != 3) return 1;
    if (classify_in_shared_memory(pixels, scores) != TVM_OK || scores[3] != 19) return 2;
    if (start() != TVM_OK) return 3;
    if (tvm_aot_create(&handle, &tvmgen_fake_model, memory, sizeof memory) != TVM_OK) return 4;
    scores[3] = 0;
    if (infer(&handle, pixels, 32, scores, 32) != TVM_OK || scores[3] != 19) return 5;
    if (classify_without_copies(&handle, &result) != TVM_OK || result[3] != 19) return 6;
    if (classify_next(&handle) != TVM_OK || result[7] != 15) return 7;
    if (hear(&pixels[1], &sum) != TVM_OK || hear(&pixels[1], &sum) != TVM_OK || sum != 2) return 8;
    if (begin() != TVM_OK || hear(&pixels[1], &sum) != TVM_OK || sum != 1) return 9;
    return 0;
}
"""
    )
    sources = [*tmp_path.glob("*.c"), RUNTIME / "tvm_aot.c", RUNTIME / "tvm_platform.c"]
    sources += [DATA / "fake.c", DATA / "pair.c", DATA / "tally.c"]
    program = tmp_path / "program"
    flags = ["-std=c99", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, f"-I{RUNTIME}", f"-I{DATA}", *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


def test_status_codes() -> None:
    header = (RUNTIME / "tvm_aot.h").read_text(encoding="utf-8")
    defined = re.findall(r"^#define (TVM_(?:OK|E\w+)) \(?(-?\d+)\)?\s*/\* (.*?) \*/$", header, re.MULTILINE)
    documented = re.findall(r"^\| `(TVM_\w+)` \| (-?\d+) \| (.*?) \|$", TEXT, re.MULTILINE)
    assert len(defined) == 9
    assert documented == defined


def test_hooks() -> None:
    header = (RUNTIME / "tvm_platform.h").read_text(encoding="utf-8")
    declared = re.findall(r"^\w[\w ]* (tvm_platform_\w+)\(", header, re.MULTILINE)
    documented = re.findall(r"^\| `(tvm_platform_\w+)` \|", TEXT, re.MULTILINE)
    assert len(declared) == 10
    assert sorted(documented) == sorted(declared)


def test_states() -> None:
    header = (RUNTIME / "tvm_aot.h").read_text(encoding="utf-8")
    states = re.findall(r"^    (TVM_AOT_[A-Z]+),?\s+/\*", header, re.MULTILINE)
    assert re.findall(r"^\| `(TVM_AOT_\w+)` \|", TEXT, re.MULTILINE) == states
    assert len(states) == 4


def test_functions() -> None:
    """Every function of the header is in the text, by its name or, in tables, by the end of it."""
    header = (RUNTIME / "tvm_aot.h").read_text(encoding="utf-8")
    for name in re.findall(r"^int32_t tvm_aot_(\w+)\(", header, re.MULTILINE):
        assert f"tvm_aot_{name}" in TEXT or f"`{name}`" in TEXT, name
