"""The demo and the examples with the real compiler, toolchain and emulator."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.projects.scons_project import CHECKOUT, Project

Copy = Callable[..., Project]

MISSING = [name for name in ("tvm", "onnx", "onnxruntime") if find_spec(name) is None]
MISSING += [name for name in ("arm-none-eabi-gcc", "qemu-system-arm") if not shutil.which(name)]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

CHECKED_OUT = ("SConstruct", "boards", "examples", "linker_scripts", "site_scons", "tvm_tool")


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[[str], Project]:
    """Copies what the demo needs of this checkout to a folder."""

    def copy(to: str) -> Project:
        (tmp_path / to).mkdir(parents=True)
        for name in CHECKED_OUT:
            original = CHECKOUT / name
            if original.is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "build", ".sconsign*")
                shutil.copytree(original, tmp_path / to / name, ignore=ignore)
            else:
                shutil.copy(original, tmp_path / to / name)
        return Project(tmp_path / to, python_path="")

    return copy


@pytest.mark.parametrize(
    ("board", "optimize", "quantize"),
    [("stm32f412", "size", "none"), ("mps2_an385", "speed", "none"), ("stm32f412", "speed", "int8")],
)
def test_demo(checkout: Callable[[str], Project], board: str, optimize: str, quantize: str) -> None:
    demo = checkout("demo")
    before = demo.files()
    arguments = (f"board={board}", f"optimize={optimize}", f"quantize={quantize}")
    output = demo.run(*arguments, "-j2").output
    assert f"digits.elf on {board}\n" in output
    assert "budget" in output or board == "mps2_an385"
    build = f"build/{board}"
    assert {f"{build}/digits.{suffix}" for suffix in ("elf", "bin", "hex", "map")} <= demo.files()
    again = demo.run(*arguments).output
    assert "is up to date" in again
    assert "digits.elf on" not in again
    assert demo.run(*arguments, "size").output.count(f"digits.elf on {board}\n") == 1
    output = demo.run(*arguments, "verify").output
    assert "360 of 360 (100.0 %)" in output
    assert "equal to the reference" in output
    assert ("float model" in output) == (quantize == "int8")
    output = demo.run(*arguments, "run").output
    assert output.count("image ") == 100
    assert "100 images are read right\n" in output
    demo.run(*arguments, "-c")
    left = {name for name in demo.files() - before if "__pycache__" not in name}
    assert left <= {"build/", f"{build}/"}


def test_demo_beyond_the_budget_fails(checkout: Callable[[str], Project]) -> None:
    demo = checkout("demo")
    small = (CHECKOUT / "boards/stm32f412.yaml").read_text(encoding="utf-8")
    demo.write("small.yaml", f"{small}budget: {{flash: 16K}}\n")
    output = demo.fails("board=small.yaml")
    assert "more than the budget of 16,384 bytes" in output
    assert demo.fails("board=small.yaml").count("more than the budget") == 1


def test_demo_is_the_same_in_every_folder(checkout: Callable[[str], Project]) -> None:
    first, second = checkout("first"), checkout("second/with spaces")
    for demo in (first, second):
        demo.run("board=stm32f412", "-j2")
    names = [
        "digits.bin",
        "digits.hex",
        *(f"tvm/digits/digits{end}" for end in (".c", ".h", ".json", "_weights.c")),
    ]
    for name in names:
        path = f"build/stm32f412/{name}"
        assert (first.path / path).read_bytes() == (second.path / path).read_bytes(), name


def test_two_models_and_two_instances(checkout: Callable[[str], Project]) -> None:
    output = checkout("checkout").run("-C", "examples/two_models", "board=stm32f412", "run").output
    assert "two models, three instances: all right\n" in output


def test_strict_flags_of_bare_metal(project: Copy) -> None:
    firmware = project("strict", fake=False)
    shutil.copy(CHECKOUT / "examples/digits/digits.onnx", firmware.path)
    firmware.run("model=digits.onnx", "-j2")
    firmware.up_to_date("model=digits.onnx", "board/obj")


def test_truncated_model_says_so(project: Copy) -> None:
    firmware = project("plain", fake=False)
    model = (CHECKOUT / "examples/digits/digits.onnx").read_bytes()
    (firmware.path / "digits.toy").rename(firmware.path / "digits.onnx")
    (firmware.path / "digits.onnx").write_bytes(model[:1000])
    firmware.replace("SConstruct", "digits.toy", "digits.onnx")
    output = firmware.fails()
    assert "error: digits.onnx: " in output
    assert not (firmware.path / "tvm/digits/digits.c").exists()
