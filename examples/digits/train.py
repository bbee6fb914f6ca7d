"""Train the digits network and write it and two sets of images beside this file.

``digits.onnx`` is the network, ``test_images.npz`` what it is tested with, ``calibration_images.npz`` some
of the images that it was trained with, for those who quantise it.

The data are scikit-learn's handwritten digits: 1,797 images of 8x8 pixels, written by 13 people.
A fifth of them, chosen by a seeded shuffle, is held out: the training never sees it, and nothing
was tuned on it (the rates and amounts below come from a fourfold split of the rest). The network
is plain numpy, so nothing but scikit-learn has to be installed.

    ./bootstrap pip install -c constraints.txt scikit-learn
    ./bootstrap python examples/digits/train.py

takes less than a minute. The same machine writes the same bytes every time; another one may round
sums differently and end at slightly different weights.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]
Labels = NDArray[np.int64]

HERE = Path(__file__).resolve().parent
SEED = 20
EPOCHS = 120
BATCH = 32
LEARNING_RATE = 3e-3
SMOOTHING = 0.05  # Share of the wanted score that is spread over all ten digits.
HELD_OUT = 360
CALIBRATION = 200
OPSET = 17
IR_VERSION = 8  # The oldest that goes with the opset, so that old readers can load the file.


class Conv:
    """A 3x3 convolution, zero padding of one pixel, then ReLU."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int, stride: int = 1) -> None:
        self.stride = stride
        self.weight = he_normal(rng, (outputs, inputs, 3, 3))
        self.bias = np.zeros(outputs, np.float32)

    def forward(self, x: Array) -> Array:
        n, channels, height, width = self.input_shape = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        taps = [
            padded[:, :, i : i + height : self.stride, j : j + width : self.stride]
            for i in range(3)
            for j in range(3)
        ]
        windows = np.stack(taps, axis=2)
        rows, columns = windows.shape[3:]
        self.patches = windows.transpose(0, 3, 4, 1, 2).reshape(-1, channels * 9)
        y: Array = self.patches @ self.weight.reshape(len(self.weight), -1).T + self.bias
        self.output = np.maximum(y.reshape(n, rows, columns, -1).transpose(0, 3, 1, 2), 0)
        return self.output

    def backward(self, gradient: Array) -> tuple[Array, list[Array]]:
        n, channels, height, width = self.input_shape
        gradient = gradient * (self.output > 0)
        rows, columns = gradient.shape[2:]
        flat = gradient.transpose(0, 2, 3, 1).reshape(-1, len(self.weight))
        by_patch = (flat @ self.weight.reshape(len(self.weight), -1)).reshape(
            n, rows, columns, channels, 3, 3
        )
        padded = np.zeros((n, channels, height + 2, width + 2), np.float32)
        for i in range(3):
            for j in range(3):
                window = padded[:, :, i : i + height : self.stride, j : j + width : self.stride]
                window += by_patch[..., i, j].transpose(0, 3, 1, 2)
        parameters = [(flat.T @ self.patches).reshape(self.weight.shape), flat.sum(0)]
        return padded[:, :, 1:-1, 1:-1], parameters


class Dense:
    """A fully connected layer, ReLU if wanted. Flattens its input, channels first."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int, relu: bool) -> None:
        self.relu = relu
        self.weight = he_normal(rng, (outputs, inputs))
        self.bias = np.zeros(outputs, np.float32)

    def forward(self, x: Array) -> Array:
        self.input_shape = x.shape
        self.flat = x.reshape(len(x), -1)
        y: Array = self.flat @ self.weight.T + self.bias
        self.output = np.maximum(y, 0) if self.relu else y
        return self.output

    def backward(self, gradient: Array) -> tuple[Array, list[Array]]:
        if self.relu:
            gradient = gradient * (self.output > 0)
        inputs = (gradient @ self.weight).reshape(self.input_shape)
        return inputs, [gradient.T @ self.flat, gradient.sum(0)]


class MaxPool:
    """The largest of each 2x2 block."""

    def forward(self, x: Array) -> Array:
        n, channels, height, width = x.shape
        self.blocks = x.reshape(n, channels, height // 2, 2, width // 2, 2)
        largest: Array = self.blocks.max(axis=(3, 5))
        self.output = largest[:, :, :, None, :, None]
        return largest

    def backward(self, gradient: Array) -> tuple[Array, list[Array]]:
        largest = self.blocks == self.output
        share = largest / largest.sum(axis=(3, 5), keepdims=True)
        spread: Array = (share * gradient[:, :, :, None, :, None]).astype(np.float32)
        n, channels, height, _, width, _ = self.blocks.shape
        return spread.reshape(n, channels, height * 2, width * 2), []


class Network:
    """Three convolutions, a pooling and two dense layers: 8,162 parameters."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.layers: dict[str, Conv | Dense | MaxPool] = {
            "conv1": Conv(rng, 1, 8),
            "conv2": Conv(rng, 8, 16, stride=2),
            "conv3": Conv(rng, 16, 24),
            "pool": MaxPool(),
            "dense1": Dense(rng, 24 * 2 * 2, 32, relu=True),
            "dense2": Dense(rng, 32, 10, relu=False),
        }

    def parameters(self) -> list[Array]:
        """Weight and bias of each layer that has them, from the input to the output."""
        layers = [layer for layer in self.layers.values() if not isinstance(layer, MaxPool)]
        return [array for layer in layers for array in (layer.weight, layer.bias)]

    def forward(self, x: Array) -> Array:
        """Logits ``[n, 10]`` of images ``[n, 1, 8, 8]``."""
        for layer in self.layers.values():
            x = layer.forward(x)
        return x

    def gradients(self, x: Array, labels: Labels) -> list[Array]:
        """Gradients of the mean cross entropy with smoothed labels, in the order of `parameters`."""
        gradient = softmax(self.forward(x))
        gradient -= np.float32(SMOOTHING / 10)
        gradient[np.arange(len(x)), labels] -= 1 - SMOOTHING
        gradient /= len(x)
        found: list[Array] = []
        for layer in reversed(self.layers.values()):
            gradient, parameters = layer.backward(gradient)
            found = parameters + found
        return found


