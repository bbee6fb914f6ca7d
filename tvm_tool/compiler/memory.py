"""Where tensors and scratch live: one workspace, offsets fixed at compile time.

Buffers whose lifetimes overlap must not overlap in memory; the goal is the smallest workspace.
Placing buffers one by one at the lowest free offset is good or bad by the order alone, so several
orders are tried and the best is improved by moving single buffers in it; the search stops at the
lower bound. (Offset assignment by size: Pisarchyk and Lee, "Efficient Memory Management for Deep
Neural Net Inference", 2020.)

States, which keep their values between two runs, stand at the head of the workspace, where nothing else
ever is.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .program import CONSTANT, INPUT, INTERMEDIATE, OUTPUT, STATE, Buffer, MemoryPlan, Program

ALIGN = 4
SCRATCH_ALIGN = 16
READY_BYTES = 4
"""The word at the head of a workspace with states; it says that they are set."""
MOVES, MOVE_WORK = 2000, 2_000_000
"""How many improvements of the best order are tried, and how many pairs of buffers they may look at."""


@dataclass(frozen=True)
class Item:
    """Something to place: `bytes` at a multiple of `align`, alive from `first` to `last`.

    At `last` it takes `grown` bytes, if that is more.
    """

    bytes: int
    first: int
    last: int
    align: int = ALIGN
    grown: int = 0

    def at(self, time: int) -> int:
        """Bytes in use at `time`."""
        return 0 if not self.first <= time <= self.last else max(self.bytes, self.grown * (time == self.last))

    def beside(self, other: Item) -> int:
        """The most bytes in use while `other` is alive too."""
        return max(self.bytes, self.grown if other.first <= self.last <= other.last else 0)


Neighbours = Sequence[Sequence[tuple[int, int, int]]]
"""For each item those that are alive with it at some time: index, most bytes of it then, and of the item."""


def neighbours_of(items: Sequence[Item]) -> Neighbours:
    """Who must not overlap whom."""
    return [
        [
            (other, items[other].beside(item), item.beside(items[other]))
            for other in range(len(items))
            if other != index and items[other].first <= item.last and item.first <= items[other].last
        ]
        for index, item in enumerate(items)
    ]


def place(items: Sequence[Item], neighbours: Neighbours, order: Iterable[int]) -> tuple[list[int], int]:
    """Put `items` one after another, in `order`, at the lowest offset that is free.

    Returns:
        Offsets by item, and the bytes needed for all.
    """
    offsets = [-1] * len(items)
    top = 0
    for index in order:
        align = items[index].align
        taken = sorted(
            (offsets[other], offsets[other] + size, own)
            for other, size, own in neighbours[index]
            if offsets[other] >= 0
        )
        offset, start = 0, -1
        # Behind a neighbour it may meet one that it passed before, if it has other bytes beside that.
        while offset != start:
            start = offset
            for low, high, own in taken:
                if offset < high and low - offset < own:
                    offset = _up(high, align)
        offsets[index] = offset
        top = max(top, offset + max(items[index].bytes, items[index].grown))
    return offsets, top


def lower_bound(items: Sequence[Item]) -> int:
    """The most bytes alive at one time."""
    times = {item.first for item in items} | {item.last for item in items if item.grown}
    return max((sum(i.at(t) for i in items) for t in times), default=0)


def best_placement(items: Sequence[Item]) -> tuple[list[int], int]:
    """The smallest placement found; ends early at the lower bound."""
    bound = lower_bound(items)
    neighbours = neighbours_of(items)
    indices = range(len(items))

    def span(i: int) -> int:
        return items[i].last - items[i].first + 1

    orders = [
        sorted(indices, key=lambda i: (-items[i].bytes, items[i].first, i)),
        sorted(indices, key=lambda i: (-items[i].bytes * span(i), i)),
        sorted(indices, key=lambda i: (-span(i), -items[i].bytes, i)),
        sorted(indices, key=lambda i: (items[i].first, -items[i].bytes, i)),
        sorted(indices, key=lambda i: (-items[i].last, -items[i].bytes, i)),
        _by_breadth(items),
    ]
    best: tuple[list[int], int] | None = None
    best_order = orders[0]
    for order in orders:
        found = place(items, neighbours, order)
        if best is None or found[1] < best[1]:
            best, best_order = found, order
    assert best is not None
    # Seeded, so that the same model always gets the same plan.
    rng = random.Random(0)
    for _ in range(min(MOVES, MOVE_WORK // max(1, len(items) ** 2))):
        if best[1] <= bound:
            break
        order = list(best_order)
        order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
        found = place(items, neighbours, order)
        if found[1] <= best[1]:
            best, best_order = found, order
    return best


def _by_breadth(items: Sequence[Item]) -> list[int]:
    """Buffers of the call that needs most bytes first, each call's largest first."""
    times = sorted({item.first for item in items})

    def load(t: int) -> int:
        return sum(i.at(t) for i in items)

    order: list[int] = []
    for time in sorted(times, key=lambda t: (-load(t), t)):
        alive = [i for i, item in enumerate(items) if item.first <= time <= item.last]
        order += [i for i in sorted(alive, key=lambda i: (-items[i].bytes, i)) if i not in order]
    return order


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def plan_memory(program: Program, workspace_io: bool) -> MemoryPlan:
    """Plan the workspace of `program`.

    Args:
        workspace_io: whether inputs and outputs live in the workspace; the caller's memory otherwise.
    """
    states, state_bytes = _place_states(program)
    base = _up(state_bytes, SCRATCH_ALIGN)
    lives = _lifetimes(program, workspace_io)
    owner = _share_in_place(program, lives)
    overlaid = _overlaid(program, lives, owner)
    items: list[Item] = []
    names: list[str] = []
    groups: list[list[int]] = []
    for tensor in sorted(lives):
        if owner[tensor] != tensor:
            continue
        members = [t for t in sorted(lives) if owner[t] == tensor]
        first = min(lives[t][0] for t in members)
        last = max(lives[t][1] for t in members)
        grown = sum(program.calls[call].scratch[0] for call, over in overlaid.items() if over == tensor)
        align = SCRATCH_ALIGN if grown else _align(program, tensor)
        items.append(Item(program.tensors[tensor].bytes, first, last, align, grown))
        names.append(program.tensors[tensor].name)
        groups.append(members)
    scratch: list[tuple[int, int]] = []
    for call in program.calls:
        for position, size in enumerate(call.scratch if call.index not in overlaid else ()):
            items.append(Item(size, call.index, call.index, SCRATCH_ALIGN))
            names.append(f"scratch of layer {call.index}")
            scratch.append((call.index, position))
    offsets, top = best_placement(items) if items else ([], 0)
    offsets = [base + offset for offset in offsets]
    tensor_offsets = states | {t: offsets[i] for i, members in enumerate(groups) for t in members}
    scratch_offsets = {key: offsets[len(groups) + i] for i, key in enumerate(scratch)}
    scratch_offsets |= {(call, 0): tensor_offsets[over] for call, over in overlaid.items()}
    end = len(program.calls) - 1
    kept = [(program.tensors[index], offset) for index, offset in states.items()]
    buffers = tuple(Buffer(t.name, offset, t.bytes, 0, end) for t, offset in kept) + tuple(
        Buffer(names[i], offsets[i], item.bytes, item.first, item.last) for i, item in enumerate(items)
    )
    buffers += tuple(
        Buffer(f"scratch of layer {i.last}", offset + i.bytes, i.grown - i.bytes, i.last, i.last)
        for i, offset in zip(items, offsets, strict=True)
        if i.grown > i.bytes
    )
    return MemoryPlan(
        tensor_offsets,
        scratch_offsets,
        buffers,
        bytes=base + top if items else state_bytes,
        lower_bound=base + lower_bound(items) if items else state_bytes,
        state_bytes=state_bytes,
    )


