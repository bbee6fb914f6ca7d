"""What CMake makes again, and what not; two models in one firmware, with Ninja and with Make."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.projects.cmake_project import (
    CENTRE,
    DIGITS,
    GENERATORS,
    CMakeProject,
    main_of,
    need,
    needs_cmake,
)

pytestmark = needs_cmake

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware C)
find_package(tvm_tool REQUIRED)
tvm_add_model(digits MODEL "the digits.onnx" {options})
tvm_add_model(centre MODEL centre.onnx)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE digits centre)
"""
READING = """\
cmake_minimum_required(VERSION 3.20)
project(firmware C)
find_package(tvm_tool REQUIRED)
# A model that the build makes itself.
add_custom_command(
  OUTPUT made.onnx
  COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_SOURCE_DIR}/digits.onnx" made.onnx
  DEPENDS digits.onnx
  VERBATIM
)
tvm_add_model(digits MODEL "${CMAKE_CURRENT_BINARY_DIR}/made.onnx" QUANTIZE int8 CALIBRATION data.npz)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE digits m)
"""
MAIN = """\
#include "centre.h"
#include "digits.h"
int main(void)
{
    static float image[64], scores[10], place[2];
    const struct tvmgen_digits_inputs in = {image};
    const struct tvmgen_digits_outputs out = {scores};
    const struct tvmgen_centre_inputs centre_in = {image};
    const struct tvmgen_centre_outputs centre_out = {place};
    return (int)(tvmgen_digits_run(&in, &out) | tvmgen_centre_run(&centre_in, &centre_out));
}
"""
EVERYTHING = {
    *("main.c", "digits.c", "digits_weights.c", "centre.c", "centre_weights.c"),
    *("tvm_aot.c", "tvm_platform.c", "tvm_kernels.c", "firmware"),
}


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}


def permit(folder: Path, writing: bool) -> None:
    for file in (*folder.iterdir(), folder):
        file.chmod((0o700 if file.is_dir() else 0o600) if writing else (0o500 if file.is_dir() else 0o400))


def expected_after(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> set[str]:
    """What has to be made again when the generated files `before` have become those `after`."""
    changed = {name for name in after if before.get(name) != after[name]}
    sources = {name for name in changed if name.endswith(".c")}
    if "digits.h" in changed:
        sources |= {"main.c", "digits.c"}
    return sources | {"firmware"}


@pytest.mark.parametrize("generator", GENERATORS)
def test_what_has_not_changed_is_not_made_again(generator: str, tmp_path: Path) -> None:
    need(generator)
    source = tmp_path / "the source ä"
    source.mkdir()
    firmware = CMakeProject(source, tmp_path / "the build ö", generator)
    model, lists = source / "the digits.onnx", source / "CMakeLists.txt"
    shutil.copy(DIGITS / "digits.onnx", model)
    shutil.copy(CENTRE, source)
    lists.write_text(LISTS.format(options=""), encoding="utf-8")
    (source / "main.c").write_text(MAIN, encoding="utf-8")

    permit(source, writing=False)
    untouched = contents(source)
    built = firmware.configure().make()
    assert (built.models, built.files) == (["centre", "digits"], EVERYTHING)
    assert contents(source) == untouched
    permit(source, writing=True)
    subprocess.run([firmware.build / "firmware"], check=True)
    nothing_to_do(firmware)

    os.utime(model)  # The same bytes, a new time.
    assert firmware.make().files == set()
    nothing_to_do(firmware)

    original = firmware.generated()
    for name in ("digits_weights.c", "tvm_kernels.c"):
        (file,) = (firmware.build / "tvm").rglob(name)
        file.unlink()
        assert firmware.make().files == {name, "firmware"}
        assert firmware.generated() == original
        nothing_to_do(firmware)

    change_weight(model)
    built = firmware.make()
    assert built.models == ["digits"]
    changed = firmware.generated()
    assert changed["digits_weights.c"] != original["digits_weights.c"]
    assert built.files == expected_after(original, changed) == {"digits_weights.c", "firmware"}
    nothing_to_do(firmware)

    lists.write_text(LISTS.format(options="OPTIMIZE size"), encoding="utf-8")
    built = firmware.make()
    assert built.models == ["digits"]
    assert built.files == expected_after(changed, firmware.generated()) > {"digits.c", "firmware"}
    nothing_to_do(firmware)


def nothing_to_do(firmware: CMakeProject) -> None:
    built = firmware.make()
    assert (built.models, built.files) == ([], set()), built.output


def change_weight(model: Path) -> None:
    """Another value in the first weights of `model`."""
    proto = onnx.load(model)
    tensor = next(
        t for t in proto.graph.initializer if len(t.dims) > 1 and t.data_type == onnx.TensorProto.FLOAT
    )
    values = onnx.numpy_helper.to_array(tensor).copy()
    values.flat[0] += 1.0
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    onnx.save(proto, model)


def test_every_file_that_is_read_counts(tmp_path: Path) -> None:
    need("Ninja")
    (tmp_path / "CMakeLists.txt").write_text(READING, encoding="utf-8")
    (tmp_path / "main.c").write_text(main_of(["digits"]), encoding="utf-8")
    model, data = tmp_path / "digits.onnx", tmp_path / "data.npz"
    shutil.copy(DIGITS / "digits.onnx", model)
    shutil.copy(DIGITS / "calibration_images.npz", data)
    firmware = CMakeProject(tmp_path, tmp_path / "build").configure()
    assert firmware.make().models == ["digits"]
    nothing_to_do(firmware)
    quantized = firmware.build / "tvm" / "digits" / "digits_quantized.onnx"
    quantized.unlink()
    assert firmware.make().models == ["digits"] and quantized.exists()
    with np.load(data) as arrays:
        np.savez(data, image=arrays["image"][:50])
    assert firmware.make().models == ["digits"]
    change_weight(model)
    assert firmware.make().models == ["digits"]
