"""Write ``centre.onnx`` beside this file: where the ink of an 8x8 image lies, as one matrix product.

``image`` float32 [1, 1, 8, 8] -> ``moments`` float32 [1, 3]: the amount of ink, and the amount times the
column and times the row of each pixel; dividing by the first gives the centre.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def centre_model() -> onnx.ModelProto:
    """The model; nothing in it is trained."""
    rows, columns = np.mgrid[0:8, 0:8].astype(np.float32)
    weights = np.stack([np.ones((8, 8), np.float32), columns, rows]).reshape(3, 64)
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["image"], ["pixels"], name="flatten"),
            helper.make_node("Gemm", ["pixels", "weights"], ["moments"], name="moments", transB=1),
        ],
        "centre",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("moments", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    onnx.save(centre_model(), Path(__file__).with_name("centre.onnx"))
