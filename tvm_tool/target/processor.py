"""What a session must know of a processor: registers, faults, how it counts."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .gdb_remote import GdbRemote

if TYPE_CHECKING:
    from ..cores import Core


class Processor(ABC):
    """One family of cores.

    Attributes:
        counter: number of the register with the program counter.
        link: number of the one with the return address.
        stack: number of the one with the stack pointer.
        arguments: numbers of those with the first arguments of a call; the first holds the result.
        stack_align: bytes.
        counting: options that let the emulator count instructions.
    """

    counter: int
    link: int
    stack: int
    arguments: tuple[int, ...]
    stack_align: int
    counting: tuple[str, ...]

    @abstractmethod
    def return_to(self, address: int) -> int:
        """The content of `link` for a return to `address`."""

    @abstractmethod
    def start(self, gdb: GdbRemote, spare: int) -> None:
        """Make ready to be stopped at any time. `spare` is the address of an instruction to stop at."""

    @abstractmethod
    def hold(self, gdb: GdbRemote, spare: int) -> None:
        """Let no interrupt happen any more; the same at a later stop."""

    @abstractmethod
    def instructions(self, gdb: GdbRemote) -> int | None:
        """Instructions executed so far; None if nobody counts them."""

    @abstractmethod
    def handlers(self, gdb: GdbRemote) -> set[int]:
        """Where faults lead to."""

    @abstractmethod
    def fault(self, gdb: GdbRemote) -> tuple[list[str], int | None]:
        """In a handler: why it was reached, and the address of the instruction, if that is known."""


def processor_of(core: Core) -> Processor:
    """How to drive `core`."""
    return RiscV() if core.riscv else CortexM()


class CortexM(Processor):
    """Arm's M profile."""

    counter, link, stack = 15, 14, 13
    arguments = (0, 1, 2, 3)
    stack_align = 8
    # Recording makes the emulator count instructions; the record itself is of no use.
    counting = ("-icount", f"shift=0,rr=record,rrfile={os.devnull}")

    _VECTOR_TABLE, _CFSR, _BFAR, _SYSTICK = 0xE000ED08, 0xE000ED28, 0xE000ED38, 0xE000E010
    _SYSTICK_RELOAD, _SYSTICK_RUNS = 0xFFFF, 5
    _NOP, _DISABLE_INTERRUPTS = bytes.fromhex("00bf"), bytes.fromhex("72b6")
    _FAULTS = (3, 4, 5, 6)  # HardFault, MemManage, BusFault, UsageFault
    _ADDRESS_KNOWN = 1 << 15
    # The core could not save its registers, or the stack reached its limit.
    _OVERFLOW = 1 << 4 | 1 << 12 | 1 << 20
    _CFSR_BITS = (
        (0, "it executes where no code may be"),
        (1, "it accesses memory that is protected"),
        (8, "it executes where there is no memory"),
        (9, "it accesses an address where there is no memory"),
        (10, "it accesses an address where there is no memory"),
        (16, "it executes an instruction that the core does not have"),
        (17, "it enters ARM state: a function pointer is wrong"),
        (19, "it uses the FPU, which is missing or switched off"),
        (24, "it accesses memory unaligned"),
        (25, "it divides by zero"),
    )

    def return_to(self, address: int) -> int:
        return address | 1  # Thumb

    def start(self, gdb: GdbRemote, spare: int) -> None:
        self._run_timer(gdb, spare, self._NOP)

    def hold(self, gdb: GdbRemote, spare: int) -> None:
        self._run_timer(gdb, spare, self._DISABLE_INTERRUPTS)

    def instructions(self, gdb: GdbRemote) -> int | None:
        count = re.search(r"instruction count = (\d+)", gdb.monitor("info replay"))
        return int(count[1]) if count else None

    def handlers(self, gdb: GdbRemote) -> set[int]:
        table = int.from_bytes(gdb.read_memory(self._VECTOR_TABLE, 4), "little")
        vectors = gdb.read_memory(table, 4 * (max(self._FAULTS) + 1))
        return {int.from_bytes(vectors[4 * n : 4 * n + 4], "little") & ~1 for n in self._FAULTS} - {0}

    def fault(self, gdb: GdbRemote) -> tuple[list[str], int | None]:
        cause = int.from_bytes(gdb.read_memory(self._CFSR, 4), "little")
        if cause & self._OVERFLOW:
            return ["the stack overflowed"], None
        reasons = list(dict.fromkeys(text for bit, text in self._CFSR_BITS if cause >> bit & 1))
        if cause & self._ADDRESS_KNOWN:
            address = int.from_bytes(gdb.read_memory(self._BFAR, 4), "little")
            reasons = [f"{reason}: {address:#010x}" for reason in reasons]
        frame = gdb.read_memory(gdb.read_register(self.stack), 32)
        return reasons, int.from_bytes(frame[24:28], "little")

    def _run_timer(self, gdb: GdbRemote, spare: int, first: bytes) -> None:
        """Let SysTick run, without its interrupt; `first` is an instruction that is executed before.

        While no timer runs, the emulator executes 2^31 instructions before it listens to us again. QEMU's
        debugger interface does not write to devices, so the core does it: str r1, [r0]; bx lr.
        """
        counter = gdb.read_register(self.counter)
        stub = (gdb.read_register(self.stack) & -self.stack_align) - 64
        gdb.write_memory(stub, first + bytes.fromhex("0160 7047"))
        gdb.set_breakpoint(spare)
        for offset, value in ((0, 0), (4, self._SYSTICK_RELOAD), (8, 0), (0, self._SYSTICK_RUNS)):
            gdb.write_register(0, self._SYSTICK + offset)
            gdb.write_register(1, value)
            gdb.write_register(self.link, spare | 1)
            gdb.write_register(self.counter, stub)
            gdb.resume()
            gdb.wait(10.0)
        gdb.remove_breakpoint(spare)
        gdb.write_register(self.counter, counter)


