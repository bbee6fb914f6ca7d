"""Everything without a kernel of ours: legalised to TIR and fused."""

from __future__ import annotations

import tvm
from tvm import relax

from ..tvm_internals import LEGALIZERS, target

ALIASES = ("relax.reshape", "relax.squeeze", "relax.expand_dims", "relax.flatten")
"""Operators that only rename the shape of the same bytes: they never become code."""


def lower_rest(module: tvm.IRModule) -> tvm.IRModule:
    """Relax with every remaining operator as a call of a fused TIR function."""
    passes = [
        relax.transform.LegalizeOps(dict(LEGALIZERS), list(ALIASES)),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
    ]
    with target():
        return tvm.ir.transform.Sequential(passes)(module)


def fuse_tir(module: tvm.IRModule) -> tvm.IRModule:
    """Turn the groups that `lower_rest` made into single TIR functions."""
    passes = [relax.transform.FuseTIR(), relax.transform.DeadCodeElimination()]
    with target():
        return tvm.ir.transform.Sequential(passes)(module)
