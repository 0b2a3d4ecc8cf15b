"""The nodes around a MaxPool of a model: those with one exact result, which can be tested with it, and what is beyond them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from onnx import NodeProto, TensorProto, helper

from maxpool_check.graphs.node import Node
from maxpool_check.graphs.operators import NEWEST, OLDEST, OPERATORS
from maxpool_check.graphs.reading import OWN_DOMAINS, Chain, NotAChain, read_chain
from maxpool_check.models.model_file import BadModel, UserModel
from maxpool_check.models.nodes import PoolNode
from maxpool_check.models.shapes import MOST_CELLS, Types
from maxpool_check.reference.dtypes import NUMPY

MOST_NODES = 4
"""How many nodes on each side of MaxPool are tested with it."""

_LEFT_OUT = ("Split", "GlobalMaxPool")
"""Operators with one exact result that are not tested with MaxPool: one with several outputs, and one with mistakes of its own."""

MOST_VALUES = 65_536
"""The largest constant of a node around MaxPool: weights are not needed to see how a graph is rewritten."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The nodes around a MaxPool.

    ``before`` and ``after`` are those through which one tensor flows, from ``start`` to ``end``; ``ahead`` and ``behind``
    are the operators on both sides, also of the nodes beyond, nearest first. ``chain`` are the same nodes as a context;
    None if there are none, or the type of their input is not known.
    """

    before: tuple[NodeProto, ...]
    after: tuple[NodeProto, ...]
    start: str
    end: str
    ahead: tuple[str, ...]
    behind: tuple[str, ...]
    chain: Chain | None = None

    @property
    def has_nodes(self) -> bool:
        """Whether there are nodes that can be tested with MaxPool."""
        return bool(self.before or self.after)

    @property
    def is_behind_relu(self) -> bool:
        """Whether no value below zero can reach MaxPool: behind a Relu or such a Clip there are only nodes that make none."""
        for each in reversed(self.chain.context.before if self.chain is not None else ()):
            if each.op == "Relu" or (each.op == "Clip" and _is_at_least_zero(each, "min", -1)):
                return True
            pads = each.op == "Pad" and _is_at_least_zero(each, "constant_value", 0)
            if not (pads or each.op in _MOVING):
                return False
        return False

    @cached_property
    def rewrites(self) -> tuple[str, ...]:
        """What an optimizer may do with MaxPool here, a sentence each."""
        # A Pad behind MaxPool is none of its pads.
        near = {*self.ahead[: len(self.before) + 1], *({*self.behind[: len(self.after) + 1]} - {"Pad"})}
        return tuple(sentence for sentence, operators in _REWRITES.items() if near & {*operators})


def _is_at_least_zero(node: Node, field: str, default: int) -> bool:
    """Whether a number of a node is known and not negative."""
    value = node.fields.get(field, default)
    return node.constants != "input" and isinstance(value, (int, float)) and value >= 0


_MOVING = ("Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""Operators whose outputs have the values of their input and no others."""

_REWRITES: Mapping[str, Sequence[str]] = {
    "Pad may be folded into the pads of MaxPool, which has no padding value": ("Pad",),
    "Transpose may be moved across MaxPool, or its layout changed": ("Transpose",),
    "quantization may be moved across MaxPool, which then runs on 8-bit integers": (
        "QuantizeLinear",
        "DequantizeLinear",
    ),
    "an activation may be fused with MaxPool or moved across it": ("Relu", "Clip", "LeakyRelu"),
    "Cast may be moved across MaxPool or removed": ("Cast",),
    "Conv and MaxPool may be computed in blocks of channels": ("Conv", "FusedConv"),
}


def surroundings(node: PoolNode, model: UserModel, types: Types, declared: Types) -> Surroundings:
    """The nodes around a MaxPool; ``types`` are those at the sizes to test, ``declared`` those of the model."""
    before: list[NodeProto] = []
    after: list[NodeProto] = []
    cut = _Cut(node, model, types, declared)
    chain = cut.chain(before, after)
    if chain is not None:
        for maker in _before(node):
            longer = cut.chain([maker, *before], after)
            if longer is None:
                break
            chain, before = longer, [maker, *before]
        for consumer in _after(node):
            longer = cut.chain(before, [*after, consumer])
            if longer is None:
                break
            chain, after = longer, [*after, consumer]
    start = before[0].input[0] if before else node.input
    end = after[-1].output[0] if after else node.output
    makers, consumers = [node.scope.makers.get(start)], node.scope.consumers.get(end, ())
    ahead, behind = (
        [each.op_type for each in near] + list(dict.fromkeys(each.op_type for each in beyond if each is not None))
        for near, beyond in ((before[::-1], makers), (after, consumers))
    )
    return Surroundings(tuple(before), tuple(after), start, end, tuple(ahead), tuple(behind), chain)


