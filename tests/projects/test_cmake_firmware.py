"""CMake firmwares of the usual shapes, linked for Arm and run in the emulator."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from tests.projects.cmake_project import DIGITS, CMakeProject, needs_arm, needs_cmake, sample
from tests.projects.scons_project import CHECKOUT, Project
from tvm_tool.cores import CORE_NAMES, core_named
from tvm_tool.image.elf import Image, read_image

pytestmark = [needs_cmake, needs_arm]

SCONSTRUCT = """\
env = Environment(tools=['default', 'tvm_tool'], toolpath=[{checkout!r}])
env.Replace(CC='arm-none-eabi-gcc', CCFLAGS={flags!r})
Default(env.TVMModel('digits.onnx', board='stm32f407'))
"""


@pytest.fixture(scope="module")
def cubemx(tmp_path_factory: pytest.TempPathFactory) -> CMakeProject:
    """The sample in CubeMX's layout, built."""
    firmware = sample("cmake_cubemx", tmp_path_factory.mktemp("cubemx")).configure()
    assert "reader.elf on stm32f407" in firmware.make().output
    return firmware


def run(elf: Path, board: str) -> str:
    command = [sys.executable, "-m", "tvm_tool", "run", str(elf), "--board", board]
    return subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout


def section_of(image: Image, symbol: str) -> tuple[str, int]:
    """The section in which `symbol` lies, and where that starts."""
    found = image.symbol(symbol)
    assert found is not None
    (section,) = [s for s in image.sections if s.address <= found.address < s.end]
    return section.name, section.address


def test_layout_of_cubemx(cubemx: CMakeProject) -> None:
    cubemx.passes(1)
    assert run(cubemx.build / "reader.elf", "stm32f407") == "read\n"
    image = read_image(cubemx.build / "reader.elf")
    assert not [s.name for s in image.sections if s.name.startswith(".tvm")]


def test_memory_that_the_firmwares_own_script_does_not_know(cubemx: CMakeProject) -> None:
    firmware = CMakeProject(cubemx.source, cubemx.build.with_name("placed ü"))
    output = firmware.configure("-DPLACES=ARENA;ccm").make().output
    assert "ccm" in output  # It is a column of the size table.
    before, after = read_image(cubemx.build / "reader.elf"), read_image(firmware.build / "reader.elf")
    workspace = "tvmgen_digits_workspace"
    assert section_of(before, workspace)[0] == ".bss"
    assert section_of(after, workspace) == (".tvmbss_ccm", 0x10000000)
    # Nothing else has moved or gone.
    kept = [s for s in after.sections if not s.name.startswith(".tvm")]
    assert [(s.name, s.address) for s in kept if s.name != "._user_heap_stack"] == [
        (s.name, s.address) for s in before.sections if s.name != "._user_heap_stack"
    ]
    for name in ("g_pfnVectors", "Reset_Handler", "main", "HAL_DebugExit", "tvmgen_digits_run"):
        old, new = before.symbol(name), after.symbol(name)
        assert old is not None and new is not None and old.address == new.address, name


def test_layout_of_pico_sdk(tmp_path: Path) -> None:
    firmware = sample("cmake_pico", tmp_path).configure()
    assert {"blink", "reader", "counter"} <= firmware.make().files
    firmware.passes(1)
    build = firmware.build
    assert run(build / "reader" / "reader", "microbit") == "read\n"
    assert run(build / "counter" / "counter", "microbit") in ("more\n", "less\n")
    assert run(build / "blink" / "blink", "microbit") == "blink\n"
    # What does not link the model has nothing of it.
    assert not [s.name for s in read_image(build / "blink" / "blink").symbols if s.name.startswith("tvm")]
    (weights,) = {bytes_of_weights(build / name / name) for name in ("reader", "counter")}
    assert weights in (build / "reader" / "reader.binary").read_bytes()
    blink = (build / "blink" / "blink.binary").read_bytes()
    pieces = {weights[i : i + 16] for i in range(0, len(weights), 16)}
    assert not [piece for piece in pieces if any(piece) and piece in blink]
    assert "tvm" not in (build / "blink" / "blink.ihex").read_text()


def bytes_of_weights(elf: Path) -> bytes:
    """The largest constant of the model in `elf`."""
    image = read_image(elf)
    largest = max((s for s in image.symbols if s.name.startswith("tvmgen_digits_")), key=lambda s: s.size)
    found = image.read(largest.address, largest.size)
    assert found is not None and len(found) > 1000
    return found


