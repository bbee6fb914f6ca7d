"""The options of a model, declared once.

SCons, CMake, the command line and the docs all read `OPTIONS`; `parse_options` turns what they were
given (text or Python values) into one frozen `ModelOptions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .errors import OptionError, did_you_mean, naming

Shape = tuple[int, ...]

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class ModelOptions:
    """How one model is compiled. Field by field the same as `OPTIONS`."""

    name: str
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    optimize: str = "speed"
    winograd: str = "false"
    quantize: str = "none"
    calibration: Path | None = None
    io: str = "float"
    rounding: str = ""
    weights: tuple[str, ...] = ()
    arena: tuple[str, ...] = ()
    workspace_io: bool = False
    state: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """One option: how it is spelled, read, written back, and explained."""

    name: str
    metavar: str
    help: str
    read: Callable[[str, Any], Any]
    write: Callable[[Any], str]
    default: str
    many: bool = False
    """Whether it takes several values; front ends may hand them over as a list."""


def identifier_from(file_name: str) -> str:
    """A C identifier for a model file: its stem, every other character replaced by ``_``."""
    stem = Path(file_name).stem
    name = re.sub(r"[^A-Za-z0-9_]", "_", stem)
    return name if IDENTIFIER.match(name) else f"model_{name.lstrip('_')}".rstrip("_")


def _read_name(option: str, value: Any) -> str:
    if not isinstance(value, str) or not IDENTIFIER.match(value) or len(value) > 40:
        raise OptionError(
            f"'{value}' is not a usable C prefix",
            where=f"option '{option}'",
            expected="a C identifier of at most 40 characters that starts with a letter",
            remedy=f"{option}='{identifier_from(str(value))[:40]}'",
        )
    return value


def _read_shape(option: str, tensor: str, value: Any) -> Shape:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        if isinstance(parts, (int, float, bool)):
            raise ValueError
        shape = tuple(int(p) if not isinstance(p, float) else _not_whole() for p in parts)
        if not shape or any(d < 1 for d in shape):
            raise ValueError
    except (TypeError, ValueError):
        raise OptionError(
            f"'{value}' is not a shape",
            where=f"option '{option}', input '{tensor}'",
            expected="whole numbers of at least 1, for example 1,49,10,1",
        ) from None
    return shape


def _not_whole() -> int:
    raise ValueError


def _read_shapes(option: str, value: Any) -> dict[str, Shape]:
    if isinstance(value, str):
        # A tensor name may hold ';' itself: a part ends where a shape does.
        value = [part for part in re.split(r"(?<=\d);(?=[^;]*=)|;$", value) if part]
    if not isinstance(value, Mapping):
        pairs = {}
        for part in value:
            # Tensor names may hold '=' and ':'; a shape never does.
            tensor, equals, shape = str(part).rpartition("=")
            if not equals or not tensor:
                raise OptionError(
                    f"'{part}' names no input and shape",
                    where=f"option '{option}'",
                    expected="INPUT=D0,D1,... for example input=1,49,10,1",
                )
            pairs[tensor] = shape
        value = pairs
    return {str(k): _read_shape(option, str(k), v) for k, v in sorted(value.items())}


def _write_shapes(value: Mapping[str, Shape]) -> str:
    return ";".join(f"{k}={','.join(map(str, v))}" for k, v in sorted(value.items()))


def _read_regions(option: str, value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else list(value)
    regions = tuple(str(n).strip() for n in names if str(n).strip())
    for region in regions:
        if not re.match(r"[A-Za-z][A-Za-z0-9_]*\Z", region):
            raise OptionError(
                f"'{region}' is not the name of a memory region",
                where=f"option '{option}'",
                expected="a region of the board, or a list of them in order of preference",
            )
    return regions


def _read_state(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        value = [f"{output}:{given}" for output, given in value.items()]
    parts = value.split(",") if isinstance(value, str) else value
    given = parts if isinstance(parts, Sequence) else [parts]
    words = tuple(str(part).strip() for part in given if str(part).strip())
    wrong = [word for word in words if word != "persistent" and ":" not in word.strip(":")]
    if wrong:
        raise OptionError(
            f"'{wrong[0]}' names no state",
            where=f"option '{option}'",
            expected="'persistent', or OUTPUT:INPUT pairs",
        )
    return words


def _choice(*choices: str) -> Callable[[str, Any], str]:
    def read(option: str, value: Any) -> str:
        if value not in choices:
            raise OptionError(
                f"'{value}' is not known",
                where=f"option '{option}'",
                expected=" or ".join(f"'{c}'" for c in choices),
                remedy=did_you_mean(str(value), choices),
            )
        return str(value)

    return read


def _read_path(option: str, value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):
        raise OptionError(
            f"'{value}' is not a path", where=f"option '{option}'", expected="a file or a folder"
        )
    return Path(value)


def _read_bool(option: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    try:
        return words[str(value).lower()]
    except KeyError:
        raise OptionError(
            f"'{value}' is neither true nor false", where=f"option '{option}'", expected="true or false"
        ) from None


def _write_bool(value: bool) -> str:
    return "true" if value else "false"


def _read_spending(option: str, value: Any) -> str:
    """``true``, ``false``, ``auto``, or bytes in digits."""
    text = str(value).strip().lower()
    size = re.match(r"([1-9]\d{0,9}) ?([km]?)\Z", text)
    if text == "auto" or (size and text != "1"):
        return text if size is None else str(int(size[1]) << {"k": 10, "m": 20}.get(size[2], 0))
    try:
        return _write_bool(_read_bool(option, value))
    except OptionError:
        raise OptionError(
            f"'{value}' is not known",
            where=f"option '{option}'",
            expected="true, false, auto or a size like 32K",
            remedy=did_you_mean(text, ("true", "false", "auto")),
        ) from None


OPTIONS: tuple[Option, ...] = (
    Option(
        "name",
        "NAME",
        "Prefix of everything generated: NAME.c, NAME.h, tvmgen_NAME_run().",
        _read_name,
        str,
        "the model's file name",
    ),
    Option(
        "shapes",
        "INPUT=D0,D1,...",
        "Shapes of inputs whose dimensions the model leaves free.",
        _read_shapes,
        _write_shapes,
        "as the model says",
        many=True,
    ),
    Option(
        "optimize",
        "speed|size",
        "Prefer kernels with fewer instructions, or kernels with fewer bytes.",
        _choice("speed", "size"),
        str,
        "speed",
    ),
    Option(
        "winograd",
        "true|false|auto|BYTES",
        "Fewer products for int8 convolutions that are three wide, for 2.7 times their weights' flash.",
        _read_spending,
        str,
        "false",
    ),
    Option(
        "quantize",
        "none|int8",
        "Quantise a float ONNX model; it takes `calibration`.",
        _choice("none", "int8"),
        str,
        "none",
    ),
    Option(
        "calibration",
        "FILE.npz|FOLDER",
        "Inputs as the model will meet them, from which `quantize` learns the ranges of all values.",
        _read_path,
        str,
        "none",
    ),
    Option(
        "io",
        "float|int8",
        "Inputs and outputs of a model that `quantize` quantises.",
        _choice("float", "int8"),
        str,
        "float",
    ),
    Option(
        "rounding",
        "tflm|litert|onnx",
        "How integers are rounded: as TensorFlow Lite Micro and CMSIS-NN do, as LiteRT does, or once.",
        _choice("tflm", "litert", "onnx"),
        str,
        "tflm for TFLite, onnx for ONNX",
    ),
    Option(
        "weights",
        "REGION[,REGION...]",
        "Memory region of the weights; the first of several that has room.",
        _read_regions,
        ",".join,
        "the board's placement",
        many=True,
    ),
    Option(
        "arena",
        "REGION[,REGION...]",
        "Memory region of the workspace; the first of several that has room.",
        _read_regions,
        ",".join,
        "the board's placement",
        many=True,
    ),
    Option(
        "workspace_io",
        "true|false",
        "Keep inputs and outputs in the workspace and generate "
        "tvmgen_NAME_map_inputs/_map_outputs to reach them without a copy.",
        _read_bool,
        _write_bool,
        "false",
    ),
    Option(
        "state",
        "persistent|OUT:IN[,OUT:IN...]",
        "What is kept from one run to the next: the states of LSTM, GRU and RNN (persistent), and outputs "
        "that feed an input of the next run.",
        _read_state,
        ",".join,
        "nothing",
        many=True,
    ),
)

OPTION_NAMES = tuple(option.name for option in OPTIONS)


def parse_options(model: str, given: Mapping[str, Any], also: Sequence[str] = ()) -> ModelOptions:
    """Check and convert the options `given` for the file `model`.

    Args:
        model: path of the model; its stem is the default name.
        given: values by option name, as text or as Python values; None means "not given".
        also: further names that the caller understands, for the "did you mean" of an unknown one.
    """
    values: dict[str, Any] = {}
    for key, value in given.items():
        option = next((o for o in OPTIONS if o.name == key), None)
        if option is None:
            raise OptionError(
                f"there is no option '{key}'", file=model, remedy=did_you_mean(key, (*OPTION_NAMES, *also))
            )
        if value is not None:
            try:
                values[key] = option.read(key, value)
            except OptionError as error:
                error.file = model
                raise
    values.setdefault("name", identifier_from(model))
    options = ModelOptions(**values)
    with naming(model):
        _check_quantize(options, model)
    return options


def _check_quantize(options: ModelOptions, model: str) -> None:
    """Refuse options about quantising that do not go together, or not with this kind of file."""
    if options.quantize == "none":
        for name in ("calibration", "io"):
            if getattr(options, name) != getattr(ModelOptions, name):
                raise OptionError(
                    "it says how to quantise, and the model is not to be quantised",
                    where=f"option '{name}'",
                    remedy=f"quantize='int8', or leave out '{name}'",
                )
    elif model.lower().endswith(".tflite"):
        raise OptionError(
            "a TFLite model cannot be quantised here",
            where="option 'quantize'",
            expected="a float ONNX model",
            remedy="quantise it when it is converted to TFLite",
        )
    elif options.state:
        raise OptionError(
            "a model that keeps a state cannot be quantised here",
            where="option 'quantize'",
            expected="'quantize' or 'state', not both",
            remedy="make the state an input and an output, or quantise the model where it was trained",
        )
    elif options.calibration is None:
        raise OptionError(
            "there are no calibration data",
            where="option 'quantize'",
            expected="inputs as the model will meet them",
            remedy="calibration='FILE.npz' or a folder of .npy or .npz files, one a sample",
        )


def option_arguments(options: ModelOptions) -> list[str]:
    """Command-line words that reproduce `options`; defaults are left out."""
    words: list[str] = []
    defaults = {f.name: f for f in fields(ModelOptions)}
    for option in OPTIONS:
        value = getattr(options, option.name)
        spec = defaults[option.name]
        default = spec.default_factory() if callable(spec.default_factory) else spec.default
        if option.name == "name" or value != default:
            words += [f"--{option.name.replace('_', '-')}", option.write(value)]
    return words
