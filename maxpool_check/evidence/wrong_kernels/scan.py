"""MaxPool in plain steps, independent of the package: each step can be replaced by a wrong one.

A kernel is ``scan(X, attributes)`` with other attributes, another X, another step, or other outputs behind it.
Without a replacement it is right by SONNX and ONNX-22: NaN counts as -inf, the first cell that equals the maximum is named.
It imports numpy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from math import prod

import numpy as np

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8")
CHOICES = {"auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), "ceil_mode": (0, 1), "storage_order": (0, 1)}
MOST_TAPS = 2 * 10**7
REPLACEABLE = ("size", "same", "table", "inside", "pick", "number")


@dataclass(frozen=True)
class PooledAxis:
    """One spatial axis: sizes as in the documents, ``begin`` and ``end`` after ``auto_pad``, ``output`` windows.

    ``place`` is -1 for the last axis, -2 for the one before, and so on.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    output: int
    place: int = 0


def check(X, attributes):
    """Refuse what ONNX excludes."""
    rank = X.ndim - 2
    if rank < 1 or X.dtype.name not in DTYPES:
        raise ValueError(f"X of {X.dtype.name} with {X.ndim} axes")
    lists = {"kernel_shape": (rank, 1), "strides": (rank, 1), "dilations": (rank, 1), "pads": (2 * rank, 0)}
    if set(attributes) - set(lists) - set(CHOICES):
        raise ValueError("an unknown attribute")
    for name, (length, least) in lists.items():
        values = attributes[name]
        if not isinstance(values, list) or len(values) != length:
            raise ValueError(f"{name}: {values!r}")
        if any(type(value) is not int or not least <= value < 2**63 for value in values):
            raise ValueError(f"{name}: {values!r}")
    for name, allowed in CHOICES.items():
        if type(attributes[name]) is not type(allowed[0]) or attributes[name] not in allowed:
            raise ValueError(f"{name}: {attributes[name]!r}")


