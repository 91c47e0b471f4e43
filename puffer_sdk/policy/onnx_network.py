"""The network as an ONNX graph.  a TrainedPolicy -> nodes and constants

Sizes: n agents, D observation, E numbers that the network sees of one, H hidden, L layers, A sum of
head widths.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..settings.encoder import Part, plain_numbers

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto


class Trained(Protocol):
    """What of a policy a graph is made of: a TrainedPolicy."""

    @property
    def obs_size(self) -> int: ...
    @property
    def act_sizes(self) -> Sequence[int]: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def num_layers(self) -> int: ...
    @property
    def parts(self) -> Sequence[Part]: ...
    @property
    def weights(self) -> Mapping[str, np.ndarray]: ...


class OnnxNodes:
    """The nodes and constants of an ONNX graph, in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def node(self, kind: str, inputs: list[str], output: str | list[str], **attributes: Any) -> str:
        """Add a node. Returns the name of its first output."""
        from onnx import helper

        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def constant(self, name: str, value: ArrayLike) -> str:
        from onnx import numpy_helper

        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def integers(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, np.int64))

    def slice(self, source: str, axis: int, first: int, count: int, output: str) -> str:
        """Elements first to first + count of this axis."""
        ends = [self.integers(f"{output}.{name}", value) for name, value in
                (("first", first), ("end", first + count), ("axis", axis))]
        return self.node("Slice", [source, *ends], output)

    def lerp(self, start: str, end: str, weight: str, output: str) -> str:
        """start + weight (end - start)"""
        difference = self.node("Sub", [end, start], f"{output}.difference")
        step = self.node("Mul", [weight, difference], f"{output}.step")
        return self.node("Add", [start, step], output)


def add_seen(graph: OnnxNodes, policy: Trained, floats: str) -> str:
    """(n, D) -> (n, E), as in training/reference/seeing.py; the same without parts."""
    if not policy.parts:
        return floats
    plain = plain_numbers(policy.parts, policy.obs_size)
    seen = [graph.slice(floats, 1, one.start, one.stop - one.start, f"plain.{number}")
            for number, one in enumerate(plain)]
    for number, part in enumerate(policy.parts):
        elements = graph.slice(floats, 1, part.first, part.count, f"part.{number}")
        layers = [policy.weights[f"parts.{number}.{layer}"] for layer in range(len(part.layers))]
        seen.append(add_part(graph, part, elements, layers))
    return graph.node("Concat", seen, "seen", axis=1)


def add_part(graph: OnnxNodes, part: Part, elements: str, layers: Sequence[np.ndarray]) -> str:
    """(n, elements of the part) -> (n, its features)."""
    node, name = graph.node, elements
    cell = part.height, part.width
    shape = (part.channels, *cell) if part.planes else (*cell, part.channels)
    raw = node("Reshape", [elements, graph.integers(f"{name}.shape", 0, *shape)], f"{name}.raw")
    x = raw if part.planes else node("Transpose", [add_one_hot(graph, part, raw, name)],
                                     f"{name}.cells", perm=[0, 3, 1, 2])
    for number, (layer, weight) in enumerate(zip(part.layers, layers, strict=True)):
        kernel = weight.reshape(layer.filters, layer.kernel, layer.kernel, -1)
        kernel = np.ascontiguousarray(kernel.transpose(0, 3, 1, 2))
        x = node("Conv", [x, graph.constant(f"{name}.weights.{number}", kernel)],
                 f"{name}.conv.{number}", strides=[layer.stride] * 2)
        x = node("Relu", [x], f"{name}.relu.{number}")
    x = node("Transpose", [x], f"{name}.out", perm=[0, 2, 3, 1])
    if not part.pooled:
        flat = graph.integers(f"{name}.flat", 0, part.features)
        return node("Reshape", [x, flat], f"{name}.features")
    if part.mask is not None:
        mask = graph.slice(raw, 3, part.mask, 1, f"{name}.mask")
        empty = node("Equal", [mask, "zero"], f"{name}.empty")
        x = node("Where", [empty, "zero", x], f"{name}.there")
    return node("ReduceMax", [x], f"{name}.features", axes=[1, 2], keepdims=0)


def add_one_hot(graph: OnnxNodes, part: Part, raw: str, name: str) -> str:
    """(n, height, width, channels) -> (n, height, width, inputs)."""
    from onnx import TensorProto

    if not any(part.ids):
        return raw
    pieces = []
    for channel, count in enumerate(part.ids):
        piece = graph.slice(raw, 3, channel, 1, f"{name}.channel.{channel}")
        if count:
            ids = graph.constant(f"{piece}.ids", np.arange(count, dtype=np.float32))
            piece = graph.node("Equal", [piece, ids], f"{piece}.is")
            piece = graph.node("Cast", [piece], f"{piece}.one", to=TensorProto.FLOAT)
        pieces.append(piece)
    return graph.node("Concat", pieces, f"{name}.inputs", axis=3)


def add_network(graph: OnnxNodes, policy: Trained) -> None:
    """Encoder, MinGRU layers with highways, decoder: as in training/reference/policy.py."""
    from onnx import TensorProto

    node, constant = graph.node, graph.constant
    hidden, outputs = policy.hidden_size, sum(policy.act_sizes)
    zero, half = constant("zero", np.float32(0)), constant("half", np.float32(0.5))
    thirds = constant("thirds", np.array([hidden] * 3, np.int64))
    axis = constant("axis", np.array([1], np.int64))
    x = node("Cast", ["observations"], "floats", to=TensorProto.FLOAT)
    x = add_seen(graph, policy, x)
    x = node("Gemm", [x, constant("encoder", policy.weights["encoder"])], "encoded", transB=1)
    states = []
    for i in range(policy.num_layers):
        weight = constant(f"layers.{i}", policy.weights[f"layers.{i}"])
        h = node("Gather", ["state", constant(f"index.{i}", np.int64(i))], f"h.{i}", axis=1)
        products = node("Gemm", [x, weight], f"products.{i}", transB=1)
        node("Split", [products, thirds], [f"hid.{i}", f"gate.{i}", f"proj.{i}"], axis=1)
        z, s = node("Sigmoid", [f"gate.{i}"], f"z.{i}"), node("Sigmoid", [f"proj.{i}"], f"s.{i}")
        grows = node("GreaterOrEqual", [f"hid.{i}", zero], f"grows.{i}")
        linear = node("Add", [f"hid.{i}", half], f"linear.{i}")
        curved = node("Sigmoid", [f"hid.{i}"], f"curved.{i}")
        g = node("Where", [grows, linear, curved], f"g.{i}")
        h = graph.lerp(h, g, z, f"new_h.{i}")
        x = graph.lerp(x, h, s, f"x.{i}")
        states.append(node("Unsqueeze", [h, axis], f"new_state.{i}"))
    if states:
        node("Concat", states, "new_state", axis=1)
    else:
        node("Identity", ["state"], "new_state")
    decoder = constant("decoder", policy.weights["decoder"])
    node("Gemm", [x, decoder], "decoded", transB=1)
    split = constant("split", np.array([outputs, 1], np.int64))
    node("Split", ["decoded", split], ["logits", "values"], axis=1)
    node("Squeeze", ["values", axis], "value")