def he_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights that keep the variance of a ReLU network: outputs first in `shape`."""
    deviation = float(np.sqrt(2 / np.prod(shape[1:])))
    return (rng.standard_normal(shape) * deviation).astype(np.float32)


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: Array = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return result


def warped(rng: np.random.Generator, images: Array) -> Array:
    """Each image turned, stretched and moved a little, as if written again by another hand."""
    n = len(images)
    turn = rng.uniform(-0.2, 0.2, n)
    stretch = rng.uniform(0.85, 1.15, (2, n))
    move = rng.uniform(-0.7, 0.7, (n, 1, 2))
    rows = np.stack([stretch[0] * np.cos(turn), -np.sin(turn)], axis=1)
    columns = np.stack([np.sin(turn), stretch[1] * np.cos(turn)], axis=1)
    pixels = np.indices((8, 8)).reshape(2, -1).T - 3.5
    # Where each pixel comes from, in an image with a border of one empty pixel.
    source = np.clip(pixels @ np.stack([rows, columns], axis=2) + move + 4.5, 0, 8.999)
    corner = source.astype(int)
    down, right = np.moveaxis(source - corner, 2, 0)
    padded = np.pad(images[:, 0], ((0, 0), (1, 1), (1, 1)))
    which = np.arange(n)[:, None]
    result = np.zeros((n, 64))
    for i, row_share in enumerate((1 - down, down)):
        for j, column_share in enumerate((1 - right, right)):
            result += row_share * column_share * padded[which, corner[..., 0] + i, corner[..., 1] + j]
    return result.astype(np.float32).reshape(images.shape)


def batches(rng: np.random.Generator, images: Array, labels: Labels) -> Iterator[tuple[Array, Labels]]:
    order = rng.permutation(len(images))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        yield warped(rng, images[chosen]), labels[chosen]


def train(rng: np.random.Generator, images: Array, labels: Labels) -> Network:
    """Adam with a rate that falls to zero along a half cosine; fixed length, no early stopping."""
    network = Network(rng)
    parameters = network.parameters()
    means = [np.zeros_like(p) for p in parameters]
    squares = [np.zeros_like(p) for p in parameters]
    steps = EPOCHS * -(-len(images) // BATCH)
    step = 0
    for _ in range(EPOCHS):
        for batch, wanted in batches(rng, images, labels):
            rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            step += 1
            rate *= np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            gradients = network.gradients(batch, wanted)
            for p, g, mean, square in zip(parameters, gradients, means, squares, strict=True):
                mean += 0.1 * (g - mean)
                square += 0.001 * (g * g - square)
                p -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
    return network


def to_onnx(network: Network) -> onnx.ModelProto:
    """The trained network with a softmax: ``image`` [1, 1, 8, 8] to ``scores`` [1, 10]."""
    nodes: list[onnx.NodeProto] = []
    weights: list[TensorProto] = []
    last = "image"

    def add(operator: str, name: str, *constants: Array, output: str = "", **attributes: Any) -> None:
        nonlocal last
        names = [f"{name}.{suffix}" for suffix in ("weight", "bias")[: len(constants)]]
        weights.extend(numpy_helper.from_array(c, n) for c, n in zip(constants, names, strict=True))
        output = output or f"{name}.output"
        nodes.append(helper.make_node(operator, [last, *names], [output], name=name, **attributes))
        last = output

    for name, layer in network.layers.items():
        if isinstance(layer, Conv):
            strides = [layer.stride] * 2
            add("Conv", name, layer.weight, layer.bias, kernel_shape=[3, 3], pads=[1] * 4, strides=strides)
            add("Relu", name.replace("conv", "relu"))
        elif isinstance(layer, MaxPool):
            add("MaxPool", name, kernel_shape=[2, 2], strides=[2, 2])
            add("Flatten", "flatten", axis=1)
        else:
            add("Gemm", name, layer.weight, layer.bias, transB=1)
            if layer.relu:
                add("Relu", f"{name}.relu")
    add("Softmax", "softmax", output="scores", axis=1)

    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        weights,
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(
        graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="examples/digits/train.py"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def save_npz(path: Path, **arrays: NDArray[np.generic]) -> None:
    """As `numpy.savez_compressed`, without the time of day: same arrays, same bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.getvalue())


def main() -> None:
    from sklearn.datasets import load_digits

    data = load_digits()
    images = (data.images[:, None] / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(images))
    held_out, seen = order[:HELD_OUT], order[HELD_OUT:]

    network = train(rng, images[seen], labels[seen])
    for part, chosen in (("training", seen), ("held-out", held_out)):
        right = int((network.forward(images[chosen]).argmax(axis=1) == labels[chosen]).sum())
        print(f"{part}: {right} of {len(chosen)} right, {right / len(chosen):.2%}")

    onnx.save(to_onnx(network), HERE / "digits.onnx")
    some = seen[:CALIBRATION]
    save_npz(HERE / "test_images.npz", image=images[held_out], labels=labels[held_out])
    save_npz(HERE / "calibration_images.npz", image=images[some], labels=labels[some])
    print(f"{sum(p.size for p in network.parameters()):,} parameters")


if __name__ == "__main__":
    main()
