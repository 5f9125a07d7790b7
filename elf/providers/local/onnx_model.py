"""The weights of a BERT encoder as an ONNX graph.

Inputs: `input_ids` int64 and `mask` int32, both (batch, length), padded on the right. Outputs: `sentence`
float32 (batch, width), the mean of the last hidden states under the mask, L2-normalised; `tokens` float32
(batch, length, width), the last hidden states themselves.

Attention, the residual layer norm and the biased gelu are onnxruntime's own fused operators (domain
com.microsoft); they compute what the plain ONNX operators do, with a quarter of the nodes. A change here
needs a new `onnx_cache.BUILDER_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from elf.providers.local.catalog import Architecture

_EPSILON = 1e-12
_OPSET = 20
_IR_VERSION = 9
_FUSED = "com.microsoft"

Weights = Mapping[str, npt.NDArray[Any]]


def build_graph(weights: Weights, shape: Architecture) -> bytes:
    """Return the serialised model. Raises KeyError when a weight is missing."""
    graph = _Graph(weights, shape)
    hidden = _embed(graph)
    for layer in range(shape.layers):
        hidden = _attend(graph, hidden, f"encoder.layer.{layer}.")
        hidden = _feed_forward(graph, hidden, f"encoder.layer.{layer}.")
    _pool(graph, hidden)
    return graph.serialise()


def _embed(graph: _Graph) -> str:
    table = "embeddings."
    words = graph.node("Gather", [graph.weight(f"{table}word_embeddings.weight"), "input_ids"])
    # Every token is of type 0, so its vector is part of the position's.
    positions = graph.weights[f"{table}position_embeddings.weight"][: graph.shape.max_tokens]
    positions = positions + graph.weights[f"{table}token_type_embeddings.weight"][0]
    length = graph.node("Shape", ["input_ids"], start=1, end=2)
    zero = graph.constant("zero", _ints(0))
    places = graph.node("Slice", [graph.constant("positions", positions), zero, length, zero])
    return graph.layer_norm(graph.node("Add", [words, places]), f"{table}LayerNorm")


def _attend(graph: _Graph, hidden: str, layer: str) -> str:
    parts = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
    projection = np.concatenate([graph.weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([graph.weights[f"{part}.bias"] for part in parts])
    inputs = [
        hidden,
        graph.constant(f"{layer}qkv.weight", projection),
        graph.constant(f"{layer}qkv.bias", bias),
        "mask",
    ]
    attended = graph.node("Attention", inputs, domain=_FUSED, num_heads=graph.shape.heads)
    return graph.residual(attended, hidden, f"{layer}attention.output.")


def _feed_forward(graph: _Graph, hidden: str, layer: str) -> str:
    wide = f"{layer}intermediate.dense"
    inputs = [graph.project(hidden, wide), graph.weight(f"{wide}.bias")]
    return graph.residual(graph.node("BiasGelu", inputs, domain=_FUSED), hidden, f"{layer}output.")


def _pool(graph: _Graph, hidden: str) -> None:
    mask = graph.node("Cast", ["mask"], to=TensorProto.FLOAT)
    axis = graph.constant("pooled_axis", _ints(1))
    total = graph.node("MatMul", [graph.node("Unsqueeze", [mask, axis]), hidden])
    count = graph.node("ReduceSum", [mask, axis], keepdims=1)
    mean = graph.node("Div", [graph.node("Squeeze", [total, axis]), count])
    graph.node("LpNormalization", [mean], output="sentence", axis=-1, p=2)
    graph.node("Identity", [hidden], output="tokens")


def _ints(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


class _Graph:
    """Collects nodes and tensors; every node has one output."""

    def __init__(self, weights: Weights, shape: Architecture) -> None:
        self.weights = weights
        self.shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self._tensors[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def node(
        self, operator: str, inputs: Sequence[str], *, output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        name = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def project(self, hidden: str, name: str) -> str:
        """Multiply by a torch linear layer's weight (stored transposed), without its bias."""
        return self.node(
            "MatMul", [hidden, self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)]
        )

    def layer_norm(self, hidden: str, name: str) -> str:
        inputs = [hidden, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", inputs, axis=-1, epsilon=_EPSILON)

    def residual(self, hidden: str, skipped: str, block: str) -> str:
        """Project, add the bias and the block's input, and normalise: the end of both halves of a layer."""
        norm = f"{block}LayerNorm"
        inputs = [
            self.project(hidden, f"{block}dense"),
            skipped,
            self.weight(f"{norm}.weight"),
            self.weight(f"{norm}.bias"),
            self.weight(f"{block}dense.bias"),
        ]
        return self.node("SkipLayerNormalization", inputs, domain=_FUSED, epsilon=_EPSILON)

    def serialise(self) -> bytes:
        info = helper.make_tensor_value_info
        inputs = [
            info("input_ids", TensorProto.INT64, ["batch", "length"]),
            info("mask", TensorProto.INT32, ["batch", "length"]),
        ]
        outputs = [
            info("sentence", TensorProto.FLOAT, ["batch", self.shape.width]),
            info("tokens", TensorProto.FLOAT, ["batch", "length", self.shape.width]),
        ]
        graph = helper.make_graph(self._nodes, "minilm", inputs, outputs, list(self._tensors.values()))
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return bytes(model.SerializeToString())
