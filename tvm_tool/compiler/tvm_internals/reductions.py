"""Largest and smallest elements and their places.

TVM's own forget that infinities are numbers, and find no place among elements that are all the least.
"""

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


def _place(largest: bool) -> Callable[[Any, Any], Any]:
    def legalize(builder: Any, call: Any) -> Any:
        axis, keep = int(call.attrs.axis) % len(call.args[0].ty.shape), bool(call.attrs.keepdims)
        return builder.call_te(
            _compute_place,
            call.args[0],
            axis,
            keep,
            largest,
            primfunc_name_hint="argmax" if largest else "argmin",
        )

    return legalize


def _compute_place(data: Any, axis: int, keep: bool, largest: bool) -> Any:
    """Of equal elements, the first."""
    loop = te.reduce_axis((0, data.shape[axis]), name=f"k{axis}")

    def better(a: Any, b: Any) -> tuple[Any, Any]:
        ahead = a[1] > b[1] if largest else a[1] < b[1]
        stays = tirx.any(ahead, tirx.all(a[1].equal(b[1]), a[0] < b[0]))
        return tirx.Select(stays, a[0], b[0]), tirx.Select(stays, a[1], b[1])

    reduce = te.comm_reducer(better, lambda place, dtype: (tirx.const(0, place), _neutral(dtype, largest)))

    def element(*places: Any) -> Any:
        inside = [*places[:axis], loop, *places[axis + 1 if keep else axis :]]
        return reduce((loop.astype("int64"), data(*inside)), axis=loop)

    shape = [1 if a == axis else size for a, size in enumerate(data.shape) if keep or a != axis]
    found = te.compute(shape, element, name="found")
    # te.compute wants a function, and looks at its parameters.
    return te.compute(shape, lambda *places: found[0](*places), name="place")  # noqa: PLW0108


LEGALIZERS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "relax.argmax": _place(largest=True),
        "relax.argmin": _place(largest=False),
        "relax.max": _reduction(largest=True),
        "relax.min": _reduction(largest=False),
    }
)
"""How these operators become TIR."""
