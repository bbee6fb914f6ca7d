"""The handle layer and the platform hooks: compiled strictly, small, and as good as their word."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "tvm_tool" / "runtime"
DATA = ROOT / "tests" / "firmware" / "data_target"
SOURCES = [RUNTIME / "tvm_aot.c", RUNTIME / "tvm_platform.c"]
SCENARIO = [DATA / name for name in ("scenario.c", "fake.c", "pair.c", "hooks.c")]
INCLUDES = [f"-I{RUNTIME}", f"-I{DATA}"]
CORTEX_M4 = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"]
STRICT = (
    "-Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wundef "
    "-Wredundant-decls -Wshadow -Wconversion -Wcast-align -Werror -fno-builtin"
).split()


def run(*command: str | Path) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("compiler", [["gcc"], ["clang"], CORTEX_M4], ids=lambda c: str(c[0]))
@pytest.mark.parametrize("level", ["-Os", "-O3", "-flto"])
@pytest.mark.parametrize("standard", ["c99", "gnu11"])
def test_strict_flags(compiler: list[str], level: str, standard: str, tmp_path: Path) -> None:
    flags = [*STRICT, "-ffreestanding", level, f"-std={standard}"]
    if "clang" not in compiler:
        flags.append("-fsingle-precision-constant")
    for source in SOURCES:
        run(*compiler, *flags, "-c", source, "-o", tmp_path / "out.o")


@pytest.mark.parametrize(
    "compiler", [["g++"], ["clang++"], ["arm-none-eabi-g++", "-mcpu=cortex-m0", "-mthumb"]]
)
def test_headers_in_cpp(compiler: list[str], tmp_path: Path) -> None:
    source = tmp_path / "user.cpp"
    source.write_text(
        '#include "tvm_aot.h"\n#include "tvm_platform.h"\n'
        'extern "C" void tvm_platform_power_up(void) {}\n'
        "alignas(TVM_ALIGN) static uint8_t memory[64];\n"
        "int32_t use(tvm_aot_t *h, const tvm_aot_model_t *m) { return tvm_aot_create(h, m, memory, 64); }\n"
    )
    flags = "-std=c++11 -Wall -Wextra -Wpedantic -Wundef -Wshadow -Wold-style-cast -Werror".split()
    run(*compiler, *flags, *INCLUDES, "-c", source, "-o", tmp_path / "out.o")


@pytest.mark.parametrize(
    "compiler",
    [
        ["gcc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ["gcc", "-O2", "-flto"],
        ["clang", "-Os"],
    ],
    ids=["sanitized", "lto", "clang"],
)
def test_scenario(compiler: list[str], tmp_path: Path) -> None:
    program = tmp_path / "scenario"
    run(*compiler, "-std=c99", "-Wall", "-Werror", *INCLUDES, *SOURCES, *SCENARIO, "-o", program)
    assert run(program) == ""


def test_hooks_do_nothing_by_default(tmp_path: Path) -> None:
    main = tmp_path / "main.c"
    main.write_text(
        '#include "fake.h"\n#include "tvm_platform.h"\n'
        "static TVM_ALIGNED uint8_t memory[TVMGEN_FAKE_MEMORY_SIZE];\n"
        "int main(void) { tvm_aot_t h;\n"
        "int32_t bad = tvm_aot_create(&h, &tvmgen_fake_model, memory, sizeof memory);\n"
        "tvm_platform_layer_begin(0); tvm_platform_layer_end(0); tvm_platform_abort(TVM_ESTATE);\n"
        "bad |= tvm_aot_request_input(&h, 0) != TVM_ENOSYS; bad |= tvm_aot_run(&h) != TVM_ESTATE;\n"
        "return (int)bad; }\n"
    )
    program = tmp_path / "main"
    run("gcc", "-std=c99", *INCLUDES, *SOURCES, DATA / "fake.c", main, "-o", program)
    run(program)


def test_a_handle_resets_the_states_of_its_model(tmp_path: Path) -> None:
    main = tmp_path / "main.c"
    main.write_text(
        '#include "tally.h"\n'
        "static TVM_ALIGNED uint8_t memory[2][TVMGEN_TALLY_MEMORY_SIZE];\n"
        "static tvm_aot_t h[2];\n"
        "static float add(int i, float x) {\n"
        "float sum = -1;\n"
        "if (tvm_aot_set_input(&h[i], 0, &x, 4) || tvm_aot_run(&h[i])) return -2;\n"
        "return tvm_aot_get_output(&h[i], 0, &sum, 4) ? -3 : sum; }\n"
        "int main(void) {\n"
        "for (int i = 0; i < 2; ++i) {\n"
        "for (unsigned k = 0; k < sizeof memory[i]; ++k) memory[i][k] = 0xa5;\n"
        "if (tvm_aot_create(&h[i], &tvmgen_tally_model, memory[i], sizeof memory[i])) return 1; }\n"
        "if (add(0, 1) != 1 || add(1, 10) != 10 || add(0, 2) != 3 || add(1, 20) != 30) return 2;\n"
        "if (tvm_aot_init(&h[0]) || add(0, 4) != 4 || add(1, 1) != 31) return 3;\n"
        "return 0; }\n"
    )
    program = tmp_path / "main"
    run(
        "gcc",
        "-std=c99",
        "-fsanitize=address,undefined",
        *INCLUDES,
        *SOURCES,
        DATA / "tally.c",
        main,
        "-o",
        program,
    )
    run(program)


def test_at_most_one_kilobyte(tmp_path: Path) -> None:
    objects = [tmp_path / f"{source.stem}.o" for source in SOURCES]
    for source, target in zip(SOURCES, objects, strict=True):
        run(*CORTEX_M4, "-Os", "-std=c99", "-c", source, "-o", target)
    rows = run("arm-none-eabi-size", *objects).splitlines()[1:]
    assert sum(int(row.split()[0]) for row in rows) <= 1024
    assert all(row.split()[1:3] == ["0", "0"] for row in rows), "the runtime has no data of its own"


@pytest.mark.parametrize("level", ["-Os", "-O3"])
def test_symbols(level: str, tmp_path: Path) -> None:
    """Nothing from libc is needed, and every global name is ours."""
    for source in SOURCES:
        run(*CORTEX_M4, level, "-std=c99", "-c", source, "-o", tmp_path / "out.o")
        names = [row.split()[-2:] for row in run("arm-none-eabi-nm", "-g", tmp_path / "out.o").splitlines()]
        assert names
        for kind, name in names:
            assert name.startswith("tvm_aot_" if kind == "T" and name != "tvm_status_text" else "tvm_")
            if kind == "U":
                assert name.startswith("tvm_platform_")
            if source.stem == "tvm_platform":
                assert kind == "W"


def test_texts_leave_an_image_that_shows_none(tmp_path: Path) -> None:
    main = tmp_path / "main.c"
    main.write_text(
        '#include "pair.h"\n'
        "static TVM_ALIGNED uint8_t memory[TVMGEN_PAIR_MEMORY_SIZE];\n"
        "int main(void) { tvm_aot_t h; return (int)tvm_aot_create(&h, &tvmgen_pair_model, memory, 64); }\n"
    )
    elf = tmp_path / "main.elf"
    link = ["-nostdlib", "-Wl,--gc-sections", "-Wl,-emain"]
    # Without -ffunction-sections: the texts have sections of their own anyway.
    run(*CORTEX_M4, "-Os", *link, *INCLUDES, *SOURCES, DATA / "pair.c", main, "-o", elf)
    names = run("arm-none-eabi-nm", elf)
    assert "tvm_aot_create" in names
    assert "status_text" not in names