def with_room(program: Program, plan: MemoryPlan) -> set[int | None]:
    """Layers that could have more scratch within `plan`: one at a time, each would fit."""
    found = set()
    last = {index: call.index for call in program.calls for index in call.inputs}
    for call in program.calls:
        if call.roomy:
            alive = sum(b.bytes for b in plan.buffers if b.first <= call.index <= b.last)
            source = program.tensors[call.inputs[0]]
            dies = source.role == INTERMEDIATE and last[source.index] == call.index
            over = source.bytes if dies else 0
            if alive + max(0, call.roomy - over) <= plan.bytes:
                found.add(call.entry)
    return found


def _place_states(program: Program) -> tuple[dict[int, int], int]:
    """Offsets of the states by tensor index, and where they end, a multiple of 4."""
    offsets: dict[int, int] = {}
    top = READY_BYTES if program.states else 0
    for state in program.states:
        offsets[state.tensor] = top = _up(top, _align(program, state.tensor))
        top += program.tensors[state.tensor].bytes
    return offsets, _up(top, READY_BYTES)


def _align(program: Program, tensor: int) -> int:
    if program.tensors[tensor].role in (INPUT, OUTPUT):
        return SCRATCH_ALIGN
    return 8 if program.tensors[tensor].dtype in ("int64", "uint64", "float64") else ALIGN


