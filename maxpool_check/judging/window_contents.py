"""What the windows of wrong cells hold: by it a result is bad or less so, and a known defect explains them or does not."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from maxpool_check.judging.comparison import WrongOutput
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float, lowest
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


@dataclass(frozen=True)
class WrongWindows:
    """The wrong cells of the outputs of an execution, by what their windows hold.

    ``counts`` has the numbers of cells by kind and by contents, names of :data:`CONTENTS` with spaces between. ``cells`` are the
    marked cells, packed, by output and by whether ordinary values show them: ``finite``, or ``special``.
    """

    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def special(self) -> bool:
        """Whether there are wrong cells, and special values alone show them."""
        return bool(self.cells) and all(set(by_sort) == {"special"} for by_sort in self.cells.values())


def wrong_windows(oracle: Oracle, wrong: Iterable[WrongOutput], outputs: Mapping[str, np.ndarray]) -> WrongWindows:
    """What the windows of wrong cells hold; outputs that are wrong as a whole have none.

    Special are windows with NaN or an infinity, those that hold nothing but the lowest value of a float type, and zeros of both
    signs where only the sign is wrong. The lowest value of an integer type is an ordinary one.
    """
    held, special = _contents(oracle)
    from_zero = ~(oracle.nan_as_neg_inf.maxima > 0)
    if (Y := outputs.get("Y")) is not None and Y.shape == oracle.shape:
        from_zero &= oracle.pooling.layout.to_core(Y) == oracle.activated(np.zeros(1, oracle.core.dtype))[0]
    counts: dict[str, Mapping[str, int]] = {}
    marked: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for each in wrong:
        if each.cells is None:
            continue
        is_start = _is_start(oracle, held[LOWEST], each.output, outputs[each.output])
        cells_by_bit = enumerate((*held.values(), is_start, from_zero))
        codes = sum(cells[each.cells].astype(np.uint8) << bit for bit, cells in cells_by_bit)
        counts[each.kind.value] = {
            " ".join(name for bit, name in enumerate(CONTENTS) if code >> bit & 1) or ORDINARY: int(count)
            for code, count in zip(*np.unique(codes, return_counts=True), strict=True)
        }
        only_sign = held[ZEROS] if each.kind is DivergenceKind.Y_SIGNED_ZERO else False
        for sort, cells in (("finite", ~(special | only_sign)), ("special", special | only_sign)):
            if (cells & each.cells).any():
                marked[each.output][sort] = marked[each.output].get(sort, False) | (cells & each.cells)
    return WrongWindows(
        counts, {output: {sort: packed(cells) for sort, cells in by_sort.items()} for output, by_sort in marked.items()}
    )


def _contents(oracle: Oracle) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The windows that hold each of :data:`CONTENTS`, and those that are special (boolean, N x C x D1 x ... x Dn)."""
    X = oracle.core
    low, none = lowest(X.dtype), np.zeros(oracle.pooled.Y.shape, bool)
    # A window without a cell of X holds nothing greater, either.
    held = {
        NAN: none, INFINITY: none, ZEROS: none, LOWEST: ~(oracle.nan_as_neg_inf.maxima > low),
        PADDING: none | oracle.reaches_padding,
    }  # fmt: skip
    if not is_float(X.dtype):
        return held, none
    negative, positive = oracle.holds_zeros
    held |= {NAN: oracle.holds_nan, INFINITY: oracle.holds(np.isinf(X)), ZEROS: negative & positive}
    return held, held[NAN] | held[INFINITY] | ~oracle.holds(X != low)


def _is_start(oracle: Oracle, holds_lowest: np.ndarray, output: str, values: np.ndarray) -> np.ndarray:
    """Where an output is what a scan starts from: the lowest finite value, and the cell before the plane on each axis.

    Of Indices less that of the first cell of the plane, it is also what follows from such an index of that cell.
    """
    X, values, low = oracle.core, oracle.pooling.layout.to_core(values), lowest(oracle.core.dtype)
    if output != "Indices":
        return holds_lowest & (values == oracle.activated(np.array([low]))[0])
    numbering, axes = oracle.pooling.numbering, (..., *[np.newaxis] * (X.ndim - 2))
    before = numbering.before_planes(X.shape)[axes]
    starts = holds_lowest & (values == before)
    if numbering.axis != 2 or not X.size:
        return starts
    from_low = ~(X.reshape(*X.shape[:2], -1)[..., 0] > low)[axes]
    before_first = replace(numbering, axis=0).before_planes(X.shape)[0, 0]
    numbers = np.where(holds_lowest, before_first, oracle.pooled.Indices)
    return starts | (holds_lowest | from_low) & (values == numbers - np.where(from_low, before_first, 0))
