"""Wrong steps of the scan, by the step that they replace and the name that ``kernels.yaml`` has for them.

Where that gives arguments, the entry is a function of these that returns the step.
"""

from math import prod

import numpy as np

from maxpool_check.evidence.wrong_kernels import scan as right
from maxpool_check.evidence.wrong_kernels.languages import kept_ceil_size
from maxpool_check.evidence.wrong_kernels.scan import first_maximum, output_size, same_pads, value_of_the_tap, within


def _with(function, *parameters):
    """A rule that computes with other arguments: numbers, or the values of other ones; maybe only rounding up."""

    def rule(rounding_up=False, **names):
        def step(*arguments):
            values = dict(zip(parameters, arguments, strict=True))
            if not rounding_up or values["ceil"]:
                values |= {name: values.get(value, value) for name, value in names.items()}
            return function(*values.values())

        return step

    return rule


def _unclipped(n, k, s, d, b, e, ceil):
    output_size(n, k, s, d, b, e, ceil)
    room = n + b + e - ((k - 1) * d + 1)
    return -(-room // s) + 1 if ceil else room // s + 1


def _dropped(drops):
    """The number of windows less one where ``drops`` the start of the last window: of n, b, ceil and that start."""

    def size(n, k, s, d, b, e, ceil):
        o = _unclipped(n, k, s, d, b, e, ceil)
        return o - 1 if drops(n, b, ceil, (o - 1) * s) else o

    return size


def _without_room(windows):
    def size(n, k, s, d, b, e, ceil):
        room = n + b + e - ((k - 1) * d + 1)
        return windows(room, s) if room < 0 else output_size(n, k, s, d, b, e, ceil)

    return size


def _in_float32(n, k, s, d, b, e, ceil):
    quotient = np.float32(n + b + e - ((k - 1) * d + 1)) / np.float32(s)
    o = int(np.ceil(quotient) if ceil else np.floor(quotient)) + 1
    output_size(n, k, s, d, b, e, ceil)
    return o - 1 if ceil and (o - 1) * s >= n + b else o


def _halved(total, windows, upper):
    small = int(total / 2)
    return (small, total - small, windows) if upper else (total - small, small, windows)


def _same(change):
    """SAME_UPPER and SAME_LOWER with other pads or another size; ``change(begin, end, windows, upper, n, s)``."""
    return lambda n, k, s, d, upper: change(*same_pads(n, k, s, d, upper), upper, n, s)


def _by_the_kernel(n, k, s, d, upper):
    begin, end, _ = same_pads(n, k, s, 1, upper)
    return begin, end, max(0, (n + begin + end - ((k - 1) * d + 1)) // s + 1)


def _starts(axis):
    return np.arange(axis.output)[:, None] * axis.stride - axis.begin


def _last_one_further(axis):
    table = right.positions(axis)
    table[-1:] += axis.output > 1
    return table


def _first_tap_at_the_end(position, axis):
    late = (axis.dilation > 1) & (position[:, -1:] >= axis.size) & within(position[:, :1], axis)
    return within(position, axis) & ((np.arange(axis.kernel) == 0) | ~late)


def _from_the_second_tap(position, axis):
    # What still lies before X after one step is read from the first cell.
    late = (np.arange(axis.kernel) > 0) & (position < axis.size) & (axis.dilation > 1)
    return late | within(position, axis)


def _first_cell(position, axis):
    return np.clip(position, 0, max(axis.size - 1, 0))


def _by_maximum(choose):
    """A tap by ``choose(taps that hold the maximum, maximum, what the taps compare as, inside)``.

    As in :func:`first_maximum`, a NaN does not hold the maximum where a number does.
    """

    def pick(values, inside):
        comparable = right.keys(values, inside)
        best = comparable.max(-1, keepdims=True)
        maxima = inside & (comparable == best)
        numbers = maxima & (values == values)
        return choose(np.where(numbers.any(-1, keepdims=True), numbers, maxima), best, comparable, inside)

    return pick


def _nan_as_minus_infinity(values, inside):
    comparable = right.keys(values, inside)
    return (inside & (comparable == comparable.max(-1, keepdims=True))).argmax(-1)


def _nearly_equal(hit, best, comparable, inside):
    # The difference of infinities is NaN, which is not small.
    with np.errstate(invalid="ignore"):
        near = np.abs(comparable - best) <= np.where(np.isfinite(best), 1e-5 * np.abs(best), 0)
    return (hit | (inside & near)).argmax(-1)


def _plus_zero(hit, best, comparable, inside):
    positive = hit & (best == 0) & ~np.signbit(comparable)
    return np.where(positive.any(-1), positive.argmax(-1), hit.argmax(-1))


def _by_bits(values, inside):
    integers = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    bits = np.where(inside & (values == values), integers, -(2**40))
    return (inside & (bits == bits.max(-1, keepdims=True))).argmax(-1)


def _by_a_tree(values, inside):
    numbers = np.where(inside, values.astype(np.float64), -np.inf)
    return right.pair_by_pair(numbers, inside, lambda left, other: ~(left >= other))


def _nan_or_first(values, inside):
    nan = inside & np.isnan(values.astype(np.float64))
    return np.where(nan.any(-1), nan.argmax(-1), first_maximum(values, inside))


def _nan_if_first(values, inside):
    first = np.broadcast_to(inside.argmax(-1), values.shape[:2])
    is_nan = np.isnan(np.take_along_axis(values.astype(np.float64), first[..., None], -1)[..., 0])
    return np.where(is_nan, first, first_maximum(values, inside))


def _first_or_last(is_last):
    """The last of equal maxima where ``is_last(values, inside)``."""
    return lambda values, inside: np.where(
        is_last(values, inside), right.last_maximum(values, inside), first_maximum(values, inside)
    )


def _down_the_columns(kernel):
    order = np.arange(prod(kernel)).reshape(kernel).T.reshape(-1)
    return lambda values, inside: order[
        _by_maximum(lambda hit, *_: hit.argmax(-1))(values[..., order], inside[:, order])
    ]


def _last_row_first_column(kernel):
    def choose(hit, *_):
        rows = hit.reshape(*hit.shape[:2], hit.shape[2] // kernel[-1], kernel[-1])
        row = rows.shape[2] - 1 - rows.any(-1)[..., ::-1].argmax(-1)
        return row * kernel[-1] + np.take_along_axis(rows, row[..., None, None], 2)[..., 0, :].argmax(-1)

    return _by_maximum(choose)


def _where_nan(where, gives="nan"):
    """The value where the window holds a NaN: NaN or the lowest number; ``where``: any, all, or the first of its cells."""

    def value(values, inside, taps):
        Y = value_of_the_tap(values, inside, taps)
        nan = inside & np.isnan(values.astype(np.float64))
        if where == "first":
            nan = np.take_along_axis(nan, inside.argmax(-1)[None, :, None], -1)
        hit = nan.any(-1) & (where != "all" or (nan | ~inside).all(-1))
        number = np.nan if gives == "nan" else float(right.lowest(Y.dtype))
        return np.where(hit, np.array(number).astype(Y.dtype), Y) if right.floating(Y) else Y

    return value


def _of_padding_alone(gives):
    def value(values, inside, taps):
        number = float(right.lowest(values.dtype)) if gives == "lowest" else gives
        return np.where(inside.any(-1), value_of_the_tap(values, inside, taps), np.array(number).astype(values.dtype))

    return value


def _of_planes(renumbered):
    """The whole tensor, with other numbers of the planes: ``renumbered(batch, channel, batches, channels)``."""

    def number(offsets, planes, shape, attributes):
        channels = max(shape[1], 1)
        planes = renumbered(planes // channels, planes % channels, *shape[:2])
        return right.whole_tensor(offsets, planes, shape, attributes)

    return number


def _in_the_padded_plane(order):
    def number(offsets, planes, shape, attributes):
        if not offsets.size:
            return offsets
        axes = right.axes_of(shape, attributes)
        sizes = tuple(axis.size + axis.begin + axis.end for axis in axes)
        at = [position + axis.begin for position, axis in zip(np.unravel_index(offsets, shape[2:]), axes, strict=True)]
        return np.ravel_multi_index(at, sizes, mode="clip", order=order) + planes * prod(sizes)

    return number


def _exchanged(first, second):
    """Of all spatial axes, only these two change their places."""

    def number(offsets, planes, shape, attributes):
        order = list(range(len(shape) - 2))
        order[first], order[second] = order[second], order[first]
        at, sizes = np.unravel_index(offsets, shape[2:]), shape[2:]
        return np.ravel_multi_index([at[axis] for axis in order], [sizes[axis] for axis in order]) + planes * prod(
            sizes
        )

    return number


def _batch_first(offsets, planes, shape, attributes):
    at = (planes // shape[1], planes % shape[1], *np.unravel_index(offsets, shape[2:]))
    return np.ravel_multi_index(np.broadcast_arrays(*at), shape, order="F")


def _channels_last(offsets, planes, shape, attributes):
    return (planes // shape[1] * prod(shape[2:]) + offsets) * shape[1] + planes % shape[1]


STEPS = {
    "size": {
        "with": _with(output_size, "n", "k", "s", "d", "b", "e", "ceil"),
        "unclipped": _unclipped,
        "kept_ceil": kept_ceil_size,
        "clipped_ceil": output_size,
        "dropped_behind_the_first_cell": _dropped(lambda n, b, ceil, start: ceil and start > n + b),
        "dropped_without_the_begin_pad": _dropped(lambda n, b, ceil, start: ceil and start >= n),
        "dropped_rounding_down": _dropped(lambda n, b, ceil, start: 0 < start >= n + b),
        "truncated": _without_room(lambda room, s: int(room / s) + 1),
        "none_without_room": _without_room(lambda room, s: 0),
        "divided_by_the_stride_and_one": lambda n, k, s, *others: output_size(n, k, s + 1, *others),
        "padded_at_both_ends_or_none": lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, e if b else 0, ceil),
        "in_float32": _in_float32,
    },
    "same": {
        "with": _with(same_pads, "n", "k", "s", "d", "upper"),
        "by_the_kernel": _by_the_kernel,
        "by_the_kernel_if_strided": lambda n, k, s, d, upper: same_pads(n, k, s, d if s == 1 else 1, upper),
        "upper_if_strided": lambda n, k, s, d, upper: same_pads(n, k, s, d, upper or s > 1),
        "rounded_down": _same(lambda begin, end, windows, upper, n, s: (begin, end, max(1, n // s))),
        "at_one_end": _same(lambda b, e, windows, upper, *_: (0, b + e, windows) if upper else (b + e, 0, windows)),
        "cropping": lambda n, k, s, d, upper: _halved((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, -(-n // s), upper),
        "keeping_the_size": lambda n, k, s, d, upper: _halved((n - 1) * s + (k - 1) * d + 1 - n, n, upper),
    },
    "table": {
        "side_by_side": lambda axis: _starts(axis) + np.arange(axis.kernel),
        "without_its_phase": lambda axis: np.maximum(0, _starts(axis)) + np.arange(axis.kernel) * axis.dilation,
        "last_one_further": _last_one_further,
    },
    "inside": {
        "without_its_phase": lambda position, axis: (
            (position < axis.size) & (position <= _starts(axis) + (axis.kernel - 1) * axis.dilation)
        ),
        "first_tap_at_the_end": _first_tap_at_the_end,
        "from_the_second_tap": _from_the_second_tap,
        "first_taps_of_a_row": lambda most: (
            lambda position, axis: within(position, axis) & ((np.arange(axis.kernel) < most) | (axis.place < -1))
        ),
        "but_the_last": lambda place: (
            lambda position, axis: within(position, axis) & ((position < axis.size - 1) | (axis.place != place))
        ),
        "of_the_next_row": lambda position, axis: position >= 0 if axis.place == -1 else within(position, axis),
    },
    "cell": {"of_the_next_row": lambda position, axis: position if axis.place == -1 else _first_cell(position, axis)},
    "pick": {
        "last": right.last_maximum,
        "nearly_equal": _by_maximum(_nearly_equal),
        "plus_zero": _by_maximum(_plus_zero),
        "nan_as_minus_infinity": _nan_as_minus_infinity,
        "by_bits": _by_bits,
        "by_a_tree": _by_a_tree,
        "forgetting_at_a_nan": right.one_by_one(lambda x, best: ~(best >= x)),
        "nan_or_first": _nan_or_first,
        "nan_if_first": _nan_if_first,
        "last_of_minus_infinity": _first_or_last(lambda values, inside: right.keys(values, inside).max(-1) == -np.inf),
        "last_over_the_padding": _first_or_last(lambda values, inside: ~inside.all(-1)),
        "with_the_first_tap": lambda values, inside: first_maximum(values, inside | (np.arange(inside.shape[-1]) == 0)),
        "of_the_first": lambda most: (
            lambda values, inside: first_maximum(values, inside & (np.arange(inside.shape[-1]) < most))
        ),
        "named_in_bits": lambda bits: lambda values, inside: first_maximum(values, inside) & (2**bits - 1),
    },
    "value": {
        "where_nan": _where_nan,
        "of_padding_alone": _of_padding_alone,
        "of_the_first": lambda values, inside, taps: value_of_the_tap(values, inside, first_maximum(values, inside)),
    },
    "number": {
        "in_the_plane": _of_planes(lambda n, c, batches, channels: n * 0),
        "without_the_batch": _of_planes(lambda n, c, batches, channels: c),
        "without_the_channel": _of_planes(lambda n, c, batches, channels: n * channels),
        "channel_by_batch": _of_planes(lambda n, c, batches, channels: c * batches + n),
        "channels_last": _channels_last,
        "in_the_padded_plane": _in_the_padded_plane,
        "exchanged": _exchanged,
        "batch_first": _batch_first,
    },
}
"""The names of the wrong steps, by the argument of the scan that they are."""

PICK_BY_KERNEL = {"down_the_columns": _down_the_columns, "last_row_first_column": _last_row_first_column}
"""Choices of a tap that are functions of the kernel."""
