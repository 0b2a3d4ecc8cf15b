"""The MaxPool nodes of a model, in whatever graph they are, as they are written, and the nodes around them."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from maxpool_check.graphs.context import MAX_POOL, MAX_POOL_ALONE, Context
from maxpool_check.graphs.operators import NEWEST, OLDEST, OPERATORS
from maxpool_check.graphs.reading import OWN_DOMAINS, Chain, NotAChain, attribute_values, makes, read_chain
from maxpool_check.models.model_file import BadModel, UserModel, label, named
from maxpool_check.models.shapes import MOST_CELLS, NOT_DECLARED, InferredTypes, Scope, Size, TensorType, Types, scopes
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Reason, Refused, Specification

_NHWC = "com.ms.internal.nhwc"
_KINDS = {
    **{(MAX_POOL, domain): "" for domain in OWN_DOMAINS},
    (MAX_POOL, _NHWC): "",
    ("NhwcMaxPool", "com.microsoft"): "not judged: no document here defines it",
    (MAX_POOL, "com.microsoft.nchwc"): "not judged: ONNX Runtime's optimizer made it, so test the model from before",
    **{("GlobalMaxPool", domain): "not judged: another operator than MaxPool" for domain in OWN_DOMAINS},
}
"""The operators that are found, each with why it is not judged; empty: it is."""

MOST_NODES = 4
"""How many nodes on each side of MaxPool are tested with it."""

_LEFT_OUT = ("Split", "GlobalMaxPool")
"""Operators with one exact result that are not tested with MaxPool: one with several outputs, and one with mistakes of its own."""

MOST_JOINED = 16
"""How many nodes of two branches that meet are tested with MaxPool."""

MOST_VALUES = 65_536
"""The largest constant of a node around MaxPool: weights are not needed to see how a graph is rewritten."""

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


@dataclass(frozen=True, eq=False)
class PoolNode:
    """A pooling node of a model.

    ``name`` is that which tools show, or its output's if it has none, unique in the model; ``op`` the operator. ``where`` is the
    graph that it is in, in words; ``inside`` what it is inside of, as in a case: ``If``, ``Loop``, ``function``, or None.
    ``input`` is the tensor that it takes, ``output`` Y; ``indices`` is None if the node has none: runtimes take
    the kernel with Indices where they are named, even if nothing uses them. ``document`` defines it;
    None if no document of this tool judges it, and ``unjudged`` says why. ``declared`` is the type of its input as the model
    gives it, ``tested`` that at the sizes to test; ``is_assumed``: nobody knows it there.
    """

    name: str
    op: str
    proto: NodeProto
    scope: Scope
    where: str
    inside: str | None
    input: str
    output: str
    indices: str | None
    attributes: Mapping[str, Any]
    opset: int
    document: Specification | None
    unjudged: str
    declared: TensorType | None
    tested: TensorType
    is_assumed: bool

    @property
    def is_open(self) -> bool:
        """Whether the model leaves open some size of its input, which has another one at the sizes to test."""
        return any(not isinstance(declared, int) for declared, _ in self._differing_sizes)

    @property
    def is_contradicted(self) -> bool:
        """Whether the model declares a size of its input that is not the one that follows from the inputs of the model."""
        return any(isinstance(declared, int) for declared, _ in self._differing_sizes)

    @property
    def _differing_sizes(self) -> list[tuple[Size, Size]]:
        """The sizes of its input that are others at the sizes to test than those that the model declares, in pairs."""
        declared, tested = self.declared, self.tested
        if self.is_assumed or declared is None or declared.sizes is None or tested.sizes is None:
            return []
        return [each for each in zip(declared.sizes, tested.sizes, strict=False) if each[0] != each[1]]

    @property
    def used_indices(self) -> str:
        """The tensor of Indices, if a node takes it or it is an output of its graph; empty otherwise."""
        return self.indices if self.indices is not None and self.scope.consumers.get(self.indices) else ""

    @property
    def rank(self) -> int | None:
        """The number of spatial axes that the model declares; None if it does not."""
        sizes = None if self.declared is None else self.declared.sizes
        return None if sizes is None else max(len(sizes) - 2, 0)

    def resolved(self, document: Specification | None, X: TensorType | None) -> Pooling | Refused | None:
        """What a document says of it for an X of this type; None if there is no document, or the type is not known."""
        if document is None or X is None or X.shape is None or X.is_undefined:
            return None
        return document.resolve(self.attributes, X.dtype, X.shape)

    @cached_property
    def declared_pooling(self) -> Pooling | None:
        """What it computes as it is declared; None if a size is open, or its document excludes it."""
        resolved = self.resolved(self.document, self.declared)
        return resolved if isinstance(resolved, Pooling) else None

    @property
    def has_full_windows(self) -> bool:
        """Whether each of its windows has a cell at the sizes to test, so that its outputs are values of its input."""
        resolved = self.resolved(self.document, self.tested)
        if not isinstance(resolved, Pooling) or max(resolved.output_sizes, default=0) > MOST_CELLS:
            return False
        return not resolved.has_empty_windows

    @cached_property
    def refused(self) -> Refused | None:
        """Why its document excludes it at the sizes to test; None if it is valid, or its shape or element type is not known."""
        if self.document is not None and (unlike := _unlike(self.proto, self.document)):
            return self.document.refusal(Reason.INVALID_SHAPE, *unlike)
        resolved = self.resolved(self.document, self.tested)
        return resolved if isinstance(resolved, Refused) else None


def pool_nodes(model: UserModel, declared: InferredTypes, tested: InferredTypes) -> list[PoolNode]:
    """Every MaxPool and GlobalMaxPool of a model, in the order of its graphs."""
    nodes: dict[str, PoolNode] = {}
    for scope in scopes(Scope(model.proto.graph)):
        for proto in scope.graph.node:
            if (proto.op_type, proto.domain) in _KINDS:
                node = _pool_node(model, scope, proto, declared.of(scope.place), tested.of(scope.place))
                names = (node.name, *(f"{node.name}#{number}" for number in range(2, len(nodes) + 2)))
                name = next(name for name in names if name not in nodes)
                nodes[name] = replace(node, name=name)
    return list(nodes.values())


def _pool_node(model: UserModel, scope: Scope, proto: NodeProto, declared: Types, tested: Types) -> PoolNode:
    name, function = named(proto)
    unjudged = _KINDS[proto.op_type, proto.domain]
    X, Y, indices = (*proto.input, "")[0], *(*proto.output, "", "")[:2]
    opset = model.version_of(proto.domain)
    try:
        attributes = attribute_values(proto)
    except ValueError as error:
        raise BadModel(f"{model.path}: an attribute of the node '{label(proto)}' cannot be read: {error}") from error
    kernel = attributes.get("kernel_shape")
    known = tested.get(X) or declared.get(X) or NOT_DECLARED
    filled = known.filled(len(kernel) + 2 if isinstance(kernel, list) else 4)
    return PoolNode(
        name=name,
        op=proto.op_type,
        proto=proto,
        scope=scope,
        where=scope.where if function is None else f"function {function}",
        inside="function" if function is not None and scope.inside is None else scope.inside,
        input=X,
        output=Y,
        indices=indices or None,
        attributes=attributes,
        opset=opset,
        document=None if unjudged else specification("ort-nhwc-11" if proto.domain == _NHWC else f"onnx-{opset}"),
        unjudged=unjudged,
        declared=declared.get(X),
        tested=filled,
        is_assumed=filled != known,
    )


def _unlike(node: NodeProto, document: Specification) -> tuple[str, str] | None:
    """Why a node has other inputs or outputs than its document allows, and the part of that that says so; None if it has these."""
    if len(node.input) != 1 or not node.input[0]:
        return f"it takes {len(node.input)} inputs; {node.op_type} takes one", "Inputs"
    if any(node.output[1:]) and not document.indices:
        return "it has Indices, and this version has Y alone", "Outputs"
    if not any(node.output) or len(node.output) > 2:
        return f"it has {len(node.output)} outputs; {node.op_type} has Y, or Y and Indices", "Outputs"
    return None


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The nodes around a MaxPool.

    ``chain`` are those through which one tensor flows, from ``start`` to ``end``, and MaxPool; None if the type of their
    input is not known. ``ahead`` and ``behind`` are the operators on both sides, also of the nodes beyond, nearest first.
    ``pools`` are the outputs of the other MaxPool nodes among them.
    """

    start: str
    end: str
    ahead: tuple[str, ...]
    behind: tuple[str, ...]
    chain: Chain | None
    pools: tuple[str, ...] = ()

    @property
    def context(self) -> Context:
        """The nodes that can be tested with MaxPool."""
        return MAX_POOL_ALONE if self.chain is None else self.chain.context

    @property
    def has_nodes(self) -> bool:
        """Whether there are nodes that can be tested with MaxPool."""
        return bool(self.context.before or self.context.after)

    @property
    def rewrites(self) -> tuple[str, ...]:
        """What an optimizer may do with MaxPool here, a sentence each."""
        before, after = self.context.before, self.context.after
        # A Pad behind MaxPool is none of its pads.
        near = {*self.ahead[: len(before) + 1], *({*self.behind[: len(after) + 1]} - {"Pad"})}
        return tuple(sentence for sentence, operators in _REWRITES.items() if near & {*operators})