def _before(node: PoolNode) -> Iterator[NodeProto]:
    """The nodes before MaxPool through which its input alone flows, nearest first."""
    name, scope = node.input, node.scope
    for _ in range(MOST_NODES):
        maker, consumers = scope.makers.get(name), scope.consumers.get(name, ())
        if maker is None or len(consumers) != 1 or not _may_be_tested(maker) or name != maker.output[0]:
            return
        yield maker
        name = maker.input[0]


def _after(node: PoolNode) -> Iterator[NodeProto]:
    """The nodes behind MaxPool that alone take what comes before them, nearest first."""
    name, scope = node.output, node.scope
    for _ in range(MOST_NODES):
        consumers = scope.consumers.get(name, ())
        consumer = consumers[0] if len(consumers) == 1 else None
        if consumer is None or not _may_be_tested(consumer) or consumer.input[0] != name:
            return
        yield consumer
        name = consumer.output[0]


def _may_be_tested(node: NodeProto) -> bool:
    return (
        node.domain in OWN_DOMAINS and node.op_type in OPERATORS and node.op_type not in _LEFT_OUT and bool(node.input)
    )


@dataclass(frozen=True, eq=False)
class _Cut:
    """Cuts the nodes around a MaxPool out of its model."""

    node: PoolNode
    model: UserModel
    types: Types
    declared: Types

    def chain(self, before: Sequence[NodeProto], after: Sequence[NodeProto]) -> Chain | None:
        """The nodes as a chain with zeros as its X; None if they are none, or the type of X is not known."""
        node = self.node
        start = before[0].input[0] if before else node.input
        end = after[-1].output[0] if after else node.output
        nodes = [*before, node.proto, *after]
        X = self.types.get(start)
        if X is None or X.shape is None or X.dtype not in NUMPY or not OLDEST <= self.model.opset <= NEWEST:
            return None
        known = (self.types.get(name) for name in (start, *(each.output[0] for each in nodes)))
        if any(each is None or each.shape is None or math.prod(each.shape) > MOST_CELLS for each in known):
            return None
        constants: dict[str, TensorProto] = {}
        try:
            for each in nodes:
                constants |= dict(self._constants(each))
            element = helper.np_dtype_to_tensor_dtype(NUMPY[X.dtype])
            takers = node.scope.consumers.get(node.indices or "", ())
            outputs = [end]
            if node.indices is not None and any(all(taker is not each for each in nodes) for taker in takers):
                outputs.append(node.indices)
            graph = helper.make_graph(
                nodes, "around", [helper.make_tensor_value_info(start, element, self._sizes(start, X.shape))],
                [helper.make_empty_tensor_value_info(name) for name in outputs], list(constants.values()),
            )  # fmt: skip
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.model.opset)])
            chain = read_chain(model, {start: np.zeros(X.shape, NUMPY[X.dtype])})
        except (NotAChain, BadModel):
            return None
        return replace(chain, context=replace(chain.context, inside=node.inside))

    def _constants(self, node: NodeProto) -> Iterator[tuple[str, TensorProto]]:
        """The constants of a node, with their values. Raises :class:`NotAChain` for those that are large or missing."""
        for name in node.input:
            tensor = self.node.scope.constant(name) if name else None
            if tensor is not None:
                if name in self.model.missing or math.prod(tensor.dims) > MOST_VALUES:
                    raise NotAChain(f"its constant {name} is missing or large")
                named = TensorProto()
                named.CopyFrom(self.model.inline(tensor))
                named.name = name
                yield name, named

    def _sizes(self, name: str, shape: Sequence[int]) -> list[int | str]:
        """The sizes that the model declares, with a name for each that it leaves open."""
        declared = self.declared.get(name)
        sizes = declared.sizes if declared is not None else None
        if sizes is None or len(sizes) != len(shape):
            return [f"X{axis}" for axis in range(len(shape))]
        return [size if isinstance(size, int) else f"X{axis}" for axis, size in enumerate(sizes)]
