"""Which kernel computes each layer of a model.

Every layer takes the fastest kernel of the core that can compute it. Winograd's products also cost flash:
layers that could use them take them in the order of the instructions saved for each byte, as long as all
that they add stays within a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ..board import Board
from ..options import ModelOptions
from .kernels import drive
from .kernels.dsp_winograd import KERNEL as WINOGRAD
from .kernels.integer import drive_integer
from .layers import Driver, Layer, Need
from .quantized_layers import QConv2D, QLayer

BLOCK_BYTES = 1024
"""What a function of the kernel adds to an image, at most; layers of equal shape share one."""

Layers = Mapping[int, Layer | QLayer]
"""By index."""


@dataclass(frozen=True)
class Spending:
    """How much flash may be spent.

    Attributes:
        limit: bytes; None for as many as it takes.
        budget: if given, the limit is half of what the model's constants leave of so many bytes: the other
            half stays for the firmware.
    """

    limit: int | None = 0
    budget: int | None = None


NOTHING = Spending()


@dataclass(frozen=True)
class _Offer:
    """What Winograd's products would bring to one layer: instructions, for bytes of constants."""

    layer: int
    driver: Driver
    saved: float
    added: int


def spending_of(options: ModelOptions, board: Board | None) -> Spending:
    """What the option `winograd` allows on `board`."""
    if options.winograd == "auto":
        if board is None:
            return NOTHING
        region = options.weights[0] if options.weights else board.placement.weights
        return Spending(budget=board.budget_of(region))
    words = {"true": None, "false": 0}
    return Spending(words[options.winograd] if options.winograd in words else int(options.winograd))


def choose_kernels(
    layers: Layers, need: Need, spending: Spending = NOTHING, loose: Collection[int] = ()
) -> dict[int, Driver]:
    """How each of a model's `layers` is computed; the operand of those that are `loose` may lie anywhere."""
    drivers = {
        index: _drive(layer, replace(need, aligned=index not in loose)) for index, layer in layers.items()
    }
    if spending == NOTHING:
        return drivers
    limit = spending.limit
    if spending.budget is not None:
        limit = max(0, spending.budget - sum(map(_constants, drivers.values()))) // 2
    offers = [
        offer
        for index, layer in layers.items()
        if isinstance(layer, QConv2D) and (offer := _offer(index, layer, need, drivers[index])) is not None
    ]
    blocks: set[str] = set()
    spent = 0
    for offer in sorted(offers, key=lambda offer: (-offer.saved / offer.added, offer.layer)):
        new = set(offer.driver.blocks) - blocks
        added = offer.added + BLOCK_BYTES * len(new)
        if limit is not None and spent + added > limit:
            reason = f"Winograd adds {added:,} bytes, {limit - spent:,} are left for it"
            drivers[offer.layer] = replace(drivers[offer.layer], declined=reason)
            continue
        drivers[offer.layer] = offer.driver
        blocks |= new
        spent += added
    return drivers


def _offer(index: int, layer: QConv2D, need: Need, plain: Driver) -> _Offer | None:
    driver = _drive(layer, replace(need, winograd=True))
    if driver.kernel != WINOGRAD:
        return None
    return _Offer(index, driver, _saved(layer, driver.macs), max(1, _constants(driver) - _constants(plain)))


def _saved(layer: QConv2D, products: int) -> float:
    """Instructions: 14 steps for 16 products become 13 for 24, less what transforming the inputs takes."""
    channels, height, width, _ = layer.weights.shape
    return float(products * (14 / 16 - 13 / 24 - 10 / (channels * height * width)))


def _drive(layer: Layer | QLayer, need: Need) -> Driver:
    return drive_integer(layer, need) if isinstance(layer, QLayer) else drive(layer, need)


def _constants(driver: Driver) -> int:
    return sum(array.nbytes for array in driver.constants.values())
