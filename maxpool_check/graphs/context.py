"""The nodes around the judged MaxPool, through which X flows, and how the model presents them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxpool_check.graphs.node import COMBINING, Inexact, Node, check_size
from maxpool_check.graphs.operators import Tensors, apply, check_names, is_elementwise, positions
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooled, Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Refused, Specification

MAX_POOL = "MaxPool"

BEHIND = "behind"
"""The name of the output of a graph that is the Y of MaxPool, if other nodes are behind it."""

_UNCHANGED = ("Identity", "Dropout")
"""Elementwise operators that return their input."""

_SIGNING = ("Neg", "Abs", *COMBINING)
"""Operators on cells in the same place that define the sign of a zero."""


@dataclass(frozen=True)
class Composition:
    """Nodes behind MaxPool as one function of its maxima, each in its place; ``named`` are other tensors that they take.

    Of a node that takes several tensors, the one without a name is the result of the node before.
    """

    nodes: tuple[Node, ...]
    opset: int
    named: Tensors = field(default_factory=dict, compare=False)

    def of(self, maxima: np.ndarray) -> np.ndarray:
        """The values behind the last node. Raises :class:`Inexact`."""
        for node in self.nodes:
            tensors = {**self.named, "": maxima}
            result = apply(node, tensors[node.source], self.opset, named=tensors)
            if result.shape != maxima.shape:
                raise Inexact(f"{node.op} of tensors of other shapes")
            maxima = result
        return maxima

    @property
    def differs_by_place(self) -> bool:
        """Whether the function of a maximum depends on its place."""
        numbers = (each for node in self.nodes for each in node.constant_inputs)
        return any(node.named_inputs for node in self.nodes) or any(each.size > 1 for each in numbers)

    @property
    def signs_zeros(self) -> bool:
        """Whether the sign of a zero defines that of its value."""
        return all(node.op in _SIGNING for node in self.nodes)


@dataclass(frozen=True)
class Context:
    """The graph around a MaxPool, in the operator set ``opset``; 0: the MaxPool alone, in any operator set that means the same.

    X flows through the nodes ``before``, the MaxPool, and the nodes ``after``, of which each takes the output of the one before
    it, unless it names another; some may not come from the MaxPool. ``consumers``: 2 if the Y of MaxPool is also
    an output of the graph. ``initializer``: X is one, not an input of the graph. ``dimensions`` declares the shape of X, with
    names for sizes that are known at run time only; None: the shape of X. ``inside``: the nodes are in both branches of an
    ``If``, in the body of a ``Loop`` that runs once, or in a model-local ``function``. ``indices``: nodes make of Indices
    those that count in each ``plane``, as PyTorch's exporter writes them; and, for ``offset``, add the number of the first cell
    of each plane again, as is written in front of MaxUnpool; None: there are no such nodes. ``is_replaceable``: a
    target that takes no graphs may execute the MaxPool without the operator set.
    """

    opset: int = 0
    before: tuple[Node, ...] = ()
    after: tuple[Node, ...] = ()
    consumers: int = 1
    initializer: bool = False
    dimensions: tuple[str | int, ...] | None = None
    inside: str | None = None
    indices: str | None = None
    is_replaceable: bool = field(default=False, compare=False)

    def flow(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """The tensors behind each node before MaxPool. Raises :class:`Inexact`."""
        tensors = {"X": X}
        for node in wired(self.before, "X"):
            tensors[node.name] = _applied(node, tensors, self.opset)
            yield tensors[node.name]

    @property
    def is_alone(self) -> bool:
        """Whether there is nothing but the MaxPool, in no operator set of its own."""
        return not self.opset

    @property
    def has_nodes(self) -> bool:
        """Whether there are other nodes, or something else that an optimizer may rewrite."""
        return bool(self.before or self.after or self.initializer or self.inside or self.indices)

    @property
    def leaves_zeros_open(self) -> bool:
        """Whether a node may make zeros whose sign no document defines."""
        signing = (*_UNCHANGED, *_SIGNING)
        return any(is_elementwise(node) and node.op not in signing for node in (*self.before, *self.after))

    @property
    def uses_indices(self) -> bool:
        """Whether a node behind MaxPool takes its Indices."""
        return any(node.op == "MaxUnpool" for node in self.after)

    @property
    def side_outputs(self) -> Mapping[str, int | None]:
        """The further outputs of the graph, in order: each with the number of its node before MaxPool, or None for MaxPool's Y."""
        before = {name_before(number): number for number, node in enumerate(self.before) if node.consumers > 1}
        return {**before, BEHIND: None} if self.consumers > 1 else before

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of all operators in order."""
        return (*(node.op for node in self.before), MAX_POOL, *(node.op for node in self.after))

    def lines(self) -> Iterator[str]:
        """The nodes in order, as text: ``Pad(mode=constant, pads=[0, 0, 1, 1, 0, 0, 1, 1])``."""
        data = self.data()
        for node in data["nodes"]:
            shown = {**node, "inputs": f"[{', '.join(map(str, node['inputs']))}]"} if "inputs" in node else node
            fields = ", ".join(f"{name}={value}" for name, value in shown.items() if name != "op")
            yield f"{node['op']}({fields})" if fields else node["op"]
        counted = "Indices in each" if self.indices == "plane" else "Indices of a plane with its"
        names = {"shape": "shape", "inside": "inside", "indices": counted, "as": "X"}
        yield from (f"{name}: {data[key]}" for key, name in names.items() if key in data)

    def data(self) -> dict[str, Any]:
        """The context as plain data: that of ``graph`` in a case file, and the operator set."""
        nodes = (*self.before, Node(MAX_POOL, consumers=self.consumers), *self.after)
        data = {
            "opset": self.opset,
            "nodes": [node_data(node) for node in nodes],
            "shape": None if self.dimensions is None else list(self.dimensions),
            "inside": self.inside,
            "indices": self.indices,
            "as": "initializer" if self.initializer else None,
        }
        return {name: value for name, value in data.items() if value is not None}


MAX_POOL_ALONE = Context()
"""The graph of a MaxPool without others, in any operator set that means the same."""


def finite(value: Any, shown: Callable[[float], Any] = str) -> Any:
    """Plain data whose infinities and NaN, of which JSON has none, are ``shown``: as text, or otherwise."""
    if isinstance(value, Mapping):
        return {name: finite(entry, shown) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry, shown) for entry in value]
    return shown(value) if isinstance(value, float) and not math.isfinite(value) else value


NOT_FIELDS = ("op", "as", "consumers", "name", "from")
"""The keys of a node in a case file that are no attributes or inputs of its operator."""


def node_data(node: Node) -> dict[str, Any]:
    """A node as plain data, as in a case file."""
    constants = {} if node.constants == "initializer" else {"as": node.constants}
    consumers = {} if node.consumers == 1 else {"consumers": node.consumers}
    names = {key: name for key, name in (("name", node.name), ("from", node.source)) if name}
    return {"op": node.op, **node.fields, **constants, **consumers, **names}


def json_data(context: Context) -> dict[str, Any]:
    """The members of a JSON document that describe a context: ``opset`` and ``graph``. It has no infinities and no NaN."""
    data = finite(context.data())
    return {"opset": data.pop("opset"), "graph": data}


def node_of(data: Mapping[str, Any]) -> Node:
    """The node of plain data."""
    fields = {name: value for name, value in data.items() if name not in NOT_FIELDS}
    constants, consumers = data.get("as", "initializer"), data.get("consumers", 1)
    return Node(data["op"], fields, constants, consumers, data.get("name", ""), data.get("from", ""))


def name_before(number: int) -> str:
    """The name of the tensor behind the node of that number before MaxPool."""
    return f"before_{number}"


def wired(nodes: Sequence[Node], first: str) -> Iterator[Node]:
    """The nodes, each with a name and the name of its source; that of the first is ``first`` unless it has another."""
    source = first
    for number, node in enumerate(nodes):
        yield replace(node, name=node.name or f"{first}#{number}", source=node.source or source)
        source = node.name or f"{first}#{number}"


def _applied(node: Node, tensors: Tensors, opset: int, indices: np.ndarray | None = None) -> np.ndarray:
    """What a node makes of tensors by name. Raises :class:`Inexact`."""
    check_names(node, tensors)
    X = tensors[node.source]
    return max_pool(node, X, opset).Y if node.op == MAX_POOL else apply(node, X, opset, indices, tensors)


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether a tensor of this shape broadcasts to one of the whole."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(size in (1, other) for size, other in pairs)


def _in_each_plane(pooling: Pooling) -> Pooling:
    return replace(pooling, numbering=replace(pooling.numbering, axis=2))


def max_pool(node: Node, X: np.ndarray, opset: int) -> Pooled:
    """The result of a MaxPool that is a neighbour of the judged one. Raises :class:`Inexact` where it is not unique."""
    pooling = specification(f"onnx-{opset}").resolve(node.fields, X.dtype.name, X.shape)
    if isinstance(pooling, Refused):
        raise Inexact(f"MaxPool: {pooling}")
    check_size(MAX_POOL, *X.shape[:2], *pooling.output_sizes)
    if pooling.alternatives or pooling.has_empty_windows:
        raise Inexact("MaxPool: the document does not define all of its windows")
    if X.dtype.kind not in "iu" and (np.isnan(X).any() or ((X == 0) & np.signbit(X)).any()):
        raise Inexact("MaxPool of NaN or -0: the document does not define the result")
    return evaluate(X, replace(pooling, indices=True))


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A serialized ONNX model, and the values of its inputs besides X."""

    model: bytes
    inputs: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class _Trace:
    """How a tensor comes from the Y of MaxPool: the functions on the way, and whether cells have moved.

    ``is_mixed``: its cells are functions of several cells of Y, or of one in several ways.
    """

    functions: tuple[Node, ...] = ()
    has_moved: bool = False
    is_mixed: bool = False