def surroundings(
    node: PoolNode, model: UserModel, types: Types, declared: Types, *, with_pools: bool = False
) -> Surroundings:  # fmt: skip
    """The nodes around a MaxPool; ``types`` are those at the sizes to test, ``declared`` those of the model.

    Where two branches meet behind MaxPool, they are all nodes from the tensor at which the branches begin to the last node in
    which they meet; elsewhere, those through which its tensor alone flows. ``with_pools``: they do not end at the next MaxPool.
    """
    sides: dict[bool, list[str]] = {True: [], False: []}
    operators_taken = OPERATORS if not with_pools else (*OPERATORS, MAX_POOL)
    for joined in _joined(node, operators_taken):
        made = types.get(joined[-1].output[0], NOT_DECLARED)
        if made.dtype in NUMPY and (chain := _chain(node, model, types, declared, joined)) is not None:
            at = next(number for number, each in enumerate(joined) if each is node.proto)
            ahead, behind = (tuple(each.op_type for each in side) for side in (joined[:at][::-1], joined[at + 1 :]))
            return Surroundings(joined[0].input[0], joined[-1].output[0], ahead, behind, chain, _pools(joined, node))
    nodes = [node.proto]
    chain = _chain(node, model, types, declared, nodes)
    for is_ahead, operators in sides.items() if chain is not None else ():
        for near in _near(node, is_ahead, operators_taken):
            longer = [near, *nodes] if is_ahead else [*nodes, near]
            if (cut := _chain(node, model, types, declared, longer)) is None:
                break
            chain, nodes = cut, longer
            operators.append(near.op_type)
    start, end = next(iter(nodes[0].input), ""), next(iter(nodes[-1].output), "")
    beyond = {True: [node.scope.makers.get(start)], False: node.scope.consumers.get(end, [])}
    for is_ahead, operators in sides.items():
        operators += dict.fromkeys(each.op_type for each in beyond[is_ahead] if each is not None)
    return Surroundings(start, end, tuple(sides[True]), tuple(sides[False]), chain, _pools(nodes, node))


