"""One TIR function to C."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import PointerType, PrimType

from ..c_text import c_type
from .bits import BITS_FILE, BITS_FUNCTIONS
from .literals import float_as_call, floats_as_literals
from .schedule import Scheduler
from .target import OWN_MATH, register_lowerings, target
from .walk import hoist_scratch, in_place_inputs

RUNTIME_FILES = {
    **dict.fromkeys(OWN_MATH.values(), "tvm_math_f32.c"),
    **{f"tvm_{name}": BITS_FILE for name in BITS_FUNCTIONS},
}
"""Where the functions of the runtime are that a kernel may call."""

CALL = re.compile(r"\b([a-z_][a-z0-9_]*)\(")
C_WORDS = frozenset({"if", "for", "while", "sizeof", "switch", "return"})

_S, _T = s_tir.transform, tirx.transform
_LOWERING = (
    _S.CanonicalizeLoop(),
    _S.LowerInitBlock(),
    _S.PlanAndUpdateBufferAllocationLocation(),
    _S.ConvertBlocksToOpaque(),
    _S.CompactBufferAllocation(),
    _S.LowerMatchBuffer(),
    _T.StmtSimplify(),
    _S.LowerOpaqueBlock(),
    _T.FlattenBuffer(),
    _T.BF16ComputeLegalize(),
    _T.NarrowDataType(32),
    _NARROW_INDICES := _T.ForceNarrowIndexToInt32(),
    _S.LoopPartition(),
    _T.VectorizeLoop(False),
    _T.StorageRewrite(),
    _S.HoistIfThenElse(),
    _T.UnrollLoop(),
    _S.RenormalizeSplitPattern(),
    _T.StmtSimplify(),
    _T.RemoveNoOp(),
    _S.RewriteUnsafeSelect(),
    _T.CommonSubexprElim(),
)


@dataclass(frozen=True)
class CFunction:
    """One printed kernel.

    Attributes:
        name: C identifier.
        parameters: C declarations of its parameters, in order: inputs, outputs, scratch.
        body: statements between the braces, indented by four spaces.
        scratch: bytes of each scratch parameter.
        in_place: inputs that the last output may overwrite.
        libm: functions of libm that it calls.
        runtime: files of the runtime that it calls.
    """

    name: str
    parameters: tuple[str, ...]
    body: str
    scratch: tuple[int, ...]
    in_place: tuple[int, ...]
    libm: tuple[str, ...]
    runtime: tuple[str, ...]


def print_c(name: str, function: Any, outputs: int, plain: bool = False) -> CFunction:
    """Schedule, lower and print one TIR function.

    Args:
        name: C identifier to give it.
        function: a TIR PrimFunc over static buffers; the last `outputs` parameters are written.
        plain: keep the loops as they are.
    """
    register_lowerings()
    c = target()
    scheduled = (function if plain else Scheduler(function).run()).with_attr("global_symbol", name)
    with c:
        lowered = _lower(tvm.IRModule({name: scheduled.with_attr("target", c.with_host(c))}))[name]
    body, scratch_vars, scratch = hoist_scratch(lowered.body)
    inputs = len(lowered.params) - outputs
    in_place = in_place_inputs(body, lowered.params, inputs) if outputs == 1 else ()
    handles, declarations, parameters = [], [], []
    for index, param in enumerate(lowered.params):
        dtype = str(param.dtype)
        label = _label(index, inputs, outputs)
        handle = tvm.ir.Var(label, PointerType(PrimType(dtype)))
        handles.append(handle)
        declarations.append(tirx.DeclBuffer(param, data=handle))
        const = "const " if index < inputs else ""
        # A kernel that may run in place must not promise that its pointers are distinct.
        restrict = "" if index in in_place or (in_place and index == inputs) else "TVM_RESTRICT "
        parameters.append(f"{const}{c_type(dtype)} *{restrict}{label}")
    for var, (dtype, _) in zip(scratch_vars, scratch, strict=True):
        parameters.append(f"{c_type(dtype)} *TVM_RESTRICT {var.name}")
    whole = tirx.PrimFunc(
        handles + scratch_vars,
        tirx.SeqStmt([*declarations, body]),
        lowered.ret_type,
        attrs=lowered.attrs,
    )
    text, libm, own = _print(name, whole, c)
    # Nothing is read where, say, the indices can only be one.
    unused = [h.name for h in handles if not re.search(rf"\b{h.name}\b", text)]
    return CFunction(
        name=name,
        parameters=tuple(parameters),
        body="\n".join([*(f"    (void){u};" for u in unused), text]),
        scratch=tuple(size for _, size in scratch),
        in_place=in_place,
        libm=libm,
        runtime=own,
    )


def _lower(module: tvm.IRModule) -> tvm.IRModule:
    try:
        return tvm.ir.transform.Sequential(list(_LOWERING))(module)
    except tvm.error.InternalError:
        # Narrow indices are a matter of speed, and refused where a function computes in int64.
        passes = [p for p in _LOWERING if p is not _NARROW_INDICES]
        return tvm.ir.transform.Sequential(passes)(module)


def _label(index: int, inputs: int, outputs: int) -> str:
    if index < inputs:
        return "input" if inputs == 1 else f"input{index}"
    return "output" if outputs == 1 else f"output{index - inputs}"


def _print(name: str, function: Any, c: Any) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    module = _T.LowerIntrin()(tvm.IRModule({name: function}))
    exact = module[name].with_body(tvm_ffi.structural_map(module[name].body, (tirx.FloatImm, float_as_call)))
    source = tvm.get_global_func("target.build.c")(tvm.IRModule({name: exact}), c).inspect_source()
    start = source.index("{", re.search(rf"\b{name}\([^;{{]*\)\s*\{{", source).start())  # type: ignore[union-attr]
    text = source[start + 1 : source.rindex("}")].strip("\n")
    text = _tidy_arrays(_plain_names(_reindent(floats_as_literals(text))))
    called = set(CALL.findall(text))
    own = {RUNTIME_FILES[f] for f in called if f in RUNTIME_FILES}
    libm = {f for f in called if f not in C_WORDS and not f.startswith(("tvm", "__"))}
    return text, tuple(sorted(libm)), tuple(sorted(own))


def _plain_names(text: str) -> str:
    """Shorter names for what TVM makes up: fused loops and common subexpressions."""
    fused = dict.fromkeys(re.findall(r"\b(?:(?:ax|i)\d+(?:_\d+)?_)+fused(?:_\d+)?\b", text))
    for number, name in enumerate(fused):
        text = re.sub(rf"\b{name}\b", "i" if number == 0 else f"i_{number}", text)
    text = re.sub(r"\bcse_v(\d+)\b", r"at\1", text)
    return re.sub(r"\b(\w+)_ptr\b", r"\1", text)


def _tidy_arrays(text: str) -> str:
    """Without arrays that are only written: parts of a split that no one takes. No compiler complains."""
    for name in re.findall(r"^ *\w+ (\w+)\[\d+\];$", text, re.MULTILINE):
        uses = len(re.findall(rf"\b{name}\b", text)) - 1
        if uses == len(re.findall(rf"^ *{name}\[", text, re.MULTILINE)):
            text = re.sub(rf"^.*\b{name}\b.*\n?", "", text, flags=re.MULTILINE)
    if "if (" in text:  # written and read under conditions that a compiler does not see to be the same
        text = re.sub(r"^( *\w+ \w+\[1\]);$", r"\1 = {0};", text, flags=re.MULTILINE)
    return text


def _reindent(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        depth = (len(line) - len(stripped)) // 2
        lines.append("    " * depth + stripped if stripped else "")
    return "\n".join(lines)
