"""Each layer gets a kernel, and Winograd's products as far as flash may be spent on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from tests.numerics.q_layers import conv2d
from tests.numerics.test_kernels_dsp import SAME, plain
from tvm_tool.board import load_board
from tvm_tool.compiler.choose import BLOCK_BYTES, NOTHING, Spending, choose_kernels, spending_of
from tvm_tool.compiler.kernels.dsp_winograd import KERNEL
from tvm_tool.compiler.kernels.integer import drive_integer
from tvm_tool.compiler.layers import Driver, Need
from tvm_tool.compiler.quantized_layers import QLayer
from tvm_tool.errors import OptionError
from tvm_tool.options import ModelOptions, option_arguments, parse_options

DSP = Need("dsp", fpu=True)


def fast(size: int, depth: int) -> QLayer:
    """A convolution whose outputs have a fast form: not all random scales and limits have."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        layer = plain(rng, conv2d(rng, "tflm", (size, size, depth), depth, (3, 3), pads=SAME))
        if drive_integer(layer, DSP).kernel == "conv2d_rows_dsp":
            return layer
    raise AssertionError


@pytest.fixture(scope="module")
def layers() -> dict[int, QLayer]:
    """Half as large each and with four times the weights of the one before; the last one is too narrow."""
    return {2: fast(16, 8), 3: fast(8, 16), 7: fast(4, 32), 8: fast(3, 32)}


def taken(drivers: dict[int, Driver]) -> list[int]:
    return [index for index, driver in drivers.items() if driver.kernel == KERNEL]


def constants(drivers: Iterable[Driver]) -> int:
    return sum(array.nbytes for driver in drivers for array in driver.constants.values())


def test_nothing_is_spent_by_default(layers: dict[int, QLayer]) -> None:
    assert spending_of(ModelOptions("m"), load_board("stm32f412")) == NOTHING
    assert not taken(choose_kernels(layers, DSP))


def test_without_a_limit_all_that_can_take_it(layers: dict[int, QLayer]) -> None:
    assert taken(choose_kernels(layers, DSP, Spending(None))) == [2, 3, 7]


def test_what_saves_most_for_a_byte_comes_first(layers: dict[int, QLayer]) -> None:
    backwards = dict(reversed(layers.items()))
    before = constants(choose_kernels(layers, DSP).values())
    found = []
    for limit in (0, 1_500, 3_000, 6_000, 9_000, 18_000, 24_000, 40_000):
        drivers = choose_kernels(backwards, DSP, Spending(limit))
        assert constants(drivers.values()) + BLOCK_BYTES * len(taken(drivers)) <= before + limit
        if sorted(taken(drivers)) not in found:
            found.append(sorted(taken(drivers)))
    assert found == [[], [2], [2, 3], [2, 3, 7]]


def test_why_a_layer_goes_without(layers: dict[int, QLayer]) -> None:
    drivers = choose_kernels(layers, DSP, Spending(3_000))
    more = 3 * 3 * 16 * 16 * 5 // 3  # words of 16 bits, four of three
    left = 3_000 - BLOCK_BYTES - 3 * 3 * 8 * 8 * 5 // 3
    assert drivers[3].declined == f"Winograd adds {more + BLOCK_BYTES:,} bytes, {left:,} are left for it"
    assert not drivers[2].declined and not drivers[8].declined


def test_half_of_what_a_budget_leaves(layers: dict[int, QLayer]) -> None:
    model = constants(choose_kernels(layers, DSP).values())
    full = constants(choose_kernels(layers, DSP, Spending(None)).values()) - model + 3 * BLOCK_BYTES
    assert taken(choose_kernels(layers, DSP, Spending(budget=model + 2 * full))) == [2, 3, 7]
    assert taken(choose_kernels(layers, DSP, Spending(budget=model + 2 * full - 2))) == [2, 3]
    assert not taken(choose_kernels(layers, DSP, Spending(budget=model - 1)))


def test_only_for_speed_and_with_the_instructions(layers: dict[int, QLayer]) -> None:
    for need in (replace(DSP, optimize="size"), Need("armv7m"), Need("rv32"), Need()):
        assert not taken(choose_kernels(layers, need, Spending(None)))


def test_auto_asks_the_board() -> None:
    auto = parse_options("m.onnx", {"winograd": "auto"})
    board = load_board("stm32f412")
    assert spending_of(auto, board) == Spending(budget=board.budget["flash"])
    assert spending_of(replace(auto, weights=("ram",)), board) == Spending(budget=board.budget_of("ram"))
    assert spending_of(auto, None) == NOTHING


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (True, "true"), ("on", "true"), ("1", "true"), (False, "false"), ("Auto", "auto"),
        ("32K", "32768"), ("2 m", "2097152"), (4096, "4096"), ("100", "100"),
    ],
)  # fmt: skip
def test_what_the_option_takes(given: object, words: str) -> None:
    options = parse_options("m.onnx", {"winograd": given})
    assert options.winograd == words
    again = option_arguments(options)
    assert again == ["--name", "m"] + (["--winograd", words] if words != "false" else [])


@pytest.mark.parametrize("given", ["autp", "-4K", "1.5K", "32G", "", 0.5, "99999999999"])
def test_what_the_option_refuses(given: object) -> None:
    with pytest.raises(OptionError, match="true, false, auto or a size like 32K"):
        parse_options("m.onnx", {"winograd": given})