def _pools(nodes: Sequence[NodeProto], judged: PoolNode) -> tuple[str, ...]:
    """The outputs of the MaxPool nodes among some but the judged one."""
    return tuple(each.output[0] for each in nodes if each.op_type == MAX_POOL and each is not judged.proto)


def _joined(node: PoolNode, taken: Collection[str]) -> Iterator[list[NodeProto]]:
    """The nodes of two branches that begin at one tensor and meet behind MaxPool, of the operators ``taken``, in order.

    The tensor is the input of MaxPool, or else one in front of it; of those nodes, the most come first.
    """
    start, scope = node.input, node.scope
    for _ in range(MOST_NODES):
        of_start, of_pool, joins = {start}, {node.output}, set[str]()
        nodes: list[NodeProto] = []
        found = []
        for near in scope.graph.node:
            flowing = {name for name in near.input if name and scope.constant(name) is None}
            if not flowing or not flowing <= of_start or near.input[0] not in of_start:
                continue
            is_judged = near is node.proto
            if not is_judged and (near.op_type not in taken or near.op_type in _LEFT_OUT or any(near.output[1:])):
                continue
            if near.domain not in OWN_DOMAINS or len(nodes) == MOST_JOINED:
                continue
            nodes.append(near)
            name = near.output[0]
            of_start.add(name)
            if is_judged or not flowing & of_pool:
                continue
            of_pool.add(name)
            if len(flowing) > 1 or flowing & joins:
                joins.add(name)
                needed = {name}
                ahead = [each for each in reversed(nodes) if makes(each, needed)]
                if any(each is node.proto for each in ahead):
                    found.append(ahead[::-1])
        yield from reversed(found)
        above = scope.makers.get(start)
        if above is None or above.op_type not in taken or above.op_type in _LEFT_OUT or not above.input:
            return
        start = above.input[0]


