"""Everything that leans on the inside of TVM 0.27: its ONNX importer class, TIR and its C printer.

Nothing outside this package may import ``tvm.tirx``, ``tvm.s_tir``, ``tvm_ffi`` or
``tvm.relax.frontend``; a test says so. When TVM moves, this is what moves with it.
"""

from __future__ import annotations

from .importer import import_onnx, node_of, onnx_operators
from .printer import CFunction, print_c
from .reductions import LEGALIZERS
from .target import target

__all__ = ["LEGALIZERS", "CFunction", "import_onnx", "node_of", "onnx_operators", "print_c", "target"]
