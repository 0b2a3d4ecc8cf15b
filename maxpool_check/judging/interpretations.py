"""How an answer reads what its document leaves open, as far as it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from maxpool_check.judging.kinds import MIXED
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.reference.policies import Nan, Tie, ZeroSign

if TYPE_CHECKING:
    from maxpool_check.judging.oracle import Oracle

FIRST_STICKS = "first-sticks"
"""A interpretation of NaN that no document proposes: it wins where it is the first cell of the window, and is passed over else."""


def interpretations_of(expected: Oracle, got: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """By open point, the interpretations that all cells agree with where interpretations differ; ``MIXED`` where none is.

    ``got`` holds Y and maybe Indices, N x C x D1 x ... x Dn, of the right shapes. Points that the case does not touch, and
    those its policies decide, are left out.
    """
    if expected.pooling.activation is not None:
        return {}
    found = {
        "nan": _nan(expected, got["Y"]),
        "tie": _tie(expected, got["Y"], got.get("Indices")),
        "zero_sign": _zero_sign(expected, got["Y"]),
    }
    return {point: names for point, names in found.items() if names}


def _fitting(interpretations: Mapping[str, np.ndarray], got: np.ndarray, where: np.ndarray) -> tuple[str, ...]:
    names = tuple(name for name, values in interpretations.items() if same(values[where], got[where]).all())
    return names or (MIXED,)


def _nan(expected: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if not expected.nan_is_open:
        return ()
    ignored, as_neg_inf, propagates, _ = (interpretation.Y for interpretation in expected.interpretations)
    first = _first_cells(expected)
    interpretations = {
        Nan.IGNORED.value: ignored,
        Nan.AS_NEG_INF.value: as_neg_inf,
        Nan.PROPAGATES.value: propagates,
        FIRST_STICKS: np.where(np.isnan(first), first, ignored),
    }
    return _fitting(interpretations, Y, expected.holds_nan & ~expected.pooled.empty)


def _first_cells(expected: Oracle) -> np.ndarray:
    """The value of the first cell of every window."""
    found = expected.core
    for dimension, axis in enumerate(expected.pooling.geometry, 2):
        found = found.take(axis.taps()[0], dimension)
    return found


def _tie(expected: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> tuple[str, ...]:
    if numbers is None or expected.pooling.policies.tie is not Tie.ANY or not expected.has_ties:
        return ()
    first, columns = expected.choices[0], expected.column_first
    numbering, shape = expected.pooling.numbering, expected.core.shape
    judged = ~(expected.pooled.empty | expected.holds_nan)
    names_first = (numbers == expected.pooled.Indices)[judged].all()
    if names_first and numbering.axis <= 2 and (first != columns)[judged].any():
        # Each cell of a window has a number of its own, and where the first one is named no other rule fits.
        return ("first",)
    tied = judged & (first != expected.last)
    if not names_first and tied.any():
        # An index that names no maximum says nothing of which it would take.
        tied &= expected.named(numbers, Y).right
    if not tied.any():
        return ()
    named = {"first": first[tied], "last": expected.last[tied], "column-first": columns[tied]}
    names = tuple(name for name, cells in named.items() if (numbering.number(cells, shape) == numbers[tied]).all())
    return names or (MIXED,)


def _zero_sign(expected: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if expected.pooling.policies.zero_sign is not ZeroSign.EITHER or not is_float(Y.dtype):
        return ()
    signs = np.signbit(expected.core[expected.core == 0])
    if signs.all() or not signs.any():
        return ()
    negative, positive = expected.holds_zeros
    both = negative & positive & (expected.pooled.maxima == 0) & ~expected.holds_nan
    if not both.any():
        return ()
    zero = np.zeros_like(Y)
    last = expected.core.reshape(-1)[expected.last]
    interpretations = {"first": expected.pooled.Y, "last": last, "positive": zero, "negative": -zero}
    return _fitting(interpretations, Y, both)
