"""Post-training quantisation: a float model and calibration data in, a Q/DQ model and a report out.

ONNX Runtime does the quantising; it is imported here and nowhere else in the compiler, and only when
it is asked for.
"""

from __future__ import annotations

from .post_training import Quantized, quantize

__all__ = ["Quantized", "quantize"]
