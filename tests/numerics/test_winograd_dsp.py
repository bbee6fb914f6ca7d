"""Convolutions by Winograd's F(2, 3) against the model with numpy, bit by bit: on the host and on a core."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.numerics.q_host import run_on_host, run_on_target
from tests.numerics.q_layers import conv2d
from tests.numerics.test_kernels_dsp import FLAGS, SAME, SPEED, cases_of, plain
from tests.numerics.test_kernels_s8 import CLANG, ROUNDINGS, SANITIZED, TARGETS, Expected, check, needs
from tests.numerics.test_tflite_exact import MODELS, pattern, recorded_outputs
from tests.support.firmware import build_firmware
from tvm_tool.compiler.kernels.declined import DeclinedError
from tvm_tool.compiler.kernels.dsp_winograd import conv2d_winograd
from tvm_tool.compiler.quantized_layers import QConv2D, QLayer
from tvm_tool.image.elf import read_image
from tvm_tool.image.metadata import load_metadata
from tvm_tool.target.runner import Runner
from tvm_tool.target.session import start_session

Random = np.random.Generator

WINOGRAD = dataclasses.replace(SPEED, winograd=True)
KERNEL = "conv2d_winograd_dsp"


def chosen(rng: Random, rounding: str) -> list[QConv2D]:
    """Every remainder of widths and channels, padding on all sides, passes of all kinds, other heights."""
    shapes = (
        ((5, 8, 16), 8, 3, SAME, 1),
        ((4, 4, 4), 4, 3, SAME, 2),
        ((3, 7, 8), 5, 3, SAME, 1),
        ((6, 9, 12), 6, 3, (0, 0, 0, 0), 1),
        ((5, 10, 32), 4, 3, (1, 0, 0, 2), 1),
        ((3, 11, 20), 7, 3, (2, 2, 2, 2), 1),
        ((4, 8, 64), 3, 3, SAME, 1),
        ((2, 8, 4), 9, 1, (0, 1, 0, 1), 1),
        ((6, 3, 8), 4, 5, (2, 3, 2, 3), 2),
        ((1, 2, 4), 4, 3, (1, 4, 1, 6), 1),
        ((3, 16, 36), 4, 2, (0, 1, 1, 1), 1),
    )
    return [
        _far(rng, plain(rng, conv2d(rng, rounding, image, channels, (height, 3), pads=pads, batch=batch)))
        for image, channels, height, pads, batch in shapes
    ]


def random_layers(rng: Random, rounding: str, count: int) -> list[QConv2D]:
    found = []
    for _ in range(count):
        left, right = (int(n) for n in rng.integers(0, 4, 2))
        top, bottom = (int(n) for n in rng.integers(0, 3, 2))
        height = int(rng.integers(1, 4))
        width = int(rng.choice([4, 7, 8, 9, 10, 11, 12, 13])) + 2 - left - right
        image = (int(rng.integers(height, 7)), width, 4 * int(rng.integers(1, 12)))
        if width < 1:
            continue
        pads = (top, left, bottom, right)
        layer = conv2d(rng, rounding, image, int(rng.integers(1, 14)), (height, 3), pads=pads)
        found.append(_far(rng, plain(rng, layer)))
    return found


def _far(rng: Random, layer: object) -> QConv2D:
    """Now and then with sums as far as 2^30, and with weights of -128, side by side."""
    assert isinstance(layer, QConv2D)
    weights, bias = layer.weights, layer.bias
    if rng.random() < 0.3:
        weights = rng.choice(np.array([-128, 127], np.int8), weights.shape)
    if rng.random() < 0.3:
        per_channel = weights.reshape(len(bias), -1).astype(np.int64)
        reach = 2**30 - 2**17 - 255 * np.abs(per_channel).sum(axis=1)
        bias = (reach * rng.choice([-1, 1], len(bias))).astype(np.int32)
    return dataclasses.replace(layer, weights=weights, bias=bias)


def layers_of(rng: Random, count: int) -> list[QConv2D]:
    return [x for r in ROUNDINGS for x in chosen(rng, r) + random_layers(rng, r, count)]


def winograd_cases(seed: int, count: int) -> list[Expected]:
    rng = np.random.default_rng(seed)
    layers: list[QLayer] = [*layers_of(rng, count)]
    cases = cases_of(layers, rng, WINOGRAD)
    assert sum(case.driver.kernel == KERNEL for case, _, _ in cases) > 0.7 * len(cases)
    assert any(case.in_place for case, _, _ in cases)
    return cases


def test_every_shape_under_sanitizers(tmp_path: Path) -> None:
    needs("gcc")
    check(winograd_cases(0, 40), lambda c: run_on_host(c, tmp_path, SANITIZED))


def test_every_shape_with_another_compiler(tmp_path: Path) -> None:
    needs("clang")
    check(winograd_cases(1, 10), lambda c: run_on_host(c, tmp_path, CLANG))


@pytest.mark.parametrize("level", FLAGS)
def test_every_shape_on_a_core(level: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    machine, flags = TARGETS["m4"]
    core = [flag for flag in flags if flag.startswith("-m")]
    check(winograd_cases(2, 12), lambda c: run_on_target(c, tmp_path, [*core, *FLAGS[level]], machine))


def test_what_does_not_apply_is_declined() -> None:
    rng = np.random.default_rng(3)

    def reason(need: object = WINOGRAD, image: tuple[int, int, int] = (6, 8, 8), **how: object) -> str:
        how = {"kernel": (3, 3), "pads": SAME, **how}
        layer = plain(rng, conv2d(rng, "double", image, 8, **how))  # type: ignore[arg-type]
        try:
            return conv2d_winograd(layer, need).kernel  # type: ignore[arg-type]
        except DeclinedError as declined:
            return str(declined)

    assert reason() == reason(image=(6, 10, 8)) == KERNEL
    assert reason(SPEED) == "transformed weights are not wanted"
    assert reason(dataclasses.replace(WINOGRAD, optimize="size")) == "columns take less code"
    one = "not three neighbours at each position"
    assert reason(strides=(1, 2)) == reason(dilations=(1, 2)) == reason(kernel=(3, 2)) == one
    assert (
        reason(image=(6, 8, 6))
        == reason(image=(6, 5, 8))
        == reason(image=(6, 3, 8))
        == "rows cannot be transformed"
    )
    assert reason(image=(6, 8, 16), groups=2) == "not a convolution of one group"


def test_a_model_gives_the_recorded_bytes(tmp_path: Path) -> None:
    path = MODELS / "pretrainedResnet_quant.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    needs("arm-none-eabi-gcc", "qemu-system-arm")
    firmware = build_firmware(path, "mps2_an386", tmp_path, name="ic", winograd="on")
    assert [call.kernel for call in firmware.compiled.program.calls].count(KERNEL) == 4
    image, info = read_image(firmware.elf), load_metadata(firmware.metadata)
    run = image.function("tvmgen_ic_run")
    assert run is not None
    wanted = recorded_outputs("ic")
    assert wanted
    with start_session(image, firmware.board, image.function("main") or run) as session:
        runner = Runner(session, image, info, firmware.board, run, 120.0)
        source = info.inputs[0]
        for number, want in enumerate(wanted):
            data = pattern(number, source.bytes).reshape(source.shape)
            _, outputs = runner.run({source.name: data})
            assert np.ascontiguousarray(outputs[0]).tobytes().hex() == want
