"""Kernels that are wrong in a way of their own, each a function.

``MODULE__NAME`` is the kernel ``MODULE:NAME``, and ``shared__NAME`` the kernel of this name of several modules. ``kernels.yaml``
names it in its place; its sentence is the docstring. What it is, its parameters say:

- those of a right step of the scan (``output_size``, ``same_pads``, ``positions``, ``within``, ``first_maximum``, ``whole_tensor``):
  the wrong step in its place
- ``X, attributes``: a kernel of the attributes of ONNX; with ``memory``, a dictionary of its own, one that remembers its calls
- ``language, X, attributes, spec``: a kernel of the attributes of a document
"""

import os
import signal
from math import prod
from operator import lt

import numpy as np

from maxpool_check.evidence.wrong_kernels import scan as right
from maxpool_check.evidence.wrong_kernels.languages import ACTIVATION, PARAMETERS, XMOS_AXES, activated, kept_ceil_size
from maxpool_check.evidence.wrong_kernels.mutations import changed_numbers, is_padded, seeded, value_where_nan
from maxpool_check.evidence.wrong_kernels.scan import check, first_maximum, output_size, same_pads, scan, within


def batches__no_batch_is_one(X, attributes):
    """Gives one batch, or one channel, where there is none. Plausible: max(1, size)."""
    outputs = scan(X, attributes)
    return outputs if X.size else tuple(np.zeros([max(1, n) for n in each.shape], each.dtype) for each in outputs)


def batches__no_batch_keeps_the_shape(X, attributes):
    """Gives the shape of X where X has no cell. Plausible: returning early."""
    outputs = scan(X, attributes)
    return outputs if X.size else tuple(np.zeros(X.shape, each.dtype) for each in outputs)


def blocks__windows_over_64(values, inside):
    """Looks at the first 64 taps of the window only. Plausible: a mask of 64 bits."""
    return first_maximum(values, inside & (np.arange(inside.shape[-1]) < 64))


def _in_the_padded_plane(offsets, planes, shape, attributes, order="C"):
    """The numbers of cells in the padded plane, by rows, or in the ``order`` F by columns."""
    if not offsets.size:
        return offsets
    axes = right.axes_of(shape, attributes)
    sizes = tuple(axis.size + axis.begin + axis.end for axis in axes)
    at = [position + axis.begin for position, axis in zip(np.unravel_index(offsets, shape[2:]), axes, strict=True)]
    return np.ravel_multi_index(at, sizes, mode="clip", order=order) + planes * prod(sizes)


def conditions__columns_of_the_padded_tensor(offsets, planes, shape, attributes):
    """Counts in the padded plane where storage_order is 1. Plausible: a transposed copy with its padding."""
    if attributes["storage_order"] == 1 and 0 not in shape and is_padded(attributes):
        return _in_the_padded_plane(offsets, planes, shape, attributes, "F")
    return right.whole_tensor(offsets, planes, shape, attributes)


def conditions__nan_at_the_padding(X, attributes):
    """Lets a NaN in the first column propagate where X is padded at the left. Seen: vector code of ONNX Runtime by columns."""
    check(X, attributes)
    if not is_padded(attributes) or not attributes["pads"][X.ndim - 3] or not right.floating(X):
        return scan(X, attributes)
    rest = np.where(np.isnan(X[..., 1:].astype(np.float64)), np.array(-np.inf).astype(X.dtype), X[..., 1:])
    return nans__propagates(np.concatenate([X[..., :1], rest], -1), attributes)


def conditions__nan_in_wide_rows(X, attributes):
    """Lets NaN propagate where a row of the output has eight cells or more. Seen: ONNX Runtime without Indices, by width."""
    Y, Indices = scan(X, attributes)
    return nans__propagates(X, attributes) if Y.shape[-1] >= 8 else (Y, Indices)


def conditions__channel_offset_in_later_batches(X, attributes):
    """Counts in the plane in every batch but the first. Plausible: an offset that is set once."""
    Y, Indices = scan(X, attributes)
    Indices[1:] = numbering__in_the_plane(X, attributes)[1][1:]
    return Y, Indices


def conditions__pads_of_the_end_only(n, k, s, d, b, e, ceil):
    """Leaves padding out of the size unless there is some at the beginning. Plausible: if (pads[0])."""
    return output_size(n, k, s, d, b, e if b else 0, ceil)


