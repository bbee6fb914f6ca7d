"""The memory plan: nothing alive overlaps, and little is wasted."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_tool.compiler.memory import Item, best_placement, lower_bound, plan_memory
from tvm_tool.compiler.program import INPUT, INTERMEDIATE, OUTPUT, KernelCall, Program, Tensor

items = st.lists(
    st.builds(
        lambda size, first, length, align: Item(size, first, first + length, align),
        st.integers(1, 500),
        st.integers(0, 12),
        st.integers(0, 6),
        st.sampled_from([4, 8, 16]),
    ),
    min_size=1,
    max_size=24,
)


@given(items)
@settings(max_examples=200, deadline=None)
def test_nothing_alive_at_one_time_overlaps(found: list[Item]) -> None:
    offsets, top = best_placement(found)
    assert top == max(o + i.bytes for o, i in zip(offsets, found, strict=True))
    assert top >= lower_bound(found)
    for (a, x), (b, y) in itertools.combinations(zip(offsets, found, strict=True), 2):
        if x.first <= y.last and y.first <= x.last:
            assert a + x.bytes <= b or b + y.bytes <= a
    for offset, item in zip(offsets, found, strict=True):
        assert offset % item.align == 0


@given(items)
@settings(max_examples=30, deadline=None)
def test_the_same_items_get_the_same_places(found: list[Item]) -> None:
    assert best_placement(found) == best_placement(found)


def test_a_chain_needs_only_its_two_largest_neighbours() -> None:
    sizes = [100, 400, 300, 80, 200]
    chain = [Item(size, i, i + 1) for i, size in enumerate(sizes)]
    assert best_placement(chain)[1] == 700


def program(sizes: list[int], in_place: tuple[int, ...] = (), scratch: tuple[int, ...] = ()) -> Program:
    """A chain of calls: input, intermediates, output, all uint8."""
    roles = [INPUT, *[INTERMEDIATE] * (len(sizes) - 2), OUTPUT]
    tensors = tuple(
        Tensor(i, f"t{i}", "uint8", (size,), role)
        for i, (size, role) in enumerate(zip(sizes, roles, strict=True))
    )
    calls = tuple(
        KernelCall(i, "f", "", "", "", (i,), (i + 1,), scratch=scratch, in_place=in_place)
        for i in range(len(sizes) - 1)
    )
    return Program(tensors, calls, (), (0,), (len(sizes) - 1,))


def test_inputs_and_outputs_are_the_callers() -> None:
    plan = plan_memory(program([64, 32, 16, 64]), workspace_io=False)
    assert set(plan.tensors) == {1, 2}
    assert plan.bytes == plan.lower_bound == 48


def test_inputs_and_outputs_can_live_in_the_workspace() -> None:
    plan = plan_memory(program([64, 32, 16, 64]), workspace_io=True)
    assert set(plan.tensors) == {0, 1, 2, 3}
    assert plan.bytes == 96
    assert plan.tensors[0] % 16 == plan.tensors[3] % 16 == 0


def test_scratch_lives_for_its_call_alone() -> None:
    plan = plan_memory(program([64, 32, 16, 64], scratch=(100,)), workspace_io=False)
    assert plan.lower_bound == 148
    assert len(plan.scratch) == 3


def test_in_place_calls_share_one_buffer() -> None:
    plan = plan_memory(program([64, 32, 32, 32, 64], in_place=(0,)), workspace_io=False)
    assert plan.bytes == 32
    assert len({plan.tensors[t] for t in (1, 2, 3)}) == 1
