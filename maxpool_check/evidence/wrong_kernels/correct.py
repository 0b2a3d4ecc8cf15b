"""Right kernels, each written in another way: none may be flagged."""

from functools import reduce
from itertools import product
from math import prod

import numpy as np

from maxpool_check.evidence.wrong_kernels.scan import (
    axes_of,
    check,
    first_maximum,
    floating,
    lowest,
    one_by_one,
    pair_by_pair,
    positions,
    scan,
    whole_tensor,
    within,
)


def _finished(X, attributes, axes, offsets):
    """Y and Indices from the cell of each window in its plane."""
    planes = np.arange(prod(X.shape[:2]))[:, None]
    shape = (*X.shape[:2], *(axis.output for axis in axes))
    offsets = np.reshape(offsets, (len(planes), prod(shape[2:])))
    Y = X.reshape(-1)[offsets + planes * prod(X.shape[2:])] if X.size else np.zeros(shape, X.dtype)
    if floating(X):
        Y = np.where(np.isnan(Y.astype(np.float64)), np.array(-np.inf).astype(X.dtype), Y)
    held = reduce(np.logical_and.outer, (within(positions(axis), axis).any(1) for axis in axes)).reshape(-1)
    Y = np.where(held, Y.reshape(len(planes), held.size), Y.dtype.type(-np.inf if floating(X) else lowest(X.dtype)))
    return Y.reshape(shape), whole_tensor(offsets, planes, X.shape, attributes).reshape(shape).astype(np.int64)


def _ranks(values):
    """Numbers that compare as the cells do, NaN below -inf: a NaN is named only where nothing else is in the window."""
    if not floating(values):
        return values.astype(np.float64)
    numbers = values.astype(np.float64)
    return np.where(np.isnan(numbers), -1, np.searchsorted(np.unique(numbers[~np.isnan(numbers)]), numbers)) * 1.0


def _planes(X):
    """``_ranks`` of the planes: planes x D1 x ... x Dn."""
    return _ranks(X.reshape(prod(X.shape[:2]), *X.shape[2:]))


def gathered(X, attributes):
    """Gathers all windows and takes the first maximum of each (im2col)."""
    return scan(X, attributes)


def separable(X, attributes):
    """Reduces one axis after another, the last one first; a later cell wins only if it is greater."""
    check(X, attributes)
    axes = axes_of(X.shape, attributes)
    best = _planes(X)
    cells = np.broadcast_to(np.arange(prod(X.shape[2:])).reshape(X.shape[2:]), best.shape)
    real = np.ones(best.shape, bool)
    if not X.size:
        return scan(X, attributes)
    for dimension in range(best.ndim - 1, 0, -1):
        axis = axes[dimension - 1]
        table = positions(axis)
        best_so_far = None
        for t in range(axis.kernel):
            inside = ((table[:, t] >= 0) & (table[:, t] < axis.size)).reshape(-1, *[1] * (best.ndim - 1 - dimension))
            place = np.clip(table[:, t], 0, axis.size - 1)
            candidate = best.take(place, dimension), cells.take(place, dimension), real.take(place, dimension) & inside
            if best_so_far is None:
                best_so_far = candidate
                continue
            wins = candidate[2] & (~best_so_far[2] | (candidate[0] > best_so_far[0]))
            best_so_far = tuple(np.where(wins, new, old) for new, old in zip(candidate, best_so_far, strict=True))
        best, cells, real = best_so_far
    return _finished(X, attributes, axes, cells)


def backwards(X, attributes):
    """Looks at the taps from the last to the first, and an equal one wins."""

    def pick(values, inside):
        reversed_ = one_by_one(lambda x, best: ~(x < best))
        numbers = _ranks(values)
        return values.shape[-1] - 1 - reversed_(numbers[..., ::-1], inside[..., ::-1])

    return scan(X, attributes, pick=pick)


