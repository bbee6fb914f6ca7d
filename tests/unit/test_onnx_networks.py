"""Whole networks as every opset writes them, damaged ones, and what holds for all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.unit.onnx_models import Net, largest_error, load, operators, random_data, run, same
from tvm_tool.compiler.frontend.onnx_model import load_onnx
from tvm_tool.errors import TVMToolError

OPSETS = range(8, 22)
MODELS = Path(os.environ.get("TVM_TOOL_MODELS", Path(__file__).parents[3] / "shared" / "models")) / "field"


def cnn(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.op("Conv", net.input(1, 3, 17, 16), net.weight(8, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
    x = net.op("Relu", net.batch_norm(x, 8))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER")
    x = net.op("Conv", net.batch_norm(x, 8), net.weight(12, 8, 3, 3), net.weight(12), pads=[1, 1, 1, 1])
    x = net.op("Flatten", net.op("GlobalAveragePool", net.op("LeakyRelu", net.batch_norm(x, 12), alpha=0.1)))
    x = net.op("Gemm", x, net.weight(12, 5), net.weight(5), alpha=0.5, beta=2.0)
    return net.model(net.op("Softmax", x, axis=1))


def mlp(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.op("Sigmoid", net.op("Gemm", net.input(2, 10), net.weight(7, 10), net.weight(7), transB=1))
    x = net.op("Tanh", net.op("Add", net.op("MatMul", x, net.weight(7, 9)), net.weight(9)))
    x = net.op("Mul", net.op("Dropout", x), net.weight(9))
    return net.model(net.op("Gemm", x, net.weight(9, 4), net.weight(1, 4)))


def conv1d(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.op("Transpose", net.input(1, 20, 6), perm=[0, 2, 1])
    x = net.op("Conv", x, net.weight(8, 6, 3), net.weight(8), dilations=[2], pads=[2, 2])
    x = net.op("Elu", net.batch_norm(x, 8))
    branch = net.op("Relu", net.op("Conv", x, net.weight(8, 8, 3), auto_pad="SAME_UPPER"))
    x = net.op("Concat", net.op("Add", branch, x), x, axis=1)
    x = net.op(
        "Conv", net.op("MaxPool", x, kernel_shape=[2], strides=[2]), net.weight(4, 16, 1), net.weight(4)
    )
    x = net.op("AveragePool", x, kernel_shape=[3], strides=[2], pads=[1, 1])
    x = net.op("ConvTranspose", x, net.weight(4, 3, 3), strides=[2])
    return net.model(net.op("Sigmoid", net.op("Transpose", x, perm=[0, 2, 1])))


def depthwise(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.pad(net.input(1, 8, 12, 12), [0, 0, 0, 0, 0, 0, 1, 1])
    x = net.op("Conv", x, net.weight(8, 1, 3, 3), group=8, strides=[2, 2])
    x = net.clip(net.batch_norm(x, 8), 0.0, 6.0)
    x = net.op("Conv", x, net.weight(12, 4, 1, 1), group=2)
    x = net.clip(net.batch_norm(x, 12), 0.0, 6.0)
    return net.model(net.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))


def residual(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.input(1, 4, 8, 8)
    y = net.op("Conv", x, net.weight(4, 4, 3, 3), pads=[1, 1, 1, 1])
    y = net.op("Add", x, net.op("Relu", net.batch_norm(y, 4)))
    return net.model(net.mean(net.batch_norm(net.op("Concat", x, y, axis=1), 8), [2, 3], 0))


def transformer(opset: int) -> onnx.ModelProto:
    """One block of width 16 on 8 tokens; the shapes of the heads are computed, as exporters write them."""
    net = Net(opset)

    def normal(x: str) -> str:
        scale, offset = net.positive(16), net.weight(16)
        if opset >= 17:
            return net.op("LayerNormalization", x, scale, offset, axis=-1)
        centred = net.op("Sub", x, net.mean(x, [2], 1))
        variance = net.mean(net.op("Mul", centred, centred), [2], 1)
        deviation = net.op("Sqrt", net.op("Add", variance, net.constant(np.float32(1e-5))))
        return net.op("Add", net.op("Mul", net.op("Div", centred, deviation), scale), offset)

    def heads(x: str) -> str:
        projected = net.op("Add", net.op("MatMul", x, net.weight(16, 16)), net.weight(16))
        shape = net.op("Shape", projected)
        sizes = [net.op("Gather", shape, net.constant(np.array(axis))) for axis in (0, 1)]
        parts = [net.unsqueeze(size, [0]) for size in sizes]
        target = net.op("Concat", *parts, net.constant(np.array([4, 4])), axis=0)
        return net.op("Transpose", net.op("Reshape", projected, target), perm=[0, 2, 1, 3])

    x = net.input(1, 8, 16)
    y = normal(x)
    query, key, value = heads(y), heads(y), heads(y)
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 1, 3, 2]))
    attention = net.op("Softmax", net.op("Div", scores, net.constant(np.float32(2))), axis=3)
    mixed = net.op("Transpose", net.op("MatMul", attention, value), perm=[0, 2, 1, 3])
    mixed = net.op("Reshape", mixed, net.constant(np.array([0, 0, -1])))
    x = net.op("Add", x, net.op("MatMul", mixed, net.weight(16, 16)))
    hidden = net.op("MatMul", normal(x), net.weight(16, 32))
    hidden = net.op("Mul", hidden, net.op("Erf", hidden)) if opset >= 9 else net.op("Relu", hidden)
    return net.model(net.op("Add", x, net.op("MatMul", hidden, net.weight(32, 16))))


def resize_nearest(opset: int, mode: str = "nearest") -> onnx.ModelProto:
    net = Net(opset)
    x = net.op("Conv", net.input(1, 3, 5, 6), net.weight(4, 3, 1, 1))
    return net.model(net.op("Relu", net.resize(x, [1.0, 1.0, 2.0, 2.0], mode)))


def resize_linear(opset: int) -> onnx.ModelProto:
    return resize_nearest(opset, "linear")


def misc(opset: int) -> onnx.ModelProto:
    net = Net(opset)
    x = net.op("PRelu", net.pad(net.input(1, 4, 8, 8), [0, 0, 1, 0, 0, 0, 2, 1]), net.weight(4, 1, 1))
    first, rest = net.split(x, [1, 3], 1)
    y = net.op(
        "ConvTranspose", rest, net.weight(3, 2, 3, 3), net.weight(2), strides=[2, 2], auto_pad="SAME_UPPER"
    )
    y = net.slice(net.batch_norm(y, 2), [1, -7], [9, 1000], [2, 3])
    y = net.op("InstanceNormalization", y, net.weight(2), net.weight(2))
    return net.model(first, y, net.op("Cast", net.op("ArgMax", y, axis=1), to=1))


Network = Callable[[int], onnx.ModelProto]
NETWORKS: tuple[Network, ...] = (
    cnn,
    mlp,
    conv1d,
    depthwise,
    residual,
    transformer,
    resize_nearest,
    resize_linear,
    misc,
)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: n.__name__)
def test_every_opset(network: Network, tmp_path: Path) -> None:
    for opset in OPSETS:
        assert same(network(opset), tmp_path).opset == opset


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: n.__name__)
def test_normalising_twice_changes_nothing(network: Network, tmp_path: Path) -> None:
    for opset in (9, 17):
        once = load(network(opset), tmp_path)
        twice = load(once.proto, tmp_path)
        assert [(n.name, n.op_type) for n in twice.proto.graph.node] == [
            (n.name, n.op_type) for n in once.proto.graph.node
        ]
        data = random_data(once.proto)
        assert largest_error(run(once.proto, data), run(twice.proto, data)) == 0


def test_what_is_left_of_the_networks(tmp_path: Path) -> None:
    """No operator that only the exporter needed."""
    left = {n.__name__: operators(load(n(13), tmp_path)) for n in NETWORKS}
    assert left["depthwise"] == ["Conv", "Clip", "Conv", "Clip", "AveragePool"]
    assert left["mlp"] == ["Gemm", "Sigmoid", "Gemm", "Tanh", "Mul", "Gemm"]
    assert left["conv1d"].count("Reshape") == 2
    assert not {"Shape", "Gather", "Concat", "Unsqueeze"} & set(left["transformer"])
    assert not {"BatchNormalization", "Flatten", "Dropout"} & {
        name for names in left.values() for name in names
    }


def test_names_of_layers_stay(tmp_path: Path) -> None:
    model = cnn(11)
    for index, node in enumerate(model.graph.node):
        node.name = f"block{index}/{node.op_type}"
    names = [n.name for n in load(model, tmp_path).proto.graph.node]
    assert [n for n in names if "Conv" in n] == ["block0/Conv", "block5/Conv"]
    assert {n.partition("/")[0] for n in names} <= {f"block{i}" for i in range(len(model.graph.node))}


def test_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(transformer(11).SerializeToString())
    code = "import sys, hashlib, pathlib; from tvm_tool.compiler.frontend.onnx_model import load_onnx\n"
    code += "model = load_onnx(pathlib.Path(sys.argv[1]), {})\n"
    code += "assert not any(m.split('.')[0] == 'tvm' for m in sys.modules), 'TVM takes a second to load'\n"
    code += "print(hashlib.sha256(model.proto.SerializeToString()).hexdigest(), model.sha256)"
    results = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(results) == 1


def test_paths_with_spaces_and_letters_of_the_world(tmp_path: Path) -> None:
    folder = tmp_path / "große Modelle"
    folder.mkdir()
    assert load(mlp(17), folder).files == (folder / "model.onnx",)


def changed(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Change one thing: an operator, a number or an input."""
    nodes = model.graph.node
    node = nodes[rng.integers(len(nodes))]
    kind = rng.integers(4)
    if kind == 0:
        node.op_type = str(
            rng.choice(["Relu", "Flatten", "Softmax", "Transpose", "Identity", "Shape", "Hardmax"])
        )
        del node.attribute[:]
    elif kind == 1:
        values = [t.name for t in model.graph.initializer] + [o for n in nodes for o in n.output]
        node.input[rng.integers(len(node.input))] = str(rng.choice(values))
    elif kind == 2 and node.attribute:
        attribute = node.attribute[rng.integers(len(node.attribute))]
        if attribute.ints:
            attribute.ints[rng.integers(len(attribute.ints))] = int(rng.integers(-1, 5))
        elif attribute.type == onnx.AttributeProto.INT:
            attribute.i = int(rng.integers(-1, 5))
    elif node.attribute:
        del node.attribute[rng.integers(len(node.attribute))]


