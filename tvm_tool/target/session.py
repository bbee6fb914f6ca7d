"""An image in the emulator under a debugger's control: started, stopped, ready for calls."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TargetError, VerifyError
from ..image.elf import Image, Symbol
from .gdb_remote import ConnectionLostError, GdbRemote, ProgramEndedError
from .qemu import crashed, emulator_command

if TYPE_CHECKING:
    from ..board import Board

SP, LR, PC = 13, 14, 15
_VECTOR_TABLE, _CFSR, _BFAR, _SYSTICK = 0xE000ED08, 0xE000ED28, 0xE000ED38, 0xE000E010
_SYSTICK_RELOAD, _SYSTICK_RUNS = 0xFFFF, 5
_NOP, _DISABLE_INTERRUPTS = bytes.fromhex("00bf"), bytes.fromhex("72b6")
_FAULTS = (3, 4, 5, 6)  # HardFault, MemManage, BusFault, UsageFault
_ADDRESS_KNOWN = 1 << 15
_STACKING = 1 << 4 | 1 << 12  # the core could not save its registers
_CFSR_BITS = {
    0: "it executes where no code may be",
    1: "it accesses memory that is protected",
    8: "it executes where there is no memory",
    9: "it accesses an address where there is no memory",
    10: "it accesses an address where there is no memory",
    16: "it executes an instruction that the core does not have",
    17: "it enters ARM state: a function pointer is wrong",
    19: "it uses the FPU, which is missing or switched off",
    24: "it accesses memory unaligned",
    25: "it divides by zero",
}


@dataclass(frozen=True)
class Called:
    """What a call gave: the value of r0, and the instructions executed if the emulator counts them."""

    result: int
    instructions: int | None


class Session:
    """Reads, writes and calls; made by `start_session`."""

    def __init__(self, image: Image, gdb: GdbRemote, stop: Symbol, start_timeout: float) -> None:
        self._image = image
        self._gdb = gdb
        # Not executed any more once the firmware has started: calls return to it.
        self._return_address = image.entry & ~1
        self._faults: set[int] = set()
        self.read = gdb.read_memory
        self.write = gdb.write_memory
        self._run_timer(_NOP)
        self._reach(stop, start_timeout)
        # From here on the firmware itself does not go on: no interrupt may come between the calls.
        self._run_timer(_DISABLE_INTERRUPTS)
        self._watch_faults()

    def call(self, function: int, arguments: tuple[int, ...], timeout: float) -> Called:
        """Call the C function at `function` with up to four words.

        Raises VerifyError if it faults, or does not return within `timeout` seconds.
        """
        gdb = self._gdb
        for number, argument in enumerate(arguments):
            gdb.write_register(number, argument)
        gdb.write_register(SP, self.stack_pointer)
        gdb.write_register(LR, self._return_address | 1)
        gdb.write_register(PC, function & ~1)
        before = self._instructions()
        gdb.resume()
        if not gdb.wait(timeout):
            gdb.interrupt()
            raise VerifyError(
                f"the model did not return within {timeout:g} s",
                file=self._image.path,
                where=self._image.place(gdb.read_register(PC)),
            )
        counter = gdb.read_register(PC) & ~1
        if counter in self._faults:
            raise self._fault()
        if counter != self._return_address:
            raise VerifyError("the model stopped", file=self._image.path, where=self._image.place(counter))
        after = self._instructions()
        instructions = None if before is None or after is None else after - before
        return Called(gdb.read_register(0), instructions)

    def _reach(self, stop: Symbol, timeout: float) -> None:
        """Run the startup code, which makes memory and FPU ready, and what comes before `stop`."""
        gdb = self._gdb
        gdb.set_breakpoint(stop.address)
        gdb.resume()
        if not gdb.wait(timeout):
            gdb.interrupt()
            raise TargetError(
                f"the firmware did not reach {stop.name} within {timeout:g} s",
                file=self._image.path,
                where=self._image.place(gdb.read_register(PC)),
                remedy="code that waits for a clock or a peripheral hangs in the emulator: skip it there",
            )
        gdb.remove_breakpoint(stop.address)

    def _run_timer(self, first: bytes) -> None:
        """Let SysTick run, without its interrupt; `first` is an instruction that is executed before.

        While no timer runs, the emulator executes 2^31 instructions before it listens to us again. QEMU's
        debugger interface does not write to devices, so the core does it: str r1, [r0]; bx lr.
        """
        gdb = self._gdb
        self.stack_pointer = gdb.read_register(SP) & ~7
        counter = gdb.read_register(PC)
        stub = self.stack_pointer - 64
        gdb.write_memory(stub, first + bytes.fromhex("0160 7047"))
        gdb.set_breakpoint(self._return_address)
        for offset, value in ((0, 0), (4, _SYSTICK_RELOAD), (8, 0), (0, _SYSTICK_RUNS)):
            self.call(stub, (_SYSTICK + offset, value), timeout=10.0)
        gdb.remove_breakpoint(self._return_address)
        gdb.write_register(PC, counter)

    def _watch_faults(self) -> None:
        """Stop in every fault handler of the vector table, and where calls return to."""
        gdb = self._gdb
        table = int.from_bytes(gdb.read_memory(_VECTOR_TABLE, 4), "little")
        vectors = gdb.read_memory(table, 4 * (max(_FAULTS) + 1))
        handlers = {int.from_bytes(vectors[4 * n : 4 * n + 4], "little") & ~1 for n in _FAULTS}
        self._faults = handlers - {0, self._return_address}
        for address in (*self._faults, self._return_address):
            gdb.set_breakpoint(address)

    def _fault(self) -> VerifyError:
        gdb = self._gdb
        cause = int.from_bytes(gdb.read_memory(_CFSR, 4), "little")
        reasons = list(dict.fromkeys(text for bit, text in _CFSR_BITS.items() if cause >> bit & 1))
        place = None
        if cause & _STACKING:
            reasons = ["the stack overflowed"]
        else:
            if cause & _ADDRESS_KNOWN:
                address = int.from_bytes(gdb.read_memory(_BFAR, 4), "little")
                reasons = [f"{reason}: {address:#010x}" for reason in reasons]
            frame = gdb.read_memory(gdb.read_register(SP), 32)
            place = self._image.place(int.from_bytes(frame[24:28], "little"))
        return VerifyError(
            f"the model faulted: {', '.join(reasons) or 'the core does not say why'}",
            file=self._image.path,
            where=place,
        )

    def _instructions(self) -> int | None:
        count = re.search(r"instruction count = (\d+)", self._gdb.monitor("info replay"))
        return int(count[1]) if count else None


@contextmanager
def start_session(image: Image, board: Board, stop: Symbol, start_timeout: float = 20.0) -> Iterator[Session]:
    """Start `image` in the emulator of `board` and stop it where the function `stop` begins."""
    # Paths of Unix sockets are short: not in the build folder.
    with tempfile.TemporaryDirectory(prefix="tvm") as folder, tempfile.TemporaryFile() as errors:
        endpoint = Path(folder, "gdb")
        # Recording makes the emulator count instructions; the record itself is of no use.
        count = ["-icount", f"shift=0,rr=record,rrfile={os.devnull}"]
        command = [*emulator_command(image, board), *count, "-S"]
        command += ["-gdb", f"unix:{endpoint},server=on,wait=off"]
        emulator = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            with GdbRemote.connect(endpoint) as gdb:
                yield Session(image, gdb, stop, start_timeout)
        except ConnectionLostError:
            emulator.kill()
            emulator.wait()
            errors.seek(0)
            raise crashed(image, board, errors.read().decode(errors="replace")) from None
        except ProgramEndedError as error:
            raise TargetError(
                f"{error.problem} before the model was called, or inside it",
                file=image.path,
                expected=f"the firmware reaches {stop.name}",
            ) from None
        finally:
            emulator.kill()
            emulator.wait()
