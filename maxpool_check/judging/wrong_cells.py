"""The wrong cells of outputs: how many, what their windows hold, and some of them as evidence.

By what the windows hold, a result is bad or less so, and a known defect explains them or does not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxpool_check.judging.comparison import MOST_CELLS, WrongOutput, positions
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import is_float, lowest
from maxpool_check.results.details import Cell
from maxpool_check.results.outputs import packed

CONTENTS = NAN, INFINITY, ZEROS, LOWEST, PADDING, START, ZERO = (
    "nan",
    "infinity",
    "zeros",
    "lowest",
    "padding",
    "start",
    "zero",
)
"""What a window can hold: NaN, an infinity, zeros of both signs, nothing greater than the lowest finite value, the padding.

The last two say what comes out as well: ``start`` is a window as ``lowest`` whose output is what a scan starts from, and in one that
is ``zero`` nothing is greater than 0, and Y is 0.
"""

ORDINARY = "ordinary"
"""A window that holds nothing of that."""

MOST_VALUES = 32
"""How many values of a window are shown."""


@dataclass(frozen=True, eq=False)
class WrongCells:
    """The wrong cells of the outputs of an execution; outputs that are wrong as a whole have none."""

    oracle: Oracle
    wrong: Sequence[WrongOutput]
    outputs: Mapping[str, np.ndarray]
    """The outputs, in the document's layout."""
    instead: Mapping[str, np.ndarray] | None = None
    """What they are compared with, if not with the reference's outputs."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """The numbers of cells by kind."""
        return {each.kind.value: int(each.cells.sum()) for each in self.wrong if each.cells is not None}

    @cached_property
    def windows(self) -> dict[str, dict[str, int]]:
        """The numbers of cells by kind and by what their windows hold: names of :data:`CONTENTS` with spaces between."""
        held, from_zero = self._contents, ~(self.oracle.nan_as_neg_inf.maxima > 0)
        if (Y := self.outputs.get("Y")) is not None and Y.shape == self.oracle.shape:
            from_zero &= self.oracle.pooling.layout.to_core(Y) == self.oracle.made_of(self.oracle.core.dtype.type(0))
        windows: dict[str, dict[str, int]] = {}
        for each in self.wrong:
            if each.cells is None:
                continue
            is_start = _is_start(self.oracle, held[LOWEST], each.output, self.outputs[each.output])
            cells_by_bit = enumerate((*held.values(), is_start, from_zero))
            codes = sum(cells[each.cells].astype(np.uint8) << bit for bit, cells in cells_by_bit)
            windows[each.kind.value] = {
                " ".join(name for bit, name in enumerate(CONTENTS) if code >> bit & 1) or ORDINARY: int(count)
                for code, count in zip(*np.unique(codes, return_counts=True), strict=True)
            }
        return windows

    @cached_property
    def marked(self) -> dict[str, dict[str, str]]:
        """The cells, packed, by output and by whether ordinary values show them: ``finite``, or ``special``.

        Special are windows with NaN or an infinity, those that hold nothing but the lowest value of a float type, and zeros of both
        signs where only the sign is wrong. The lowest value of an integer type is an ordinary one.
        """
        held, X = self._contents, self.oracle.core
        special = held[NAN] | held[INFINITY]
        if is_float(X.dtype):
            special = special | ~self.oracle.holds(X != lowest(X.dtype))
        marked: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
        for each in self.wrong:
            if each.cells is None:
                continue
            is_special = special | held[ZEROS] if each.kind is DivergenceKind.Y_SIGNED_ZERO else special
            for sort, cells in (("finite", each.cells & ~is_special), ("special", each.cells & is_special)):
                if cells.any():
                    marked[each.output][sort] = marked[each.output].get(sort, False) | cells
        return {output: {sort: packed(cells) for sort, cells in by_sort.items()} for output, by_sort in marked.items()}

    @property
    def special(self) -> bool:
        """Whether there are wrong cells, and special values alone show them."""
        return bool(self.marked) and all(set(by_sort) == {"special"} for by_sort in self.marked.values())

    @cached_property
    def shown(self) -> tuple[Cell, ...]:
        """The first cells in the order of the output, and at least one of every kind."""
        candidates = [(at, each) for each in self.wrong if each.cells is not None for at in positions(each.cells)]
        candidates.sort(key=lambda candidate: (candidate[0], candidate[1].output != "Y"))
        chosen = list({each.kind: (at, each) for at, each in reversed(candidates)}.values())
        chosen += [candidate for candidate in candidates if candidate not in chosen][: max(0, MOST_CELLS - len(chosen))]
        expected = self.oracle.outputs if self.instead is None else self.instead
        return tuple(
            _cell(self.oracle, at, each, expected[each.output], self.outputs[each.output])
            for at, each in candidates
            if (at, each) in chosen
        )

    @cached_property
    def _contents(self) -> dict[str, np.ndarray]:
        """The windows that hold each of :data:`CONTENTS` but the last two (boolean, N x C x D1 x ... x Dn)."""
        oracle, X = self.oracle, self.oracle.core
        none = np.zeros(oracle.pooled.Y.shape, bool)
        # A window without a cell of X holds nothing greater, either.
        held = {
            NAN: none, INFINITY: none, ZEROS: none, LOWEST: ~(oracle.nan_as_neg_inf.maxima > lowest(X.dtype)),
            PADDING: none | oracle.reaches_padding,
        }  # fmt: skip
        if is_float(X.dtype):
            negative, positive = oracle.holds_zeros
            held |= {NAN: oracle.holds_nan, INFINITY: oracle.holds(np.isinf(X)), ZEROS: negative & positive}
        return held


def _cell(oracle: Oracle, at: tuple[int, ...], wrong: WrongOutput, expected: np.ndarray, actual: np.ndarray) -> Cell:
    pooling, X = oracle.pooling, oracle.core
    expected, actual = pooling.layout.to_core(expected), pooling.layout.to_core(actual)
    inside = window_cells(at, pooling.geometry)
    numberings = pooling.numbering.cells(actual, X.shape) if wrong.output == "Indices" else ()
    named = [int(cells[at]) for is_cell, cells in numberings if is_cell[at]]
    number = int(oracle.choices[0][at])

    def place(number: int) -> tuple[int, ...]:
        return pooling.layout.arranged([int(i) for i in np.unravel_index(number, X.shape)])

    return Cell(
        at=pooling.layout.arranged(at),
        output=wrong.output,
        expected=str(expected[at]),
        got=str(actual[at]),
        kind=wrong.kind.value,
        window=tuple(tuple(axis.window(i)) for axis, i in zip(pooling.geometry, at[2:], strict=True)),
        values=tuple(str(X[cell]) for cell in inside) if len(inside) <= MOST_VALUES else None,
        # An index may refer to no cell, or to several.
        got_cell=place(named[0]) if len(named) == 1 else None,
        # An empty window has none.
        chosen=place(number) if number >= 0 else None,
        outside=tuple(axis.outside(i) for axis, i in zip(pooling.geometry, at[2:], strict=True)),
    )


def _is_start(oracle: Oracle, holds_lowest: np.ndarray, output: str, values: np.ndarray) -> np.ndarray:
    """Where an output is what a scan starts from: the lowest finite value, and the cell before the plane on each axis.

    Of Indices less that of the first cell of the plane, it is also what follows from such an index of that cell.
    """
    X, values, low = oracle.core, oracle.pooling.layout.to_core(values), lowest(oracle.core.dtype)
    if output != "Indices":
        return holds_lowest & (values == oracle.made_of(low))
    numbering, axes = oracle.pooling.numbering, (..., *[np.newaxis] * (X.ndim - 2))
    before = numbering.before_planes(X.shape)[axes]
    starts = holds_lowest & (values == before)
    if numbering.axis != 2 or not X.size:
        return starts
    from_low = ~(X.reshape(*X.shape[:2], -1)[..., 0] > low)[axes]
    before_first = replace(numbering, axis=0).before_planes(X.shape)[0, 0]
    numbers = np.where(holds_lowest, before_first, oracle.pooled.Indices)
    return starts | (holds_lowest | from_low) & (values == numbers - np.where(from_low, before_first, 0))
