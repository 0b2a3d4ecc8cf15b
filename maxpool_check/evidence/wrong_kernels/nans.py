"""NaN."""

import numpy as np
from scan import first_maximum, floating, keys, lowest, one_by_one, scan


def _where_nan(X, attributes, change):
    """The right answer, changed where the window holds a NaN; ``change(values, inside, nan)`` gives the new Y."""
    kept = {}

    def pick(values, inside):
        kept["values"], kept["inside"] = values, inside
        return first_maximum(values, inside)

    Y, Indices = scan(X, attributes, pick=pick)
    values, inside = kept["values"], np.broadcast_to(kept["inside"], kept["values"].shape)
    nan = inside & np.isnan(values.astype(np.float64)) if floating(X) else np.zeros(values.shape, bool)
    where, new = change(values, inside, nan)
    Y = np.where(where.reshape(Y.shape), np.reshape(np.broadcast_to(new, where.shape), Y.shape), Y).astype(X.dtype)
    return Y, Indices


def propagates(X, attributes):
    """Gives NaN where the window holds one. Seen: PyTorch 2.13.0, tracel-ai/burn#5662."""
    return _where_nan(X, attributes, lambda values, inside, nan: (nan.any(-1), np.nan))


def a_window_of_nan_is_nan(X, attributes):
    """Drops NaN, and gives NaN where there is nothing else. Plausible: fmax."""
    return _where_nan(X, attributes, lambda values, inside, nan: ((nan | ~inside).all(-1) & nan.any(-1), np.nan))


def a_window_of_nan_is_lowest(X, attributes):
    """Drops NaN, and gives the lowest finite value where there is nothing else.

    Seen: pytorch/pytorch#39846, OpenVINO.
    """
    return _where_nan(
        X, attributes, lambda values, inside, nan: ((nan | ~inside).all(-1) & nan.any(-1), float(lowest(X.dtype)))
    )


def wins_if_first(X, attributes):
    """Keeps a NaN that is the window's first cell. Seen: ONNX Runtime 1.31.1 with Indices."""
    return _where_nan(
        X,
        attributes,
        lambda values, inside, nan: (np.take_along_axis(nan, inside.argmax(-1)[..., None], -1)[..., 0], np.nan),
    )


def forgets_what_was_before(X, attributes):
    """Scans with !(best >= x), so that what follows a NaN replaces it, whatever was before.

    Seen: ONNX Runtime without Indices.
    """
    return scan(X, attributes, pick=one_by_one(lambda x, best: ~(best >= x)))


def depends_on_the_tree(X, attributes):
    """Takes the right one of each pair unless the left is greater, pair by pair. Plausible: a tree of maxps."""

    def pick(values, inside):
        numbers = np.where(inside, values.astype(np.float64), -np.inf)
        taps = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
        real = np.broadcast_to(inside, values.shape)
        while taps.shape[-1] > 1:
            if taps.shape[-1] % 2:
                numbers, taps = (np.concatenate([array, array[..., -1:]], -1) for array in (numbers, taps))
                real = np.concatenate([real, np.zeros_like(real[..., -1:])], -1)
            left, right = slice(0, None, 2), slice(1, None, 2)
            wins = real[..., right] & (~real[..., left] | ~(numbers[..., left] >= numbers[..., right]))
            numbers, taps, real = (
                np.where(wins, array[..., right], array[..., left]) for array in (numbers, taps, real)
            )
        return taps[..., 0]

    return scan(X, attributes, pick=pick)


def index_of_the_nan(X, attributes):
    """Drops NaN for Y and names it in Indices. Plausible: argmax of a library beside a max of one's own."""

    def pick(values, inside):
        comparable = np.where(inside, values.astype(np.float64), -np.inf)
        return np.where(np.isnan(comparable).any(-1), np.isnan(comparable).argmax(-1), 0)

    Y, Indices = scan(X, attributes)
    if not floating(X):
        return Y, Indices
    named = scan(X, attributes, pick=pick)[1]
    holds = np.isnan(propagates(X, attributes)[0].astype(np.float64))
    return Y, np.where(holds, named, Indices)


def index_of_a_nan_before_minus_infinity(X, attributes):
    """Names a NaN that stands before the -inf which is the maximum. Plausible: every NaN written over with -inf."""

    def pick(values, inside):
        comparable = keys(values, inside)
        return (inside & (comparable == comparable.max(-1, keepdims=True))).argmax(-1)

    return scan(X, attributes, pick=pick)


def by_lanes_of_four_channels(X, attributes):
    """Propagates NaN in whole groups of four channels and drops it in the rest. Seen: tensorflow/tensorflow#125965."""
    Y, Indices = scan(X, attributes)
    whole = X.shape[1] // 4 * 4 if X.ndim > 2 else 0
    other = propagates(X, attributes)[0]
    return np.concatenate([other[:, :whole], Y[:, whole:]], 1), Indices
