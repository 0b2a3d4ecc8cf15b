"""Makes a case smaller while a property of it stays as it is: fewer nodes, axes and cells, plainer attributes and values.

A greedy search: it tries simplifications in a fixed order and takes each that keeps the property, until none does. Every
simplification lowers a size, moves a number towards the plainest, omits an attribute or makes a value ordinary, so the
search ends. Most are made without regard to the nodes of a graph: what these have no exact result for is not tried.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.outcomes import TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running import plainer_graphs
from maxpool_check.running.case_run import CaseRun, run_case
from maxpool_check.running.plainer_graphs import is_integer, plainer_entries
from maxpool_check.specifications.roles import Role
from maxpool_check.targets.session import TargetSession

MOST = 600
"""The most cases that are tried."""

MOST_HANGS = 20
"""The most cases that are tried where each may take the whole time limit."""

_PLAINEST_AS_1 = (Role.KERNEL, Role.STRIDE, Role.DILATION, Role.COUNT)
"""The roles whose plainest number is 1; that of the others is 0."""


_PADS = (Role.PADS, Role.PADS_BY_AXIS, Role.BEGIN, Role.END)


def shrunk(
    session: TargetSession, case_run: CaseRun, variant: Variant, variants: Collection[Variant] = DEFAULT_VARIANTS,
    is_about: Callable[[Case], bool] = lambda _: True,
) -> Case:  # fmt: skip
    """A smaller case that shows the same fault in a variant, executed in these variants; ``is_about`` holds for it, too."""
    signature = case_run.signature(variant)

    def keeps(case: Case) -> bool:
        return is_about(case) and run_case(session, case, variants).signature(variant) == signature

    hangs = isinstance(case_run.results[variant].outcome, TimedOut)
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


def _parts(size: int) -> Iterator[slice]:
    """Parts of so many positions, large ones first: halves, quarters, single positions."""
    part = size // 2
    while part >= 1:
        for start in range(0, size, part):
            yield slice(start, start + part)
        part //= 2


def _with(case: Case, X: np.ndarray, attributes: Mapping[str, Any]) -> Case:
    return replace(case, X=Recipe.of(np.ascontiguousarray(X).reshape(X.shape)), attributes=dict(attributes))


def _with_cells(case: Case, cells: np.ndarray, values: np.ndarray) -> Iterator[Case]:
    """The case with other values in the cells of a mask, if it has any; both in row-major order."""
    X = case.X.tensor().reshape(-1)
    if cells.any():
        yield _with(case, np.where(cells, values, X).astype(X.dtype).reshape(case.X.shape), case.attributes)


def _without_cells(case: Case, part: int | slice, axis: int, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """The case without some positions of an axis. It does not become empty: an empty X is another case."""
    X = np.delete(case.X.tensor(), part, axis)
    if X.size or not case.X.size:
        yield _with(case, X, attributes)


def _no_indices(case: Case) -> Iterator[Case]:
    if case.outputs != ("Y",):
        yield replace(case, outputs=("Y",))


def _attributes_left_out(case: Case) -> Iterator[Case]:
    for name in case.attributes:
        yield _with(case, case.X.tensor(), {key: value for key, value in case.attributes.items() if key != name})


def _fewer_axes(case: Case) -> Iterator[Case]:
    axes = _spatial(case)
    for number, axis in enumerate(axes):
        attributes = {
            name: _without(value, number, len(axes), by_axis=_role(case, name) is Role.PADS_BY_AXIS)
            for name, value in case.attributes.items()
        }
        for position in sorted({0, case.X.shape[axis] // 2, max(case.X.shape[axis] - 1, 0)}):
            if position < case.X.shape[axis]:
                smaller = _with(case, case.X.tensor().take(position, axis), attributes)
                yield plainer_graphs.without_axis(smaller, axis, case.X.ndim)


def _without(value: Any, axis: int, rank: int, *, by_axis: bool) -> Any:
    """A list without the entries of an axis, if it has one or two of each; ``by_axis``: the two are adjacent."""
    if not isinstance(value, list) or len(value) not in (rank, 2 * rank):
        return value
    return [entry for place, entry in enumerate(value) if (place // 2 if by_axis else place % rank) != axis]


def _fewer_cells(case: Case) -> Iterator[Case]:
    for axis, size in enumerate(case.X.shape):
        for part in _parts(size):
            yield from _without_cells(case, part, axis, case.attributes)


def _smaller_windows(case: Case) -> Iterator[Case]:
    """The kernel, and its plane or a pad, both smaller by 1: a window that fills the padded plane still does."""
    for number, axis in enumerate(_spatial(case)):
        for name, kernel in case.attributes.items():
            if _role(case, name) is not Role.KERNEL or not isinstance(kernel, list):
                continue
            if number < len(kernel) and is_integer(kernel[number]) and kernel[number] > 1:
                smaller = {**case.attributes, name: _less(kernel, number)}
                for position in range(case.X.shape[axis]):
                    yield from _without_cells(case, position, axis, smaller)
                for other, pads in case.attributes.items():
                    for place in range(len(pads) if _role(case, other) in _PADS and isinstance(pads, list) else 0):
                        if is_integer(pads[place]) and pads[place] > 0:
                            yield _with(case, case.X.tensor(), {**smaller, other: _less(pads, place)})


def _less(numbers: list[Any], place: int) -> list[Any]:
    return [*numbers[:place], numbers[place] - 1, *numbers[place + 1 :]]


def _plainer_attributes(case: Case) -> Iterator[Case]:
    for name, value in case.attributes.items():
        for plainer in plainer_entries(value, int(_role(case, name) in _PLAINEST_AS_1)):
            yield _with(case, case.X.tensor(), {**case.attributes, name: plainer})


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
    special = np.zeros(X.size, bool)
    if is_float(X.dtype):
        special = ~np.isfinite(X) | (X == 0) | (np.abs(X.astype(np.float64)) > 2**24) | (X != np.rint(X))
    for number, goal in enumerate(goals):
        yield from _with_cells(case, rank > number, goal)
        yield from _with_cells(case, (rank > number) & ~special, goal)
    for part in _parts(X.size):
        here = np.zeros(X.size, bool)
        here[part] = True
        for number, goal in enumerate(goals):
            yield from _with_cells(case, here & (rank > number), goal)


_PASSES: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _no_indices,
    *plainer_graphs.PASSES,
    _attributes_left_out,
    _fewer_axes,
    _fewer_cells,
    _smaller_windows,
    _plainer_attributes,
    _plainer_values,
)


def _role(case: Case, name: str) -> Role | None:
    """The role of an attribute; None if the document does not have it."""
    attribute = case.specification.attributes.get(name)
    return attribute.role if attribute else None


def _spatial(case: Case) -> list[int]:
    """The spatial axes of X, as far as it has any."""
    axes = list(range(case.X.ndim))
    return {Layout.CHANNELS_FIRST: axes[2:], Layout.CHANNELS_LAST: axes[1:-1], Layout.IMAGE: axes[:-1]}[
        case.specification.layout
    ]
