"""Cycles of a Cortex-M4 for instructions that were counted: a model, not a measurement.

Timings of Arm's Cortex-M4 Technical Reference Manual (chapters "Instruction set summary" and "Floating
Point Unit"), with memory that answers without wait states. Where the manual gives a range, a middle value is
taken: 2 cycles to refill the pipeline, 7 for a division. Penalties of unaligned accesses are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import capstone
from capstone import arm

from benchmarks.qemu_trace import Executed, Trace
from tvm_tool.image.elf import Image

REFILL = 2
"""Cycles to refill the pipeline after a jump; the manual says 1 to 3."""

_LOADS = {arm.ARM_INS_LDR, arm.ARM_INS_LDRB, arm.ARM_INS_LDRH, arm.ARM_INS_LDRSB, arm.ARM_INS_LDRSH}
_STORES = {arm.ARM_INS_STR, arm.ARM_INS_STRB, arm.ARM_INS_STRH}
_DOUBLES = {arm.ARM_INS_LDRD, arm.ARM_INS_STRD}
_MULTIPLES = {arm.ARM_INS_LDM, arm.ARM_INS_LDMDB, arm.ARM_INS_STM, arm.ARM_INS_STMDB}
_STACK = {arm.ARM_INS_PUSH, arm.ARM_INS_POP}
_VECTOR_MULTIPLES = {arm.ARM_INS_VLDMIA, arm.ARM_INS_VLDMDB, arm.ARM_INS_VSTMIA, arm.ARM_INS_VSTMDB}
_VECTOR_STACK = {arm.ARM_INS_VPUSH, arm.ARM_INS_VPOP}
_VECTOR_SINGLES = {arm.ARM_INS_VLDR, arm.ARM_INS_VSTR}
_CALLS = {arm.ARM_INS_BL, arm.ARM_INS_BLX, arm.ARM_INS_BX}
_BRANCHES = {arm.ARM_INS_B, arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ}
_TABLES = {arm.ARM_INS_TBB, arm.ARM_INS_TBH}
_MOVES = {arm.ARM_INS_VMOV, arm.ARM_INS_VMRS, arm.ARM_INS_VMSR}
_FIXED: Mapping[int, int] = {
    **dict.fromkeys((arm.ARM_INS_SDIV, arm.ARM_INS_UDIV), 7),
    **dict.fromkeys((arm.ARM_INS_VDIV, arm.ARM_INS_VSQRT), 14),
    **dict.fromkeys((arm.ARM_INS_VMLA, arm.ARM_INS_VMLS, arm.ARM_INS_VNMLA, arm.ARM_INS_VNMLS), 3),
    **dict.fromkeys((arm.ARM_INS_VFMA, arm.ARM_INS_VFMS, arm.ARM_INS_VFNMA, arm.ARM_INS_VFNMS), 3),
}


def cycles(image: Image, trace: Trace) -> int:
    """Modelled cycles of what was executed."""
    spent = 0
    before: tuple[capstone.CsInsn, Executed] | None = None
    for address in sorted(trace):
        executed, instruction = trace[address], _decode(image, address)
        follows = before is not None and before[0].address + before[0].size == address
        spent += _cycles(instruction, executed, before if follows else None)
        before = instruction, executed
    return spent


def _cycles(
    instruction: capstone.CsInsn, executed: Executed, before: tuple[capstone.CsInsn, Executed] | None
) -> int:
    kind, count = instruction.id, executed.count
    jumps = instruction.reg_name(instruction.operands[0].reg) == "pc" if instruction.operands else False
    if kind in _LOADS and jumps:
        return count * (3 + REFILL)
    if kind in _LOADS:
        return 2 * count - _pipelined(instruction, count, before)
    if kind in _STORES:
        # A store waits in a buffer; only adding up its address takes a cycle of its own.
        adds = any(o.type == arm.ARM_OP_MEM and o.mem.index for o in instruction.operands)
        return 2 * count - _pipelined(instruction, count, before) if adds else count
    if kind in _DOUBLES:
        return 3 * count
    if kind in _MULTIPLES or kind in _STACK:
        registers = [o.reg for o in instruction.operands[0 if kind in _STACK else 1 :]]
        refills = REFILL * executed.left if arm.ARM_REG_PC in registers else 0
        return count * (1 + len(registers)) + refills
    if kind in _VECTOR_MULTIPLES or kind in _VECTOR_STACK:
        registers = instruction.operands[0 if kind in _VECTOR_STACK else 1 :]
        return count * (1 + sum(_words(instruction, o.reg) for o in registers))
    if kind in _VECTOR_SINGLES:
        return count * (1 + _words(instruction, instruction.operands[0].reg))
    if kind in _CALLS:
        return count * (1 + REFILL)
    if kind in _BRANCHES:
        return count + REFILL * executed.left
    if kind in _TABLES:
        return count * (2 + 2 * REFILL)
    if jumps and executed.left:
        return count * (1 + REFILL)
    if kind in _MOVES:
        return count * (2 if len(instruction.operands) >= 3 else 1) + _stalled(instruction, count, before)
    return count * _FIXED.get(kind, 1) + _stalled(instruction, count, before)


def _pipelined(
    instruction: capstone.CsInsn, count: int, before: tuple[capstone.CsInsn, Executed] | None
) -> int:
    """How often the address was computed while the load before was still waiting for its data."""
    if before is None or before[0].id not in _LOADS:
        return 0
    loaded = before[0].operands[0].reg
    memory = [o.mem for o in instruction.operands if o.type == arm.ARM_OP_MEM]
    if loaded == arm.ARM_REG_PC or any(loaded in (m.base, m.index) for m in memory):
        return 0
    return min(count, before[1].count)


def _stalled(
    instruction: capstone.CsInsn, count: int, before: tuple[capstone.CsInsn, Executed] | None
) -> int:
    """How often floating point waited a cycle for the result of the instruction before."""
    if before is None or not _is_vector(instruction) or not _is_vector(before[0]) or before[0].id in _MOVES:
        return 0
    if before[0].id in _VECTOR_SINGLES | _VECTOR_MULTIPLES | _VECTOR_STACK:
        return 0
    (read, _), (_, written) = instruction.regs_access(), before[0].regs_access()
    return min(count, before[1].count) if set(read) & set(written) - {arm.ARM_REG_FPSCR} else 0


def _is_vector(instruction: capstone.CsInsn) -> bool:
    return bool(instruction.mnemonic.startswith("v"))


def _words(instruction: capstone.CsInsn, register: int) -> int:
    return 2 if instruction.reg_name(register).startswith("d") else 1


@cache
def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    return decoder


def _decode(image: Image, address: int) -> capstone.CsInsn:
    code = image.read(address, 4) or image.read(address, 2)
    found = next(_decoder().disasm(code, address, 1), None) if code else None
    if found is None:
        raise ValueError(f"{image.path}: there is no instruction at {address:#x}")
    return found