def test_model_and_weights_are_those_of_scons(cubemx: CMakeProject, tmp_path: Path) -> None:
    toolchain = (cubemx.source / "cmake" / "gcc-arm-none-eabi.cmake").read_text(encoding="utf-8")
    target = re.findall(r'set\(TARGET_FLAGS "(.*?)"\)', toolchain)[0]
    flags = re.findall(r'set\(CMAKE_C_FLAGS "\$\{CMAKE_C_FLAGS\} \$\{TARGET_FLAGS\} (.*?)"\)', toolchain)[0]
    scons = Project(tmp_path)
    scons.write(
        "SConstruct", SCONSTRUCT.format(checkout=str(CHECKOUT), flags=[*target.split(), *flags.split()])
    )
    (tmp_path / "digits.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
    scons.run("-j2")
    objects = cubemx.objects("reader")
    names = ["digits.c", "digits_weights.c", "tvm_kernels.c", "tvm_aot.c", "tvm_platform.c"]
    for name in names:
        (other,) = (tmp_path / "tvm").rglob(f"{name.removesuffix('.c')}.o")
        contents = allocated(other)
        assert contents and contents == allocated(objects[name]), name
    assert max(len(data) for data in allocated(objects["digits_weights.c"]).values()) > 1000


def allocated(file: Path) -> dict[str, bytes]:
    """Contents of the sections that get into an image, with their relocations as text."""
    found = {}
    with file.open("rb") as stream:
        elf = ELFFile(stream)
        for section in elf.iter_sections():
            if section["sh_flags"] & 2 and section["sh_size"]:  # SHF_ALLOC
                size = b"%d" % section["sh_size"]
                found[section.name] = size if section["sh_type"] == "SHT_NOBITS" else section.data()
            elif isinstance(section, RelocationSection) and ".debug" not in section.name:
                symbols = elf.get_section(section["sh_link"])
                assert isinstance(symbols, SymbolTableSection)
                found[section.name] = repr(
                    [
                        (r["r_offset"], r["r_info_type"], symbols.get_symbol(r["r_info_sym"]).name)
                        for r in section.iter_relocations()
                    ]
                ).encode()
    return found


def test_an_image_beyond_the_budget_fails_the_build(cubemx: CMakeProject) -> None:
    board = (CHECKOUT / "boards" / "stm32f407.yaml").read_text(encoding="utf-8")
    (cubemx.source / "small.yaml").write_text(f"{board}budget: {{flash: 16K}}\n", encoding="utf-8")
    try:
        cubemx.configure("-DLIMITS=small.yaml")
        for _ in range(2):  # It is not taken for built.
            assert "more than the budget of 16,384 bytes" in cubemx.make_fails()
    finally:
        cubemx.configure("-DLIMITS=stm32f407").make()


def test_a_changed_byte_of_the_weights_fails_the_test(cubemx: CMakeProject) -> None:
    file = cubemx.build / "tvm" / "digits" / "digits_weights.c"
    elf = cubemx.build / "reader.elf"
    right, linked = file.read_text(), elf.read_bytes()
    digit = re.search(r"(?<=0x1\.)[0-9a-f]", right)  # The first one of a weight's mantissa.
    assert digit
    other = "f" if int(digit[0], 16) < 8 else "0"
    try:
        file.write_text(right[: digit.start()] + other + right[digit.end() :])
        built = cubemx.make()
        assert (built.models, built.files) == ([], {"digits_weights.c", "reader.elf"})
        assert sum(a != b for a, b in zip(linked, elf.read_bytes(), strict=True)) == 1
        done = cubemx.test()
        assert done.returncode != 0 and "verify (Failed)" in done.stdout
    finally:
        file.write_text(right)
        cubemx.make()
    cubemx.passes(1)


def test_the_example_runs_on_another_board(tmp_path: Path) -> None:
    example = CMakeProject(CHECKOUT / "examples" / "cmake", tmp_path / "build")
    assert "digits.elf on mps2_an386" in example.configure("-DTVM_BOARD=mps2_an386").make().output
    example.passes(2)


def test_toolchain_files_have_the_flags_of_the_cores() -> None:
    folder = CHECKOUT / "tvm_tool" / "cmake" / "toolchains"
    assert {path.stem for path in folder.glob("*.cmake")} - {"gnu"} == set(CORE_NAMES)
    for name in CORE_NAMES:
        core = core_named(name)
        text = (folder / f"{name}.cmake").read_text(encoding="utf-8")
        assert f'set(TVM_CORE_FLAGS "{" ".join(core.flags)}")' in text
        assert f"set(TVM_TOOLCHAIN {core.toolchain})" in text