def row_by_row(X, attributes):
    """Finds the maximum of each row of the window, then the first of the rows that has it."""

    def pick(values, inside):
        width = attributes["kernel_shape"][-1]
        planes, windows, taps = values.shape
        rows = (planes, windows, taps // width, width)
        seen = np.broadcast_to(inside, values.shape).reshape(rows)
        numbers = np.where(seen, _ranks(values).reshape(rows), -np.inf)
        best = numbers.max(-1)
        column = (seen & (numbers == best[..., None])).argmax(-1)
        row = (seen.any(-1) & (best == best.max(-1, keepdims=True))).argmax(-1)
        return row * width + np.take_along_axis(column, row[..., None], -1)[..., 0]

    return scan(X, attributes, pick=pick)


def padded_with_a_mask(X, attributes):
    """Pads X with -inf and a mask beside it, and slides numpy's windows over both."""
    check(X, attributes)
    axes = axes_of(X.shape, attributes)
    if any(axis.begin + axis.end + axis.dilation * axis.kernel + axis.stride >= 2**20 for axis in axes):
        return scan(X, attributes)
    reach = [max((a.output - 1) * a.stride + (a.kernel - 1) * a.dilation + 1, a.begin + a.size) for a in axes]
    widths = [(0, 0), *((a.begin, r - a.begin - a.size) for a, r in zip(axes, reach, strict=True))]
    values = np.pad(_planes(X), widths, constant_values=-np.inf)
    cells = np.pad(np.arange(prod(X.shape[2:])).reshape(1, *X.shape[2:]), widths, constant_values=-1)
    spans = tuple((a.kernel - 1) * a.dilation + 1 for a in axes)
    steps = tuple(slice(0, (a.output - 1) * a.stride + 1, a.stride) for a in axes)
    taps = tuple(slice(None, None, a.dilation) for a in axes)

    def windows(array):
        view = np.lib.stride_tricks.sliding_window_view(array, spans, tuple(range(1, array.ndim)))
        return view[(slice(None), *steps, *taps)].reshape(
            array.shape[0], prod(a.output for a in axes), prod(a.kernel for a in axes)
        )

    cells = windows(cells)
    tap = first_maximum(windows(values), cells[0] >= 0)
    offsets = np.take_along_axis(np.broadcast_to(cells, (*tap.shape, cells.shape[-1])), tap[..., None], -1)[..., 0]
    return _finished(X, attributes, axes, np.maximum(offsets, 0))


def looped(X, attributes):
    """Plain loops: the window's bounds are clipped to X first, in steps of the dilation, then a strict scan."""
    check(X, attributes)
    axes = axes_of(X.shape, attributes)
    if prod(X.shape[:2]) * prod(a.output for a in axes) * prod(a.kernel for a in axes) > 4000 or X.size > 10**6:
        return scan(X, attributes)
    keys, offsets = _planes(X), []
    steps = [prod(X.shape[3 + axis :]) for axis in range(len(axes))]
    for plane in keys:
        for window in product(*(range(axis.output) for axis in axes)):
            ranges = []
            for i, axis in zip(window, axes, strict=True):
                start = i * axis.stride - axis.begin
                stop = min(start + (axis.kernel - 1) * axis.dilation + 1, axis.size)
                if start < 0:
                    start += -(start // axis.dilation) * axis.dilation
                ranges.append(range(start, stop, axis.dilation))
            best, chosen = None, 0
            for at in product(*ranges):
                if best is None or plane[at] > best:
                    best, chosen = plane[at], sum(p * step for p, step in zip(at, steps, strict=True))
            offsets.append(chosen)
    return _finished(X, attributes, axes, np.array(offsets, np.int64))


def sorted_by_bits(X, attributes):
    """Compares integers made of the bits, as some vector units do: sign and magnitude, NaN below -inf."""

    def pick(values, inside):
        if not floating(values):
            return first_maximum(values, inside)
        width = 8 * values.dtype.itemsize
        pattern = values.view(f"u{values.dtype.itemsize}")
        magnitude = (pattern & ~(np.ones((), pattern.dtype) << (width - 1))).astype(np.int64)
        order = np.where(pattern >> (width - 1) == 1, -magnitude, magnitude)
        least = -int(np.array([np.inf]).astype(values.dtype).view(pattern.dtype)[0]) - 1
        order = np.where(np.isnan(values.astype(np.float64)), least, order)
        return np.where(inside, order, least - 1).argmax(-1)

    return scan(X, attributes, pick=pick)


def channels_last(X, attributes):
    """Moves the channels behind the spatial axes, pools there tap by tap, and moves the result back."""
    check(X, attributes)
    axes = axes_of(X.shape, attributes)
    if prod(a.kernel for a in axes) > 2000 or X.size > 10**6:
        return scan(X, attributes)
    keys = np.moveaxis(_planes(X), 0, -1)
    planes = keys.shape[-1]
    best = np.full((*(a.output for a in axes), planes), -np.inf)
    chosen = np.full(best.shape, -1)
    tables = [positions(axis) for axis in axes]
    cells = np.arange(prod(X.shape[2:])).reshape(X.shape[2:])
    for tap in product(*(range(axis.kernel) for axis in axes)):
        columns = [table[:, t] for table, t in zip(tables, tap, strict=True)]
        kept = [(column >= 0) & (column < axis.size) for column, axis in zip(columns, axes, strict=True)]
        target = np.ix_(*(np.flatnonzero(mask) for mask in kept))
        source = np.ix_(*(column[mask] for column, mask in zip(columns, kept, strict=True)))
        wins = (chosen[target] < 0) | (keys[source] > best[target])
        best[target] = np.where(wins, keys[source], best[target])
        chosen[target] = np.where(wins, cells[source][..., None], chosen[target])
    return _finished(X, attributes, axes, np.maximum(np.moveaxis(chosen, -1, 0), 0))


def halves_of_halves(X, attributes):
    """Halves the taps again and again; of equal ones the left one stays."""

    def pick(values, inside):
        return pair_by_pair(_ranks(values), inside, lambda left, right: right > left)

    return scan(X, attributes, pick=pick)


KERNELS = (gathered, separable, backwards, row_by_row, padded_with_a_mask, looped, sorted_by_bits)
KERNELS += (channels_last, halves_of_halves)
