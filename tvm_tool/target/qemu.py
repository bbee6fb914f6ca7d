"""Runs firmware images in QEMU."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TargetError, ToolchainError
from ..image.elf import Image, read_image

if TYPE_CHECKING:
    from ..board import Board, Emulator

_ARCHITECTURES = {
    11: "armv6s-m",
    12: "armv6s-m",
    10: "armv7-m",
    13: "armv7e-m",
    16: "armv8-m.base",
    17: "armv8-m.main",
    21: "armv8.1-m.main",
}
"""Names of the build attribute TAG_CPU_ARCH; each runs the code of those before it."""


@dataclass(frozen=True)
class RunResult:
    """What an image printed through semihosting, and the status that it ended with."""

    output: str
    status: int


def run_image(elf: Path, board: Board, timeout: float = 120.0) -> RunResult:
    """Run `elf` on the emulator of `board` until it ends by semihosting.

    Raises:
        ToolchainError: the emulator is not installed.
        TargetError: the image does not fit the emulated machine, crashed, or ran for `timeout` seconds.
    """
    image = read_image(elf)
    command = emulator_command(image, board)
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as expired:
        printed = _tail((expired.stdout or b"").decode(errors="replace"), 1)
        raise TargetError(
            f"it did not end within {timeout:g} s" + (f"; it last printed '{printed}'" if printed else ""),
            file=elf,
            remedy="end main through semihosting (exit), or allow more time",
        ) from None
    errors = result.stderr.decode(errors="replace")
    if result.returncode < 0 or re.search(r"^qemu(: fatal|-system-\w+: (?!warning))", errors, re.MULTILINE):
        raise crashed(image, board, errors)
    return RunResult(result.stdout.decode(errors="replace"), result.returncode)


def emulator_command(image: Image, board: Board) -> list[str]:
    """The command that runs `image` on the emulator of `board`, semihosting on standard output."""
    emulator = _emulator(board)
    check_core(image, board)
    check_memory(image, board)
    program = shutil.which(board.core.qemu)
    if program is None:
        raise ToolchainError(
            f"the emulator {board.core.qemu} is not installed",
            remedy=f"install it, on Debian and Ubuntu: apt install {board.core.qemu_package}",
        )
    cpu = ["-cpu", emulator.cpu] if emulator.cpu else []
    quiet = ["-display", "none", "-monitor", "none", "-serial", "none"]
    semihosting = ["-chardev", "stdio,id=semihosting"]
    semihosting += ["-semihosting-config", "enable=on,target=native,chardev=semihosting"]
    # Machines that run an operating system would load a monitor first.
    bare = ["-bios", "none"] if board.core.riscv else []
    machine = ["-M", emulator.machine, *cpu, *bare]
    return [program, *machine, *quiet, *semihosting, "-kernel", str(image.path)]


def crashed(image: Image, board: Board, errors: str) -> TargetError:
    """What to say when the emulator ended by itself; `errors` is what it printed."""
    emulator = _emulator(board)
    if "Lockup" in errors:
        counter = re.search(r"R15=([0-9a-fA-F]+)", errors)
        return TargetError(
            "the core locked up: a fault inside a fault handler, or without one",
            file=image.path,
            where=image.place(int(counter[1], 16)) if counter else None,
            remedy="look for a bad pointer or a stack overflow there",
        )
    if "unsupported machine" in errors or "unable to find CPU model" in errors:
        return TargetError(
            _tail(errors), file=board.file, where=f"emulator {emulator.machine}", remedy="see qemu -M help"
        )
    return TargetError("the emulator ended by itself", file=image.path, where=_tail(errors) or None)


def emulated_ram(board: Board) -> tuple[int, int]:
    """First address of the emulated RAM that holds variables, and the first one behind it."""
    region = board.regions[board.placement.data]
    ram = _emulator(board).ram
    return region.origin, region.end if ram is None else min(region.end, region.origin + ram)


def check_memory(image: Image, board: Board) -> None:
    """TargetError if the emulated machine has less RAM than `image` uses."""
    region = board.regions[board.placement.data]
    _, end = emulated_ram(board)
    tops = {f"section '{s.name}'": s.end for s in image.sections if region.origin <= s.address < region.end}
    code = board.regions[board.placement.code].origin
    first = image.read(code, 4) if image.machine == "EM_ARM" else None
    if first is not None and region.origin < int.from_bytes(first, "little") <= region.end:
        tops["the initial stack pointer"] = int.from_bytes(first, "little")
    what, top = max(tops.items(), key=lambda item: item[1], default=("", 0))
    if top > end:
        machine, start = _emulator(board).machine, region.origin
        raise TargetError(
            f"{what} reaches {top:#010x}, but the RAM of the emulated {machine} ends at {end:#010x}",
            file=image.path,
            expected=f"at most {end - start:,} bytes of region '{region.name}', not {top - start:,}",
            remedy="use a board whose emulator has as much RAM, or put the stack at the bottom of the RAM",
        )


def check_core(image: Image, board: Board) -> None:
    """TargetError if `image` is built for something that the core of `board` cannot run."""
    names = list(dict.fromkeys(_ARCHITECTURES.values()))
    built = _ARCHITECTURES.get(image.attributes.get("TAG_CPU_ARCH", -1))
    core = board.core
    problem = None
    more = _extensions(str(image.attributes.get("TAG_ARCH", ""))) - _extensions(core.arch)
    if image.machine != ("EM_RISCV" if core.riscv else "EM_ARM"):
        problem = f"the image is for {image.machine.removeprefix('EM_')} processors"
    elif core.riscv and more:
        problem = f"the image is built for {image.attributes['TAG_ARCH']}"
    elif built is not None and core.arch in names and names.index(built) > names.index(core.arch):
        problem = f"the image is built for {built}"
    elif image.attributes.get("TAG_FP_ARCH", 0) and core.fpu_name is None:
        problem = "the image uses floating-point instructions"
    if problem is not None:
        raise TargetError(
            f"{problem}, which the {core.name} of {board.name} cannot run",
            file=image.path,
            expected=" ".join(core.flags),
            remedy="build it for this board, or name the board that it is built for",
        )


def _extensions(arch: str) -> set[str]:
    """``rv32``, ``i``, ``m`` of ``rv32im`` or ``rv32i2p1_m2p0``; words of several letters do not count."""
    base = re.match(r"rv\d+", arch)
    letters = re.sub(r"\d+p\d+|_[a-z]{2,}[^_]*|_", "", arch[base.end() :]) if base else ""
    return {base[0], *letters} if base else set()


def _emulator(board: Board) -> Emulator:
    if board.emulator is None:
        raise TargetError(
            f"{board.name} has no emulator",
            file=board.file,
            expected="a field like 'emulator: {machine: mps2-an386}'",
            remedy="use a board with the same core that has one",
        )
    return board.emulator


def _tail(text: str, lines: int = 3) -> str:
    return " | ".join(text.strip().splitlines()[-lines:])
