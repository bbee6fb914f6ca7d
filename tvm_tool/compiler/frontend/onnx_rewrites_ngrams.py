"""TfIdfVectorizer: how often short sequences stand in the input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from onnx import TensorProto

from .onnx_emit import Emitter
from .onnx_graph import Array, attributes


def tf_idf(emit: Emitter) -> bool:
    """Every place of every sequence is compared: with gaps of 0, 1, ... between the parts."""
    node = emit.node
    values = attributes(node)
    pool = values.get("pool_int64s")
    if pool is None or emit.dtype(node.input[0]).kind not in "iu":
        return False
    shape = emit.graph.shape(node.input[0])
    length = shape[-1]
    rows = emit.reshape(emit("Cast", node.input[0], to=TensorProto.INT64), [-1, length, 1])
    columns = max(values["ngram_indexes"]) + 1
    weights = np.array(values.get("weights") or np.ones(len(values["ngram_indexes"])))
    total, taken = emit.constant(np.zeros((1, columns)), np.float32), 0
    placed = np.zeros(columns)
    starts = [*values["ngram_counts"], len(pool)]
    for size, (start, end) in enumerate(pairwise(starts), 1):
        grams = np.array(pool[start:end], np.int64).reshape(-1, size)
        places = np.array(values["ngram_indexes"][taken : taken + len(grams)], np.int64)
        placed[places] = weights[taken : taken + len(grams)]
        taken += len(grams)
        if not len(grams) or not values["min_gram_length"] <= size <= values["max_gram_length"]:
            continue
        spread = np.zeros((len(grams), columns), np.float32)
        spread[np.arange(len(grams)), places] = 1
        for gap in range(values["max_skip_count"] + 1 if size > 1 else 1):
            count = _count(emit, rows, length, grams, gap + 1)
            if count:
                total = emit("Add", total, emit("MatMul", count, emit.constant(spread, np.float32)))
    if values["mode"] == "IDF":
        total = emit("Cast", emit("Greater", total, emit.constant(0, np.float32)), to=TensorProto.FLOAT)
    if values["mode"] != "TF":
        total = emit("Mul", total, emit.constant(placed, np.float32))
    outputs = emit.graph.shape(node.output[0])
    emit.reshape(total, outputs, output=node.output[0])
    return True


def _count(emit: Emitter, rows: str, length: int, grams: Array, step: int) -> str:
    """How often each of `grams` stands in each row, its parts `step` apart; empty if none can."""
    span = length - (grams.shape[1] - 1) * step
    if span <= 0:
        return ""
    hit = ""
    for part in range(grams.shape[1]):
        here = emit.cut(rows, 1, part * step, part * step + span)
        same = emit("Equal", here, emit.constant(grams[:, part]))
        hit = emit("And", hit, same) if hit else same
    return emit("ReduceSum", emit("Cast", hit, to=TensorProto.FLOAT), emit.constant([1]), keepdims=0)
