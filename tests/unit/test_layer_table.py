"""The table of a model's layers and their kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm_tool.errors import ImageError
from tvm_tool.image.layer_table import report_layers

LAYERS = [
    {
        "index": 0,
        "name": "model/a_very_long_name_of_a_convolution;model/bias",
        "operator": "conv2d",
        "kernel": "conv2d_any_dsp",
        "declined": "groups",
        "function": "layer0_conv2d",
        "macs": 12345,
        "weights_bytes": 720,
        "scratch_bytes": 416,
    },
    {"index": 1, "name": "Softmax_1", "operator": "softmax", "kernel": "generic", "function": "generic0"},
]

TABLE = """\
kws: 2 layers, workspace 2,048 bytes

   layer                             operator  kernel            MACs  weights  scratch  why not a faster one
---------------------------------------------------------------------------------------------------------------
0  ...ry_long_name_of_a_convolution  conv2d    conv2d_any_dsp  12,345      720      416  groups
1  Softmax_1                         softmax   generic              -        -        -
---------------------------------------------------------------------------------------------------------------
   total, most scratch                                         12,345      720      416"""


def metadata(folder: Path) -> Path:
    file = folder / "kws.json"
    data = {
        "format": 1,
        "name": "kws",
        "prefix": "tvmgen_kws",
        "model": {"file": "kws.onnx", "sha256": "0"},
        "inputs": [],
        "outputs": [],
        "workspace": {"symbol": "w", "bytes": 2048, "align": 16, "region": None},
        "weights": {"symbols": [], "region": None},
        "layers": LAYERS,
    }
    file.write_text(json.dumps(data))
    return file


def test_every_layer_has_its_row(tmp_path: Path) -> None:
    lines = report_layers(metadata(tmp_path)).splitlines()
    assert [line.replace("-", "") for line in lines] == [line.replace("-", "") for line in TABLE.splitlines()]
    assert lines[3] == lines[-2] == "-" * max(map(len, lines))


def test_what_is_no_metadata_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kws.json"
    file.write_text("{}")
    with pytest.raises(ImageError):
        report_layers(file)