@pytest.mark.parametrize("seed", range(4))
def test_changed_networks_are_refused_or_right(seed: int, tmp_path: Path) -> None:
    """Never a trace, never a wrong value."""
    rng = np.random.default_rng(seed)
    compared = 0
    for _ in range(100):
        model = NETWORKS[rng.integers(len(NETWORKS))](int(rng.integers(8, 22)))
        for _ in range(int(rng.integers(1, 4))):
            changed(model, rng)
        try:
            new = load(model, tmp_path)
        except TVMToolError:
            continue
        data = random_data(new.proto)
        try:
            wanted = run(model, data)
        except Exception:  # noqa: BLE001 - onnxruntime refuses in many ways
            continue
        assert largest_error(wanted, run(new.proto, data)) <= 3e-5  # some networks magnify rounding
        compared += 1
    assert compared > 20


@pytest.mark.parametrize(
    ("file", "shapes"),
    [
        ("mnist-8.onnx", {}),
        ("cct_tiny_transformer.onnx", {}),
        ("micro_kws_m_static_fp32.onnx", {}),
        ("micro_kws_m_static_qdq.onnx", {"serving_default_input:0": (1, 1960)}),
        ("conv_2ch_3kernels_randombias.onnx", {"conv2d_input": (1, 5, 5, 2)}),
        ("averagepool_count_include_pad.onnx", {}),
        ("lstm_k1_b1_r1.onnx", {"input_1": (1, 1, 5)}),
    ],
)
def test_models_from_the_field(file: str, shapes: dict[str, tuple[int, ...]]) -> None:
    path = MODELS / file
    if not path.exists():
        pytest.skip(f"{path} is not here")
    model = load_onnx(path, shapes)
    data = random_data(model.proto)
    assert largest_error(run(onnx.load(path), data), run(model.proto, data)) <= 1e-6
