"""The state machine of a handle against a model of it, by random sequences of calls."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "tvm_tool" / "runtime"
DATA = ROOT / "tests" / "firmware" / "data_target"

OK, EINVAL, ESIZE, ESTATE, EIO, EBUSY = 0, -1, -3, -5, -6, -7
IDLE, READY, DONE = 0, 1, 3
FAILS = 99

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def load_library() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libruntime.so"
        sources = [RUNTIME / "tvm_aot.c", RUNTIME / "tvm_platform.c", DATA / "pair.c", DATA / "hooks.c"]
        flags = ["-shared", "-fPIC", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
        command = ["gcc", *flags, f"-I{RUNTIME}", *map(str, sources), "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


class Input:
    """What is known of one input: its values (None while missing) and where a transfer stands."""

    def __init__(self) -> None:
        self.values: list[int] | None = None
        self.pending = False
        self.failed = False


class Handles(RuleBasedStateMachine):
    """Two handles of the model `pair` (sum = left + right; a run uses up `left`)."""

    library: Any = None

    def __init__(self) -> None:
        super().__init__()
        if Handles.library is None:
            Handles.library = load_library()
        self.c = Handles.library
        self.model = ctypes.c_char.in_dll(self.c, "tvmgen_pair_model")
        self.handles = [ctypes.create_string_buffer(64) for _ in range(2)]
        self.space = [ctypes.create_string_buffer(64 + 16) for _ in range(2)]
        self.memory = [(ctypes.addressof(s) + 15) & ~15 for s in self.space]
        self.created = [False, False]
        self.inputs = [[Input(), Input()] for _ in range(2)]
        self.sums: list[list[int] | None] = [None, None]

    which = st.integers(0, 1)
    index = st.integers(0, 2)
    values = st.lists(st.one_of(st.just(FAILS), st.integers(-128, 127)), min_size=3, max_size=3)

    def reset(self, h: int) -> None:
        self.inputs[h] = [Input(), Input()]
        self.sums[h] = None

    def pending(self, h: int) -> bool:
        return any(i.pending for i in self.inputs[h])

    def refusal(self, h: int, index: int) -> int:
        if not self.created[h] or index > 1:
            return EINVAL
        return EBUSY if self.inputs[h][index].pending else OK

    def given(self, h: int, index: int, values: list[int] | None, pending: bool = False) -> None:
        entry = self.inputs[h][index]
        entry.values, entry.pending, entry.failed = values, pending, False
        self.sums[h] = None

    @rule(h=which, size=st.sampled_from([64, 80, 63]), offset=st.sampled_from([0, 0, 0, 4]))
    def create(self, h: int, size: int, offset: int) -> None:
        if self.pending(h):
            return  # the caller's duty: the memory still belongs to a transfer
        address = ctypes.c_void_p(self.memory[h] + offset)
        status = self.c.tvm_aot_create(self.handles[h], ctypes.byref(self.model), address, size)
        assert status == (-2 if offset else ESIZE if size < 64 else OK)
        self.created[h] = status == OK
        self.reset(h)

    @rule(h=which, index=index, values=values, size=st.sampled_from([3, 3, 3, 2, 4]))
    def set_input(self, h: int, index: int, values: list[int], size: int) -> None:
        data = (ctypes.c_int8 * 4)(*values)
        status = self.c.tvm_aot_set_input(self.handles[h], index, data, size)
        expected = self.refusal(h, index)
        if expected == OK and size != 3:
            expected = ESIZE
        assert status == expected
        if status == OK:
            self.given(h, index, values)

    @rule(h=which, index=index, values=values)
    def through_pointer(self, h: int, index: int, values: list[int]) -> None:
        place = ctypes.c_void_p()
        status = self.c.tvm_aot_get_input_ptr(self.handles[h], index, ctypes.byref(place))
        assert status == self.refusal(h, index)
        if status == OK:
            assert place.value == self.memory[h] + 16 + 16 * index
            ctypes.memmove(place, (ctypes.c_int8 * 3)(*values), 3)
            self.given(h, index, values)

    @rule(h=which, index=index)
    def request(self, h: int, index: int) -> None:
        status = self.c.tvm_aot_request_input(self.handles[h], index)
        assert status == self.refusal(h, index)
        if status == OK:
            self.given(h, index, None, pending=True)

    @rule(h=which, index=index, values=values, status=st.sampled_from([OK, OK, EIO, 5]))
    def transfer_ends(self, h: int, index: int, values: list[int], status: int) -> None:
        if not self.created[h]:
            expected = EINVAL
        elif index > 1 or not self.inputs[h][index].pending:
            expected = ESTATE
        else:
            expected = OK
            place = self.memory[h] + 16 + 16 * index
            ctypes.memmove(place, (ctypes.c_int8 * 3)(*values), 3)
        assert self.c.tvm_aot_input_done(self.handles[h], index, status) == expected
        if expected == OK:
            entry = self.inputs[h][index]
            entry.pending = False
            entry.failed = status != OK
            entry.values = values if status == OK else None

    @rule(h=which)
    def run(self, h: int) -> None:
        left, right = self.inputs[h]
        if not self.created[h]:
            expected = EINVAL
        elif self.pending(h):
            expected = EBUSY
        elif left.failed or right.failed:
            expected = EIO
        elif left.values is None or right.values is None:
            expected = ESTATE
        else:
            expected = EINVAL if left.values[0] == FAILS else OK
            self.sums[h] = None
            if expected == OK:
                self.sums[h] = [a + b for a, b in zip(left.values, right.values, strict=True)]
            left.values = None
        assert self.c.tvm_aot_run(self.handles[h]) == expected

    @rule(h=which, size=st.sampled_from([6, 6, 5]))
    def get_output(self, h: int, size: int) -> None:
        data = (ctypes.c_int16 * 3)()
        status = self.c.tvm_aot_get_output(self.handles[h], 0, data, size)
        if not self.created[h]:
            assert status == EINVAL
        elif self.sums[h] is None:
            assert status == ESTATE
        elif size != 6:
            assert status == ESIZE
        else:
            assert status == OK
            assert list(data) == self.sums[h]

    @rule(h=which, destroy=st.booleans())
    def start_afresh(self, h: int, destroy: bool) -> None:
        function = self.c.tvm_aot_destroy if destroy else self.c.tvm_aot_init
        expected = EBUSY if self.pending(h) else OK if self.created[h] else EINVAL
        assert function(self.handles[h]) == expected
        if expected == OK:
            self.created[h] = not destroy
            self.reset(h)

    @invariant()
    def state(self) -> None:
        for h in range(2):
            state = self.c.tvm_aot_state(self.handles[h])
            if not self.created[h]:
                assert state == EINVAL
            elif self.sums[h] is not None:
                assert state == DONE
            else:
                ready = all(i.values is not None and not i.pending for i in self.inputs[h])
                assert state == (READY if ready else IDLE)


Handles.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, database=None)
TestHandles = Handles.TestCase