def output_size(n, k, s, d, b, e, ceil):
    """The number of windows along an axis with these pads."""
    room = n + b + e - ((k - 1) * d + 1)
    if room < 0:
        raise ValueError("the window is larger than the input")
    if not ceil:
        return room // s + 1
    o = -(-room // s) + 1
    return o - 1 if (o - 1) * s >= n + b else o


def same_pads(n, k, s, d, upper):
    """The pads and the number of windows of SAME_UPPER or SAME_LOWER."""
    o = -(-n // s)
    total = max(0, (o - 1) * s + (k - 1) * d + 1 - n)
    small, large = total // 2, total - total // 2
    return (small, large, o) if upper else (large, small, o)


def axes_of(shape, attributes, size=output_size, same=same_pads):
    """The spatial axes of a graph."""
    rank, auto_pad = len(shape) - 2, attributes["auto_pad"]
    pads = attributes["pads"] if auto_pad == "NOTSET" else [0] * 2 * rank
    axes = []
    for axis in range(rank):
        n, b, e = shape[2 + axis], pads[axis], pads[rank + axis]
        k, s, d = (attributes[name][axis] for name in ("kernel_shape", "strides", "dilations"))
        if auto_pad.startswith("SAME"):
            b, e, o = same(n, k, s, d, auto_pad == "SAME_UPPER")
        else:
            o = size(n, k, s, d, b, e, attributes["ceil_mode"] == 1)
        axes.append(PooledAxis(n, k, s, d, b, e, o, axis - rank))
    return axes


def positions(axis):
    """Where the taps of each window are: windows x taps."""
    exact = object if max(axis.begin, axis.dilation * axis.kernel, axis.stride * axis.output) >= 2**60 else np.int64
    start = np.arange(axis.output).astype(exact) * axis.stride - axis.begin
    taps = np.arange(axis.kernel).astype(exact) * axis.dilation
    return np.clip(start[:, None] + taps, -(2**60), 2**60).astype(np.int64)


def within(position, axis):
    """Which taps are inside X."""
    return (position >= 0) & (position < axis.size)


def combined(tables, join):
    """One table per axis, windows x taps, as one over all windows and all taps, each in row-major order."""
    rank = len(tables)
    total = None
    for axis, table in enumerate(tables):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = table.shape
        broadcast = table.reshape(shape)
        total = broadcast if total is None else join(total, broadcast)
    windows, taps = (prod(table.shape[side] for table in tables) for side in (0, 1))
    return total.reshape(windows, taps)


def keys(values, inside):
    """Values that compare as the cells do; NaN and what is outside of X as -inf."""
    numbers = values.astype(np.float64)
    return np.where(inside & ~np.isnan(numbers), numbers, -np.inf)


def maxima(values, inside):
    """Which taps inside X hold the maximum. A NaN counts as -inf, but where a cell is -inf, the NaN does not hold the maximum."""
    comparable = keys(values, inside)
    equal = inside & (comparable == comparable.max(-1, keepdims=True))
    numbers = equal & (values == values)
    return np.where(numbers.any(-1, keepdims=True), numbers, equal)


def first_maximum(values, inside):
    """The first tap inside X with the maximum. ``values``: planes x windows x taps, ``inside``: windows x taps.

    A NaN counts as :func:`maxima` says. Integers compare exactly.
    """
    if values.dtype.kind in "iu":
        seen = np.where(inside, values, np.iinfo(values.dtype).min)
        return (inside & (seen == seen.max(-1, keepdims=True))).argmax(-1)
    return maxima(values, inside).argmax(-1)


def last_maximum(values, inside):
    """The last tap inside X that holds the maximum."""
    return values.shape[-1] - 1 - first_maximum(values[..., ::-1], inside[..., ::-1])


def one_by_one(replaces):
    """A choice that looks at one tap after another; ``replaces(x, best)`` says whether a later one wins."""

    def pick(values, inside):
        tap = np.broadcast_to(inside.argmax(-1), values.shape[:2]).copy()
        numbers = values.astype(np.float64)
        best = np.take_along_axis(numbers, tap[..., None], -1)[..., 0]
        for t in range(values.shape[-1]):
            wins = inside[:, t] & (t > tap) & replaces(numbers[..., t], best)
            best, tap = np.where(wins, numbers[..., t], best), np.where(wins, t, tap)
        return tap

    return pick


def pair_by_pair(numbers, inside, loses):
    """The tap that is left when one of each pair goes, again and again; ``loses(left, right)`` says where it is the left one."""
    taps = np.broadcast_to(np.arange(numbers.shape[-1]), numbers.shape)
    seen = np.broadcast_to(inside, numbers.shape)
    while taps.shape[-1] > 1:
        if taps.shape[-1] % 2:
            numbers, taps = (np.concatenate([array, array[..., -1:]], -1) for array in (numbers, taps))
            seen = np.concatenate([seen, np.zeros_like(seen[..., -1:])], -1)
        left, right = slice(0, None, 2), slice(1, None, 2)
        wins = seen[..., right] & (~seen[..., left] | loses(numbers[..., left], numbers[..., right]))
        numbers, taps, seen = (np.where(wins, array[..., right], array[..., left]) for array in (numbers, taps, seen))
    return taps[..., 0]


def value_of_the_tap(values, inside, taps):
    """The maxima. A NaN is given as -inf, and so is padding alone; in integers as the smallest number."""
    Y = np.take_along_axis(values, taps[..., None], -1)[..., 0].copy()
    # SONNX and OpenVINO: the padding has the smallest value, and a window of padding alone gives it.
    Y[(Y != Y) | ~inside.any(-1)] = lowest(values.dtype) if values.dtype.kind in "iu" else -np.inf
    return Y


def whole_tensor(offsets, planes, shape, attributes):
    """Numbers of cells: ``offsets`` in the plane, row-major; ``planes`` the number of each plane, as a column."""
    spatial = shape[2:]
    if attributes["storage_order"] == 1 and offsets.size:
        offsets = np.ravel_multi_index(np.unravel_index(offsets % prod(spatial), spatial), spatial, order="F")
    return offsets + planes * prod(spatial)


def scan(
    X,
    attributes,
    *,
    checks=check,
    size=output_size,
    same=same_pads,
    axes=lambda axes: axes,
    table=positions,
    inside=within,
    cell=lambda position, axis: np.clip(position, 0, max(axis.size - 1, 0)),
    pad=None,
    pick=first_maximum,
    value=value_of_the_tap,
    number=whole_tensor,
):
    """Y and Indices.

    ``pad``: what a tap outside of X counts as, named by the address it would have; None: it does not count.
    """
    if checks:
        checks(X, attributes)
    spatial = axes(axes_of(X.shape, attributes, size, same))
    outputs = tuple(axis.output for axis in spatial)
    count = prod(X.shape[:2])
    if count * prod(outputs) * prod(axis.kernel for axis in spatial) > MOST_TAPS:
        raise MemoryError("too many taps")
    tables = [table(axis) for axis in spatial]
    seen = combined([inside(taps, axis) for taps, axis in zip(tables, spatial, strict=True)], np.logical_and)
    places = tables if pad is not None else [cell(taps, axis) for taps, axis in zip(tables, spatial, strict=True)]
    steps = [prod(X.shape[3 + axis :]) for axis in range(len(spatial))]
    cells = combined([place * step for place, step in zip(places, steps, strict=True)], np.add)
    flat = X.reshape(-1)
    whole = cells + np.arange(count).reshape(-1, 1, 1) * prod(X.shape[2:])
    values = flat[np.clip(whole, 0, max(X.size - 1, 0))] if X.size else np.zeros(whole.shape, X.dtype)
    if pad is not None:
        values, seen = np.where(seen, values, np.array(pad).astype(X.dtype)), np.ones_like(seen)
    taps = pick(values, seen)
    offsets = np.take_along_axis(np.broadcast_to(cells, values.shape), taps[..., None], -1)[..., 0]
    Indices = number(offsets, np.arange(count)[:, None], X.shape, attributes)
    shape = (*X.shape[:2], *outputs)
    return value(values, seen, taps).reshape(shape), np.asarray(Indices, np.int64).reshape(shape)


def floating(X):
    """Whether X has infinities and NaN."""
    return X.dtype.kind not in "iu"


def lowest(dtype):
    """The smallest finite value of a type."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return -3.3895313892515355e38 if dtype.name == "bfloat16" else np.finfo(dtype).min


def step_of(function: Callable) -> str | None:
    """The step of the scan that a function can replace: the one that has its parameters."""
    steps = {name: signature(scan).parameters[name].default for name in REPLACEABLE}
    parameters = [*signature(function).parameters]
    return next((name for name, step in steps.items() if [*signature(step).parameters] == parameters), None)
