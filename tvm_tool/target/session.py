"""An image in the emulator under a debugger's control: started, stopped, ready for calls."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import TargetError, VerifyError
from ..image.elf import Image, Symbol
from .gdb_remote import ConnectionLostError, GdbRemote, ProgramEndedError
from .processor import Processor, processor_of
from .qemu import crashed, emulator_command

if TYPE_CHECKING:
    from ..board import Board


@dataclass(frozen=True)
class Called:
    """What a call gave.

    Attributes:
        result: the first word returned.
        instructions: how many were executed; None if the emulator does not count them.
        passed: the watched addresses in the order in which they were passed, each with the instructions
            that had been executed since the start.
    """

    result: int
    instructions: int | None
    passed: tuple[tuple[int, int | None], ...] = ()


class Session:
    """Reads, writes and calls; made by `start_session`."""

    def __init__(
        self, image: Image, gdb: GdbRemote, processor: Processor, stop: Symbol, start_timeout: float
    ) -> None:
        self._image = image
        self._gdb = gdb
        self._processor = processor
        # Not executed any more once the firmware has started: calls return to it.
        self._return_address = image.entry & ~1
        self.read = gdb.read_memory
        self.write = gdb.write_memory
        self.monitor = gdb.monitor
        processor.start(gdb, self._return_address)
        self._reach(stop, start_timeout)
        # From here on the firmware itself does not go on: no interrupt may come between the calls.
        processor.hold(gdb, self._return_address)
        self.stack_pointer = gdb.read_register(processor.stack) & -processor.stack_align
        self._handlers = processor.handlers(gdb) - {self._return_address}
        for address in (*self._handlers, self._return_address):
            gdb.set_breakpoint(address)

    def call(
        self,
        function: int,
        arguments: tuple[int, ...],
        timeout: float,
        watch: Sequence[int] = (),
    ) -> Called:
        """Call the C function at `function` with up to four words.

        Args:
            function: its address.
            arguments: its arguments.
            timeout: seconds that it may take, or that it may take from one watched address to the next.
            watch: addresses; `Called.passed` tells when they are passed.

        Raises VerifyError if it faults, or does not return in time.
        """
        gdb, processor = self._gdb, self._processor
        for number, argument in zip(processor.arguments, arguments, strict=False):
            gdb.write_register(number, argument)
        gdb.write_register(processor.stack, self.stack_pointer)
        gdb.write_register(processor.link, processor.return_to(self._return_address))
        gdb.write_register(processor.counter, function & ~1)
        passed: list[tuple[int, int | None]] = []
        for address in watch:
            gdb.set_breakpoint(address)
        before = processor.instructions(gdb)
        self._resume(timeout)
        while (counter := gdb.read_register(processor.counter) & ~1) in watch:
            passed.append((counter, processor.instructions(gdb)))
            # The emulator would stop here again.
            gdb.remove_breakpoint(counter)
            gdb.step()
            gdb.set_breakpoint(counter)
            self._resume(timeout)
        for address in watch:
            gdb.remove_breakpoint(address)
        if counter in self._handlers:
            raise self._fault()
        if counter != self._return_address:
            raise VerifyError("the model stopped", file=self._image.path, where=self._image.place(counter))
        after = processor.instructions(gdb)
        instructions = None if before is None or after is None else after - before
        return Called(gdb.read_register(processor.arguments[0]), instructions, tuple(passed))

    def _resume(self, timeout: float) -> None:
        """Let the model run until it is stopped, at most for `timeout` seconds."""
        gdb = self._gdb
        gdb.resume()
        if not gdb.wait(timeout):
            gdb.interrupt()
            raise VerifyError(
                f"the model did not return within {timeout:g} s",
                file=self._image.path,
                where=self._image.place(gdb.read_register(self._processor.counter)),
            )

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
                where=self._image.place(gdb.read_register(self._processor.counter)),
                remedy="code that waits for a clock or a peripheral hangs in the emulator: skip it there",
            )
        gdb.remove_breakpoint(stop.address)

    def _fault(self) -> VerifyError:
        reasons, place = self._processor.fault(self._gdb)
        return VerifyError(
            f"the model faulted: {', '.join(reasons) or 'the core does not say why'}",
            file=self._image.path,
            where=None if place is None else self._image.place(place),
        )


@contextmanager
def start_session(image: Image, board: Board, stop: Symbol, start_timeout: float = 20.0) -> Iterator[Session]:
    """Start `image` in the emulator of `board` and stop it where the function `stop` begins."""
    # Paths of Unix sockets are short: not in the build folder.
    with tempfile.TemporaryDirectory(prefix="tvm") as folder, tempfile.TemporaryFile() as errors:
        endpoint = Path(folder, "gdb")
        processor = processor_of(board.core)
        command = [*emulator_command(image, board), *processor.counting, "-S"]
        command += ["-gdb", f"unix:{endpoint},server=on,wait=off"]
        emulator = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            with GdbRemote.connect(endpoint) as gdb:
                yield Session(image, gdb, processor, stop, start_timeout)
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
