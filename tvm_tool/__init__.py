"""An SCons tool that compiles machine-learning models into firmware with Apache TVM.

    env = Environment(tools=['default', 'tvm_tool'])        # or tvm_tool.generate
    env.Program('firmware.elf', ['main.c', *env.TVMModel('model.onnx')])

Importing this package imports neither TVM nor SCons.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def generate(env: Any) -> None:
    """Add the builders and construction variables of the tool to `env`."""
    from .scons.tool import generate as add_to

    add_to(env)


def exists(env: Any) -> bool:
    """SCons asks whether the tool can be used: always, TVM is needed only when a model is compiled."""
    return True
