"""Simplifications of the graph around a MaxPool, for :mod:`~maxpool_check.running.shrinking`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.graphs.context import MAX_POOL, MAX_POOL_ALONE, Context
from maxpool_check.graphs.node import Node
from maxpool_check.graphs.operators import is_elementwise

_PLAINEST_AS_1 = ("kernel_shape", "strides", "dilations", "y_scale", "x_scale", "num_outputs", "steps")
"""The fields of nodes whose plainest number is 1; that of the others is 0."""

_SIDES = ("before", "after")


def without_axis(case: Case, axis: int, rank: int) -> Case:
    """The case, whose X has lost an axis of ``rank``, with its nodes changed for as many axes, as far as they name them."""
    context = case.context
    before = tuple(_without_axis(node, axis, rank) for node in context.before)
    after = tuple(_without_axis(node, axis, rank) for node in context.after)
    dimensions = context.dimensions
    if dimensions is not None:
        dimensions = (*dimensions[:axis], *dimensions[axis + 1 :])
    return replace(case, context=replace(context, before=before, after=after, dimensions=dimensions))


def _without_axis(node: Node, axis: int, rank: int) -> Node:
    fields: dict[str, Any] = dict(node.fields)
    if node.op == MAX_POOL:
        for name, value in fields.items():
            if isinstance(value, list) and len(value) in (rank - 2, 2 * rank - 4):
                fields[name] = [size for place, size in enumerate(value) if place % (rank - 2) != axis - 2]
    elif node.op == "Pad" and "axes" not in fields and isinstance(fields.get("pads"), list):
        fields["pads"] = [pad for place, pad in enumerate(fields["pads"]) if place % rank != axis]
    elif node.op == "Transpose" and isinstance(fields.get("perm"), list):
        fields["perm"] = [place - (place > axis) for place in fields["perm"] if place != axis]
    elif node.op == "Reshape" and isinstance(fields.get("shape"), list):
        fields["shape"] = [size for place, size in enumerate(fields["shape"]) if place != axis]
    return replace(node, fields=fields)


def _fewer_nodes(case: Case) -> Iterator[Case]:
    """Without nodes: all of a side, then each; and with what the first nodes make of X as the new X."""
    context = case.context
    for side in _SIDES:
        if getattr(context, side):
            yield _with(case, **{side: ()})
    for number in reversed(range(len(context.before))):
        shortened = _with(case, before=context.before[number + 1 :], dimensions=None)
        yield replace(shortened, X=Recipe.of(case.graph.flow[number]))
    for side in _SIDES:
        nodes = getattr(context, side)
        for number in range(len(nodes)):
            yield _with(case, **{side: (*nodes[:number], *nodes[number + 1 :])})


def _fewer_nodes_at_once(case: Case) -> Iterator[Case]:
    """Without a node on each side, such as a Transpose and its inverse."""
    context = case.context
    for i in range(len(context.before)):
        for j in range(len(context.after)):
            before = (*context.before[:i], *context.before[i + 1 :])
            yield _with(case, before=before, after=(*context.after[:j], *context.after[j + 1 :]))


def _plainer_presentation(case: Case) -> Iterator[Case]:
    """X is an input of its known shape, constants are initializers, and no tensor has another consumer."""
    context = case.context
    plainest: dict[str, Any] = {"initializer": False, "dimensions": None, "inside": None, "consumers": 1}
    for name, value in plainest.items():
        if getattr(context, name) != value:
            yield _with(case, **{name: value})
    for side in _SIDES:
        for number, node in enumerate(getattr(context, side)):
            for plainer in (replace(node, constants="initializer"), replace(node, consumers=1)):
                if plainer != node:
                    yield _with_node(case, side, number, plainer)
    alone = Context(context.opset)
    if context == alone:
        yield replace(case, context=MAX_POOL_ALONE)


def _usual_opset(case: Case) -> Iterator[Case]:
    """The operator sets of the same document before the case's, the first of them first."""
    document = case.specification.onnx
    if document is not None:
        yield from (_with(case, opset=opset) for opset in range(document.since, case.context.opset))


def _plainer_nodes(case: Case) -> Iterator[Case]:
    """A field of a node is left out, or its numbers become plainer; a function of each value becomes Identity."""
    context = case.context
    for side in _SIDES:
        for number, node in enumerate(getattr(context, side)):
            for plainer in _plainer(node):
                yield _with_node(case, side, number, plainer)


def _plainer(node: Node) -> Iterator[Node]:
    for name in node.fields:
        yield replace(node, fields={key: value for key, value in node.fields.items() if key != name})
    for name, value in node.fields.items():
        goal = int(name in _PLAINEST_AS_1)
        if isinstance(value, Mapping):
            yield from (_with_field(node, name, {**value, "data": data}) for data in _numbers(value.get("data"), goal))
        elif name != "axes":
            yield from (_with_field(node, name, entries) for entries in _numbers(value, goal))
    if is_elementwise(node) and node.op != "Identity":
        yield Node("Identity", {}, node.constants, node.consumers)


def _numbers(value: Any, goal: int) -> Iterator[Any]:
    if isinstance(value, float) and value != goal:
        yield goal
    else:
        yield from plainer_entries(value, goal)


def plainer_entries(value: Any, goal: int) -> Iterator[Any]:
    """An integer, or a list with integers, nearer to a goal: all of them at it, then each of them nearer."""
    if isinstance(value, list):
        yield [goal if is_integer(entry) else entry for entry in value]
        for place, entry in enumerate(value):
            for plainer in plainer_entries(entry, goal):
                yield [*value[:place], plainer, *value[place + 1 :]]
    elif is_integer(value) and value != goal:
        distance = value - goal
        for smaller in sorted({0, int(distance / 2), distance - (1 if distance > 0 else -1)}, key=abs):
            yield goal + smaller


def is_integer(value: object) -> bool:
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def _with(case: Case, **changes: Any) -> Case:
    return replace(case, context=replace(case.context, **changes))


def _with_node(case: Case, side: str, number: int, node: Node) -> Case:
    nodes = getattr(case.context, side)
    return _with(case, **{side: (*nodes[:number], node, *nodes[number + 1 :])})


def _with_field(node: Node, name: str, value: Any) -> Node:
    return replace(node, fields={**node.fields, name: value})


PASSES: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _fewer_nodes,
    _fewer_nodes_at_once,
    _plainer_presentation,
    _usual_opset,
    _plainer_nodes,
)
"""The simplifications, in the order in which they are tried. Each lowers the number of nodes or makes a part plainer."""
