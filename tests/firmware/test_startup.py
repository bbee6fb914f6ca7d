"""The startup code and the generated linker scripts, on emulated boards."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_tool.board import Board, load_board
from tvm_tool.linker import linker_script
from tvm_tool.paths import startup_dir

PROGRAMS = ["arm-none-eabi-gcc", "arm-none-eabi-g++", "qemu-system-arm"]
pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in PROGRAMS), reason=f"needs {', '.join(PROGRAMS)}"
)

SOURCES = Path(__file__).parent / "startup"
STARTUP = startup_dir()
SOURCES_FOR_ARM = [path for path in sorted(STARTUP.glob("*.c")) if path.name != "riscv.c"]
BOARDS = ["stm32f412", "mps2_an386", "mps2_an385"]
# Every way that a firmware is likely to be built.
BUILDS = [["-O2"], ["-Os", "-flto"], ["-O2", "-flto", "--specs=nano.specs"], ["-Os", "-nostdlib"], ["-O0"]]
STRICT = (
    "-std=c99 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wundef "
    "-Wredundant-decls -Wshadow -Wcast-align -Werror -fno-builtin"
).split()
SEMIHOSTING = "tvm_semihosting.c"
FAULT = 125


def build(
    folder: Path, board: Board, source: str, flags: list[str], also: tuple[str, ...] = (SEMIHOSTING,)
) -> Path:
    """Link `source`, the startup code and the further startup files `also`."""
    (folder / "link.ld").write_text(linker_script(board))
    image = folder / "firmware.elf"
    language = ["-xc++", "-fno-exceptions", "-fno-rtti"] if source.endswith(".cpp") else STRICT
    compiler = f"{board.core.toolchain}{'g++' if source.endswith('.cpp') else 'gcc'}"
    vectors = f"-DVECTORS={board.regions['flash'].origin:#x}u"
    command: list[str | Path] = [
        compiler,
        *board.core.flags,
        *(board.core.libc if board.core.riscv else ()),
        *flags,
        vectors,
        "-ffunction-sections",
        "-fdata-sections",
    ]
    command += [
        f"-I{STARTUP}",
        "-nostartfiles",
        "-Wl,--gc-sections,--fatal-warnings",
        f"-T{folder / 'link.ld'}",
        *language,
    ]
    command += [SOURCES / source, "-xc", *(STARTUP / name for name in (board.core.startup, *also))]
    command += ["-xnone", "-o", image]
    # libgcc has what a core without FPU does in software.
    subprocess.run([*command, "-lgcc"] if "-nostdlib" in flags else command, check=True)
    return image


def qemu(board: Board, image: Path, *more: str) -> list[str]:
    assert board.emulator is not None
    command = [board.core.qemu, "-M", board.emulator.machine, "-nographic", "-serial", "none"]
    return [*command, "-semihosting-config", "enable=on,target=native", "-kernel", str(image), *more]


def run(board: Board, image: Path, *more: str) -> tuple[int, str]:
    """Exit status and output of the firmware."""
    command = [*qemu(board, image), "-monitor", "none", *more]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def symbols(image: Path) -> dict[str, int]:
    listed = subprocess.run(["arm-none-eabi-nm", image], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines()]
    return {name: int(address, 16) for address, _, name in (line for line in words if len(line) == 3)}


def sections(path: Path) -> dict[str, int]:
    """Bytes by section of an object or an image."""
    listed = subprocess.run(["arm-none-eabi-size", "-A", path], capture_output=True, text=True, check=True)
    return {name: int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", listed.stdout, re.MULTILINE)}


@pytest.mark.parametrize("flags", BUILDS, ids=" ".join)
@pytest.mark.parametrize("name", BOARDS)
def test_memory_is_ready(tmp_path: Path, name: str, flags: list[str]) -> None:
    board = load_board(name)
    further = ['-DFURTHER_REGION="psram"'] if "psram" in board.regions else []
    image = build(tmp_path, board, "memory.c", [*flags, *further])
    assert run(board, image) == (0, "ready\n")


@pytest.mark.parametrize("name", BOARDS)
def test_memory_that_was_full_of_something_else(tmp_path: Path, name: str) -> None:
    # QEMU clears .bss of an ELF itself; a flat image into dirty RAM leaves that to the startup code.
    board = load_board(name)
    image = build(tmp_path, board, "memory.c", ["-Os", "-DDIRTY"])
    flat = tmp_path / "firmware.bin"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", image, flat], check=True)
    dirt = tmp_path / "dirt.bin"
    dirt.write_bytes(b"\x55" * 65536)
    ram = board.regions["ram"].origin
    loader = ["-device", f"loader,file={dirt},addr={ram:#x},force-raw=on"]
    assert run(board, flat, *loader) == (0, "ready\n")


@pytest.mark.parametrize("flags", BUILDS, ids=" ".join)
def test_a_stack_overflow_faults(tmp_path: Path, flags: list[str]) -> None:
    # QEMU's MPS2 machines let accesses to addresses without memory pass, so only this one can show it.
    board = load_board("stm32f412")
    image = build(tmp_path, board, "overflow.c", [*flags, "-Wno-infinite-recursion"])
    assert run(board, image) == (FAULT, "deeper\nhard fault\n")


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
@pytest.mark.parametrize("name", BOARDS)
def test_handlers_of_the_firmware(tmp_path: Path, name: str, flags: list[str]) -> None:
    board = load_board(name)
    assert run(board, build(tmp_path, board, "interrupts.c", flags)) == (11, "")


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
def test_a_fault_without_a_handler_ends_in_the_loop(tmp_path: Path, flags: list[str]) -> None:
    board = load_board("mps2_an385")
    image = build(tmp_path, board, "fault.c", flags, also=())
    loop = symbols(image)["tvm_fault"]
    assert symbols(image)["HardFault_Handler"] == loop
    command = qemu(board, image, "-monitor", "stdio")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # Ask until the processor is there; the job's time limit ends a wait in vain.
            pc = -1
            while pc != loop:
                process.stdin.write("info registers\n")
                process.stdin.flush()
                for line in process.stdout:
                    if found := re.search(r"R15=([0-9a-f]{8})", line):
                        pc = int(found[1], 16)
                        break
                assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
@pytest.mark.parametrize("name", BOARDS)
def test_stack_usage(tmp_path: Path, name: str, flags: list[str]) -> None:
    board = load_board(name)
    also = (SEMIHOSTING, "tvm_stack_usage.c")
    image = build(tmp_path, board, "stack_usage.c", [*flags, "-DTVM_PAINT_STACK"], also)
    assert run(board, image) == (0, "")


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"], ["-Os", "--specs=nano.specs"]], ids=" ".join)
def test_constructors_of_cpp(tmp_path: Path, flags: list[str]) -> None:
    board = load_board("stm32f412")
    assert run(board, build(tmp_path, board, "constructor.cpp", flags)) == (0, "made\n")


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
def test_the_library_brings_only_what_is_called(tmp_path: Path, flags: list[str]) -> None:
    board = load_board("stm32f412")
    image = build(tmp_path, board, "library.c", [*flags, "--specs=nano.specs"])
    assert run(board, image) == (0, "")
    unwanted = re.compile(r"printf|malloc|sbrk|exit|atexit|_init|_fini|impure|errno|_start\Z")
    ours = {"tvm_exit", "tvm_semihosting_exit", "__init_array_start", "__init_array_end"}
    ours |= {name for name in symbols(image) if re.fullmatch(r"__\w+_(start|end)", name)}
    assert [name for name in symbols(image) if unwanted.search(name) and name not in ours] == []


def test_it_needs_no_library_and_uses_no_software_float() -> None:
    for source in SOURCES_FOR_ARM:
        for optimise in ("-O3", "-Os"):
            command = ["arm-none-eabi-gcc", *load_board("mps2_an385").core.flags, optimise, "-S", "-o", "-"]
            text = subprocess.run([*command, source], capture_output=True, text=True, check=True).stdout
            assert not re.search(r"\bbl?\s+(mem|str|__aeabi)", text)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "gnu11"])
@pytest.mark.parametrize("source", SOURCES_FOR_ARM, ids=lambda path: path.name)
def test_no_compiler_has_a_warning(tmp_path: Path, source: Path, standard: str, compiler: str) -> None:
    command = ["arm-none-eabi-gcc", "-fsingle-precision-constant"]
    if compiler == "clang":
        if shutil.which("clang") is None:
            pytest.skip("clang is not installed")
        command = ["clang", "--target=arm-none-eabi"]
    flags = [*STRICT, f"-std={standard}", "-ffreestanding", "-DTVM_PAINT_STACK", "-c", str(source)]
    for core in ("-mcpu=cortex-m0 -mfloat-abi=soft", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"):
        subprocess.run([*command, "-mthumb", *core.split(), *flags, "-o", tmp_path / "x.o"], check=True)


def test_headers_are_c_and_cpp(tmp_path: Path) -> None:
    for header in STARTUP.glob("*.h"):
        text = f'#include "{header.name}"\n#include "{header.name}"\n'
        for compiler, language in (("gcc", "c"), ("g++", "c++")):
            command = [
                f"arm-none-eabi-{compiler}",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                f"-I{STARTUP}",
            ]
            subprocess.run(
                [*command, "-x", language, "-fsyntax-only", "-"], input=text, text=True, check=True
            )


def test_it_is_small(tmp_path: Path) -> None:
    """Vectors 64 bytes; everything else that the startup code adds to an image is in the rest."""
    board = load_board("stm32f412")
    sizes = {}
    for source in SOURCES_FOR_ARM:
        target = tmp_path / f"{source.stem}.o"
        command = ["arm-none-eabi-gcc", *board.core.flags, "-Os", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True)
        found = sections(target)
        sizes[source.name] = sum(found[s] for s in found if s.startswith((".vectors", ".text", ".rodata")))
    assert sizes["cortex_m.c"] <= 216
    assert sizes["tvm_semihosting.c"] <= 96
    assert sizes["tvm_stack_usage.c"] <= 40
