"""A kernel with one mistake each of those that beginners make: float32, two axes, without dilations."""

import itertools
from functools import partial

import numpy as np

import maxpool_check

DTYPES, SPATIAL = ("float32",), (2,)

MISTAKES = {
    "begins_one_cell_early_by_rows": "pads-begin-one-more",
    "begins_one_cell_early_by_columns": "pads-begin-one-more",
    "begins_one_cell_late": "pads-begin-one-less",
    "end_pad_one_more": "pads-end-one-more",
    "begin_and_end_exchanged": "pads-begin-end-exchanged",
    "end_pad_is_the_begin_pad": "pads-end-as-begin",
    "one_window_more": "output-one-more",
    "one_window_less": "output-one-less",
    "floor_for_ceil": "ceil-floor-exchanged",
    "one_tap_more": "kernel-one-more",
    "strides_exchanged": "strides-axes-exchanged",
    "last_column_never_read": "border-left-out",
    "padding_is_0": "y-pad-value-leak",
    "padding_is_minus_127": "y-pad-value-leak",
    "starts_at_0": "scan-starts-at-zero",
    "starts_at_minus_127": "scan-starts-too-high",
    "index_of_the_padded_tensor": "indices-in-padded-tensor",
    "index_of_the_plane": "indices-plane-relative",
    "reads_channels_last": "read-in-other-layout",
    "tail_of_8_not_written": "tail-not-written",
}
"""The name of the fault by the mistake."""


def pooled(X, attributes, mistake):
    """Y and Indices of a MaxPool with a mistake, or what is not executed or refused."""
    if attributes["dilations"] != [1, 1] or not X.size:
        raise NotImplementedError("no dilations")
    # Refuses what must be refused.
    right = maxpool_check.maxpool(X, **attributes)
    kernel, strides, taps = attributes["kernel_shape"], [*attributes["strides"]], [*attributes["kernel_shape"]]
    rows, columns = X.shape[2:]
    sizes, begins, ends = [*right.Y.shape[2:]], [0, 0], [0, 0]
    if attributes["auto_pad"] == "NOTSET":
        begins, ends = attributes["pads"][:2], attributes["pads"][2:]
    if attributes["auto_pad"].startswith("SAME"):
        totals = [
            max(0, (o - 1) * s + k - n) for o, s, k, n in zip(sizes, strides, kernel, (rows, columns), strict=True)
        ]
        begins = [total // 2 if attributes["auto_pad"] == "SAME_UPPER" else total - total // 2 for total in totals]
    elif mistake in ("end_pad_one_more", "floor_for_ceil", "end_pad_is_the_begin_pad"):
        ends = {"end_pad_one_more": [ends[0], ends[1] + 1], "end_pad_is_the_begin_pad": begins}.get(mistake, ends)
        changed = {**attributes, "auto_pad": "NOTSET", "pads": [*begins, *ends]}
        if mistake == "floor_for_ceil":
            changed["ceil_mode"] = 0
        sizes = [*maxpool_check.maxpool(X, **changed).Y.shape[2:]]
    sizes[1] += {"one_window_more": 1, "one_window_less": -1}.get(mistake, 0)
    begins = {
        "begins_one_cell_early_by_rows": [begins[0] + 1, begins[1]],
        "begins_one_cell_early_by_columns": [begins[0], begins[1] + 1],
        "begins_one_cell_late": [begins[0], begins[1] - 1],
        "begin_and_end_exchanged": ends if attributes["auto_pad"] == "NOTSET" else begins,
    }.get(mistake, begins)
    strides = strides[::-1] if mistake == "strides_exchanged" else strides
    taps[1] += mistake == "one_tap_more"
    read = np.moveaxis(X.reshape(X.shape[0], rows, columns, -1), -1, 1) if mistake == "reads_channels_last" else X
    Y, Indices = _scanned(read, sizes, taps, strides, begins, ends, attributes["storage_order"], mistake)
    if mistake == "tail_of_8_not_written":
        Y.reshape(-1)[Y.size // 8 * 8 :] = 0
    return Y, Indices


def _scanned(X, sizes, taps, strides, begins, ends, by_columns, mistake):
    start = {"starts_at_0": 0, "starts_at_minus_127": -127}.get(mistake, -np.inf)
    padding = {"padding_is_0": 0, "padding_is_minus_127": -127}.get(mistake)
    rows, columns = X.shape[2:]
    height, width, shift = rows, columns, (0, 0)
    if mistake == "index_of_the_padded_tensor":
        height, width, shift = rows + begins[0] + ends[0], columns + begins[1] + ends[1], begins
    if mistake == "last_column_never_read":
        columns -= 1
    Y = np.full((*X.shape[:2], *sizes), start, np.float32)
    Indices = np.full(Y.shape, -1, np.int64)
    for n, c, i, j in np.ndindex(Y.shape):
        first, plane = mistake not in ("starts_at_0", "starts_at_minus_127"), (n * X.shape[1] + c) * X[0, 0].size
        for p, q in itertools.product(range(taps[0]), range(taps[1])):
            row, column = i * strides[0] - begins[0] + p, j * strides[1] - begins[1] + q
            inside = 0 <= row < rows and 0 <= column < columns
            if not inside and padding is None:
                continue
            value = X[n, c, row, column] if inside else np.float32(padding)
            if first or value > Y[n, c, i, j] or (value != value and Y[n, c, i, j] == Y[n, c, i, j]):
                at = row + shift[0], column + shift[1]
                number = at[1] * height + at[0] if by_columns else at[0] * width + at[1]
                Y[n, c, i, j], Indices[n, c, i, j] = value, number + (mistake != "index_of_the_plane") * plane
                first = False
    return Y, Indices


globals().update({mistake: partial(pooled, mistake=mistake) for mistake in (*MISTAKES, "none")})
