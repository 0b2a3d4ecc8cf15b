"""Faults of the second order: each shows only where two or more things come together."""

import numpy as np
from dilations import loses_its_phase_at_the_border
from nans import propagates
from numbering import in_the_plane
from padding import zero
from same import same_pads_with_the_kernel
from scan import (
    changed,
    check,
    first_maximum,
    floating,
    has_pads,
    keys,
    last_maximum,
    lowest,
    output_size,
    per_axis,
    same_pads,
    scan,
    seeded,
)
from ties import down_the_columns, plus_zero_is_greater


def _if(condition, wrong, X, attributes):
    return wrong(X, attributes) if condition else scan(X, attributes)


def ceil_forgets_the_dilation(X, attributes):
    """Rounding up, takes the kernel for the effective one. Plausible: two formulas."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, 1 if ceil else d, b, e, ceil))


def ceil_forgets_the_end_pad(X, attributes):
    """Rounding up, takes the begin pad for both. Plausible: frameworks with one padding."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, b if ceil else e, ceil))


def ceil_with_valid_is_floor(X, attributes):
    """Rounds down with ceil_mode and a dilation over one on the last axis. Plausible: a kernel without ceil_mode."""
    dilated = isinstance(attributes["dilations"], list) and attributes["dilations"][-1:] > [1]
    return _if(dilated and attributes["ceil_mode"] == 1, lambda X, a: scan(X, changed(a, ceil_mode=0)), X, attributes)


def columns_of_the_padded_tensor(X, attributes):
    """Counts in the padded plane where storage_order is 1. Plausible: a transposed copy with its padding."""

    def number(offsets, planes, shape, rest):
        pads = attributes["pads"]
        rank = len(shape) - 2
        sizes = [n + b + e for n, b, e in zip(shape[2:], pads[:rank], pads[rank:], strict=True)]
        at = [position + b for position, b in zip(np.unravel_index(offsets, shape[2:]), pads[:rank], strict=True)]
        return np.ravel_multi_index(at, sizes, order="F") + planes * int(np.prod(sizes))

    both = attributes["storage_order"] == 1 and X.size and has_pads(attributes)
    return _if(both, lambda X, a: scan(X, a, number=number), X, attributes)


def nan_at_the_padding(X, attributes):
    """Lets a NaN in the first column propagate where X is padded at the left.

    Seen: vector code of ONNX Runtime by columns.
    """
    if not has_pads(attributes) or attributes["pads"][X.ndim - 3] == 0 or not floating(X):
        return scan(X, attributes)
    rest = X.copy()
    rest[..., 1:] = np.where(np.isnan(X[..., 1:].astype(np.float64)), np.array(-np.inf).astype(X.dtype), X[..., 1:])
    return propagates(rest, attributes)


def nan_with_a_dilation(X, attributes):
    """Lets NaN propagate through dilated windows. Plausible: a kernel of its own for them."""
    return _if(attributes["dilations"] != [1] * (X.ndim - 2), propagates, X, attributes)


def nan_in_wide_rows(X, attributes):
    """Lets NaN propagate where a row of the output has eight cells or more.

    Seen: ONNX Runtime without Indices, by width.
    """
    Y, Indices = scan(X, attributes)
    return (propagates(X, attributes)[0] if Y.shape[-1] >= 8 else Y), Indices


def nan_in_float16(X, attributes):
    """Lets NaN propagate in float16. Plausible: instructions of half precision."""
    return _if(X.dtype.name == "float16", propagates, X, attributes)


def minus_zero_in_ties(X, attributes):
    """Takes +0 for greater than -0 where they are in other rows of the window.

    Plausible: max of scalars after vectors.
    """
    check(X, attributes)
    return _if(attributes["kernel_shape"][0] > 1 and X.ndim > 3, plus_zero_is_greater, X, attributes)


def minus_zero_with_storage_order(X, attributes):
    """Gives +0 for -0 where the window is padded. Plausible: a padded copy that adds 0."""
    Y, Indices = scan(X, attributes)
    return (np.where(Y == 0, np.zeros((), Y.dtype), Y) if has_pads(attributes) else Y), Indices


def sixteen_channels_and_pads(X, attributes):
    """Lets padding count as 0 where there are sixteen channels. Plausible: a blocked and zeroed copy of X."""
    return _if(X.ndim == 4 and X.shape[1] == 16, zero, X, attributes)


def sixteen_channels_and_dilations(X, attributes):
    """Takes dilations for 1 where there are sixteen channels. Plausible: blocked code without dilations."""
    wrong = X.ndim == 4 and X.shape[1] == 16
    return _if(
        wrong,
        lambda X, a: scan(X, per_axis(a, "dilations", lambda v: [min(1, dilation) for dilation in v])),
        X,
        attributes,
    )


