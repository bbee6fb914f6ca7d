"""The model's interface: what goes in and out, and the shapes of the inputs.

Inputs keep their names and their order, also those that nothing reads: a caller who fills a struct of
three inputs goes on doing so when the network is exported anew. An input that has a default value
(an initialiser of the same name) is a constant, whatever the IR version: on a microcontroller nobody
overrides weights at run time.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto, ValueInfoProto

from ...errors import ModelError, OptionError, UnsupportedError, did_you_mean
from .onnx_graph import REFUSED_ELEMENTS, kind_of

Shape = tuple[int, ...]


def fix_inputs(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> None:
    """Give every input a static shape, from the model or from the option `shapes`.

    Raises:
        OptionError: `shapes` names no input, or contradicts the model.
        ModelError: the model leaves dimensions free that `shapes` does not fix.
        UnsupportedError: an input or output is not a tensor of numbers.
    """
    graph = proto.graph
    constants = {t.name for t in graph.initializer}
    inputs = [v for v in graph.input if v.name not in constants]
    for value in inputs:
        _check_tensor(value, "input")
    for value in graph.output:
        if value.type.WhichOneof("value"):
            _check_tensor(value, "output")
    _check_names(shapes, [v.name for v in inputs], constants)
    fixed = {v.name: _fix(v, shapes[v.name]) if v.name in shapes else _declared(v) for v in inputs}
    free = [v for v in inputs if not _is_static(fixed[v.name])]
    if free:
        first = free[0]
        raise ModelError(
            f"its shape is {_shown(fixed[first.name])}: a microcontroller needs every dimension fixed",
            where=f"input '{first.name}'",
            remedy=f"shapes={{{', '.join(_suggestion(v.name, fixed[v.name]) for v in free)}}}",
        )
    for value in inputs:
        shape = value.type.tensor_type.shape
        shape.ClearField("dim")
        for dimension in fixed[value.name] or ():
            shape.dim.add(dim_value=int(dimension))
        shape.SetInParent()
    del graph.input[:]
    graph.input.extend(inputs)
    proto.ir_version = max(proto.ir_version, 4)  # before, every constant had to be an input as well
    for value in graph.output:  # What they declare is not used, inference finds it; but it must be there.
        tensor = value.type.tensor_type
        tensor.elem_type = tensor.elem_type or TensorProto.FLOAT
        tensor.shape.SetInParent()


Declared = tuple[int | str, ...] | None
"""A shape as the model declares it: numbers, names of free dimensions, ``?``; None: not even the rank."""


def _declared(value: ValueInfoProto) -> Declared:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else d.dim_param or "?"
        for d in tensor.shape.dim
    )


def _is_static(shape: Declared) -> bool:
    return shape is not None and all(isinstance(d, int) and d > 0 for d in shape)


def _fix(value: ValueInfoProto, wanted: Shape) -> Shape:
    declared = _declared(value)
    agrees = declared is None or (
        len(declared) == len(wanted)
        and all(not isinstance(d, int) or d in (0, w) for d, w in zip(declared, wanted, strict=True))
    )
    if not agrees:
        raise OptionError(
            f"{list(wanted)} contradicts the model",
            where=f"option 'shapes', input '{value.name}'",
            expected=f"the shape {_shown(declared)}",
        )
    return wanted


def _check_tensor(value: ValueInfoProto, what: str) -> None:
    elem = value.type.tensor_type.elem_type
    found = kind_of(value.type)
    if found is None and elem in REFUSED_ELEMENTS:
        found = f"a tensor of {REFUSED_ELEMENTS[elem]}"
    if found is None:
        return
    raise UnsupportedError(
        f"it is {found}", where=f"{what} '{value.name}'", expected="a tensor of numbers or booleans"
    )


def _check_names(shapes: Mapping[str, Shape], inputs: list[str], constants: set[str]) -> None:
    for name in shapes:
        if name in constants:
            raise OptionError(f"'{name}' is a constant of the model, not an input", where="option 'shapes'")
        if name not in inputs:
            raise OptionError(
                f"the model has no input '{name}'",
                where="option 'shapes'",
                remedy=did_you_mean(name, inputs),
            )


def _shown(shape: Declared) -> str:
    return "not known at all" if shape is None else str(list(shape))


def _suggestion(name: str, shape: Declared) -> str:
    if shape is None:
        return f"'{name}': [...]"
    return f"'{name}': {[d if isinstance(d, int) and d > 0 else 1 for d in shape]}"
