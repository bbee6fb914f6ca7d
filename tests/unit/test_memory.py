"""The memory plan: nothing alive overlaps, and little is wasted."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_tool.compiler.memory import READY_BYTES, Item, best_placement, lower_bound, plan_memory, with_room
from tvm_tool.compiler.program import INPUT, INTERMEDIATE, OUTPUT, STATE, KernelCall, Program, State, Tensor

items = st.lists(
    st.builds(
        lambda size, first, length, align, grown: Item(size, first, first + length, align, grown),
        st.integers(1, 500),
        st.integers(0, 12),
        st.integers(0, 6),
        st.sampled_from([4, 8, 16]),
        st.sampled_from([0, 0, 300, 900]),
    ),
    min_size=1,
    max_size=24,
)


@given(items)
@settings(max_examples=200, deadline=None)
def test_nothing_alive_at_one_time_overlaps(found: list[Item]) -> None:
    offsets, top = best_placement(found)
    assert top == max(o + max(i.bytes, i.grown) for o, i in zip(offsets, found, strict=True))
    assert top >= lower_bound(found)
    for (a, x), (b, y) in itertools.combinations(zip(offsets, found, strict=True), 2):
        for time in range(max(x.first, y.first), min(x.last, y.last) + 1):
            assert a + x.at(time) <= b or b + y.at(time) <= a
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


def test_a_smaller_output_takes_the_place_of_its_input() -> None:
    plan = plan_memory(program([64, 48, 32, 64], in_place=(0,)), workspace_io=False)
    assert plan.tensors[1] == plan.tensors[2]
    assert plan.bytes == 48


def test_a_smaller_output_leaves_a_place_that_is_needed() -> None:
    plan = plan_memory(program([64, 48, 8, 44, 64], in_place=(0,)), workspace_io=False)
    assert plan.bytes == 48 + 8


def expanding(sizes: list[int], scratch: int) -> Program:
    """A chain whose second call may have its scratch over its input."""
    chain = program(sizes)
    calls = list(chain.calls)
    calls[1] = replace(calls[1], scratch=(scratch,), over_input=True)
    return replace(chain, calls=tuple(calls))


def test_scratch_may_begin_where_an_input_dies() -> None:
    plan = plan_memory(expanding([640, 128, 8, 64], 256), workspace_io=False)
    assert plan.scratch[1, 0] == plan.tensors[1]
    assert plan.tensors[1] % 16 == 0
    assert plan.bytes == plan.lower_bound == 256 + 8
    assert sorted(b.bytes for b in plan.buffers if b.first <= 1 <= b.last) == [8, 128, 128]


def test_scratch_beside_an_input_that_lives_on() -> None:
    chain = expanding([640, 128, 8, 64], 256)
    calls = list(chain.calls)
    calls[2] = replace(calls[2], inputs=(2, 1))
    plan = plan_memory(replace(chain, calls=tuple(calls)), workspace_io=False)
    assert plan.scratch[1, 0] >= plan.tensors[1] + 128 or plan.scratch[1, 0] + 256 <= plan.tensors[1]
    assert plan.bytes >= 256 + 128 + 8


def test_scratch_beside_an_input_of_the_caller() -> None:
    chain = program([64, 32])
    calls = (replace(chain.calls[0], scratch=(128,), over_input=True),)
    assert plan_memory(replace(chain, calls=calls), workspace_io=True).bytes == 64 + 32 + 128


def test_more_scratch_where_the_plan_has_room() -> None:
    chain = program([640, 128, 128, 64, 640])
    calls = tuple(replace(c, roomy=2 * chain.tensors[c.inputs[0]].bytes, entry=c.index) for c in chain.calls)
    plan = plan_memory(chain, workspace_io=False)
    assert plan.bytes == 256
    # 128 and 1,280; 256 and 128; 256 (over 128) and 64; 128 (over 64)
    assert with_room(replace(chain, calls=calls), plan) == {3}
    larger = replace(chain, calls=(*calls[:2], replace(calls[2], roomy=192), calls[3]))
    assert with_room(larger, plan) == {2, 3}


@st.composite
def programs_with_states(draw: st.DrawFn) -> Program:
    """A chain with scratch, in which calls also read states and some write them in place."""
    sizes = draw(st.lists(st.integers(1, 60), min_size=3, max_size=8))
    kinds = draw(st.lists(st.sampled_from(["uint8", "float32", "int64"]), min_size=1, max_size=4))
    chain = program(sizes, in_place=(0,), scratch=(draw(st.integers(1, 50)),))
    first = len(chain.tensors)
    tensors = [
        Tensor(first + i, f"s{i}", kind, (draw(st.integers(1, 9)),), STATE) for i, kind in enumerate(kinds)
    ]
    calls = list(chain.calls)
    for tensor in tensors:
        reader = draw(st.integers(0, len(calls) - 1))
        calls[reader] = replace(calls[reader], inputs=(*calls[reader].inputs, tensor.index))
        writer = draw(st.integers(reader, len(calls) - 1))
        calls[writer] = replace(calls[writer], outputs=(*calls[writer].outputs, tensor.index))
    states = tuple(State(t.index) for t in tensors)
    return replace(chain, tensors=(*chain.tensors, *tensors), calls=tuple(calls), states=states)


@given(programs_with_states(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_nothing_ever_overlaps_a_state(found: Program, workspace_io: bool) -> None:
    plan = plan_memory(found, workspace_io)
    places = [(offset, found.tensors[index].bytes, index) for index, offset in plan.tensors.items()]
    places += [(offset, found.calls[call].scratch[0], -1) for (call, _), offset in plan.scratch.items()]
    for state in found.states:
        start = plan.tensors[state.tensor]
        end = start + found.tensors[state.tensor].bytes
        assert READY_BYTES <= start < end <= plan.state_bytes
        assert start % (8 if found.tensors[state.tensor].dtype == "int64" else 4) == 0
        for offset, size, index in places:
            assert index == state.tensor or offset + size <= start or end <= offset
    kept = {state.tensor for state in found.states}
    assert all(offset >= plan.state_bytes for offset, _, index in places if index not in kept)
    assert all(b.offset + b.bytes <= plan.bytes for b in plan.buffers)
    assert plan.lower_bound <= plan.bytes


def test_the_head_of_a_workspace_with_states_is_theirs() -> None:
    chain = program([64, 32, 16, 64])
    tensor = Tensor(4, "s", "float32", (5,), STATE)
    calls = tuple(replace(c, inputs=(*c.inputs, 4), outputs=(*c.outputs, 4)) for c in chain.calls)
    plan = plan_memory(
        replace(chain, tensors=(*chain.tensors, tensor), calls=calls, states=(State(4),)), workspace_io=False
    )
    assert (plan.tensors[4], plan.state_bytes) == (4, 24)
    assert min(plan.tensors[1], plan.tensors[2]) == 32
    assert plan.bytes == plan.lower_bound == 80


def test_without_states_there_is_no_head() -> None:
    plan = plan_memory(program([64, 32, 16, 64]), workspace_io=False)
    assert plan.state_bytes == 0
    assert min(plan.tensors.values()) == 0
