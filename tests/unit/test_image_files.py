"""Images and metadata that are not what they should be."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_tool.errors import ImageError
from tvm_tool.image.elf import read_image
from tvm_tool.image.metadata import load_metadata

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")


def compiled(folder: Path, *flags: str) -> Path:
    source, target = folder / "main.c", folder / "out"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", str(source), *flags, "-o", str(target)], check=True)
    return target


def test_a_missing_image(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"cannot be read") as caught:
        read_image(tmp_path / "none.elf")
    assert "none.elf" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ" + bytes(100), b"\x7fELF\x01\x01\x01" + bytes(40)])
def test_no_elf_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "firmware.elf"
    path.write_bytes(content)
    with pytest.raises(ImageError):
        read_image(path)


@needs_gcc
def test_a_truncated_image(tmp_path: Path) -> None:
    path = compiled(tmp_path, "-static", "-no-pie")
    data = path.read_bytes()
    for keep in (60, 1000, len(data) // 2, len(data) - 100):
        path.write_bytes(data[:keep])
        with pytest.raises(ImageError):
            read_image(path)


@needs_gcc
def test_an_object_is_not_an_image(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="not a linked image"):
        read_image(compiled(tmp_path, "-c"))


@needs_gcc
def test_a_stripped_image(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="no symbols") as caught:
        read_image(compiled(tmp_path, "-no-pie", "-s"))
    assert "stripped" in str(caught.value)


@needs_gcc
def test_what_an_image_tells(tmp_path: Path) -> None:
    image = read_image(compiled(tmp_path, "-static", "-no-pie"))
    main = image.function("main")
    assert main is not None
    assert image.place(main.address) == "main"
    assert image.place(main.address + 2) == "main+0x2"
    assert image.place(0xFFFFFFF0) == "0xfffffff0"
    data = image.read(main.address, 4)
    assert data is not None
    assert len(data) == 4
    assert image.read(0xFFFFFFF0, 4) is None


def metadata(folder: Path, content: object) -> Path:
    path = folder / "kws.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ([], "format None"),
        ({"format": 2}, "format 2"),
        ({"format": 1}, "incomplete: 'workspace'"),
        ({"format": 1, "workspace": 5, "weights": 5}, "incomplete"),
    ],
)
def test_metadata_that_is_none(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=message) as caught:
        load_metadata(metadata(tmp_path, content))
    assert "kws.json" in str(caught.value)
    assert caught.value.remedy == "compile the model again"


def test_missing_metadata(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="cannot be read"):
        load_metadata(tmp_path / "none.json")