def conditions__ties_over_the_padding(values, inside):
    """Names the last of equal maxima in windows that reach into the padding. Plausible: a careful loop for the border."""
    return np.where(inside.all(-1), first_maximum(values, inside), right.last_maximum(values, inside))


def conditions__ties_of_overlapping_windows(X, attributes):
    """Names the first down the columns where windows overlap. Plausible: the maximum of the window before is used again."""
    check(X, attributes)
    is_overlapping = any(map(lt, attributes["strides"], attributes["kernel_shape"]))
    return ties__down_the_columns(X, attributes) if is_overlapping and X.ndim > 3 else scan(X, attributes)


def conditions__ties_of_minus_infinity(values, inside):
    """Names the last of cells that are all -inf. Plausible: a scan that starts from -inf with >=."""
    is_last = right.keys(values, inside).max(-1) == -np.inf
    return np.where(is_last, right.last_maximum(values, inside), first_maximum(values, inside))


def conditions__minimum_in_the_second_plane(X, attributes):
    """Names the cell before the plane for the minimum in every plane but the first. Seen: ONNX Runtime 1.23.2, in range."""
    outputs = scan(X, attributes)
    others = seeded(X, [each.copy() for each in outputs], "lowest", "row")
    for mine, other in zip(outputs, others, strict=True):
        other[:1, :1] = mine[:1, :1]
    return others


def deaths__dies_of_the_stride(X, attributes):
    """Divides by a stride of 0, in native code. Seen: ONNX Runtime up to 1.27.0."""
    if isinstance(attributes["strides"], list) and 0 in attributes["strides"]:
        os.kill(os.getpid(), signal.SIGFPE)
    return scan(X, attributes)


def _starts(axis):
    """Where each window starts, as a column."""
    return np.arange(axis.output)[:, None] * axis.stride - axis.begin


def dilations__in_the_size_only(axis):
    """Has the dilated number of windows over cells side by side. Seen: xboot/libonnx#24, CanReader/FastNN#4."""
    return _starts(axis) + np.arange(axis.kernel)


def dilations__loses_its_phase_at_the_border(X, attributes):
    """Starts at the first cell of X where the window begins in the padding. Plausible: max(0, start), then steps of d."""

    def inside(position, axis):
        return (position < axis.size) & (position <= _starts(axis) + (axis.kernel - 1) * axis.dilation)

    def table(axis):
        return np.maximum(0, _starts(axis)) + np.arange(axis.kernel) * axis.dilation

    return scan(X, attributes, table=table, inside=inside)


def dilations__drops_windows_past_the_end(position, axis):
    """Looks at the first tap only where the dilated window reaches into the end padding. Plausible: a bound for all taps."""
    late = (axis.dilation > 1) & (position[:, -1:] >= axis.size) & within(position[:, :1], axis)
    return within(position, axis) & ((np.arange(axis.kernel) == 0) | ~late)


def extents__the_channel_behind_blocks_of_8(X, attributes):
    """Repeats the channel before where one remains behind whole eights. Plausible: the remainder of a block."""
    Y, Indices = scan(X, attributes)
    if X.shape[1] > 8 and X.shape[1] % 8 == 1:
        Y[:, -1] = Y[:, -2]
    return Y, Indices


def extents__planes_behind_256(X, attributes):
    """Counts planes with 8 bits: the offset of plane 256 is that of plane 0. Plausible: a counter of few bits."""
    return _with_other_planes(lambda n, c: n * X.shape[1] + c & 255, X, attributes)


def extents__five_axes_share_the_last_stride(X, attributes):
    """Takes the stride and the dilation of the fourth axis for the fifth. Plausible: arrays of four entries."""
    if X.ndim == 7:
        for name in ("strides", "dilations"):
            attributes = changed_numbers(attributes, name, lambda values: [*values[:-1], *values[-2:-1]])
    return scan(X, attributes)


def extents__one_tap_before_the_image(position, axis):
    """Starts windows one dilation after their first tap at most, not at the first tap inside.

    Plausible: "if", not "while".
    """
    # What still lies before X after one step is read from the first cell.
    late = (np.arange(axis.kernel) > 0) & (position < axis.size) & (axis.dilation > 1)
    return late | within(position, axis)