@dataclass(frozen=True, eq=False)
class MaxPoolGraph:
    """X, the nodes around a MaxPool, and its attributes by a document that has ONNX's layout."""

    X: np.ndarray
    context: Context
    document: Specification
    attributes: Mapping[str, Any]
    policies: Policies

    @cached_property
    def flow(self) -> Sequence[np.ndarray]:
        """The tensors behind each node before MaxPool. Raises :class:`Inexact`."""
        return tuple(self.context.flow(self.X))

    @property
    def entering(self) -> np.ndarray:
        """The tensor that enters MaxPool. Raises :class:`Inexact`."""
        return self.flow[-1] if self.flow else self.X

    @cached_property
    def resolved(self) -> Pooling | Refused:
        """The pooling that the document defines, or its refusal. Raises :class:`Inexact`."""
        X = self.entering
        resolved = self.document.resolve(self.attributes, name_of(X.dtype), X.shape, self.policies)
        if self.context.indices != "plane" or isinstance(resolved, Refused):
            return resolved
        others = tuple(_in_each_plane(other) for other in resolved.alternatives)
        return replace(_in_each_plane(resolved), alternatives=others)

    @property
    def pooling(self) -> Pooling:
        """The pooling that the document defines. Raises ``Refused``, :class:`Inexact`."""
        if isinstance(self.resolved, Refused):
            raise self.resolved
        return self.resolved

    @cached_property
    def following(self) -> Sequence[np.ndarray]:
        """The reference's Y of MaxPool, and the tensors behind each node after it. Raises ``Refused``, :class:`Inexact`."""
        pooled = evaluate(self.entering, replace(self.pooling, indices=True))
        return tuple(self.steps(pooled.Y, pooled.Indices))

    @property
    def named(self) -> dict[str, np.ndarray]:
        """X and the tensors behind each node before MaxPool, by name. Raises :class:`Inexact`."""
        names = (node.name for node in wired(self.context.before, "X"))
        return {"X": self.X, **dict(zip(names, self.flow, strict=True))}

    def steps(self, Y: np.ndarray, indices: np.ndarray | None) -> Iterator[np.ndarray]:
        """The Y of MaxPool, and the tensors behind each node after it. Raises :class:`Inexact`."""
        tensors = {**self.named, "Y": Y}
        yield Y
        for node in self._after:
            tensors[node.name] = _applied(node, tensors, self.context.opset, indices)
            yield tensors[node.name]

    @property
    def _after(self) -> tuple[Node, ...]:
        return tuple(wired(self.context.after, "Y"))

    @cached_property
    def _apart(self) -> dict[str, np.ndarray]:
        """The tensors that do not come from MaxPool, by name. Raises :class:`Inexact`."""
        tensors = self.named
        for node in self._after:
            if {*node.taken} <= tensors.keys():
                tensors[node.name] = _applied(node, tensors, self.context.opset)
        return tensors

    @cached_property
    def _traces(self) -> dict[str, _Trace]:
        """How the tensors that come from MaxPool do so, by name: those of Y and of the nodes behind it."""
        traces = {"Y": _Trace()}
        sizes = (*self.entering.shape[:2], *self.pooling.output_sizes)
        for node in self._after:
            taken = [name for name in dict.fromkeys(node.taken) if name in traces]
            if not taken and node.name in self._apart:
                continue
            check_names(node, {**self._apart, **traces})
            first, *others = [traces[name] for name in taken]
            is_mixed = any(each.is_mixed or each.functions != first.functions for each in (first, *others))
            if node.op in COMBINING:
                named = [self._apart[name] for name in node.taken if name in self._apart]
                shapes = [np.shape(each) for each in (*named, *node.constant_inputs)]
                is_mixed |= bool(others) or first.has_moved or not all(_fits(shape, sizes) for shape in shapes)
            has_moved, functions = first.has_moved, first.functions
            if not is_elementwise(node) and node.op not in COMBINING:
                has_moved = True
            elif node.op not in _UNCHANGED:
                functions = (*functions, node.taking(taken[0]))
            traces[node.name] = _Trace(functions, has_moved, is_mixed)
        return traces

    @property
    def _last(self) -> _Trace:
        """That of the output. Raises :class:`Inexact` if it does not come from MaxPool."""
        name = ["Y", *(node.name for node in self._after)][-1]
        if name not in self._traces:
            raise Inexact("the output of the graph does not come from the judged MaxPool")
        return self._traces[name]

    @property
    def is_mixed(self) -> bool:
        """Whether cells of the output may be functions of several cells of MaxPool, or of one in several ways."""
        return self._last.is_mixed

    @property
    def function(self) -> Composition | None:
        """What nodes behind MaxPool make of each value in its Y; None if they change none, or :attr:`is_mixed`."""
        if not self.context.after or self.is_mixed or not self._last.functions:
            return None
        return Composition(self._last.functions, self.context.opset, self._apart)

    def sources(self, Y: np.ndarray, indices: np.ndarray | None) -> np.ndarray:
        """For each cell of the graph's output, the row-major position in MaxPool's Y that it is a function of, or -1.

        The function is :attr:`function`; of an output that :attr:`is_mixed`, each is -1. Raises :class:`Inexact` where it is
        not known.
        """
        tensors, opset, cells = {**self._apart, "Y": Y}, self.context.opset, np.arange(Y.size).reshape(Y.shape)
        found = {**{name: np.full(tensor.shape, -1) for name, tensor in self._apart.items()}, "Y": cells}
        for node, result in zip(self._after, tuple(self.steps(Y, indices))[1:], strict=True):
            tensors[node.name] = result
            trace = self._traces.get(node.name)
            if trace is None or trace.is_mixed:
                found[node.name] = np.full(result.shape, -1)
            elif node.op in COMBINING:
                found[node.name] = cells
            elif node.op == MAX_POOL:
                chosen = max_pool(node, tensors[node.source], opset).Indices
                found[node.name] = found[node.source].reshape(-1)[chosen]
            else:
                source = tensors[node.source]
                found[node.name] = positions(node, found[node.source], source, opset, indices, found)
        return found[self._after[-1].name if self._after else "Y"]
