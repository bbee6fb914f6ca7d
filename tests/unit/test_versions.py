"""Another TVM than ours is refused before it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm_tool import versions
from tvm_tool.cli import main
from tvm_tool.errors import VersionError


@pytest.mark.parametrize(
    ("package", "version"),
    [("apache-tvm", "0.26.0"), ("apache-tvm-ffi", "0.1.15.post2"), ("apache-tvm", None)],
)
def test_other_versions_are_refused(
    package: str, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = dict(versions.PINNED)
    monkeypatch.setattr(versions, "installed", lambda p: version if p == package else pinned[p])
    with pytest.raises(VersionError) as error:
        versions.check_versions()
    text = str(error.value)
    assert (f"{package} {version}" if version else f"no {package}") in text
    assert "pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1" in text


def test_the_command_line_refuses_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(versions, "installed", lambda p: "0.1.15.post2")
    (tmp_path / "m.onnx").write_bytes(b"never read")
    assert main(["compile", str(tmp_path / "m.onnx"), "--output", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert "0.1.15.post2" in error
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()
