"""The same result as :mod:`~maxpool_check.reference.definition`, vectorised.

Each window chooses a cell by its key, in :mod:`~maxpool_check.reference.reduction`; Y is copied from X at the end, bit by bit.
"""

import math
from dataclasses import dataclass

import numpy as np

from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.geometry import Axis, effective_kernel
from maxpool_check.reference.parts import parts
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling
from maxpool_check.reference.reduction import chosen_cells


@dataclass(frozen=True)
class Tuning:
    """What makes the evaluator faster, or its memory smaller; no result depends on it.

    About ``part`` bytes of X, or of Indices, are computed at a time. ``taps``: as many comparisons tap by tap cost what one by
    doubling does; 0 is doubling everywhere. ``gathered``: the cells of long windows are gathered if they are at most about so many
    times as many as those of X; 0 is never.
    """

    part: int = 2**19
    taps: int = 1
    gathered: int = 4


TUNING = Tuning()


def evaluate(X: np.ndarray, pooling: Pooling, tuning: Tuning = TUNING) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    planes = (math.prod(shape[:2]), *shape[2:])
    # First, so that a result too large for the memory fails before anything is computed.
    empty = np.zeros(planes, bool) if X.size else np.ones(planes, bool)
    maxima = np.zeros(planes, X.dtype)
    Indices = np.zeros(planes, pooling.numbering.dtype) if pooling.indices else None
    X, nan = np.ascontiguousarray(X), pooling.policies.nan
    for part in parts(X, pooling.geometry, tuning.part):
        cells = chosen_cells(part, nan, np.greater, tuning.taps, tuning.gathered)
        values = X.reshape(-1).take(cells)
        if nan is Nan.AS_NEG_INF and is_float(X.dtype):
            values[np.isnan(values)] = -np.inf
        maxima[part.at] = values
        if Indices is not None:
            Indices[part.at] = pooling.numbering.number(cells, X.shape)
        for dimension, axis in enumerate(part.geometry, start=1):
            missing = _missing(axis)
            if missing is not None:
                empty[part.at] |= missing.reshape(-1, *[1] * (len(shape) - 2 - dimension))
    undefined = empty
    if empty.any():
        maxima[empty] = 0
        if Indices is not None:
            Indices[empty] = -1
        if pooling.padding_value is not None:
            undefined = np.zeros(planes, bool)
            for dimension, axis in enumerate(pooling.geometry, start=1):
                undefined[(slice(None),) * dimension + (slice(axis.padded_windows, None),)] = True
            undefined &= empty
            maxima[empty & ~undefined] = pooling.padding_value
    empty, undefined, maxima = empty.reshape(shape), undefined.reshape(shape), maxima.reshape(shape)
    Y = _activated(maxima, pooling, undefined)
    return Pooled(Y, None if Indices is None else Indices.reshape(shape), empty, undefined, maxima)


def _activated(maxima: np.ndarray, pooling: Pooling, undefined: np.ndarray) -> np.ndarray:
    """The activation of the maxima, which may have another dtype; 0 where the document gives no value."""
    if pooling.activation is None:
        return maxima
    Y = pooling.activation.of(maxima)
    return np.where(undefined, np.zeros((), Y.dtype), Y)


def chosen(X: np.ndarray, pooling: Pooling, tuning: Tuning = TUNING, *, last: bool = False) -> np.ndarray:
    """The row-major position in X (int64) of the maximum of each window; any cell for an empty window.

    Of equal maxima it is the first, or the ``last``, in row-major order.
    """
    shape = (*X.shape[:2], *pooling.output_sizes)
    cells = np.zeros((math.prod(shape[:2]), *shape[2:]), np.int64)
    wins = np.greater_equal if last else np.greater
    for part in parts(X, pooling.geometry, tuning.part):
        cells[part.at] = chosen_cells(part, pooling.policies.nan, wins, tuning.taps, tuning.gathered)
    return cells.reshape(shape)


def _missing(axis: Axis) -> np.ndarray | None:
    """Which windows of an axis have no tap inside X; None if it is plain that each has one."""
    reaches_x = axis.start(0) + effective_kernel(axis.kernel, axis.dilation) > 0
    if reaches_x and axis.start(axis.output - 1) < axis.size and axis.dilation <= axis.size:
        return None
    missing: np.ndarray = axis.taps()[1] == 0
    return missing
