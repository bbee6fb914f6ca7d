"""Exact floating-point numbers through a printer that writes six decimals."""

from __future__ import annotations

import re
import struct
from typing import Any

from tvm import tirx

from ..c_text import float_literal


def float_as_call(imm: Any) -> Any:
    """A constant as a call whose name holds its bits: that the printer leaves alone."""
    dtype = str(imm.ty.dtype)
    if dtype not in ("float32", "float64"):
        return imm
    bits = struct.pack(">f" if dtype == "float32" else ">d", imm.value).hex()
    return tirx.call_pure_extern(dtype, f"TVMF_{bits}")


def floats_as_literals(text: str) -> str:
    """Printed text with those calls turned into literals."""
    return re.sub(r"TVMF_([0-9a-f]+)\(\)", lambda m: _literal(m[1]), text)


def _literal(bits: str) -> str:
    raw = bytes.fromhex(bits)
    single = len(raw) == 4
    return float_literal(struct.unpack(">f" if single else ">d", raw)[0], single)
