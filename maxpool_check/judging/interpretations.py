"""Which interpretations of the points that a document leaves open agree with some outputs."""

from collections.abc import Mapping, Sequence

import numpy as np

from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import bits, is_float, same
from maxpool_check.reference.policies import Nan, Tie, ZeroSign

MIXED = "mixed"
"""The interpretation of an open point if no single interpretation agrees with all cells of an output."""

FIRST_STICKS = "first-sticks"
"""An interpretation of NaN that no document proposes: NaN wins if it is the first cell of the window, else is ignored."""

OBSERVABLE = {
    "nan": (Nan.IGNORED.value, Nan.AS_NEG_INF.value, Nan.PROPAGATES.value, FIRST_STICKS),
    "tie": ("first", "last", "column-first"),
    "zero_sign": ("first", "last", "positive", "negative"),
    "nan_bits": ("kept", "changed"),
}
"""The interpretations that outputs can agree with, by open point; the documentation explains each. Otherwise ``MIXED``."""


def interpretations_of(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """By open point, the interpretations that agree with all cells in which interpretations differ; else ``MIXED``.

    ``outputs`` are Y and maybe Indices, N x C x D1 x ... x Dn, of the right shapes. Points that the case does not touch,
    and those its policies decide, are left out.
    """
    if oracle.pooling.activation is not None:
        return {}
    names_by_point = {
        "nan": _nan(oracle, outputs["Y"]),
        "tie": _tie(oracle, outputs["Y"], outputs.get("Indices")),
        "zero_sign": _zero_sign(oracle, outputs["Y"]),
        "nan_bits": _nan_bits(oracle, outputs["Y"]),
    }
    return {point: names for point, names in names_by_point.items() if names}


def _agreeing(point: str, interpretations: Sequence[np.ndarray], Y: np.ndarray, where: np.ndarray) -> tuple[str, ...]:
    by_name = dict(zip(OBSERVABLE[point], interpretations, strict=True))
    return tuple(name for name, values in by_name.items() if same(values[where], Y[where]).all()) or (MIXED,)


def _nan(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if not oracle.nan_is_open:
        return ()
    ignored, as_neg_inf, propagates, _ = (interpretation.Y for interpretation in oracle.interpretations)
    first_cells = oracle.core
    for dimension, axis in enumerate(oracle.pooling.geometry, 2):
        first_cells = first_cells.take(axis.taps()[0], dimension)
    interpretations = (ignored, as_neg_inf, propagates, np.where(np.isnan(first_cells), first_cells, ignored))
    return _agreeing("nan", interpretations, Y, oracle.holds_nan & ~oracle.pooled.empty)


def _tie(oracle: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> tuple[str, ...]:
    if numbers is None or oracle.pooling.policies.tie is not Tie.ANY:
        return ()
    if len(np.unique(oracle.core)) == oracle.core.size:
        # No two cells are equal.
        return ()
    judged = ~(oracle.pooled.empty | oracle.holds_nan)
    first = oracle.choices[0]
    tied = judged & (first != oracle.last)
    if not tied.any():
        return ()
    columns = oracle.column_first
    numbering, shape = oracle.pooling.numbering, oracle.core.shape
    all_first = (numbers == oracle.pooled.Indices)[judged].all()
    if all_first and numbering.axis <= 2 and (first != columns)[judged].any():
        # The cells of a window have different numbers, so that no other rule gives the first everywhere.
        return ("first",)
    if not all_first:
        # An index that refers to no maximum shows nothing about equal maxima.
        tied &= oracle.match_indices(numbers, Y).right
        if not tied.any():
            return ()
    rules = dict(zip(OBSERVABLE["tie"], (first[tied], oracle.last[tied], columns[tied]), strict=True))
    names = tuple(name for name, cells in rules.items() if (numbering.number(cells, shape) == numbers[tied]).all())
    return names or (MIXED,)


def _zero_sign(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if oracle.pooling.policies.zero_sign is not ZeroSign.EITHER or not is_float(Y.dtype):
        return ()
    signs = np.signbit(oracle.core[oracle.core == 0])
    if signs.all() or not signs.any():
        return ()
    negative, positive = oracle.holds_zeros
    both = negative & positive & (oracle.pooled.maxima == 0) & ~oracle.holds_nan
    if not both.any():
        return ()
    zero = np.zeros_like(Y)
    last = oracle.core.reshape(-1)[oracle.last]
    return _agreeing("zero_sign", (oracle.pooled.Y, last, zero, -zero), Y, both)


def _nan_bits(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    """Whether NaN that conforms has the bits of a NaN of its window. No document says so: payload and sign are not judged."""
    nan = Y != Y
    own = bits(oracle.core[oracle.core != oracle.core])
    # A runtime that makes every NaN the usual one shows it only if X has another.
    if not nan.any() or (own == bits(np.array([np.nan], Y.dtype))).all():
        return ()
    nan &= oracle.acceptable(Y) & ~oracle.pooled.empty
    X_bits, Y_bits = bits(oracle.core), bits(Y)
    kept = np.zeros(Y.shape, bool)
    for pattern in np.unique(Y_bits[nan]):
        kept |= nan & (Y_bits == pattern) & oracle.holds(X_bits == pattern)
    if not nan.any():
        return ()
    all_kept, none_kept = OBSERVABLE["nan_bits"]
    return (all_kept,) if kept[nan].all() else (MIXED,) if kept.any() else (none_kept,)
