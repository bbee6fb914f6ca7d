"""Startup code, demo model, faults and counted instructions on an emulated board of every core."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.firmware.test_models import DIGITS
from tests.firmware.test_startup import FAULT, SEMIHOSTING, STARTUP, STRICT, build
from tests.numerics.test_kernels_s8 import needs
from tests.support.firmware import build_firmware
from tvm_tool.board import Board, board_names, load_board
from tvm_tool.errors import TargetError, VerifyError
from tvm_tool.image.check import check_image
from tvm_tool.image.elf import read_image
from tvm_tool.target.qemu import run_image
from tvm_tool.target.session import start_session
from tvm_tool.target.verify import verify_image

ARM = [
    *("microbit", "mps2_an382", "mps2_an383", "mps2_an385", "mps2_an386", "mps2_an500", "mps2_an505"),
    *("mps3_an547", "nrf52840", "stm32f103", "stm32f412", "stm32l476"),
]
RISCV = ["virt_rv32", "hifive1_revb"]
BUILDS = [["-O2"], ["-Os", "-flto"], ["-Os", "-nostdlib"]]
on_every_board = pytest.mark.parametrize("name", [*ARM, *RISCV])


def board_with_compiler(name: str) -> Board:
    board = load_board(name)
    needs(f"{board.core.toolchain}gcc")
    return board


def board_with_tools(name: str) -> Board:
    board = board_with_compiler(name)
    needs(board.core.qemu)
    return board


def outcome(image: Path, board: Board) -> tuple[int, str]:
    result = run_image(image, board, timeout=60)
    return result.status, result.output


@pytest.mark.parametrize("flags", BUILDS, ids=" ".join)
@on_every_board
def test_memory_is_ready(name: str, flags: list[str], tmp_path: Path) -> None:
    board = board_with_tools(name)
    # A part whose further memories the emulator has as well.
    more = [r for r in ("psram", "sram", "ddr") if r in board.regions and name.startswith("mps")]
    further = [f'-DFURTHER_REGION="{more[-1]}"'] if more else []
    image = build(tmp_path, board, "memory.c", [*flags, *further])
    assert outcome(image, board) == (0, "ready\n")


@pytest.mark.parametrize("name", board_names())
def test_the_script_of_every_board_links(name: str, tmp_path: Path) -> None:
    board = board_with_compiler(name)
    image = build(tmp_path, board, "memory.c", ["-Os", "-flto"])
    check_image(read_image(image), [], board)


def test_a_second_boot_stage(tmp_path: Path) -> None:
    board = board_with_compiler("rpi_pico")
    source = tmp_path / "boot.c"
    source.write_text(
        '__attribute__((section(".tvm.boot2.code"))) const unsigned char stage[256] = {1};\n'
        "int main(void)\n{\n    return 0;\n}\n"
    )
    image = read_image(build(tmp_path, board, str(source), ["-Os", "-Wl,--undefined=stage"]))
    stage, vectors = image.symbol("stage"), image.symbol("tvm_vectors")
    assert stage is not None and vectors is not None
    assert (stage.address, vectors.address) == (0x10000000, 0x10000100)


@on_every_board
def test_stack_usage(name: str, tmp_path: Path) -> None:
    board = board_with_tools(name)
    also = (SEMIHOSTING, "tvm_stack_usage.c")
    image = build(tmp_path, board, "stack_usage.c", ["-Os", "-flto", "-DTVM_PAINT_STACK"], also)
    assert outcome(image, board) == (0, "")


@pytest.mark.parametrize("flags", BUILDS, ids=" ".join)
@pytest.mark.parametrize("name", [*RISCV, "mps2_an382", "mps2_an505", "mps3_an547"])
def test_a_fault_prints_a_line(name: str, flags: list[str], tmp_path: Path) -> None:
    board = board_with_tools(name)
    line = "trap\n" if board.core.riscv else "hard fault\n"
    assert outcome(build(tmp_path, board, "fault.c", flags), board) == (FAULT, line)


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
@pytest.mark.parametrize("name", ["hifive1_revb", "mps2_an505", "mps3_an547"])
def test_a_stack_overflow_faults(name: str, flags: list[str], tmp_path: Path) -> None:
    board = board_with_tools(name)
    image = build(tmp_path, board, "overflow.c", [*flags, "-Wno-infinite-recursion"])
    line = "trap\n" if board.core.riscv else "hard fault\n"
    assert outcome(image, board) == (FAULT, f"deeper\n{line}")


def test_a_call_that_overflows_the_stack_of_armv8(tmp_path: Path) -> None:
    board = board_with_tools("mps2_an505")
    flags = ["-Os", "-Wno-infinite-recursion", "-Wl,--undefined=deeper"]
    image = read_image(build(tmp_path, board, "overflow.c", flags))
    main, deeper = image.function("main"), image.function("deeper")
    assert main is not None and deeper is not None
    with start_session(image, board, main) as session:
        place = session.stack_pointer - 64
        with pytest.raises(VerifyError, match="the stack overflowed"):
            session.call(deeper.address, (place,), 10.0)


@pytest.mark.parametrize("flags", [["-O2"], ["-Os", "-flto"]], ids=" ".join)
def test_a_trap_handler_of_the_firmware(flags: list[str], tmp_path: Path) -> None:
    board = board_with_tools("virt_rv32")
    (tmp_path / "handler.c").write_text(
        '#include "tvm_semihosting.h"\n#include "tvm_startup.h"\n'
        "void trap_handler(void)\n{\n    tvm_exit(9);\n}\n"
        'int main(void)\n{\n    __asm__ volatile(".word 0");\n    return 0;\n}\n'
        "void tvm_exit(int status)\n{\n    tvm_semihosting_exit(status);\n}\n"
    )
    (tmp_path / "exit.c").write_text((STARTUP / SEMIHOSTING).read_text().split("void tvm_exit")[0])
    image = build(tmp_path, board, str(tmp_path / "handler.c"), flags, also=(str(tmp_path / "exit.c"),))
    assert outcome(image, board) == (9, "")


def test_a_trap_handler_that_is_not_aligned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    board = board_with_tools("virt_rv32")
    source = tmp_path / "odd.c"
    source.write_text(
        "void trap_handler(void);\n"
        'void trap_handler(void)\n{\n    for (;;) {\n        __asm__ volatile("");\n    }\n}\n'
        "int main(void)\n{\n    return 0;\n}\n"
    )
    script = ["-Wl,--section-start=.text=0x80000102", "-fno-align-functions", "-Os"]
    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path, board, str(source), [*script, "-Wl,--defsym=trap_handler=0x80000102"], also=())
    assert "trap_handler is not aligned" in capfd.readouterr().err


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("source", ["riscv.c", SEMIHOSTING, "tvm_stack_usage.c"])
def test_no_compiler_for_riscv_has_a_warning(source: str, compiler: str, tmp_path: Path) -> None:
    core = load_board("virt_rv32").core
    command = [f"{core.toolchain}gcc"] if compiler == "gcc" else ["clang", "--target=riscv32-unknown-elf"]
    needs(command[0])
    flags = [*core.flags, *STRICT, "-std=c99", "-ffreestanding", "-DTVM_PAINT_STACK"]
    subprocess.run([*command, *flags, "-c", STARTUP / source, "-o", tmp_path / "x.o"], check=True)


@on_every_board
def test_the_demo_model(name: str, tmp_path: Path) -> None:
    board = board_with_tools(name)
    firmware = build_firmware(
        DIGITS, name, tmp_path, "size" if name in ("microbit", "stm32f103") else "speed"
    )
    result = verify_image(firmware.elf, firmware.metadata, DIGITS, board, samples=2)
    result.check()
    assert result.instructions is not None


COUNTED = """
__attribute__((naked, used)) void counted(unsigned rounds);
__attribute__((naked, used)) void counted(unsigned rounds)
{
    (void)rounds;
#ifdef __riscv
    __asm__ volatile("1: addi a0, a0, -1\\n nop\\n bnez a0, 1b\\n ret\\n");
#else
    __asm__ volatile(".syntax unified\\n 1: nop\\n subs r0, #1\\n bne 1b\\n bx lr\\n");
#endif
}
int main(void)
{
    counted(1);
    return 0;
}
"""


@on_every_board
def test_the_count_of_instructions_is_exact(name: str, tmp_path: Path) -> None:
    board = board_with_tools(name)
    source = tmp_path / "counted.c"
    source.write_text(COUNTED)
    flags = ["-O2", "-Wno-unused-parameter", "-Wno-pedantic"]
    image = read_image(build(tmp_path, board, str(source), flags))
    main, counted = image.function("main"), image.function("counted")
    assert main is not None and counted is not None
    with start_session(image, board, main) as session:
        counts = [session.call(counted.address, (rounds,), 10.0) for rounds in (1, 2, 1000, 100_000)]
        assert [called.instructions for called in counts] == [4, 7, 3001, 300_001]
        passed = session.call(counted.address, (3,), 10.0, watch=[counted.address]).passed
        before = passed[0][1]
        assert before is not None
        # The first instruction is where the loop begins.
        assert [count - before for _, count in passed if count is not None] == [0, 3, 6]


WRONG = """
#include <stdint.h>
__attribute__((noinline, used)) int read_at(uintptr_t address);
int read_at(uintptr_t address)
{
    return *(volatile int *)address;
}
int main(void)
{
    return 0;
}
"""


@pytest.mark.parametrize("name", ["virt_rv32", "hifive1_revb", "stm32f412"])
def test_why_a_call_faults(name: str, tmp_path: Path) -> None:
    board = board_with_tools(name)
    source = tmp_path / "wrong.c"
    source.write_text(WRONG)
    image = read_image(build(tmp_path, board, str(source), ["-O2", "-Wl,--undefined=read_at"]))
    main, wrong = image.function("main"), image.function("read_at")
    assert main is not None and wrong is not None
    with (
        start_session(image, board, main) as session,
        pytest.raises(VerifyError, match=r"an address where there is no memory: 0x18000000") as caught,
    ):
        session.call(wrong.address, (0x18000000,), 10.0)
    assert "read_at" in str(caught.value)


def test_a_call_that_does_not_return(tmp_path: Path) -> None:
    board = board_with_tools("virt_rv32")
    source = tmp_path / "counted.c"
    source.write_text(COUNTED)
    image = read_image(build(tmp_path, board, str(source), ["-O2", "-Wno-unused-parameter", "-Wno-pedantic"]))
    main, counted = image.function("main"), image.function("counted")
    assert main is not None and counted is not None
    with (
        start_session(image, board, main) as session,
        pytest.raises(VerifyError, match=r"did not return within 0\.5 s"),
    ):
        session.call(counted.address, (0,), 0.5)


@pytest.mark.parametrize(("built", "run"), [("virt_rv32", "mps2_an385"), ("mps2_an385", "virt_rv32")])
def test_an_image_for_another_processor(built: str, run: str, tmp_path: Path) -> None:
    board_with_tools(run)
    image = build(tmp_path, board_with_tools(built), "fault.c", ["-Os"])
    with pytest.raises(TargetError, match=re.compile(r"the image is for (RISCV|ARM) processors")):
        run_image(image, load_board(run))


def test_an_image_with_instructions_that_the_core_lacks(tmp_path: Path) -> None:
    board = board_with_tools("virt_rv32")
    image = build(tmp_path, board, "fault.c", ["-Os", "-march=rv32imac"])
    with pytest.raises(TargetError, match="the image is built for rv32i2p1_m2p0_a2p1_c2p0"):
        run_image(image, board)
