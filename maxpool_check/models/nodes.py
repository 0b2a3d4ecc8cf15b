"""The MaxPool nodes of a model, in whatever graph they are, as they are written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.reading import OWN_DOMAINS, attribute_values
from maxpool_check.models.model_file import BadModel, Place, UserModel, label, named, subgraphs, taken
from maxpool_check.models.shapes import NOT_DECLARED, InferredTypes, TensorType, Types
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Refused, Specification

_NHWC = "com.ms.internal.nhwc"
_KINDS = {
    **{(MAX_POOL, domain): "" for domain in OWN_DOMAINS},
    (MAX_POOL, _NHWC): "",
    ("NhwcMaxPool", "com.microsoft"): "not judged: no document here defines it",
    **{("GlobalMaxPool", domain): "not judged: another operator than MaxPool" for domain in OWN_DOMAINS},
}
"""The operators that are found, each with why it is not judged; empty: it is."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A graph of a model and the graphs around it: where the tensors are that a node takes."""

    graph: GraphProto
    outer: "Scope | None" = None
    where: str = "main graph"
    inside: str | None = None
    place: Place = ()

    @cached_property
    def constants(self) -> Mapping[str, TensorProto]:
        """The constants of this graph alone, by name: initializers that are no inputs, and Constant nodes."""
        fed = {value.name for value in self.graph.input} if self.outer is not None else set()
        constants = {tensor.name: tensor for tensor in self.graph.initializer if tensor.name not in fed}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.domain in OWN_DOMAINS:
                for attribute in node.attribute:
                    if (tensor := _tensor_of(attribute)) is not None:
                        constants[node.output[0]] = tensor
        return constants

    @cached_property
    def makers(self) -> Mapping[str, NodeProto]:
        """The node that makes a tensor, by the tensor's name."""
        return {name: node for node in self.graph.node for name in node.output if name}

    @cached_property
    def consumers(self) -> Mapping[str, list[NodeProto | None]]:
        """The nodes that take a tensor, also in inner graphs; None for an output of the graph."""
        found: dict[str, list[NodeProto | None]] = {}
        for node in self.graph.node:
            for name in taken(node):
                found.setdefault(name, []).append(node)
        for value in self.graph.output:
            found.setdefault(value.name, []).append(None)
        return found

    def constant(self, name: str) -> TensorProto | None:
        """The constant of this name here or in a graph around; None if it is no constant."""
        if name in self.constants:
            return self.constants[name]
        if name in self.makers or any(value.name == name for value in self.graph.input):
            return None
        return self.outer.constant(name) if self.outer is not None else None


def _tensor_of(attribute: AttributeProto) -> TensorProto | None:
    """The tensor of an attribute of a Constant node; None for text, and for sparse tensors."""
    if attribute.name == "value":
        return attribute.t
    dtypes = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}
    dtype = dtypes.get(attribute.name)
    return None if dtype is None else numpy_helper.from_array(np.array(helper.get_attribute_value(attribute), dtype))


@dataclass(frozen=True, eq=False)
class PoolNode:
    """A pooling node of a model.

    ``name`` is that which tools show, or its output's if it has none, unique in the model; ``op`` the operator. ``where`` is the
    graph that it is in, in words; ``inside`` what it is inside of, as in a case: ``If``, ``Loop``, ``function``, or None.
    ``input`` is the tensor that it takes, ``output`` Y; ``indices`` is None if nothing uses them. ``document`` defines it;
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
        declared, tested = self.declared, self.tested
        if self.is_assumed or declared is None or declared.sizes is None or tested.sizes is None:
            return False
        return any(known != size for known, size in zip(declared.sizes, tested.sizes, strict=False))

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

    @cached_property
    def refused(self) -> Refused | None:
        """Why its document excludes it at the sizes to test; None if it is valid, or its shape or element type is not known."""
        resolved = self.resolved(self.document, self.tested)
        return resolved if isinstance(resolved, Refused) else None


def pool_nodes(model: UserModel, declared: InferredTypes, tested: InferredTypes) -> list[PoolNode]:
    """Every MaxPool and GlobalMaxPool of a model, in the order of its graphs."""
    nodes: dict[str, PoolNode] = {}
    for scope in _scopes(Scope(model.proto.graph)):
        for proto in scope.graph.node:
            if (proto.op_type, proto.domain) in _KINDS:
                node = _pool_node(model, scope, proto, declared.of(scope.place), tested.of(scope.place))
                name, number = node.name, 1
                while name in nodes:
                    number += 1
                    name = f"{node.name}#{number}"
                nodes[name] = replace(node, name=name)
    return list(nodes.values())


def _pool_node(model: UserModel, scope: Scope, proto: NodeProto, declared: Types, tested: Types) -> PoolNode:
    name, function = named(proto)
    unjudged = _KINDS[proto.op_type, proto.domain] or _malformed(proto)
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
        indices=indices if indices and scope.consumers.get(indices) else None,
        attributes=attributes,
        opset=opset,
        document=None if unjudged else specification("ort-nhwc-11" if proto.domain == _NHWC else f"onnx-{opset}"),
        unjudged=unjudged,
        declared=declared.get(X),
        tested=filled,
        is_assumed=filled != known,
    )


def _malformed(node: NodeProto) -> str:
    """Why a node cannot be tested whatever its attributes; empty if it can."""
    if len(node.input) != 1 or not node.input[0]:
        return f"it takes {len(node.input)} inputs; {node.op_type} takes one"
    if not any(node.output) or len(node.output) > 2:
        return f"it has {len(node.output)} outputs; {node.op_type} has Y, or Y and Indices"
    return ""


def _scopes(scope: Scope) -> Iterator[Scope]:
    """A graph, and the graphs inside its nodes."""
    yield scope
    for number, node in enumerate(scope.graph.node):
        for which, (attribute, graph) in enumerate(subgraphs(node)):
            inside = node.op_type if node.op_type in ("If", "Loop") else None
            where = f"{attribute} of {node.op_type} '{label(node)}'"
            outer = "" if scope.outer is None else f", in {scope.where}"
            place = (*scope.place, (number, which))
            yield from _scopes(Scope(graph, scope, where + outer, inside, place))
