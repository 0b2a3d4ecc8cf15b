"""The fields of a case that describe the graph around its MaxPool: ``graph``, ``opset`` and ``input: {as: ...}``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.problems import BadValue, Structure
from maxpool_check.corpus.schema import GRAPH
from maxpool_check.graphs.context import MAX_POOL, MAX_POOL_ALONE, NOT_FIELDS, Context, node_of, wired
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.operators import field_names
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.specification import Specification, nearest

_STRUCTURE = Structure(GRAPH)


def document_in(opset: int, document: Specification) -> Specification:
    """The document of a case in an operator set: the version of ONNX's MaxPool there, or SONNX. Raises :class:`BadValue`."""
    try:
        version = specification(f"onnx-{opset}")
    except ValueError:
        known = f"the installed onnx {onnx.__version__} has 1 to {onnx.defs.onnx_opset_version()}"
        raise BadValue(f"there is no operator set {opset}; {known}") from None
    if document.onnx is document:
        return version
    if document.onnx is None or document.domain is not None:
        raise BadValue(f"{document.title} has no ONNX operator set; opset belongs to cases of onnx-N and sonnx")
    if version is not document.onnx:
        raise BadValue(f"{document.title} is about {document.onnx.title}; operator set {opset} has {version.title}")
    return document


def context_of(fields: Mapping[str, Any], document: Specification, shape: tuple[int, ...]) -> Context:
    """The context that the fields of a case describe. Raises :class:`BadValue`."""
    initializer = fields.get("input", {}).get("as") == "initializer"
    if not initializer and not fields.keys() & {"graph", "opset"}:
        return MAX_POOL_ALONE
    if document.onnx is None or document.domain is not None:
        key = "graph" if "graph" in fields else "input"
        raise BadValue(f"{document.title} is not a document of ONNX graphs; use spec: onnx-N or sonnx", key)
    graph = fields.get("graph", [{"op": MAX_POOL}])
    data = graph if isinstance(graph, Mapping) else {"nodes": graph}
    for path, wrong_key, message in _STRUCTURE.mistakes(data):
        inner = path if data is graph else path[1:]
        raise BadValue(message, "graph", *inner, *([] if wrong_key is None else [wrong_key]))
    nodes = data["nodes"]
    for number, node in enumerate(nodes):
        known = frozenset(specification(DEFAULT).attributes) if node["op"] == MAX_POOL else field_names(node["op"])
        for name in node.keys() - {*NOT_FIELDS} - known:
            message = f"{node['op']} has no field '{name}'{nearest(name, sorted(known))}"
            raise BadValue(message, *_node_path(graph, number), name)
    at = _judged(nodes)
    after = nodes[at + 1 :]
    for number, node in enumerate(after, at + 1):
        if node.get("consumers", 1) > 1:
            message = "consumers: 2 belongs to the judged MaxPool or to a node before it"
            raise BadValue(message, *_node_path(graph, number), "consumers")
    try:
        before, behind = tuple(map(node_of, nodes[:at])), tuple(map(node_of, after))
    except (Inexact, TypeError, ValueError) as error:
        raise BadValue(str(error), "graph") from error
    _check_outputs(before, behind, graph)
    return Context(
        opset=fields.get("opset", document.onnx.since),
        before=before,
        after=behind,
        consumers=nodes[at].get("consumers", 1),
        initializer=initializer,
        dimensions=_dimensions(data.get("shape"), shape),
        inside=data.get("inside"),
        indices=_counted(data),
    )


def _judged(nodes: Sequence[Mapping[str, Any]]) -> int:
    """The number of the judged MaxPool. Raises :class:`BadValue`."""
    names = [node["name"] for node in nodes if "name" in node]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise BadValue(f"two nodes have the name {again}", "graph")
    pools = [(number, node) for number, node in enumerate(nodes) if node["op"] == MAX_POOL]
    judged = [number for number, node in pools if node.keys() <= {"op", "consumers"}]
    if len(judged) != 1:
        hint = "its attributes are those of the case" if not judged else "the others need attributes of their own"
        if any(node.keys() <= {"op", "consumers", "name", "from"} and len(node) > 1 for _, node in pools):
            hint += "; its output is Y, and it takes that of the node before it, so that it has neither name nor from"
        raise BadValue(
            f"expected one {{op: MaxPool}} without further keys, the judged one, found {len(judged) or 'none'}; {hint}",
            "graph",
        )
    return judged[0]


def _check_outputs(before: Sequence[Node], behind: Sequence[Node], graph: Any) -> None:
    """Check that something takes the output of each node but the last. Raises :class:`BadValue`."""
    needed: set[str] = set()
    for first, nodes, start in (("Y", behind, len(before) + 1), ("X", before, 0)):
        for number, node in reversed([*enumerate(wired(nodes, first))]):
            is_last = number == len(nodes) - 1
            if not is_last and node.name not in needed and node.consumers == 1:
                raise BadValue(f"nothing takes the output of {node.op}", *_node_path(graph, start + number))
            needed |= {*node.taken}


def _counted(data: Mapping[str, Any]) -> str | None:
    """Where Indices begin to count, if nodes make them."""
    if data.get("indices") == "plane" and any(node["op"] == "MaxUnpool" for node in data["nodes"]):
        raise BadValue("MaxUnpool takes Indices that count in the whole tensor: indices: offset", "graph", "indices")
    counted: str | None = data.get("indices")
    return counted


def _node_path(graph: Any, number: int) -> tuple[str | int, ...]:
    """The path of a node in the fields of a case, of which ``graph`` is one."""
    return ("graph", "nodes", number) if isinstance(graph, Mapping) else ("graph", number)


def at_node(error: BadValue, case: Case, graph: Any) -> BadValue:
    """A mistake in the field ``graph`` of a case as one of the node that has no exact result, if there is such a node."""
    if error.path != ("graph",):
        return error
    number = 0
    try:
        for _ in case.context.flow(case.X.tensor()):
            number += 1
        if isinstance(case.resolved, Pooling):
            pooled = evaluate(case.entering, replace(case.resolved, indices=True))
            for _ in case.graph.steps(pooled.Y, pooled.Indices):
                number += 1
    except Inexact:
        return BadValue(str(error), *_node_path(graph, number))
    return error


def _dimensions(declared: Any, shape: tuple[int, ...]) -> tuple[str | int, ...] | None:
    if declared is None:
        return None
    if declared == "dynamic":
        return tuple(f"X{axis}" for axis in range(len(shape)))
    if isinstance(declared, str) or len(declared) != len(shape):
        found = declared if isinstance(declared, str) else f"{len(declared)}"
        raise BadValue(f"expected dynamic, or {len(shape)} names and sizes, found {found}", "graph", "shape")
    for axis, (size, name) in enumerate(zip(shape, declared, strict=True)):
        if not isinstance(name, (str, int)) or isinstance(name, bool) or (isinstance(name, int) and name != size):
            raise BadValue(f"expected a name, or the size {size}; found {name!r}", "graph", "shape", axis)
    return tuple(declared)


def graph_fields(case: Case, tensor: Mapping[str, Any]) -> dict[str, Any]:
    """The fields from which :func:`context_of` reads the context of a case; ``tensor`` is its ``input``."""
    context = case.context
    if context.is_alone:
        return {}
    data = context.data()
    nodes = {key: data[key] for key in ("nodes", "shape", "inside", "indices") if key in data}
    return {
        **({"input": {**tensor, "as": "initializer"}} if context.initializer else {}),
        "graph": nodes["nodes"] if len(nodes) == 1 else nodes,
        "opset": context.opset,
    }