def _near(node: PoolNode, is_ahead: bool, taken: Collection[str]) -> Iterator[NodeProto]:
    """The nodes on one side of MaxPool of the operators ``taken``, through which its tensor alone flows, nearest first."""
    name, scope = node.input if is_ahead else node.output, node.scope
    for _ in range(MOST_NODES):
        consumers = scope.consumers.get(name, [])
        near = scope.makers.get(name) if is_ahead else next(iter(consumers), None)
        if near is None or len(consumers) != 1 or near.domain not in OWN_DOMAINS or not near.input:
            return
        ends = (near.output[0], near.input[0])
        if near.op_type not in taken or near.op_type in _LEFT_OUT or name != ends[0 if is_ahead else 1]:
            return
        if near.op_type == MAX_POOL and any(near.output[1:]):
            # Runtimes take another kernel with Indices, which a case has for the judged MaxPool alone.
            return
        yield near
        name = ends[1 if is_ahead else 0]


def _chain(node: PoolNode, model: UserModel, types: Types, declared: Types, nodes: Sequence[NodeProto]) -> Chain | None:
    """Nodes cut out of a model as a chain with zeros as its X; None if they are none, or the type of X is not known."""
    start, ends = next(iter(nodes[0].input), ""), [next(iter(each.output), "") for each in nodes]
    X, known = types.get(start), [types.get(name) for name in (start, *ends)]
    if X is None or X.shape is None or X.dtype not in NUMPY or not OLDEST <= model.opset <= NEWEST:
        return None
    if any(each is None or each.shape is None or math.prod(each.shape) > MOST_CELLS for each in known):
        return None
    sizes = declared.get(start, NOT_DECLARED).sizes
    if sizes is None or len(sizes) != len(X.shape):
        sizes = (None,) * len(X.shape)
    # A size that the model leaves open has a name.
    dimensions = [size if isinstance(size, int) else f"X{axis}" for axis, size in enumerate(sizes)]
    takers = node.scope.consumers.get(node.indices or "", [])
    are_inside = bool(takers) and all(any(taker is each for each in nodes) for taker in takers)
    outputs = [ends[-1]] if node.indices is None or are_inside else [ends[-1], node.indices]
    try:
        constants = {tensor.name: tensor for each in nodes for tensor in _constants(node.scope, model, each)}
        element = helper.np_dtype_to_tensor_dtype(NUMPY[X.dtype])
        graph = helper.make_graph(
            nodes, "around", [helper.make_tensor_value_info(start, element, dimensions)],
            [helper.make_empty_tensor_value_info(name) for name in outputs], list(constants.values()),
        )  # fmt: skip
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", model.opset)])
        chain = read_chain(proto, {start: np.zeros(X.shape, NUMPY[X.dtype])}, node.output or node.indices)
    except (NotAChain, BadModel):
        return None
    return replace(chain, context=replace(chain.context, inside=node.inside))


def _constants(scope: Scope, model: UserModel, node: NodeProto) -> Iterator[TensorProto]:
    """The constants of a node, with their values. Raises :class:`NotAChain` for those that are large or missing."""
    for name in filter(None, node.input):
        tensor = scope.constant(name)
        if tensor is not None:
            if name in model.missing or math.prod(tensor.dims) > MOST_VALUES:
                raise NotAChain(f"its constant {name} is missing or large")
            named = TensorProto()
            named.CopyFrom(model.inline(tensor))
            named.name = name
            yield named