def _lifetimes(program: Program, workspace_io: bool) -> dict[int, tuple[int, int]]:
    """First and last call that touch each tensor of the workspace."""
    end = len(program.calls) - 1
    outside = {CONSTANT, STATE} if workspace_io else {CONSTANT, STATE, INPUT, OUTPUT}
    lives: dict[int, tuple[int, int]] = {}
    for call in program.calls:
        for index in (*call.inputs, *call.outputs):
            if program.tensors[index].role not in outside:
                first, _ = lives.get(index, (call.index, call.index))
                lives[index] = (first, call.index)
    if workspace_io:
        for index in program.inputs:
            lives[index] = (0, lives.get(index, (0, 0))[1])
        for index in program.outputs:
            lives[index] = (lives.get(index, (end, end))[0], end)
    return lives


def _share_in_place(program: Program, lives: dict[int, tuple[int, int]]) -> dict[int, int]:
    """Let an output take the memory of an input that dies in the same call. Returns owners.

    A smaller output keeps all of that memory, so it takes it only if fewer bytes are then in use at the worst
    time of its life.
    """
    owner = {index: index for index in lives}
    candidates = [(call, call.inputs[p], call.outputs[0]) for call in program.calls for p in call.in_place]
    for smaller in (False, True):
        for call, source, result in candidates:
            if source not in lives or result not in lives or owner[result] != result:
                continue
            # With inputs in the workspace the caller may want to run again on the same input.
            dies = lives[source][1] == call.index and program.tensors[source].role != INPUT
            once = call.inputs.count(source) == 1
            larger = program.tensors[owner[source]].bytes - program.tensors[result].bytes
            fits = program.tensors[source].bytes >= program.tensors[result].bytes
            if not dies or not once or not fits or (larger > 0) != smaller:
                continue
            shared = {t: owner[source] if o == result else o for t, o in owner.items()}
            life = range(call.index, max(lives[t][1] for t, o in owner.items() if o == result) + 1)
            if not smaller or _most(program, lives, shared, life) < _most(program, lives, owner, life):
                owner = shared
    return owner


def _overlaid(program: Program, lives: dict[int, tuple[int, int]], owner: dict[int, int]) -> dict[int, int]:
    """The owner of the memory in which the scratch of a call begins, by call: what lies there dies then."""
    found = {}
    for call in program.calls:
        if not call.over_input or not call.scratch:
            continue
        over = owner.get(call.inputs[0])
        if over is None or program.tensors[call.inputs[0]].role != INTERMEDIATE:
            continue
        last = max(lives[t][1] for t, o in owner.items() if o == over)
        if last == call.index and owner.get(call.outputs[0]) != over:
            found[call.index] = over
    return found


def _most(program: Program, lives: dict[int, tuple[int, int]], owner: dict[int, int], calls: range) -> int:
    """The most bytes in use in one of `calls`, scratch included."""
    return max(
        sum(program.calls[time].scratch)
        + sum(
            program.tensors[index].bytes
            for index in {owner[t] for t, (first, last) in lives.items() if first <= time <= last}
        )
        for time in calls
    )
