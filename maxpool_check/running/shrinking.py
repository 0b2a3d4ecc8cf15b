"""Makes a case smaller while something about it stays as it is: fewer axes and cells, plainer attributes and values.

A greedy search: one simplification after another is tried, and taken if the case keeps its property, until none is. Every simplification lowers a size, moves a number towards the plainest, leaves an attribute out or makes a value
ordinary, so that it ends; the order is fixed, so that the same case shrinks to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.layout import Layout
from maxpool_check.results.outcomes import TimedOut
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.specifications.roles import Role

MOST = 600
"""How many cases are tried."""

MOST_HANGS = 20
"""How many are tried where each may take all the time a variant has."""

_PLAINEST_AS_1 = (Role.KERNEL, Role.STRIDE, Role.DILATION, Role.COUNT)
"""What the numbers are that are plainest as 1; any other is plainest as 0."""


def tries(case_run: CaseRun, variant: Variant) -> int:
    """How many smaller cases to try of one that a target has executed."""
    return MOST_HANGS if isinstance(case_run.results[variant].outcome, TimedOut) else MOST


def shrink(case: Case, keeps: Callable[[Case], bool], most: int = MOST) -> Case:
    """A smaller case for which ``keeps`` holds, as it must for ``case`` itself; ``case`` where there is none.

    ``keeps`` is called up to ``most`` times, never twice with the same X, attributes and outputs. The expectation and the
    erratum are left out: they are about the larger case.
    """
    search = _Search(replace(case, expect=None, erratum=None), keeps, most)
    while search.again():
        for simplifications in _PASSES:
            search.take(simplifications)
    return search.case


class _Search:
    """The smallest case so far."""

    def __init__(self, case: Case, keeps: Callable[[Case], bool], most: int) -> None:
        self.case = case
        self._keeps, self._left = keeps, most
        self._tried = {case.sha256}
        self._round: Case | None = None

    def again(self) -> bool:
        """Whether another round can find anything."""
        changed = self._round is not self.case
        self._round = self.case
        return changed and self._left > 0

    def take(self, simplifications: Callable[[Case], Iterator[Case]]) -> None:
        """Take a simplification and begin anew with what is left of them, until none is kept."""
        taken = True
        while taken:
            taken = False
            for candidate in simplifications(self.case):
                if self._left > 0 and self._is_kept(candidate):
                    self.case, taken = candidate, True
                    break

    def _is_kept(self, candidate: Case) -> bool:
        if candidate.sha256 in self._tried:
            return False
        self._tried.add(candidate.sha256)
        self._left -= 1
        return self._keeps(candidate)


def _with(case: Case, X: np.ndarray, attributes: Mapping[str, Any]) -> Case:
    return replace(case, X=np.ascontiguousarray(X).reshape(X.shape), attributes=dict(attributes))


def _no_indices(case: Case) -> Iterator[Case]:
    if case.outputs != ("Y",):
        yield replace(case, outputs=("Y",))


def _attributes_left_out(case: Case) -> Iterator[Case]:
    for name in case.attributes:
        yield _with(case, case.X, {key: value for key, value in case.attributes.items() if key != name})


def _fewer_axes(case: Case) -> Iterator[Case]:
    axes = _spatial(case)
    for number, axis in enumerate(axes):
        attributes = {
            name: _without(value, number, len(axes), by_axis=_role(case, name) is Role.PADS_BY_AXIS)
            for name, value in case.attributes.items()
        }
        for position in sorted({0, case.X.shape[axis] // 2, max(case.X.shape[axis] - 1, 0)}):
            if position < case.X.shape[axis]:
                yield _with(case, case.X.take(position, axis), attributes)


def _without(value: Any, axis: int, rank: int, *, by_axis: bool) -> Any:
    """The list without the entries of an axis, if it has as many as there are axes, or twice as many.

    ``by_axis``: the two entries of an axis follow each other.
    """
    if not isinstance(value, list) or len(value) not in (rank, 2 * rank):
        return value
    return [entry for place, entry in enumerate(value) if (place // 2 if by_axis else place % rank) != axis]


def _fewer_cells(case: Case) -> Iterator[Case]:
    shape = case.X.shape
    for axis, size in enumerate(shape):
        # Large parts first: halves, quarters, single positions.
        part = size // 2
        while part >= 1:
            for start in range(0, size, part):
                X = np.delete(case.X, slice(start, start + part), axis)
                # Nothing at all is another case than something.
                if X.size or not case.X.size:
                    yield _with(case, X, case.attributes)
            part //= 2


def _smaller_windows(case: Case) -> Iterator[Case]:
    """A kernel and the plane it lies on, smaller by one together: a window that fills it still does."""
    for number, axis in enumerate(_spatial(case)):
        for name, kernel in case.attributes.items():
            if _role(case, name) is not Role.KERNEL:
                continue
            if isinstance(kernel, list) and number < len(kernel) and _is_integer(kernel[number]) and kernel[number] > 1:
                smaller = [size - (place == number) for place, size in enumerate(kernel)]
                for position in range(case.X.shape[axis]):
                    X = np.delete(case.X, position, axis)
                    if X.size or not case.X.size:
                        yield _with(case, X, {**case.attributes, name: smaller})


def _plainer_attributes(case: Case) -> Iterator[Case]:
    for name, value in case.attributes.items():
        for plainer in _plainer(value, int(_role(case, name) in _PLAINEST_AS_1)):
            yield _with(case, case.X, {**case.attributes, name: plainer})


def _plainer(value: Any, goal: int) -> Iterator[Any]:
    if isinstance(value, list):
        yield [goal if _is_integer(entry) else entry for entry in value]
        for place, entry in enumerate(value):
            for plainer in _plainer(entry, goal):
                yield [*value[:place], plainer, *value[place + 1 :]]
    elif _is_integer(value) and value != goal:
        distance = value - goal
        for smaller in sorted({0, int(distance / 2), distance - (1 if distance > 0 else -1)}, key=abs):
            yield goal + smaller


def _plainer_values(case: Case) -> Iterator[Case]:
    """Ascending small integers, or descending below 0, for all ordinary cells, for all, for ever fewer of them."""
    X = case.X.reshape(-1)
    rank = _ranks(case.X)
    goals = _goals(case.X)
    special = np.zeros(X.size, bool)
    if is_float(X.dtype):
        special = ~np.isfinite(X) | (X == 0) | (np.abs(X.astype(np.float64)) > 2**24) | (X != np.rint(X))
    for number, goal in enumerate(goals):
        worse = rank > number
        for cells in (worse, worse & ~special):
            if cells.any():
                yield _with(case, np.where(cells, goal, X).astype(X.dtype).reshape(case.X.shape), case.attributes)
    part = X.size // 2
    while part >= 1:
        for start in range(0, X.size, part):
            here = np.zeros(X.size, bool)
            here[start : start + part] = True
            for number, goal in enumerate(goals):
                cells = here & (rank > number)
                if cells.any():
                    yield _with(case, np.where(cells, goal, X).astype(X.dtype).reshape(case.X.shape), case.attributes)
        part //= 2


def _goals(X: np.ndarray) -> list[np.ndarray]:
    """The plainest values of all cells, row by row: 1, 2, 3 ...; and, where there is a sign, -1, -2, -3 ..."""
    ascending = 1 + np.arange(X.size) % 100
    signed = is_float(X.dtype) or X.dtype.kind == "i"
    return [goal.astype(X.dtype) for goal in ([ascending, -ascending] if signed else [ascending])]


def _ranks(X: np.ndarray) -> np.ndarray:
    """How plain each cell is: the number of the goal that it has, or as many as there are."""
    goals = _goals(X)
    rank = np.full(X.size, len(goals))
    for number, goal in reversed(list(enumerate(goals))):
        rank[bits(goal) == bits(X.reshape(-1))] = number
    return rank


_PASSES: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _no_indices,
    _attributes_left_out,
    _fewer_axes,
    _fewer_cells,
    _smaller_windows,
    _plainer_attributes,
    _plainer_values,
)


def _role(case: Case, name: str) -> Role | None:
    """What an attribute says; None if the document has no such attribute."""
    attribute = case.specification.attributes.get(name)
    return attribute.role if attribute else None


def _spatial(case: Case) -> list[int]:
    """The spatial axes of X, as far as it has any."""
    layout, axes = case.specification.layout, range(case.X.ndim)
    if layout is Layout.IMAGE:
        return list(axes)[:-1]
    return list(axes)[2:] if layout is Layout.CHANNELS_FIRST else list(axes)[1:-1]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
