"""MaxPool as the documents define it, one output cell at a time.

To be read beside the documents; it is neither clever nor fast. Padding is not a number: the maximum is over the cells of
the window that lie inside X.
"""

import itertools
import math

import numpy as np

from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling

Cell = tuple[int, ...]


def evaluate(X: np.ndarray, pooling: Pooling) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    maxima = np.zeros(shape, X.dtype)
    Indices = np.full(shape, -1, pooling.numbering.dtype)
    empty, undefined = np.zeros(shape, bool), np.zeros(shape, bool)
    for output in np.ndindex(shape):
        window = cells(output, pooling.geometry)
        if not window:
            empty[output] = True
            if pooling.padding_value is not None and in_padded_input(output, pooling.geometry):
                maxima[output] = pooling.padding_value
            else:
                undefined[output] = True
            continue
        at = maximum(window, X, pooling.policies.nan)
        maxima[output] = X[at]
        if pooling.policies.nan is Nan.AS_NEG_INF and math.isnan(X[at]):
            maxima[output] = -math.inf
        Indices[output] = index(at, X.shape, pooling.numbering)
    Y = maxima if pooling.activation is None else pooling.activation.of(maxima)
    Y = np.where(undefined, np.zeros((), Y.dtype), Y)
    return Pooled(Y, Indices if pooling.indices else None, empty, undefined, maxima)


def cells(output: Cell, geometry: Geometry) -> list[Cell]:
    """The cells of X in the window of one output cell ``(n, c, i1, ..., in)``, in row-major order."""
    batch, channel, *window = output
    positions = [axis.window(i) for axis, i in zip(geometry, window, strict=True)]
    return [(batch, channel, *position) for position in itertools.product(*positions)]


def in_padded_input(output: Cell, geometry: Geometry) -> bool:
    """Whether all taps of the window of one output cell ``(n, c, i1, ..., in)`` are in X or in its padding."""
    return all(
        -axis.begin <= axis.start(i) + t * axis.dilation < axis.size + axis.end
        for axis, i in zip(geometry, output[2:], strict=True)
        for t in range(axis.kernel)
    )


def maximum(window: list[Cell], X: np.ndarray, nan: Nan) -> Cell:
    """The first cell that holds the maximum of a window; the window is not empty."""
    value = {at: float(X[at]) if X.dtype.kind != "i" and X.dtype.kind != "u" else int(X[at]) for at in window}
    nans = [at for at in window if math.isnan(value[at])]
    numbers = [at for at in window if at not in nans]
    if nan in (Nan.PROPAGATES, Nan.PROPAGATES_FIRST) and nans:
        return nans[0]
    if nan is Nan.PROPAGATES_LAST and nans:
        return nans[-1]
    # Also where a NaN counts as -inf: no NaN is greater than a number, and the index is that of a cell that equals Y.
    return first_maximum(numbers, value) if numbers else nans[0]


def first_maximum(window: list[Cell], value: dict[Cell, float]) -> Cell:
    """The first cell with the largest value."""
    chosen = window[0]
    for at in window:
        if value[at] > value[chosen]:
            chosen = at
    return chosen


def index(at: Cell, shape: tuple[int, ...], numbering: Numbering) -> int:
    """The number of a cell in the whole unpadded tensor: ``(n * C + c) * D1 * ... * Dn + offset``.

    With channels last it is ``(n * D1 * ... * Dn + offset) * C + c``. If counting does not begin at the first axis, it is
    the remainder by the product of the sizes from that axis on.
    """
    batch, channel, *position = at
    _, channels, *sizes = shape
    axes = list(zip(position, sizes, strict=True))
    if numbering.storage_order is StorageOrder.COLUMN_MAJOR:
        axes.reverse()
    offset = 0
    for p, size in axes:
        offset = offset * size + p
    if numbering.layout is Layout.CHANNELS_FIRST:
        number = (batch * channels + channel) * math.prod(sizes) + offset
    else:
        number = (batch * math.prod(sizes) + offset) * channels + channel
    return number % math.prod(shape[numbering.axis :])