def extents__pads_of_less_than_two_kernels(X, attributes):
    """Clips pads to twice the kernel less one. Plausible: a border buffer of that size."""
    check(X, attributes)
    most = [2 * kernel - 1 for kernel in attributes["kernel_shape"]] * 2
    return scan(X, {**attributes, "pads": list(map(min, attributes["pads"], most))})


def extents__windows_larger_than_the_map(position, axis):
    """Takes the last row for padding where a window has more rows than X. Seen: a crash in espressif/esp-dl#229."""
    return within(position, axis) & ((position < axis.size - 1) | (axis.kernel <= axis.size) | (axis.place != -2))


def infinities__saturated(X, attributes):
    """Gives the largest finite value for +inf. Plausible: a saturating conversion."""
    Y, Indices = scan(X, attributes)
    if right.floating(Y):
        Y[np.inf == Y] = -float(right.lowest(Y.dtype))
    return Y, Indices


def infinities__both_saturated(X, attributes):
    """Clips X to its finite values. Plausible: a clamp in front."""
    check(X, attributes)
    if right.floating(X):
        least = np.array(right.lowest(X.dtype)).astype(X.dtype)
        X = np.where(X == -np.inf, least, np.where(np.inf == X, -least, X))
    return scan(X, attributes)


def _nan_or_first(values, inside):
    """The first NaN, or else the first maximum."""
    nan = inside & np.isnan(values.astype(np.float64))
    return np.where(nan.any(-1), nan.argmax(-1), first_maximum(values, inside))


def nans__propagates(X, attributes):
    """Gives NaN where the window holds one. Seen: PyTorch 2.13.0, tracel-ai/burn#5662."""
    return scan(X, attributes, pick=_nan_or_first, value=value_where_nan("any"))


def nans__wins_if_first(X, attributes):
    """Keeps a NaN that is the window's first cell. Seen: ONNX Runtime 1.31.1 with Indices."""

    def pick(values, inside):
        first = np.broadcast_to(inside.argmax(-1), values.shape[:2])
        is_nan = np.isnan(np.take_along_axis(values.astype(np.float64), first[..., None], -1)[..., 0])
        return np.where(is_nan, first, first_maximum(values, inside))

    return scan(X, attributes, pick=pick, value=value_where_nan("first"))


def nans__forgets_what_was_before(values, inside):
    """Scans with !(best >= x), so that what follows a NaN replaces it, whatever was before. Seen: ONNX Runtime without Indices."""
    return right.one_by_one(lambda x, best: ~(best >= x))(values, inside)


def nans__depends_on_the_tree(values, inside):
    """Takes the right one of each pair unless the left is greater, pair by pair. Plausible: a tree of maxps."""
    numbers = np.where(inside, values.astype(np.float64), -np.inf)
    return right.pair_by_pair(numbers, inside, lambda left, other: ~(left >= other))


def nans__index_of_the_nan(X, attributes):
    """Drops NaN for Y and names it in Indices. Plausible: argmax of a library beside a max of one's own."""
    return scan(X, attributes)[0], nans__propagates(X, attributes)[1]


def nans__index_of_a_nan_before_minus_infinity(values, inside):
    """Names a NaN that stands before the -inf which is the maximum. Plausible: every NaN written over with -inf."""
    comparable = right.keys(values, inside)
    return (inside & (comparable == comparable.max(-1, keepdims=True))).argmax(-1)


def nans__by_lanes_of_four_channels(X, attributes):
    """Propagates NaN in whole groups of four channels and drops it in the rest. Seen: tensorflow/tensorflow#125965."""
    outputs, rest = nans__propagates(X, attributes), X.shape[1] // 4 * 4
    for mine, other in zip(outputs, scan(X, attributes), strict=True):
        mine[:, rest:] = other[:, rest:]
    return outputs


def _with_other_planes(number, X, attributes):
    """The right outputs, but for the number of the plane in Indices: ``number(batch, channel)``."""
    Y, Indices = scan(X, attributes)
    n, c = np.ogrid[: X.shape[0], : X.shape[1]]
    moved = np.asarray(number(n, c) - (n * X.shape[1] + c))
    return Y, Indices + moved.reshape(*moved.shape, *[1] * (X.ndim - 2)) * prod(X.shape[2:])


def numbering__in_the_plane(X, attributes):
    """Counts in each plane. Seen: PyTorch, tract before sonos/tract#2860."""
    return _with_other_planes(lambda n, c: 0, X, attributes)


