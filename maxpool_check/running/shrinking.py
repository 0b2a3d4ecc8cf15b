"""Makes a case smaller while a property of it stays as it is: fewer nodes, axes and cells, plainer attributes and values.

A greedy search: it tries simplifications in a fixed order and takes each that keeps the property, until none does. Every
simplification lowers a size, moves a number towards the plainest, omits an attribute or makes a value ordinary, so the
search ends. Most are made without regard to the nodes of a graph: what these have no exact result for is not tried.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.graphs.context import MAX_POOL, MAX_POOL_ALONE, Context
from maxpool_check.graphs.node import Node
from maxpool_check.graphs.operators import is_elementwise
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.outcomes import TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import JudgedRun, run_case
from maxpool_check.specifications import specification
from maxpool_check.specifications.clauses import clauses_of
from maxpool_check.specifications.roles import Role
from maxpool_check.targets.session import TargetSession

MOST = 600
"""The most cases that are tried."""

MOST_HANGS = 20
"""The most cases that are tried where each may take the whole time limit."""

_PLAINEST_AS_1 = (
    *(Role.KERNEL, Role.STRIDE, Role.DILATION, Role.COUNT),
    *("kernel_shape", "strides", "dilations", "y_scale", "x_scale", "num_outputs", "steps"),
)
"""The roles of attributes, and the fields of nodes, whose plainest number is 1; that of the others is 0."""

_PADS = (Role.PADS, Role.BEGIN, Role.END)

_SIDES = ("before", "after")


def shrunk(
    session: TargetSession, case_run: JudgedRun, variant: Variant, variants: Collection[Variant] = DEFAULT_VARIANTS,
    is_same: Callable[[JudgedRun], bool] = lambda _: True,
) -> Case:  # fmt: skip
    """A smaller case that shows the same kinds in a variant, executed in these variants; ``is_same`` holds for its run, too."""
    signature = case_run.signature(variant)

    def keeps(case: Case) -> bool:
        smaller = run_case(session, case, variants)
        return smaller.signature(variant) == signature and is_same(smaller)

    hangs = isinstance(case_run.jobs[variant].outcome, TimedOut)
    return shrink(case_run.case, keeps, MOST_HANGS if hangs else MOST)


def shrink(case: Case, keeps: Callable[[Case], bool], most: int = MOST) -> Case:
    """A smaller case for which ``keeps`` holds, as it must for ``case`` itself; ``case`` if there is none.

    ``keeps`` is called up to ``most`` times, never twice with the same X, attributes and outputs. The result has no
    expectation and no erratum: they are about the larger case.
    """
    smallest = replace(case, expect=None, erratum=None)
    tried = {smallest.sha256}

    def is_kept(candidate: Case) -> bool:
        if len(tried) > most or candidate.sha256 in tried or not candidate.is_exact:
            return False
        tried.add(candidate.sha256)
        return keeps(candidate)

    previous = None
    while smallest is not previous and len(tried) <= most:
        previous = smallest
        for simplifications in _PASSES:
            while (smaller := next(filter(is_kept, simplifications(smallest)), None)) is not None:
                smallest = smaller
    return smallest


def older_cases(case: Case) -> Iterator[Case]:
    """The case by each older version of ONNX's MaxPool, the oldest first, and a graph in each older operator set.

    From operator set 8 on, which all releases load, or for a graph 13, in which most nodes have their present inputs; with the
    clauses that the case is about. The meaning may differ.
    """
    onnx = case.specification.onnx
    if onnx is None or not case.spec.startswith("onnx-"):
        return
    alone, tried = case.context.is_alone, set()
    for opset in range(8, onnx.since) if alone else range(13, case.context.opset):
        older = replace(case, spec=specification(f"onnx-{opset}").name)
        older = older if alone else _with(older, opset=opset)
        has_clauses = {*case.covers} <= {each.id for each in clauses_of(older.spec)}
        if has_clauses and older.sha256 not in tried and older.is_exact:
            tried.add(older.sha256)
            yield older


def _with_tensor(case: Case, X: np.ndarray, attributes: Mapping[str, Any] | None = None) -> Case:
    X = np.ascontiguousarray(X).reshape(X.shape)
    return replace(case, X=Recipe.of(X), attributes=case.attributes if attributes is None else attributes)


def _with(case: Case, **changes: Any) -> Case:
    return replace(case, context=replace(case.context, **changes))


def _instead(entries: Any, place: int, *instead: Any) -> Any:
    """A list or tuple with other entries, or none, in the place of one."""
    return type(entries)([*entries[:place], *instead, *entries[place + 1 :]])


def _parts(size: int) -> Iterator[slice]:
    """Parts of so many positions, large ones first: halves, quarters, single positions."""
    part = size // 2
    while part >= 1:
        for start in range(0, size, part):
            yield slice(start, start + part)
        part //= 2


def _no_indices(case: Case) -> Iterator[Case]:
    if case.outputs != ("Y",):
        yield replace(case, outputs=("Y",))


def _fewer_nodes(case: Case) -> Iterator[Case]:
    """Without nodes: all of a side, then each; with what the first nodes make of X as the new X; and one of each side.

    Those on both sides may be a Transpose and its inverse.
    """
    before, after = case.context.before, case.context.after
    for side in _SIDES:
        if getattr(case.context, side):
            yield _with(case, **{side: ()})
    for number in reversed(range(len(before))):
        shortened = _with(case, before=before[number + 1 :], dimensions=None)
        yield replace(shortened, X=Recipe.of(case.graph.flow[number]))
    without_before = [_instead(before, number) for number in range(len(before))]
    without_after = [_instead(after, number) for number in range(len(after))]
    yield from (_with(case, before=fewer) for fewer in without_before)
    yield from (_with(case, after=fewer) for fewer in without_after)
    yield from (_with(case, before=fewer, after=others) for fewer in without_before for others in without_after)


def _plainer_presentation(case: Case) -> Iterator[Case]:
    """X is an input of its known shape, constants are initializers, no tensor has another consumer; an older operator set."""
    plainest: dict[str, Any] = {"initializer": False, "dimensions": None, "inside": None, "consumers": 1}
    for name, value in plainest.items():
        if getattr(case.context, name) != value:
            yield _with(case, **{name: value})
    yield from _with_plainer_nodes(
        case, lambda node: iter((replace(node, constants="initializer"), replace(node, consumers=1)))
    )
    if case.context == Context(case.context.opset):
        yield replace(case, context=MAX_POOL_ALONE)
    if case.specification.onnx is not None:
        # Those of the same document, the first of them first.
        yield from (_with(case, opset=opset) for opset in range(case.specification.onnx.since, case.context.opset))


def _with_plainer_nodes(case: Case, plainer: Callable[[Node], Iterator[Node]]) -> Iterator[Case]:
    for side in _SIDES:
        nodes = getattr(case.context, side)
        for number, node in enumerate(nodes):
            for changed in plainer(node):
                if changed != node:
                    yield _with(case, **{side: _instead(nodes, number, changed)})


def _plainer(node: Node) -> Iterator[Node]:
    """A field of a node is left out, or its numbers become plainer; a function of each value becomes Identity."""
    yield from (replace(node, fields=fields) for fields in _each_left_out(node.fields))
    for name, value in node.fields.items():
        goal = int(name in _PLAINEST_AS_1)
        changed: Iterator[Any] = iter(())
        if isinstance(value, Mapping):
            changed = ({**value, "data": data} for data in _plainer_numbers(value.get("data"), goal))
        elif name != "axes":
            changed = _plainer_numbers(value, goal)
        yield from (replace(node, fields={**node.fields, name: plainer}) for plainer in changed)
    if is_elementwise(node) and node.op != "Identity":
        yield replace(node, op="Identity", fields={})


def _attributes_left_out(case: Case) -> Iterator[Case]:
    return (replace(case, attributes=attributes) for attributes in _each_left_out(case.attributes))


def _each_left_out(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({key: value for key, value in fields.items() if key != name} for name in fields)


def _plainer_attributes(case: Case) -> Iterator[Case]:
    for name, value in case.attributes.items():
        for plainer in _plainer_numbers(value, int(_role(case, name) in _PLAINEST_AS_1)):
            yield replace(case, attributes={**case.attributes, name: plainer})


def _plainer_numbers(value: Any, goal: int) -> Iterator[Any]:
    """A number, or a list with numbers, nearer to a goal: all integers at it, then each number nearer."""
    if isinstance(value, list):
        yield [goal if _is_integer(entry) else entry for entry in value]
        for place, entry in enumerate(value):
            yield from (_instead(value, place, plainer) for plainer in _plainer_numbers(entry, goal))
    elif isinstance(value, float) and value != goal:
        yield goal
    elif _is_integer(value) and value != goal:
        distance = value - goal
        for smaller in sorted({0, int(distance / 2), distance - (1 if distance > 0 else -1)}, key=abs):
            yield goal + smaller


def _is_integer(value: object) -> bool:
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def _fewer_axes(case: Case) -> Iterator[Case]:
    """Without a spatial axis of X, of the attributes, and of the nodes as far as they name it."""
    axes, rank, context = _spatial(case), case.X.ndim, case.context
    for number, axis in enumerate(axes):
        attributes = {name: _without_axis(value, number, len(axes)) for name, value in case.attributes.items()}
        smaller = _with(
            case,
            before=tuple(_node_without_axis(node, axis, rank) for node in context.before),
            after=tuple(_node_without_axis(node, axis, rank) for node in context.after),
            dimensions=None if context.dimensions is None else _instead(context.dimensions, axis),
        )
        size = case.X.shape[axis]
        for position in sorted({0, size // 2, size - 1}) if size else ():
            yield _with_tensor(smaller, case.X.tensor().take(position, axis), attributes)


def _node_without_axis(node: Node, axis: int, rank: int) -> Node:
    fields: dict[str, Any] = dict(node.fields)
    if node.op == MAX_POOL:
        fields = {name: _without_axis(value, axis - 2, rank - 2) for name, value in fields.items()}
    elif node.op in ("Pad", "Reshape") and "axes" not in fields:
        fields = {name: _without_axis(value, axis, rank) for name, value in fields.items()}
    elif node.op == "Transpose" and isinstance(fields.get("perm"), list):
        fields["perm"] = [place - (place > axis) for place in fields["perm"] if place != axis]
    return replace(node, fields=fields)


def _without_axis(value: Any, axis: int, rank: int) -> Any:
    """A list without the entries of an axis, if it has one or two of each."""
    if not isinstance(value, list) or len(value) not in (rank, 2 * rank):
        return value
    return [entry for place, entry in enumerate(value) if place % rank != axis]


def _fewer_cells(case: Case) -> Iterator[Case]:
    for axis, size in enumerate(case.X.shape):
        for part in _parts(size):
            yield from _without_cells(case, part, axis, case.attributes)


def _without_cells(case: Case, part: int | slice, axis: int, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """The case without some positions of an axis. It does not become empty: an empty X is another case."""
    X = np.delete(case.X.tensor(), part, axis)
    if X.size or not case.X.size:
        yield _with_tensor(case, X, attributes)


def _smaller_windows(case: Case) -> Iterator[Case]:
    """The kernel, and its plane or a pad, both smaller by 1: a window that fills the padded plane still does."""
    lists = {name: value for name, value in case.attributes.items() if isinstance(value, list)}
    for number, axis in enumerate(_spatial(case)):
        for name in (name for name in lists if _role(case, name) is Role.KERNEL):
            for kernel in _less(lists[name], number, 1):
                smaller = {**case.attributes, name: kernel}
                for position in range(case.X.shape[axis]):
                    yield from _without_cells(case, position, axis, smaller)
                for other in (other for other in lists if _role(case, other) in _PADS):
                    for place in range(len(lists[other])):
                        for pads in _less(lists[other], place, 0):
                            yield replace(case, attributes={**smaller, other: pads})


def _less(numbers: list[Any], place: int, least: int) -> Iterator[list[Any]]:
    """The numbers with one of them smaller by 1, if it is there and above the least."""
    if place < len(numbers) and _is_integer(numbers[place]) and numbers[place] > least:
        yield _instead(numbers, place, numbers[place] - 1)


def _plainer_values(case: Case) -> Iterator[Case]:
    """The goals in all cells, in all ordinary cells, and in smaller and smaller parts of X.

    They are the plainest values of all cells: 1, 2, 3 ...; and -1, -2, -3 ... if the dtype has a sign.
    """
    X = case.X.tensor().reshape(-1)
    ascending = 1 + np.arange(X.size) % 100
    signed = is_float(X.dtype) or X.dtype.kind == "i"
    goals = [goal.astype(X.dtype) for goal in ([ascending, -ascending] if signed else [ascending])]
    # The number of the goal that each cell has, or the number of goals.
    rank = np.full(X.size, len(goals))
    for number, goal in reversed(list(enumerate(goals))):
        rank[bits(goal) == bits(X)] = number
    ordinary = np.ones(X.size, bool)
    if is_float(X.dtype):
        ordinary = np.isfinite(X) & (X != 0) & (np.abs(X.astype(np.float64)) <= 2**24) & (X == np.rint(X))
    places: Iterator[Any] = chain((slice(None), ordinary), _parts(X.size))
    for part in places:
        here = np.zeros(X.size, bool)
        here[part] = True
        for number, goal in enumerate(goals):
            cells = here & (rank > number)
            if cells.any():
                yield _with_tensor(case, np.where(cells, goal, X).astype(X.dtype).reshape(case.X.shape))


_PASSES: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _no_indices,
    _fewer_nodes,
    _plainer_presentation,
    partial(_with_plainer_nodes, plainer=_plainer),
    _attributes_left_out,
    _fewer_axes,
    _fewer_cells,
    _smaller_windows,
    _plainer_attributes,
    _plainer_values,
)
"""The simplifications, in the order in which they are tried."""


def _role(case: Case, name: str) -> Role | None:
    """The role of an attribute; None if the document does not have it."""
    attribute = case.specification.attributes.get(name)
    return attribute.role if attribute else None


def _spatial(case: Case) -> list[int]:
    """The spatial axes of X, as far as it has any."""
    first = {Layout.CHANNELS_FIRST: 2, Layout.CHANNELS_LAST: 1, Layout.IMAGE: 0}[case.specification.layout]
    return list(range(first, case.X.ndim - (case.specification.layout is not Layout.CHANNELS_FIRST)))