class RiscV(Processor):
    """RISC-V, 32 bits, in machine mode."""

    counter, link, stack = 32, 1, 2
    arguments = (10, 11, 12, 13)
    stack_align = 16
    counting = ("-icount", "shift=0")

    _INTERRUPTS = 1 << 3  # in mstatus
    _CAUSES = (
        "it jumps to an odd address",
        "it executes where there is no memory",
        "it executes an instruction that the core does not have",
        "it reached a breakpoint of its own",
        "it reads memory unaligned",
        "it reads an address where there is no memory",
        "it writes memory unaligned",
        "it writes to an address where there is no memory",
    )

    def return_to(self, address: int) -> int:
        return address

    def start(self, _gdb: GdbRemote, _spare: int) -> None:
        pass  # The emulator listens, as it does not record.

    def hold(self, gdb: GdbRemote, _spare: int) -> None:
        status = gdb.register_number("mstatus")
        gdb.write_register(status, gdb.read_register(status) & ~self._INTERRUPTS)

    def instructions(self, gdb: GdbRemote) -> int | None:
        low, high = (gdb.read_register(gdb.register_number(name)) for name in ("minstret", "minstreth"))
        return high << 32 | low

    def handlers(self, gdb: GdbRemote) -> set[int]:
        return {gdb.read_register(gdb.register_number("mtvec")) & ~3}

    def fault(self, gdb: GdbRemote) -> tuple[list[str], int | None]:
        cause, place, value = (
            gdb.read_register(gdb.register_number(name)) for name in ("mcause", "mepc", "mtval")
        )
        reasons = [self._CAUSES[cause]] if cause < len(self._CAUSES) else []
        if cause >= 4:
            reasons = [f"{reason}: {value:#010x}" for reason in reasons]
        return reasons, place