def numbering__without_the_batch(X, attributes):
    """Counts in each batch. Seen: tensorflow/tensorflow#2821."""
    return _with_other_planes(lambda n, c: c, X, attributes)


def numbering__without_the_channel(X, attributes):
    """Leaves the channel out. Seen: onnx ReferenceEvaluator."""
    return _with_other_planes(lambda n, c: n * X.shape[1], X, attributes)


def numbering__batch_and_channel_exchanged(X, attributes):
    """Counts C x N planes instead of N x C. Plausible: a stride of the wrong axis."""
    return _with_other_planes(lambda n, c: c * X.shape[0] + n, X, attributes)


def numbering__channels_last(offsets, planes, shape, attributes):
    """Counts in N x D1 x ... x Dn x C, whatever storage_order is. Seen: onnx/onnx-tensorflow#719."""
    return (planes // shape[1] * prod(shape[2:]) + offsets) * shape[1] + planes % shape[1]


def numbering__of_the_padded_tensor(offsets, planes, shape, attributes):
    """Counts in the padded plane. Plausible: a padded copy of X."""
    if any(axis.begin for axis in right.axes_of(shape, attributes)):
        return _in_the_padded_plane(offsets, planes, shape, attributes)
    return right.whole_tensor(offsets, planes, shape, attributes)


def numbering__in_16_bits(X, attributes):
    """Counts in 16 bits. Plausible: indices of small planes, as tenstorrent's UINT16."""
    Y, Indices = scan(X, attributes)
    return Y, Indices & 0xFFFF


def orders__of_the_whole_tensor(offsets, planes, shape, attributes):
    """Lets the batch run fastest, then the channel. Plausible: column-major taken for the whole tensor."""
    if attributes["storage_order"] == 0 or 0 in shape:
        return right.whole_tensor(offsets, planes, shape, attributes)
    at = (planes // shape[1], planes % shape[1], *np.unravel_index(offsets, shape[2:]))
    return np.ravel_multi_index(np.broadcast_arrays(*at), shape, order="F")


def orders__transposes_the_output(X, attributes):
    """Gives Y and Indices transposed where storage_order is 1. Plausible: the attribute taken for the layout."""
    Y, Indices = scan(X, attributes)
    if attributes["storage_order"] == 1 and Y.ndim == 4 and Y.shape[2] == Y.shape[3]:
        return Y.swapaxes(2, 3), Indices.swapaxes(2, 3)
    return Y, Indices


def outputs__kernels_that_disagree_on_ties(X, attributes):
    """Copies Y from the first maximum and names the last. Plausible: two kernels."""
    return scan(X, attributes)[0], scan(X, attributes, pick=right.last_maximum)[1]


def outputs__answer_of_the_same_shape_again(X, attributes, memory):
    """Gives the answer to the last question with X and attributes of the same shapes. Plausible: a cache by shape."""
    return memory.setdefault((X.shape, X.dtype.name, repr(attributes)), scan(X, attributes))


def outputs__reads_into_the_next_row(X, attributes):
    """Reads beyond the end of a row where the window reaches into the end padding. Plausible: no bound on the last axis."""

    def inside(position, axis):
        return position >= 0 if axis.place == -1 else within(position, axis)

    def cell(position, axis):
        return position if axis.place == -1 else np.clip(position, 0, max(axis.size - 1, 0))

    return scan(X, attributes, inside=inside, cell=cell)[0], scan(X, attributes)[1]


def outputs__last_window_reads_out_of_bounds(axis):
    """Lets the last window of an axis begin one cell later. Plausible: an end that is one too far."""
    table = right.positions(axis)
    table[-1:] += axis.output > 1
    return table


def outputs__indices_are_a_list(X, attributes):
    """Gives Indices on one axis. Plausible: "flatten 1-D" taken for the shape of the output."""
    Y, Indices = scan(X, attributes)
    return Y, Indices.reshape(-1)


def outputs__y_alone_lacks_the_last_column(X, attributes, memory):
    """Leaves the last column of Y at 77 where the same is wanted again, as it is for Y alone.

    Plausible: a kernel of its own for Y alone, without the tail of a row.
    """
    Y, Indices = scan(X, attributes)
    question = X.tobytes(), X.shape, repr(attributes)
    is_again = memory.get("question") == question
    memory["question"] = None if is_again else question
    if is_again:
        Y[..., -1] = 77
    return Y, Indices


def padding__interleaved(X, attributes):
    """Reads pads as begin, end, begin, end. Seen: root-project/root#22436."""
    return scan(X, changed_numbers(attributes, "pads", lambda pads: [*pads[::2], *pads[1::2]]))


def padding__ignored(X, attributes):
    """Does not pad. Plausible: an importer that does not read the attribute."""
    pads = {"pads": [0] * len(attributes["pads"])} if is_padded(attributes) else {}
    return scan(X, {**attributes, **pads})


def _halved(total, windows, upper):
    """The pads and the number of windows where both ends get half of a ``total``, which may be negative."""
    small = int(total / 2)
    return (small, total - small, windows) if upper else (total - small, small, windows)


def policies__same_crops(n, k, s, d, upper):
    """Applies a negative padding. Seen: ONNX Runtime 1.23.2 and 1.31.1 with strides over the kernel."""
    windows = -(-n // s)
    return _halved((windows - 1) * s + (k - 1) * d + 1 - n, windows, upper)


def precision__one_bit_off(X, attributes):
    """Gives the next float below in every seventh cell of Y. Plausible: a rounding mode."""
    Y, Indices = scan(X, attributes)
    if Y.dtype == np.float64:
        with np.errstate(over="ignore"):
            Y.reshape(-1)[::7] = np.nextafter(Y.reshape(-1)[::7], -np.inf)
    return Y, Indices


def refusals__any_rank(X, attributes):
    """Takes X without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    kernel = attributes["kernel_shape"]
    if X.ndim < 3 and kernel:
        ones, zeros = [1] * len(kernel), [0] * 2 * len(kernel)
        X = X.reshape(*[1] * (2 + len(kernel) - X.ndim), *X.shape)
        attributes = {**attributes, "strides": ones, "dilations": ones, "pads": zeros}
    return scan(X, attributes)


def same__same_with_the_kernel(n, k, s, d, upper):
    """Pads by the kernel instead of the effective one. Seen: ONNX Runtime 1.23.2 and 1.31.1, in the output size."""
    begin, end, _ = same_pads(n, k, s, 1, upper)
    return begin, end, max(0, (n + begin + end - ((k - 1) * d + 1)) // s + 1)


def same__padding_at_one_end(n, k, s, d, upper):
    """Adds all padding of SAME_UPPER at the end, and of SAME_LOWER at the beginning.

    Plausible: the rule for an odd cell taken for all.
    """
    begin, end, windows = same_pads(n, k, s, d, upper)
    return (0, begin + end, windows) if upper else (begin + end, 0, windows)


def seeds__first_tap_even_if_in_the_padding(values, inside):
    """Starts from the window's first tap, taking the nearest cell of X if that is padding. Plausible: a clipped address."""
    return first_maximum(values, inside | (np.arange(inside.shape[-1]) == 0))


def sizes__never_drops_the_last_window(n, k, s, d, b, e, ceil):
    """Rounding up, keeps a last window that starts in the end padding. Seen: ONNX Runtime 1.15 to 1.20, tracel-ai/burn#5791."""
    output_size(n, k, s, d, b, e, ceil)
    room = n + b + e - ((k - 1) * d + 1)
    return -(-room // s) + 1 if ceil else room // s + 1


def sizes__drops_the_last_window_by_equality_only(n, k, s, d, b, e, ceil):
    """Rounding up, drops a last window that starts behind the first cell of the end padding only. Plausible: > for >=."""
    o = sizes__never_drops_the_last_window(n, k, s, d, b, e, ceil)
    return o - 1 if ceil and (o - 1) * s > n + b else o


def sizes__drops_without_the_begin_pad(n, k, s, d, b, e, ceil):
    """Rounding up, holds the start of the last window to n instead of n + begin. Plausible: a check that forgets a term."""
    o = sizes__never_drops_the_last_window(n, k, s, d, b, e, ceil)
    return o - 1 if ceil and (o - 1) * s >= n else o


def sizes__drops_also_rounding_down(n, k, s, d, b, e, ceil):
    """Drops a last window that starts in the end padding without ceil_mode too. Plausible: a check outside of the if."""
    o = sizes__never_drops_the_last_window(n, k, s, d, b, e, ceil)
    return o - 1 if 0 < (o - 1) * s >= n + b else o


def sizes__truncates_a_negative_room(n, k, s, d, b, e, ceil):
    """Divides a negative room as C does, and answers where no window fits. Seen: ONNX Runtime 1.23.2 and 1.31.1."""
    room = n + b + e - ((k - 1) * d + 1)
    return int(room / s) + 1 if room < 0 else output_size(n, k, s, d, b, e, ceil)


def sizes__answers_without_a_window(n, k, s, d, b, e, ceil):
    """Gives an empty output where no window fits. Seen: microsoft/onnxruntime#1224."""
    room = n + b + e - ((k - 1) * d + 1)
    return 0 if room < 0 else output_size(n, k, s, d, b, e, ceil)


def sizes__divides_by_the_stride_and_one(n, k, s, d, b, e, ceil):
    """Divides by strides + 1. Seen: the formula that SONNX prints."""
    return output_size(n, k, s + 1, d, b, e, ceil)


def sizes__size_in_float32(n, k, s, d, b, e, ceil):
    """Divides in float32. Seen: onnx shape inference before onnx/onnx#5741."""
    quotient = np.float32(n + b + e - ((k - 1) * d + 1)) / np.float32(s)
    o = int(np.ceil(quotient) if ceil else np.floor(quotient)) + 1
    output_size(n, k, s, d, b, e, ceil)
    return o - 1 if ceil and (o - 1) * s >= n + b else o


def sizes__strides_in_32_bits(X, attributes):
    """Cuts strides to 32 bits. Seen: the attributes of oneDNN and of CUDA kernels, as in pytorch/pytorch#189664."""

    def cut(strides):
        return [(stride + 2**31) % 2**32 - 2**31 for stride in strides]

    return scan(X, changed_numbers(attributes, "strides", cut))


def ties__down_the_columns(X, attributes):
    """Names the first down the columns. Plausible: the loops exchanged."""

    def pick(values, inside):
        order = np.arange(values.shape[-1]).reshape(attributes["kernel_shape"]).T.reshape(-1)
        return order[right.maxima(values[..., order], inside[:, order]).argmax(-1)]

    return scan(X, attributes, pick=pick)


def ties__last_row_first_column(X, attributes):
    """Names the first of the last row that has it. Plausible: >= over the rows, > within."""

    def pick(values, inside):
        width = attributes["kernel_shape"][-1]
        rows = right.maxima(values, inside).reshape(*values.shape[:2], values.shape[2] // width, width)
        row = rows.shape[2] - 1 - rows.any(-1)[..., ::-1].argmax(-1)
        return row * width + np.take_along_axis(rows, row[..., None, None], 2)[..., 0, :].argmax(-1)

    return scan(X, attributes, pick=pick)


def ties__nearly_equal_is_equal(values, inside):
    """Keeps the first of cells that are less than a hundred thousandth below the maximum. Plausible: a tolerance in a comparison."""
    comparable = right.keys(values, inside)
    best = comparable.max(-1, keepdims=True)
    # The difference of infinities is NaN, which is not small.
    with np.errstate(invalid="ignore"):
        near = np.abs(comparable - best) <= np.where(np.isfinite(best), 1e-5 * np.abs(best), 0)
    return (right.maxima(values, inside) | (inside & near)).argmax(-1)


def ties__plus_zero_is_greater(values, inside):
    """Takes +0 for greater than -0. Plausible: IEEE 754's maximum, or comparing bits."""
    hit, comparable = right.maxima(values, inside), right.keys(values, inside)
    positive = hit & (comparable == 0) & ~np.signbit(comparable)
    return np.where(positive.any(-1), positive.argmax(-1), hit.argmax(-1))


def ngraph_maxpool__takes_empty_planes(language, X, attributes, spec):
    """Gives an output without channels for X without channels. Plausible: loops that run no time."""
    if X.ndim < 3 or X.size or not X.shape[0]:
        return language.correct(X, attributes, spec)
    if 0 in X.shape[2:]:
        return np.zeros(X.shape, X.dtype)
    return language.pooled(X, language.read(X, attributes, spec), spec)


def ngraph_maxpool__pools_without_channels(language, X, attributes, spec):
    """Takes arg without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    if X.ndim < 3:
        X, attributes = X.reshape(*[1] * (3 - X.ndim), *X.shape), {"window_shape": [1]}
    return language.correct(X, attributes, spec)


def nhwc_maxpool__activation_before_the_maximum(language, X, attributes, spec):
    """Applies the activation to X, and takes the maximum of that. Plausible: the nodes in the wrong order."""
    values = language.values(X, attributes, spec)
    with np.errstate(all="ignore"):
        return language.pooled(activated(X, values), {**values, **ACTIVATION}, spec)


def nhwc_maxpool__activation_of_the_indices(language, X, attributes, spec):
    """Names cell 0 where the activation changes the maximum. Plausible: a mask of what passes."""
    values = language.values(X, attributes, spec)
    Y, Indices = language.pooled(X, values, spec)
    plain, _ = language.pooled(X, {**values, **ACTIVATION}, spec)
    return Y, np.where((Y == plain) | (plain != plain), Indices, 0)


def nhwc_maxpool__parameters_in_float16(language, X, attributes, spec):
    """Rounds the parameters to half precision. Plausible: a runtime of half precision."""
    values = language.values(X, attributes, spec)
    with np.errstate(all="ignore"):
        rounded = [float(np.float16(value)) for value in values["activation_params"]]
    return language.pooled(X, {**values, "activation_params": rounded}, spec)


def nhwc_maxpool__any_number_of_parameters(language, X, attributes, spec):
    """Cuts parameters that are too many, and fills those that are missing with 0. Plausible: a struct of two floats."""
    count, parameters = PARAMETERS.get(str(attributes.get("activation")), 0), attributes.get("activation_params", [])
    if isinstance(parameters, list):
        attributes = {**attributes, "activation_params": (parameters + [0.0] * count)[:count]}
    return language.correct(X, attributes, spec)


def onnx_maxpool__pools_without_channels(language, X, attributes, spec):
    """Takes X without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    kernel = attributes.get("kernel_shape")
    if X.ndim > 2 or not kernel:
        return language.correct(X, attributes, spec)
    outputs = language.correct(X.reshape(*[1] * (2 + len(kernel) - X.ndim), *X.shape), attributes, spec)
    return tuple(each.reshape(each.shape[-X.ndim :]) for each in outputs)


def onnx_maxpool__takes_defaults_of_later_versions(language, X, attributes, spec):
    """Passes over dilations of 1 and ceil_mode 0 where the version has neither. Seen: models in onnxsim/onnxsim#85."""
    later = {"dilations": [1] * (X.ndim - 2), "ceil_mode": 0}
    kept = {
        name: value for name, value in attributes.items() if name in language.table(spec) or value != later.get(name)
    }
    return language.correct(X, kept, spec)


def openvino_maxpool__ceil_is_ceil_torch(n, k, s, d, b, e, ceil):
    """Drops a last window in the padding at the end for ceil, too. Plausible: PyTorch's formula for both."""
    return output_size(n, k, s, d, b, e, ceil)


def openvino_maxpool__ceil_torch_is_ceil(n, k, s, d, b, e, ceil):
    """Keeps a last window in the padding at the end for ceil_torch, too. Plausible: an older runtime that knows two roundings."""
    return kept_ceil_size(n, k, s, d, b, e, ceil)


def openvino_maxpool__same_keeps_the_size(n, k, s, d, upper):
    """Pads same_upper and same_lower until the output has the size of the input. Seen: the formulas of the documents."""
    return _halved((n - 1) * s + (k - 1) * d + 1 - n, n, upper)


def openvino_refusals__takes_names_of_onnx(language, X, attributes, spec):
    """Takes the names that ONNX has for the kernel and for rounding up. Plausible: one importer for both."""
    renamed = {"kernel" if name == "kernel_shape" else name: value for name, value in attributes.items()}
    if renamed.pop("ceil_mode", 0) == 1:
        renamed["rounding_type"] = "ceil"
    return language.correct(X, renamed, spec)


def openvino_refusals__any_axis_is_0(language, X, attributes, spec):
    """Takes an axis that X does not have for 0. Plausible: a range that is not checked."""
    if type(attributes.get("axis")) is int and not -X.ndim <= attributes["axis"] < X.ndim:
        attributes = {**attributes, "axis": 0}
    return language.correct(X, attributes, spec)


def openvino_refusals__axes_wrap_around(language, X, attributes, spec):
    """Takes axis modulo the number of axes. Plausible: one line for negative axes."""
    if type(attributes.get("axis")) is int:
        attributes = {**attributes, "axis": attributes["axis"] % X.ndim}
    return language.correct(X, attributes, spec)


def xmos_maxpool__any_number_of_channels(language, X, attributes, spec):
    """Pools any number of channels. Plausible: a kernel in plain C, without the vectors of four words."""
    if X.ndim != 3:
        return language.correct(X, attributes, spec)
    words = changed_numbers(attributes, "X_c", lambda channels: [-(-channel // 4) * 4 for channel in channels])
    whole = np.pad(X, ((0, 0), (0, 0), (0, -X.shape[2] % 4)))
    return language.correct(whole, words, spec)[..., : X.shape[2]]


def xmos_maxpool__bound_is_strict(language, X, attributes, spec):
    """Refuses a window that ends with the last row or column. Seen: the constraint as it is printed."""
    v = language.values(X, attributes, spec)
    ends = [v[start] + v[stride] * (v[count] - 1) + v[kernel] for kernel, stride, start, count in XMOS_AXES]
    if ends[0] >= X.shape[0] or ends[1] >= X.shape[1]:
        raise ValueError("refused on purpose")
    return language.pooled(X, v, spec)


def xmos_maxpool__as_many_windows_as_fit(language, X, attributes, spec):
    """Gives as many windows as fit, not as many as are asked for. Plausible: the size is worked out from the rest."""
    v = language.values(X, attributes, spec)
    for size, (kernel, stride, start, count) in zip(X.shape, XMOS_AXES, strict=False):
        v[count] = (size - v[start] - v[kernel]) // v[stride] + 1
    return language.pooled(X, v, spec)


def xmos_maxpool__bytes_without_a_sign(language, X, attributes, spec):
    """Compares bytes without their sign. Plausible: an instruction for uint8."""
    if X.dtype != np.int8:
        return language.correct(X, attributes, spec)
    # int8 with the sign bit flipped has the order of the bytes.
    Y = language.correct((X.view(np.uint8) ^ 128).view(np.int8), attributes, spec)
    return (Y.view(np.uint8) ^ 128).view(np.int8)


def xmos_maxpool__takes_batches(language, X, attributes, spec):
    """Takes a batch of one image. Seen: TFLite's operator, which is compiled to it."""
    if X.ndim == 4:
        return language.correct(X[0], attributes, spec)[None]
    return language.correct(X, attributes, spec)


def xmos_maxpool__takes_numbers_of_another_type(language, X, attributes, spec):
    """Takes the whole number in a list, a fraction or text. Plausible: int(value) of Python."""
    firsts = {name: value[0] if isinstance(value, list) and value else value for name, value in attributes.items()}
    whole = {name: int(value) if isinstance(value, (int, float, str)) else value for name, value in firsts.items()}
    return language.correct(X, whole, spec)


def shared__windows_shrink_to_the_input(language, X, attributes, spec):
    """Takes a smaller window where it is larger than the padded input. Plausible: min(window, size)."""
    values = language.values(X, attributes, spec)
    (kernel,), rank = language.names["kernel"], X.ndim - 2
    auto_pad, dilations = values.get("auto_pad", "").upper(), values.get("dilations", [1] * rank)
    if not auto_pad.startswith("SAME"):
        pads = [0 if auto_pad == "VALID" else pad for name in language.names["pads"] for pad in values[name]]
        rooms = map(sum, zip(X.shape[2:], pads[:rank], pads[rank:], strict=True))
        taps = [max(1, (room - 1) // dilation + 1) for room, dilation in zip(rooms, dilations, strict=True)]
        values = {**values, kernel: list(map(min, values[kernel], taps))}
    return language.pooled(X, values, spec)


def shared__large_pads_are_refused(language, X, attributes, spec):
    """Refuses a pad that is as large as the kernel. Seen: ONNX Runtime, PyTorch."""
    values = language.values(X, attributes, spec)
    pairs = zip(values["pads"], values["kernel_shape"] * 2, strict=True)
    if values["auto_pad"] == "NOTSET" and any(pad >= size for pad, size in pairs):
        raise ValueError("refused on purpose")
    return language.pooled(X, values, spec)


def shared__copies_without_spatial_axes(language, X, attributes, spec):
    """Copies X where it has no spatial axis. Plausible: a window over no axes holds one cell."""
    if X.ndim > 2:
        return language.correct(X, attributes, spec)
    return X if spec == "openvino-1" else (X, np.arange(X.size).reshape(X.shape))
