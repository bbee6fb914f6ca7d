"""The four networks of MLPerf Tiny at full size, in float, with seeded weights.

Layouts, padding and order of layers are those of the reference models, so that their real weights
fit in (`tflite_weights.py`).
"""

from __future__ import annotations

import onnx

from .builder import Builder, RandomWeights, Weights


def kws(weights: Weights | None = None) -> onnx.ModelProto:
    """Keyword spotting: a depthwise-separable CNN over 49 frames of 10 coefficients, 12 words."""
    b = Builder(weights or RandomWeights(1), "kws", "features", [1, 1, 49, 10])
    x = b.relu(b.conv("features", "conv", (1, 64), (10, 4), stride=2, pads=(4, 1, 5, 1)))
    for block in range(4):
        x = _separable(b, x, f"block{block}", 64, 64)
    x = b.pool_all(x, (25, 5), 64)
    return b.model(b.classifier(x, 64, 12), "words", [1, 12])


def vww(weights: Weights | None = None) -> onnx.ModelProto:
    """Visual wake words: MobileNet v1 of a quarter width, 96x96 colour images, person or not."""
    b = Builder(weights or RandomWeights(2), "vww", "image", [1, 3, 96, 96])
    x = b.relu(b.conv("image", "conv", (3, 8), (3, 3), stride=2, pads=(0, 0, 1, 1)))
    inputs = 8
    outputs = (16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256)
    halved = (1, 3, 5, 11)
    for block, channels in enumerate(outputs):
        x = _separable(b, x, f"block{block}", inputs, channels, stride=2 if block in halved else 1)
        inputs = channels
    x = b.pool_all(x, (3, 3), 256)
    return b.model(b.classifier(x, 256, 2), "person", [1, 2])


def ic(weights: Weights | None = None) -> onnx.ModelProto:
    """Image classification: ResNet-8 over 32x32 colour images, ten classes."""
    b = Builder(weights or RandomWeights(3), "ic", "image", [1, 3, 32, 32])
    x = b.relu(b.conv("image", "conv", (3, 16), (3, 3), pads=(1, 1, 1, 1)))
    inputs = 16
    for stack, channels in enumerate((16, 32, 64)):
        name, stride = f"stack{stack}", 1 if channels == inputs else 2
        pads = (1, 1, 1, 1) if stride == 1 else (0, 0, 1, 1)
        y = b.relu(b.conv(x, f"{name}/conv0", (inputs, channels), (3, 3), stride=stride, pads=pads))
        y = b.conv(y, f"{name}/conv1", (channels, channels), (3, 3), pads=(1, 1, 1, 1))
        if stride == 2:
            x = b.conv(x, f"{name}/shortcut", (inputs, channels), (1, 1), stride=2, batch_norm=False)
        x = b.relu(b.add(x, y, f"{name}/add"))
        inputs = channels
    x = b.pool_all(x, (8, 8), 64)
    return b.model(b.classifier(x, 64, 10), "classes", [1, 10])


def ad(weights: Weights | None = None) -> onnx.ModelProto:
    """Anomaly detection: a dense autoencoder of 640 spectrogram values."""
    b = Builder(weights or RandomWeights(4), "ad", "frames", [1, 640])
    x, inputs = "frames", 640
    for layer, outputs in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128)):
        x = b.relu(b.dense(x, f"dense{layer}", inputs, outputs, batch_norm=True))
        inputs = outputs
    return b.model(b.dense(x, "dense9", 128, 640), "rebuilt", [1, 640])


def _separable(b: Builder, x: str, name: str, inputs: int, outputs: int, stride: int = 1) -> str:
    """A 3x3 depthwise and a pointwise convolution, each with normalisation and ReLU."""
    pads = (1, 1, 1, 1) if stride == 1 else (0, 0, 1, 1)
    x = b.conv(x, f"{name}/depthwise", (inputs, inputs), (3, 3), stride=stride, pads=pads, group=inputs)
    x = b.relu(x)
    return b.relu(b.conv(x, f"{name}/pointwise", (inputs, outputs), (1, 1)))
