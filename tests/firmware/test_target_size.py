"""The size table of really linked firmwares."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.firmware.data_target.firmware import MISSING, build, plain_script, write_metadata
from tvm_tool.board import Board, load_board
from tvm_tool.errors import BudgetError, ImageError
from tvm_tool.image import report_sizes

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

WORKSPACE = {"symbol": "tvmgen_fake_workspace", "bytes": 32, "align": 16, "region": None}
F412, F407, M3 = load_board("stm32f412"), load_board("stm32f407"), load_board("mps2_an385")


def rows(table: str) -> dict[str, list[int]]:
    """Numbers by the row's label; '-' is 0."""
    found = {}
    for line in table.splitlines():
        match = re.fullmatch(r"(\S.*?)((?: +(?:[\d,]+|-))+)", line)
        if match and not line.startswith("---"):
            words = match[2].replace(",", "").split()
            found[match[1].strip()] = [0 if word == "-" else int(word) for word in words]
    return found


def sections(elf: Path) -> dict[str, int]:
    command = ["arm-none-eabi-size", str(elf)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text, data, bss, *_ = (int(word) for word in output.splitlines()[1].split()[:4])
    return {"flash": text + data, "ram": data + bss}


@pytest.mark.parametrize("flags", [(), ("-flto",)], ids=["plain", "lto"])
@pytest.mark.parametrize("board", [F412, M3], ids=lambda b: b.name)
def test_the_table_is_complete(board: Board, flags: tuple[str, ...], tmp_path: Path) -> None:
    firmware = build(tmp_path, board, *flags)
    table = report_sizes(firmware.elf, [firmware.metadata], board)
    found = rows(table)
    parts = [label for label in found if label not in ("total", "budget")]
    for column, region in enumerate(("flash", "ram")):
        total = sum(found[part][column] for part in parts)
        assert total == found["total"][column]
        # What is more than the sections is the padding between them.
        padding = found["other, padding"][column]
        assert total - padding <= sections(firmware.elf)[region] <= total
    assert found["weights"] == [32, 0]
    assert found["arena"] == [0, 32]
    assert found["stack"] == [0, 4096]
    assert found["model code"][0] > 50
    assert found["startup"][0] > 100
    assert ("libc, libgcc" in found) == (board is M3), "only the M3 needs software floats"
    assert found["other, padding"][0] < 64
    assert report_sizes(firmware.elf, [firmware.metadata], board) == table


def test_without_map_and_metadata(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    complete = rows(report_sizes(firmware.elf, [firmware.metadata], F412))
    firmware.elf.with_suffix(".map").unlink()
    bare = rows(report_sizes(firmware.elf, [], F412))
    assert bare["total"] == complete["total"]
    assert "weights" not in bare


def test_over_budget(tmp_path: Path) -> None:
    firmware = build(tmp_path, F412)
    with pytest.raises(BudgetError, match="region 'ram' of stm32f412") as caught:
        report_sizes(firmware.elf, [firmware.metadata], replace(F412, budget={"ram": 4000}))
    assert ".stack 4,096 (stack)" in str(caught.value)


def test_a_workspace_in_another_region(tmp_path: Path) -> None:
    section = '-DARENA_SECTION=".tvmbss.ccm.tvmgen_fake_workspace"'
    firmware = build(tmp_path, F407, section)
    write_metadata(tmp_path, firmware.model, workspace=WORKSPACE | {"region": "ccm"})
    found = rows(report_sizes(firmware.elf, [firmware.metadata], F407))
    assert found["arena"] == [0, 0, 32]
    # The metadata of another build: the check finds that the two do not belong together.
    write_metadata(tmp_path, firmware.model)
    with pytest.raises(ImageError, match="outside its region"):
        report_sizes(firmware.elf, [firmware.metadata], F407)


def test_a_script_that_forgets_the_bss_of_symbols(tmp_path: Path) -> None:
    script = plain_script(0x08000000, 128 << 10, bss=".bss")
    firmware = build(tmp_path, F412, script=script)
    with pytest.raises(ImageError, match="where the heap starts"):
        report_sizes(firmware.elf, [firmware.metadata], F412)
