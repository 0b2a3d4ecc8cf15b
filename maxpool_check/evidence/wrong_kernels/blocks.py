"""Vector units: tails, blocks of channels, wide windows."""

import numpy as np
from scan import first_maximum, lowest, scan, seeded


def _tail(X, attributes, lanes):
    """Leaves the outputs behind the last whole vector of a row as they were: 0."""
    Y, Indices = scan(X, attributes)
    whole = Y.shape[-1] // lanes * lanes
    Y[..., whole if whole else Y.shape[-1] :] = 0
    return Y, Indices


def tail_of_16(X, attributes):
    """Leaves the outputs behind the last whole sixteen of a row unwritten. Plausible: a tail loop that is missing."""
    return _tail(X, attributes, 16)


def _last_column(X, attributes, lanes):
    """Never reads the last column of X where a row is longer than a vector and no whole number of them."""
    width = X.shape[-1] if X.ndim > 2 else 0
    if width < lanes or width % lanes == 0:
        return scan(X, attributes)
    last = X.ndim - 3

    def inside(position, axis):
        kept = (position >= 0) & (position < axis.size)
        return kept if inside.axis.pop(0) != last else kept & (position < axis.size - 1)

    inside.axis = list(range(X.ndim - 2))
    return scan(X, attributes, inside=inside)


def last_column_of_4(X, attributes):
    """Never reads the last column of X where the width is no multiple of 4. Plausible: a tail of one vector less."""
    return _last_column(X, attributes, 4)


def last_column_of_8(X, attributes):
    """Never reads the last column of X where the width is no multiple of 8. Plausible: a tail of one vector less."""
    return _last_column(X, attributes, 8)


def last_column_of_16(X, attributes):
    """Never reads the last column of X where the width is no multiple of 16. Plausible: a tail of one vector less."""
    return _last_column(X, attributes, 16)


def _blocked(X, attributes, size):
    """Starts from the lowest finite value where the channels are whole blocks."""
    blocked = X.ndim == 4 and X.dtype.name == "float32" and X.shape[1] and X.shape[1] % size == 0
    return seeded(X, attributes, lowest(X.dtype)) if blocked else scan(X, attributes)


def blocks_of_16_channels(X, attributes):
    """Gives the lowest finite value for -inf where the channels are a multiple of 16. Seen: ONNX Runtime 1.31.1."""
    return _blocked(X, attributes, 16)


def blocks_of_8_channels(X, attributes):
    """Gives the lowest finite value for -inf where the channels are a multiple of 8. Plausible: as in blocks of 16."""
    return _blocked(X, attributes, 8)


def channels_behind_the_last_block_of_8(X, attributes):
    """Leaves channels behind the last whole eight unwritten.

    Seen: uxlfoundation/oneDNN#45, tenstorrent/tt-metal#27738.
    """
    Y, Indices = scan(X, attributes)
    whole = X.shape[1] // 8 * 8
    if whole:
        Y[:, whole:] = 0
    return Y, Indices


def channels_behind_32(X, attributes):
    """Gives wrong channels where there are more than 32 and no multiple of it. Seen: tenstorrent/tt-metal#15731."""
    Y, Indices = scan(X, attributes)
    if X.shape[1] > 32 and X.shape[1] % 32:
        Y[:, 32:] = Y[:, 31:32]
    return Y, Indices


def _wide(X, attributes, most):
    """Looks at so many cells of a row of the window only."""
    last = X.ndim - 3

    def inside(position, axis):
        kept = (position >= 0) & (position < axis.size)
        if inside.axis.pop(0) == last:
            kept[:, most:] = False
        return kept

    inside.axis = list(range(X.ndim - 2))
    return scan(X, attributes, inside=inside)


def rows_over_16(X, attributes):
    """Looks at the first 16 cells of a row of the window only. Plausible: one vector."""
    return _wide(X, attributes, 16)


def rows_over_64(X, attributes):
    """Looks at the first 64 cells of a row of the window only. Plausible: a mask of 64 bits."""
    return _wide(X, attributes, 64)


def windows_over_64(X, attributes):
    """Looks at the first 64 taps of the window only. Plausible: a mask of 64 bits."""

    def pick(values, inside):
        return first_maximum(values, np.where(np.arange(inside.shape[-1]) < 64, inside, False))

    return scan(X, attributes, pick=pick)


def windows_of_more_than_255(X, attributes):
    """Names the tap by 8 bits: of windows with more than 256 taps the wrong cell. Seen: oneDNN's workspace of u8."""

    def pick(values, inside):
        return first_maximum(values, inside) & 0xFF

    return scan(X, attributes, pick=pick)
