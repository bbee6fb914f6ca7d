"""Largest and smallest elements, where TVM's own forget that infinities are numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import tvm
from tvm import te, tirx


def _reduction(largest: bool) -> Callable[[Any, Any], Any]:
    def legalize(builder: Any, call: Any) -> Any:
        axes = None if call.attrs.axis is None else [int(a) for a in call.attrs.axis]
        keep = bool(call.attrs.keepdims)
        return builder.call_te(_compute, call.args[0], axes, keep, largest, primfunc_name_hint="reduce")

    return legalize


def _compute(data: Any, axes: list[int] | None, keep: bool, largest: bool) -> Any:
    rank = len(data.shape)
    over = sorted(a % rank for a in axes) if axes is not None else list(range(rank))
    kept = [a for a in range(rank) if a not in over]
    loops = [te.reduce_axis((0, data.shape[a]), name=f"k{a}") for a in over]
    reduce = te.comm_reducer(
        lambda a, b: tirx.Max(a, b) if largest else tirx.Min(a, b), lambda dtype: _neutral(dtype, largest)
    )

    def element(*places: Any) -> Any:
        own = iter(places[a] for a in kept) if keep else iter(places)
        inner = iter(loops)
        return reduce(data(*(next(inner) if a in over else next(own) for a in range(rank))), axis=loops)

    shape = [data.shape[a] if a in kept else 1 for a in range(rank) if keep or a in kept]
    return te.compute(shape, element, name="largest" if largest else "smallest")


def _neutral(dtype: str, largest: bool) -> Any:
    if str(dtype).startswith("float"):
        return tirx.const(float("-inf" if largest else "inf"), dtype)
    return tvm.tirx.min_value(dtype) if largest else tvm.tirx.max_value(dtype)


LEGALIZERS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"relax.max": _reduction(largest=True), "relax.min": _reduction(largest=False)}
)
"""How `relax.max` and `relax.min` become TIR."""
