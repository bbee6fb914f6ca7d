"""Loops of one TIR function: producers join their consumers, accumulators become scalars."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import tvm
from tvm import s_tir, tirx

from .walk import collect

_SLOW_CALLS = frozenset(
    "tirx." + name
    for name in "exp exp2 exp10 log log2 log10 log1p tanh sigmoid erf pow sqrt rsqrt sin cos tan sinh cosh "
    "asin acos atan asinh acosh atanh atan2 fmod".split()
)


class Scheduler:
    """Reschedules one function, step by step; what a step cannot do it leaves."""

    def __init__(self, function: Any) -> None:
        self.sch = s_tir.Schedule(function)
        self.root = self.sch.get_sblock("root")

    def run(self) -> Any:
        self._inline()
        self._accumulate_in_registers()
        for name in reversed(self._names()):
            self._join_consumer(name)
        for name in self._names():
            self._flatten(name)
        return self.sch.mod["main"]

    def _names(self) -> list[str]:
        return [self.sch.get(b).name_hint for b in self.sch.get_child_blocks(self.root)]

    def _reductions(self, block: Any) -> int:
        return sum(int(iv.iter_type) == 2 for iv in self.sch.get(block).iter_vars)

    def _is_slow(self, block: Any) -> bool:
        body = self.sch.get(block).body
        if any(getattr(c.op, "name", "") in _SLOW_CALLS for c in collect(body, tvm.ir.Call)):
            return True
        return any(str(d.ty.dtype).startswith("float") for d in collect(body, tirx.Div))

    def _inline(self) -> None:
        for name in self._names():
            block = self.sch.get_sblock(name)
            consumers = self.sch.get_consumers(block)
            if self._reductions(block) or not consumers:
                continue
            # Inlining something slow into a loop that reads it again and again would repeat it.
            if self._is_slow(block) and (len(consumers) > 1 or self._rereads(block, consumers[0])):
                continue
            with contextlib.suppress(s_tir.ScheduleError):
                self.sch.compute_inline(block)

    def _rereads(self, block: Any, consumer: Any) -> bool:
        produced = int(np.prod([int(d) for d in self.sch.get(block).writes[0].source.shape]))
        steps = int(np.prod([int(iv.dom.extent) for iv in self.sch.get(consumer).iter_vars]))
        return steps > produced

    def _accumulate_in_registers(self) -> None:
        for name in self._names():
            block = self.sch.get_sblock(name)
            if self._reductions(block) and not self.sch.get_consumers(block):
                with contextlib.suppress(s_tir.ScheduleError):
                    self.sch.cache_write(block, 0, "global")

    def _join_consumer(self, name: str) -> None:
        sch, block = self.sch, self.sch.get_sblock(name)
        consumers = sch.get_consumers(block)
        depth = None
        if len(consumers) == 1 and not self._reductions(consumers[0]):
            depth = self._join(block, consumers[0])
        reductions = self._reductions(block)
        if reductions:
            loops = sch.get_loops(block)
            first = len(loops) - reductions if depth is None else depth
            if first < len(loops):
                with contextlib.suppress(s_tir.ScheduleError):
                    sch.decompose_reduction(block, loops[first])

    def _join(self, block: Any, consumer: Any) -> int | None:
        """Compute `block` in the consumer's loops, no deeper than the consumer needs new values."""
        sch = self.sch
        loops = sch.get_loops(consumer)
        iters = sch.get(consumer).iter_vars
        if len(loops) != len(iters):
            return None
        written = sch.get(block).writes[0].source
        loads = collect(sch.get(consumer).body, tvm.ir.TensorLoad)
        if len({str(load.indices) for load in loads if load.source.same_as(written)}) > 1:
            return None  # TVM would compute the values of one of the places alone
        read = [r for r in sch.get(consumer).reads if r.source.same_as(written)]
        used: set[int] = set()
        for region in read:
            for var in collect(region.region, tvm.ir.Var):
                used |= {i for i, iv in enumerate(iters) if iv.var.same_as(var)}
        if not used:
            return None
        order = [loops[i] for i in sorted(used)]
        rest = [loop for i, loop in enumerate(loops) if i not in used]
        try:
            if rest and max(used) > min(i for i in range(len(loops)) if i not in used):
                sch.reorder(*order, *rest)
            sch.compute_at(block, order[-1])
        except s_tir.ScheduleError:
            return None
        return len(order)

    def _flatten(self, name: str) -> None:
        """One loop over everything where each access is at the loop's own place."""
        block = self.sch.get_sblock(name)
        loops = self.sch.get_loops(block)
        info = self.sch.get(block)
        if self._reductions(block) or len(loops) < 2 or len(loops) != len(info.iter_vars):
            return
        if len(self.sch.get_child_blocks(loops[0])) != 1:
            return
        shape = [int(iv.dom.extent) for iv in info.iter_vars]
        for region in [*info.reads, *info.writes]:
            if [int(d) for d in region.source.shape] != shape:
                return
            for dim, iv in zip(region.region, info.iter_vars, strict=True):
                if not dim.min.same_as(iv.var):
                    return
        with contextlib.suppress(s_tir.ScheduleError):
            self.sch.fuse(*loops)
