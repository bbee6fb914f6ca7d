"""A small client of GDB's remote serial protocol, as emulators and debug probes serve it.

Only what driving a stopped microcontroller needs: memory, registers, breakpoints, continue, stop.
"""

from __future__ import annotations

import re
import socket
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType

from ..errors import TargetError

Address = Path | tuple[str, int]


class ConnectionLostError(TargetError):
    """Nobody answers at the other end, or no longer."""


class ProgramEndedError(TargetError):
    """The program on the target ended instead of stopping."""


class GdbRemote:
    """A connection to a GDB server; every method raises TargetError if the server goes away.

    >>> with GdbRemote.connect(("127.0.0.1", 1234)) as gdb:
    ...     gdb.set_breakpoint(0x08000100)
    ...     gdb.resume()
    ...     stopped = gdb.wait(timeout=5.0)
    """

    def __init__(self, connection: socket.socket, reply_timeout: float = 20.0) -> None:
        self._socket = connection
        self._received = b""
        self._reply_timeout = reply_timeout
        features = self._request("qSupported")
        size = re.search(r"PacketSize=([0-9a-fA-F]+)", features)
        self._chunk = (int(size[1], 16) if size else 400) // 2 - 16
        self._described = "qXfer:features:read+" in features
        # QEMU serves single registers only to a client that has read their description.
        if self._described:
            self._request("qXfer:features:read:target.xml:0,ffb")

    @classmethod
    def connect(cls, address: Address, timeout: float = 10.0) -> GdbRemote:
        """Connect to a Unix socket (a path) or to TCP (host, port); waits for the server to start."""
        family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
        target = str(address) if isinstance(address, Path) else address
        end = time.monotonic() + timeout
        while True:
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                connection.connect(target)
                break
            except OSError as error:
                connection.close()
                if time.monotonic() > end:
                    raise ConnectionLostError(
                        f"no GDB server answers: {error.strerror or error}", where=str(target)
                    ) from None
                time.sleep(0.02)
        return cls(connection)

    def __enter__(self) -> GdbRemote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the server decides what becomes of the target."""
        self._socket.close()

    # ------------------------------------------------------------ what it can do

    def read_memory(self, address: int, size: int) -> bytes:
        """`size` bytes from `address`."""
        data = b""
        while len(data) < size:
            count = min(self._chunk, size - len(data))
            reply = self._accepted(f"m{address + len(data):x},{count:x}", "reading memory")
            piece = bytes.fromhex(reply)
            if not piece:
                raise TargetError("the GDB server sent no data", where=f"memory at {address:#x}")
            data += piece
        return data

    def write_memory(self, address: int, data: bytes) -> None:
        """Store `data` from `address` on."""
        for start in range(0, len(data), self._chunk):
            piece = data[start : start + self._chunk]
            self._accepted(f"M{address + start:x},{len(piece):x}:{piece.hex()}", "writing memory")

    def read_register(self, number: int) -> int:
        """The register `number`, as the server's description counts them."""
        return int.from_bytes(bytes.fromhex(self._accepted(f"p{number:x}", "reading a register")), "little")

    def write_register(self, number: int, value: int) -> None:
        """Set the register `number`, of 32 bits."""
        self._accepted(f"P{number:x}={value.to_bytes(4, 'little').hex()}", "writing a register")

    def register_number(self, name: str) -> int:
        """The number of the register that the server's description calls `name`."""
        number = self._registers.get(name)
        if number is None:
            raise TargetError(f"the GDB server has no register '{name}'")
        return number

    def set_breakpoint(self, address: int) -> None:
        """Stop before the instruction at `address`, which may have two bytes."""
        self._accepted(f"Z0,{address & ~1:x},2", "setting a breakpoint")

    def remove_breakpoint(self, address: int) -> None:
        """Undo `set_breakpoint`."""
        self._accepted(f"z0,{address & ~1:x},2", "removing a breakpoint")

    def resume(self) -> None:
        """Let the target run; `wait` tells when it has stopped."""
        self._send("c")

    def step(self) -> None:
        """Let the target execute one instruction, whether or not a breakpoint is there."""
        self._send("s")
        if not self.wait(self._reply_timeout):
            raise TargetError("the target does not stop after one instruction")

    def wait(self, timeout: float) -> bool:
        """Whether the target stopped within `timeout` seconds; if not, it still runs.

        Raises ProgramEndedError if the program ended instead.
        """
        end = time.monotonic() + timeout
        while True:
            reply = self._receive(end)
            if reply is None:
                return False
            if reply[:1] in ("T", "S"):
                return True
            if reply[:1] in ("W", "X"):
                raise ProgramEndedError(f"the program ended with status {int(reply[1:3], 16)}")

    def interrupt(self) -> None:
        """Stop the running target."""
        self._transmit(b"\x03")
        if not self.wait(self._reply_timeout):
            raise TargetError("the target does not stop")

    def monitor(self, command: str) -> str:
        """What the server's own command line answers to `command`; empty if it has none."""
        self._send(f"qRcmd,{command.encode().hex()}")
        output = ""
        while (reply := self._reply()) not in ("OK", "") and not reply.startswith("E"):
            output += bytes.fromhex(reply.removeprefix("O")).decode(errors="replace")
        return output

    # ------------------------------------------------------------ registers

    @cached_property
    def _registers(self) -> dict[str, int]:
        """Numbers of the described registers by name; one without a number follows the one before."""
        found: dict[str, int] = {}
        following = 0
        for register in re.findall(r"<reg\b[^>]*>", self._description("target.xml")):
            fields = dict(re.findall(r'(\w+)="([^"]*)"', register))
            number = int(fields.get("regnum", following))
            found[fields["name"]] = number
            following = number + 1
        return found

    def _description(self, file: str) -> str:
        """The text of a file of the description, with those that it includes in their places."""
        text, more = "", self._described
        while more:
            reply = self._accepted(f"qXfer:features:read:{file}:{len(text):x},ffb", "describing itself")
            text, more = text + reply[1:], reply[0] == "m"
        include = re.compile(r'<xi:include\s+href="([^"]+)"\s*/>')
        return include.sub(lambda match: self._description(match[1]), text)

    # ------------------------------------------------------------ packets

    def _accepted(self, command: str, what: str) -> str:
        reply = self._request(command)
        if not reply or re.fullmatch(r"E[0-9a-fA-F]{2}", reply):
            raise TargetError(
                f"the GDB server refuses {what}: {reply or 'not supported'}", where=command[:40]
            )
        return reply

    def _request(self, command: str) -> str:
        self._send(command)
        return self._reply()

    def _reply(self) -> str:
        reply = self._receive(time.monotonic() + self._reply_timeout)
        if reply is None:
            raise TargetError("the GDB server does not answer")
        return reply

    def _send(self, command: str) -> None:
        payload = command.encode()
        self._transmit(b"$%s#%02x" % (payload, sum(payload) % 256))

    def _transmit(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise _gone(error) from None

    def _receive(self, end: float) -> str | None:
        """The next packet, acknowledged; None at the time `end`."""
        while True:
            match = re.search(rb"\$([^#]*)#([0-9a-fA-F]{2})", self._received)
            if match is None:
                if not self._fill(end):
                    return None
                continue
            self._received = self._received[match.end() :]
            if sum(match[1]) % 256 != int(match[2], 16):
                self._transmit(b"-")
                continue
            # A server that announces the end of the program does not wait for this.
            with suppress(OSError):
                self._socket.sendall(b"+")
            # '}' escapes the characters that the protocol needs for itself.
            payload = re.sub(rb"}(.)", lambda m: bytes([m[1][0] ^ 0x20]), match[1], flags=re.DOTALL)
            return payload.decode("latin-1")

    def _fill(self, end: float) -> bool:
        """Whether more bytes came before the time `end`."""
        self._socket.settimeout(max(0.001, end - time.monotonic()))
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            return False
        except OSError as error:
            raise _gone(error) from None
        if not data:
            raise _gone(None)
        self._received += data
        return True


def _gone(error: OSError | None) -> ConnectionLostError:
    why = error.strerror if error is not None else None
    return ConnectionLostError("the connection to the GDB server broke", where=why)