def sixteen_channels_and_batches(X, attributes):
    """Counts without the batch where there are whole blocks of sixteen channels. Plausible: a blocked layout."""
    Y, Indices = scan(X, attributes)
    blocked = X.ndim > 2 and X.shape[1] and X.shape[1] % 16 == 0 and X.shape[0] > 1
    return Y, Indices % (X.size // X.shape[0]) if blocked else Indices


def channel_offset_in_later_batches(X, attributes):
    """Counts in the plane in every batch but the first. Plausible: an offset that is set once."""
    Y, Indices = scan(X, attributes)
    if X.ndim > 2 and X.shape[0] > 1:
        Indices[1:] = in_the_plane(X, attributes)[1][1:]
    return Y, Indices


def same_with_dilation_and_stride(X, attributes):
    """Pads SAME by the kernel where the stride is over 1. Plausible: two formulas."""
    return scan(X, attributes, same=lambda n, k, s, d, upper: same_pads(n, k, s, d if s == 1 else 1, upper))


def same_lower_with_a_stride(X, attributes):
    """Takes SAME_LOWER for SAME_UPPER where the stride is over 1. Plausible: two formulas."""
    return scan(X, attributes, same=lambda n, k, s, d, upper: same_pads(n, k, s, d, upper or s > 1))


def same_in_three_axes(X, attributes):
    """Pads SAME by the kernel instead of the effective one in one axis or three. Plausible: a helper for images."""
    return _if(X.ndim != 4, same_pads_with_the_kernel, X, attributes)


def int8_padded_by_minus_127(X, attributes):
    """Lets the padding of int8 count as -127. Plausible: symmetric quantisation."""
    return scan(X, attributes, pad=-127 if X.dtype.name == "int8" else None)


def uint8_padded_by_the_zero_point(X, attributes):
    """Lets the padding of uint8 count as 128. Plausible: a zero point in the middle."""
    return scan(X, attributes, pad=128 if X.dtype.name == "uint8" else None)


def float16_padded_by_minus_65504(X, attributes):
    """Lets the padding of float16 count as its lowest finite value. Plausible: -inf that is saturated."""
    return scan(X, attributes, pad=-65504 if X.dtype.name == "float16" else None)


def bfloat16_padded_by_lowest(X, attributes):
    """Lets the padding of bfloat16 count as its lowest finite value. Plausible: a constant of the type."""
    return scan(X, attributes, pad=lowest(X.dtype) if X.dtype.name == "bfloat16" else None)


def float64_starts_from_float32(X, attributes):
    """Starts from float32's lowest finite value where float64 is padded. Plausible: -FLT_MAX in a template."""
    wrong = X.dtype.name == "float64" and has_pads(attributes)
    return _if(wrong, lambda X, a: seeded(X, a, np.finfo(np.float32).min), X, attributes)


def dilated_windows_in_the_padding(X, attributes):
    """Loses the phase of a dilated window at the border where the stride is over 1.

    Plausible: a start that is clipped.
    """
    return _if(attributes["strides"] != [1] * (X.ndim - 2), loses_its_phase_at_the_border, X, attributes)


def pads_of_the_end_only(X, attributes):
    """Leaves padding out of the size unless there is some at the beginning. Plausible: if (pads[0])."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, e if b else 0, ceil))


def ties_over_the_padding(X, attributes):
    """Names the last of equal maxima in windows that reach into the padding.

    Plausible: a careful loop for the border.
    """

    def pick(values, inside):
        return np.where(inside.all(-1), first_maximum(values, inside), last_maximum(values, inside))

    return scan(X, attributes, pick=pick)


def ties_of_overlapping_windows(X, attributes):
    """Names the first down the columns where windows overlap.

    Plausible: the maximum of the window before is used again.
    """
    check(X, attributes)
    overlap = X.ndim > 3 and any(s < k for s, k in zip(attributes["strides"], attributes["kernel_shape"], strict=True))
    return _if(overlap, down_the_columns, X, attributes)


def ties_of_integers(X, attributes):
    """Names the last of equal maxima in 8-bit types. Plausible: vector code for bytes."""
    return scan(X, attributes) if floating(X) else scan(X, attributes, pick=last_maximum)


def ties_of_minus_infinity(X, attributes):
    """Names the last of cells that are all -inf. Plausible: a scan that starts from -inf with >=."""

    def pick(values, inside):
        best = keys(values, inside).max(-1)
        return np.where(best == -np.inf, last_maximum(values, inside), first_maximum(values, inside))

    return scan(X, attributes, pick=pick)


def int8_from_lowest_in_one_axis(X, attributes):
    """Leaves the index at -1 for the minimum of an integer type in one axis. Seen: ONNX Runtime 1.23.2, base - 1."""
    wrong = X.ndim == 3 and not floating(X)
    return _if(wrong, lambda X, a: seeded(X, a, lowest(X.dtype), -1), X, attributes)


def columns_of_the_minimum(X, attributes):
    """Leaves base - 1 - H for -inf where storage_order is 1. Seen: ONNX Runtime 1.23.2."""
    wrong = X.ndim == 4 and attributes["storage_order"] == 1
    return _if(wrong, lambda X, a: seeded(X, a, lowest(X.dtype), -1 - X.shape[2]), X, attributes)


def minimum_in_the_second_plane(X, attributes):
    """Names the cell before the plane for the minimum in every plane but the first.

    Seen: ONNX Runtime 1.23.2, in range.
    """
    Y, Indices = scan(X, attributes)
    if X.ndim < 3:
        return Y, Indices
    wrong = seeded(X, attributes, lowest(X.dtype), -X.shape[-1] - 1)
    later = np.zeros(Y.shape, bool)
    later.reshape(-1, int(np.prod(Y.shape[2:])))[1:] = True
    return np.where(later, wrong[0], Y), np.where(later, wrong[1], Indices)


def global_windows_start_from_zero(X, attributes):
    """Starts from 0 where one window covers the plane. Plausible: a reduction of its own."""
    return _if(attributes["kernel_shape"] == list(X.shape[2:]), lambda X, a: seeded(X, a, 0), X, attributes)
