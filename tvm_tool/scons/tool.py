"""Adds everything to an environment; what it sets and uses is described in docs/scons.md."""

from __future__ import annotations

import sys
from typing import Any

from SCons.Tool import createObjBuilders

from ..paths import PACKAGE, runtime_dir
from .actions import TVMCOM
from .help import tvm_help
from .image import TVMRUNCOM, TVMSIZECOM, TVMVERIFYCOM, tvm_binary, tvm_run, tvm_size, tvm_verify
from .link import for_the_board, link_scripts, one_runtime
from .model import tvm_model
from .setup import tvm_board

Env = Any

HOOKS = {
    "PROGEMITTER": (one_runtime, for_the_board),
    "LIBEMITTER": (one_runtime,),
    "SHLIBEMITTER": (one_runtime,),
}


METHODS = {
    "TVMModel": tvm_model,
    "TVMBoard": tvm_board,
    "TVMBinary": tvm_binary,
    "TVMSize": tvm_size,
    "TVMRun": tvm_run,
    "TVMVerify": tvm_verify,
    "TVMHelp": tvm_help,
}


def generate(env: Env) -> None:
    """Add the methods, link hooks and construction variables; what the user has set stays as it is."""
    createObjBuilders(env)
    env.SetDefault(
        TVM_PYTHON=sys.executable,
        TVM_COMPILER=str(PACKAGE / "__main__.py"),
        TVM_RUNTIME=str(runtime_dir()),
        TVM_DIR="tvm",
        TVMCOM=TVMCOM,
        TVMSIZECOM=TVMSIZECOM,
        TVMRUNCOM=TVMRUNCOM,
        TVMVERIFYCOM=TVMVERIFYCOM,
        TVMCOPYCOMSTR="Copying TVM's C files to ${TARGET.dir}",
        TVMKERNELSCOMSTR="Collecting kernels in $TARGET",
        TVMSCRIPTCOMSTR="Writing the linker script $TARGET",
        TVMSIZECOMSTR="Measuring $SOURCE",
        _TVM_SCRIPTS=link_scripts,
    )
    for variable, hooks in HOOKS.items():
        before = env.get(variable, [])
        emitters = list(before) if isinstance(before, (list, tuple)) else [before]
        env[variable] = [*emitters, *(hook for hook in hooks if hook not in emitters)]
    for name, method in METHODS.items():
        env.AddMethod(method, name)
