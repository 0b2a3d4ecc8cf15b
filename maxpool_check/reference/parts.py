"""A tensor in parts that can be pooled one after the other, so that what is computed meanwhile stays small."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.reference.geometry import Axis, Geometry, effective_kernel


@dataclass(frozen=True, eq=False)
class Part:
    """Some windows of some planes, and the cells of X that they need.

    ``at`` are their places among all planes x windows. ``X``, planes x D1 x ... x Dn, has the cells, the first of which is at
    position ``origin`` of the whole X, and the others behind it; ``geometry`` says where the windows are in it.
    """

    at: tuple[slice, ...]
    X: np.ndarray
    origin: int
    geometry: Geometry


def parts(X: np.ndarray, geometry: Geometry, most: int) -> Iterator[Part]:
    """All windows, some planes at a time; where a plane is too large, some windows along its first axis of several cells."""
    count, sizes = math.prod(X.shape[:2]), X.shape[2:]
    plane, windows = math.prod(sizes), math.prod(axis.output for axis in geometry)
    if not count * plane * windows:
        return
    planes, everything = X.reshape(count, *sizes), (slice(None),) * len(sizes)
    used = math.prod(min(axis.size, axis.kernel * axis.output) if has_gaps(axis) else axis.size for axis in geometry)
    largest = max(X.itemsize * used, 8 * windows)
    if largest <= most:
        step = most // largest
        for c in range(0, count, step):
            yield Part((slice(c, c + step), *everything), planes[c : c + step], c * plane, geometry)
        return
    split = next((number for number, size in enumerate(sizes) if size > 1), 0)
    before, axis, behind = geometry[:split], geometry[split], geometry[split + 1 :]
    row, reach = math.prod(sizes[split + 1 :]), effective_kernel(axis.kernel, axis.dilation)
    # Not less than a window is long: parts that overlap by more would cost more than they save.
    step = max(
        1, most // max(X.itemsize * row * axis.stride, 8 * windows // axis.output), min(reach, axis.size) // axis.stride
    )
    for c, i in itertools.product(range(count), range(0, axis.output, step)):
        some = min(step, axis.output - i)
        low = min(max(0, axis.start(i)), axis.size - 1)
        high = max(low + 1, min(axis.size, axis.start(i + some - 1) + reach))
        shorter = replace(axis, size=high - low, begin=low - axis.start(i), output=some)
        at = (slice(c, c + 1), *everything[:split], slice(i, i + some), *everything[split + 1 :])
        cells = (slice(c, c + 1), *everything[:split], slice(low, high))
        yield Part(at, planes[cells], c * plane + low * row, (*before, shorter, *behind))


def has_gaps(axis: Axis) -> bool:
    """Whether there are cells between one window and the next."""
    return axis.stride > effective_kernel(axis.kernel, axis.dilation)
