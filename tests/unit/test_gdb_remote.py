"""The client of GDB's protocol against a server that answers from a script."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tvm_tool.errors import TargetError
from tvm_tool.target.gdb_remote import ConnectionLostError, GdbRemote, ProgramEndedError

Answer = Callable[[str], "list[str] | None"]


DESCRIPTION = {
    "target.xml": '<target><xi:include href="core.xml"/><xi:include href="more.xml"/></target>',
    "core.xml": '<feature><reg name="r0" bitsize="32"/><reg name="sp" bitsize="32" regnum="13"/></feature>',
    "more.xml": '<feature><reg bitsize="32" name="lr"/><reg name="mtvec" regnum="838"/></feature>',
}


def packet(payload: str) -> bytes:
    data = payload.encode("latin-1")
    return b"$%s#%02x" % (data, sum(data) % 256)


class Server(threading.Thread):
    """Checks the framing of what it receives, and answers with the packets that `answer` returns."""

    def __init__(self, answer: Answer, greeting: str = "PacketSize=40;qXfer:features:read+") -> None:
        super().__init__(daemon=True)
        self.client, self._socket = socket.socketpair()
        self._answer, self._greeting = answer, greeting
        self.commands: list[str] = []
        self.interrupts = self.acknowledged = 0

    def run(self) -> None:
        with self._socket:
            self._serve()

    def _serve(self) -> None:
        data = b""
        while piece := self._socket.recv(4096):
            data += piece
            while data:
                if data[:1] == b"\x03":
                    self.interrupts += 1
                    self._socket.sendall(packet("T02"))
                    data = data[1:]
                elif data[:1] in (b"+", b"-"):
                    self.acknowledged += data[:1] == b"+"
                    data = data[1:]
                elif match := re.match(rb"\$([^#]*)#(..)", data):
                    assert sum(match[1]) % 256 == int(match[2], 16)
                    data = data[match.end() :]
                    self._reply(match[1].decode())
                else:
                    break

    def _reply(self, command: str) -> None:
        self._socket.sendall(b"+")
        if command == "qSupported":
            self._socket.sendall(packet(self._greeting))
        elif command.startswith("qXfer"):
            _, file, span = command.rsplit(":", 2)
            start, size = (int(number, 16) for number in span.split(","))
            piece = DESCRIPTION[file][start : start + min(size, 40)]
            more = start + len(piece) < len(DESCRIPTION[file])
            self._socket.sendall(packet(("m" if more else "l") + piece))
        else:
            self.commands.append(command)
            answers = self._answer(command)
            if answers is None:
                self._socket.shutdown(socket.SHUT_RDWR)
            for answer in answers or []:
                self._socket.sendall(packet(answer))


@contextmanager
def serving(answer: Answer, **options: str) -> Iterator[tuple[GdbRemote, Server]]:
    server = Server(answer, **options)
    server.start()
    with GdbRemote(server.client, reply_timeout=2.0) as gdb:
        yield gdb, server
    server.join(2.0)


def test_memory_in_pieces_that_fit_a_packet() -> None:
    memory = bytearray(range(100))

    def answer(command: str) -> list[str]:
        assert len(command) <= 0x40
        read = re.fullmatch(r"m([0-9a-f]+),([0-9a-f]+)", command)
        if read:
            start, size = int(read[1], 16) - 0x20000000, int(read[2], 16)
            return [memory[start : start + size].hex()]
        write = re.fullmatch(r"M([0-9a-f]+),([0-9a-f]+):([0-9a-f]*)", command)
        assert write
        start, data = int(write[1], 16) - 0x20000000, bytes.fromhex(write[3])
        assert len(data) == int(write[2], 16)
        memory[start : start + len(data)] = data
        return ["OK"]

    with serving(answer) as (gdb, server):
        assert gdb.read_memory(0x20000000, 100) == bytes(range(100))
        gdb.write_memory(0x20000005, bytes(90))
        assert gdb.read_memory(0x20000000, 100) == bytes([0, 1, 2, 3, 4, *[0] * 90, 95, 96, 97, 98, 99])
        assert gdb.read_memory(0x20000000, 0) == b""
    assert len(server.commands) > 15


def test_registers_are_little_endian() -> None:
    with serving(lambda command: ["78563412"] if command == "pd" else ["OK"]) as (gdb, server):
        assert gdb.read_register(13) == 0x12345678
        gdb.write_register(25, 0x01000000)
    assert server.commands == ["pd", "P19=00000001"]


def test_registers_have_the_names_of_the_description() -> None:
    with serving(lambda command: []) as (gdb, server):
        names = ("r0", "sp", "lr", "mtvec")
        assert [gdb.register_number(name) for name in names] == [0, 13, 14, 838]
        with pytest.raises(TargetError, match="no register 'pc'"):
            gdb.register_number("pc")
    assert server.commands == []


def test_without_a_description_no_register_has_a_name() -> None:
    with (
        serving(lambda command: [], greeting="PacketSize=40") as (gdb, _),
        pytest.raises(TargetError, match="no register 'r0'"),
    ):
        gdb.register_number("r0")


def test_one_instruction() -> None:
    with serving(lambda command: ["T05thread:01;"]) as (gdb, server):
        gdb.step()
    assert server.commands == ["s"]


def test_breakpoints_lose_the_thumb_bit() -> None:
    with serving(lambda command: ["OK"]) as (gdb, server):
        gdb.set_breakpoint(0x08000101)
        gdb.remove_breakpoint(0x08000101)
    assert server.commands == ["Z0,8000100,2", "z0,8000100,2"]


def test_waits_for_the_stop_through_other_packets() -> None:
    with serving(lambda command: ["O48690a", "T05thread:01;"] if command == "c" else []) as (gdb, _):
        gdb.resume()
        assert gdb.wait(timeout=2.0)


def test_tells_a_program_that_runs_on() -> None:
    with serving(lambda command: []) as (gdb, server):
        gdb.resume()
        start = time.monotonic()
        assert not gdb.wait(timeout=0.05)
        assert time.monotonic() - start < 1.5
        gdb.interrupt()
    assert server.interrupts == 1


def test_a_program_that_ends() -> None:
    with serving(lambda command: ["W03"]) as (gdb, _):
        gdb.resume()
        with pytest.raises(TargetError, match="ended with status 3"):
            gdb.wait(timeout=2.0)


def test_monitor_collects_its_output() -> None:
    with serving(lambda command: ["O" + b"count ".hex(), "O" + b"= 7\n".hex(), "OK"]) as (gdb, server):
        assert gdb.monitor("info replay") == "count = 7\n"
    assert bytes.fromhex(server.commands[0].removeprefix("qRcmd,")) == b"info replay"


def test_monitor_without_a_command_line() -> None:
    with serving(lambda command: [""]) as (gdb, _):
        assert gdb.monitor("info replay") == ""


@pytest.mark.parametrize("reply", ["E14", ""])
def test_refusals_say_what_was_refused(reply: str) -> None:
    with serving(lambda command: [reply]) as (gdb, _):
        with pytest.raises(TargetError, match="refuses reading memory"):
            gdb.read_memory(0x60000000, 4)
        with pytest.raises(TargetError, match="refuses setting a breakpoint"):
            gdb.set_breakpoint(0)


def test_a_server_that_dies() -> None:
    with (
        serving(lambda command: None) as (gdb, _),
        pytest.raises(ConnectionLostError, match="broke"),
    ):
        gdb.read_register(0)


def test_a_server_that_is_silent() -> None:
    server = Server(lambda command: [])
    server.start()
    gdb = GdbRemote(server.client, reply_timeout=0.1)
    with gdb, pytest.raises(TargetError, match="does not answer"):
        gdb.read_register(0)
    server.join(2.0)


def test_damaged_and_escaped_packets() -> None:
    here, there = socket.socketpair()
    there.sendall(packet("") + b"+$78563412#00" + packet("785634}\x11" + "2"))
    with GdbRemote(here, reply_timeout=2.0) as gdb:
        # The first has a wrong checksum; in the second '}' escapes a '1'.
        assert gdb.read_register(0) == 0x12345678
    with there:
        assert b"-+" in there.recv(4096)


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLostError, match="no GDB server answers"):
        GdbRemote.connect(tmp_path / "none", timeout=0.05)


def test_connects_by_tcp() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def greet() -> None:
        accepted.append(server.accept()[0])
        accepted[0].sendall(packet(""))

    thread = threading.Thread(target=greet, daemon=True)
    thread.start()
    GdbRemote.connect(("127.0.0.1", server.getsockname()[1])).close()
    thread.join(2.0)
    for connection in (*accepted, server):
        connection.close()


def test_a_server_that_announces_the_end_and_goes() -> None:
    here, there = socket.socketpair()
    there.sendall(packet(""))
    gdb = GdbRemote(here, reply_timeout=2.0)
    with there:
        there.sendall(packet("W05"))
    with gdb, pytest.raises(ProgramEndedError, match="status 5"):
        gdb.wait(timeout=2.0)
