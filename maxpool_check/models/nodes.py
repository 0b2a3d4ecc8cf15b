"""The MaxPool nodes of a model, in whatever graph they are, as they are written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.reading import OWN_DOMAINS, attribute_values
from maxpool_check.models.model_file import BadModel, UserModel, label, named, subgraphs
from maxpool_check.models.shapes import NOT_DECLARED, InferredTypes, Path, TensorType
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
    path: Path = ()

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
            for name in (*node.input, *_taken_inside(node)):
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

    ``name`` is that which tools show, or its output's if it has none, unique in the model. ``declared`` is the type of its input as the
    model gives it, ``tested`` that at the sizes to test; ``is_assumed``: nobody knows it there. ``unjudged`` says why no document of this tool judges it; empty:
    one does.
    """

    name: str
    proto: NodeProto
    scope: Scope
    opset: int
    declared: TensorType | None
    tested: TensorType
    is_assumed: bool = False
    unjudged: str = ""
    function: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the model leaves open some size of its input, which has another one at the sizes to test."""
        declared, tested = self.declared, self.tested
        if self.is_assumed or declared is None or declared.sizes is None or tested.sizes is None:
            return False
        return any(known != size for known, size in zip(declared.sizes, tested.sizes, strict=False))

    @property
    def op(self) -> str:
        """The operator."""
        return self.proto.op_type

    @property
    def where(self) -> str:
        """The graph that it is in, in words."""
        return f"function {self.function}" if self.function is not None else self.scope.where

    @property
    def inside(self) -> str | None:
        """What it is inside of, as ``inside`` of a case: ``If``, ``Loop``, ``function``, or None."""
        return "function" if self.function is not None and self.scope.inside is None else self.scope.inside

    @property
    def input(self) -> str:
        """The tensor that it takes."""
        return self.proto.input[0] if self.proto.input else ""

    @property
    def output(self) -> str:
        """The tensor Y."""
        return self.proto.output[0] if self.proto.output else ""

    @property
    def indices(self) -> str | None:
        """The tensor of Indices; None if nothing uses it."""
        name = self.proto.output[1] if len(self.proto.output) > 1 else ""
        return name if name and self.scope.consumers.get(name) else None

    @property
    def document(self) -> Specification | None:
        """The document that defines it; None if no document of this tool does."""
        if self.unjudged:
            return None
        return specification("ort-nhwc-11" if self.proto.domain == _NHWC else f"onnx-{self.opset}")

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
    nodes: list[PoolNode] = []
    taken: set[str] = set()
    for scope in _scopes(Scope(model.proto.graph)):
        for node in scope.graph.node:
            if (reason := _KINDS.get((node.op_type, node.domain))) is None:
                continue
            written, function = named(node)
            name, number = written, 1
            while name in taken:
                number += 1
                name = f"{written}#{number}"
            taken.add(name)
            reason = reason or _malformed(node)
            source = node.input[0] if node.input else ""
            version, attributes = model.version_of(node.domain), _attributes(model, node)
            kernel = attributes.get("kernel_shape")
            by_model = declared.of(scope.path).get(source)
            at = tested.of(scope.path).get(source) or by_model or NOT_DECLARED
            filled = at.filled(len(kernel) + 2 if isinstance(kernel, list) else 4)
            types = by_model, filled, filled != at
            nodes.append(PoolNode(name, node, scope, version, *types, reason, function, attributes))
    return nodes


def _malformed(node: NodeProto) -> str:
    """Why a node cannot be tested whatever its attributes; empty if it can."""
    if len(node.input) != 1 or not node.input[0]:
        return f"it takes {len(node.input)} inputs; {node.op_type} takes one"
    if not any(node.output) or len(node.output) > 2:
        return f"it has {len(node.output)} outputs; {node.op_type} has Y, or Y and Indices"
    return ""


def _attributes(model: UserModel, node: NodeProto) -> Mapping[str, Any]:
    try:
        return attribute_values(node)
    except ValueError as error:
        raise BadModel(f"{model.path}: an attribute of the node '{label(node)}' cannot be read: {error}") from error


def _scopes(scope: Scope) -> Iterator[Scope]:
    """A graph, and the graphs inside its nodes."""
    yield scope
    for number, node in enumerate(scope.graph.node):
        for which, (attribute, graph) in enumerate(subgraphs(node)):
            inside = node.op_type if node.op_type in ("If", "Loop") else None
            where = f"{attribute} of {node.op_type} '{label(node)}'"
            outer = "" if scope.outer is None else f", in {scope.where}"
            path = (*scope.path, (number, which))
            yield from _scopes(Scope(graph, scope, where + outer, inside, path))


def _taken_inside(node: NodeProto) -> Iterator[str]:
    """The tensors that the graphs inside a node take, whether of that graph or of one around it."""
    for _, graph in subgraphs(node):
        for inner in graph.node:
            yield from inner.input
            yield from _taken_inside(inner)
        yield from (value.name for value in graph.output)
