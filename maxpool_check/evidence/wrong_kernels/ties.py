"""Which of several equal maxima is named."""

import numpy as np
from scan import check, keys, last_maximum, scan


def last(X, attributes):
    """Names the last. Plausible: >= for >."""
    return scan(X, attributes, pick=last_maximum)


def down_the_columns(X, attributes):
    """Names the first down the columns. Plausible: the loops exchanged."""

    def pick(values, inside):
        kernel = attributes["kernel_shape"]
        order = np.arange(values.shape[-1]).reshape(kernel).T.reshape(-1)
        comparable = keys(values, inside)[..., order]
        return order[(inside[:, order] & (comparable == comparable.max(-1, keepdims=True))).argmax(-1)]

    return scan(X, attributes, pick=pick)


def last_row_first_column(X, attributes):
    """Names the first of the last row that has it. Plausible: >= over the rows, > within."""

    def pick(values, inside):
        width = attributes["kernel_shape"][-1]
        comparable = keys(values, inside)
        hit = inside & (comparable == comparable.max(-1, keepdims=True))
        rows = hit.reshape(*hit.shape[:2], hit.shape[2] // width, width)
        row = rows.shape[2] - 1 - rows.any(-1)[..., ::-1].argmax(-1)
        return row * width + np.take_along_axis(rows, row[..., None, None], 2)[..., 0, :].argmax(-1)

    return scan(X, attributes, pick=pick)


def nearly_equal_is_equal(X, attributes):
    """Keeps the first of cells that differ by less than a hundred thousandth.

    Plausible: a tolerance in a comparison.
    """

    def pick(values, inside):
        comparable = keys(values, inside)
        best = comparable.max(-1, keepdims=True)
        return (inside & ((comparable == best) | (np.abs(comparable - best) <= 1e-5 * np.abs(best)))).argmax(-1)

    with np.errstate(invalid="ignore"):
        return scan(X, attributes, pick=pick)


def plus_zero_is_greater(X, attributes):
    """Takes +0 for greater than -0. Plausible: IEEE 754's maximum, or comparing bits."""

    def pick(values, inside):
        comparable = keys(values, inside)
        best = comparable.max(-1, keepdims=True)
        hit = inside & (comparable == best)
        positive = hit & (best == 0) & ~np.signbit(comparable)
        return np.where(positive.any(-1), positive.argmax(-1), hit.argmax(-1))

    return scan(X, attributes, pick=pick)


def last_in_wide_windows(X, attributes):
    """Names the last of each four where a row of the window has four or more. Plausible: lanes compared at the end."""
    check(X, attributes)
    return scan(X, attributes, pick=last_maximum) if attributes["kernel_shape"][-1] >= 4 else scan(X, attributes)
