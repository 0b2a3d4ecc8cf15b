"""How Indices number the cells of X.

The number of a cell is its position in the whole unpadded tensor, flattened, N and C included:
``(n * C + c) * D1 * ... * Dn + offset``, with a row-major or column-major offset inside the plane. A document may flatten
the tensor with its channels last, and may restart counting from some axis on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from maxpool_check.reference.layout import Layout


class StorageOrder(str, Enum):
    """How Indices number the cells of a plane. It does not change which cell is chosen."""

    ROW_MAJOR = "row-major"
    """The last spatial axis runs fastest (``storage_order=0``)."""
    COLUMN_MAJOR = "column-major"
    """The first spatial axis runs fastest (``storage_order=1``)."""


@dataclass(frozen=True)
class Numbering:
    """A way to number cells; ``dtype`` is that of Indices.

    ``layout`` is that of the tensor when it is flattened, channels first or last. ``axis``, of N x C x D1 x ... x Dn, is
    where counting begins: the numbers are modulo the product of the sizes from there on; 0 is the whole tensor.
    """

    storage_order: StorageOrder = StorageOrder.ROW_MAJOR
    layout: Layout = Layout.CHANNELS_FIRST
    axis: int = 0
    dtype: str = "int64"

    def bound(self, shape: tuple[int, ...]) -> int:
        """The numbers lie in ``[0, bound)``; ``shape`` is that of X."""
        return math.prod(shape[self.axis :])

    def number(self, cells: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers (int64) of row-major positions in N x C x D1 x ... x Dn."""
        numbers = _reorder(cells, shape, "C", "F") if self.storage_order is StorageOrder.COLUMN_MAJOR else cells
        if self.layout is not Layout.CHANNELS_FIRST:
            batch, channel, offset = np.unravel_index(numbers, (*shape[:2], _plane(shape)))
            numbers = (batch * _plane(shape) + offset) * shape[1] + channel
        return numbers % self.bound(shape) if self.axis else numbers

    def cells(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The cells that numbers can mean: pairs of whether there is such a cell, and its row-major position, else 0.

        ``numbers`` has the shape of Y. A number that leaves batch and channel open means cells of its own. There are
        several pairs only where counting begins inside the plane.
        """
        bound, plane = self.bound(shape), _plane(shape)
        named = (numbers >= 0) & (numbers < bound)
        numbers = np.where(named, numbers, 0).astype(np.int64)
        if self.layout is not Layout.CHANNELS_FIRST:
            batch, offset, channel = np.unravel_index(numbers, (shape[0], plane, shape[1]))
            numbers = (batch * shape[1] + channel) * plane + offset
        if self.storage_order is StorageOrder.COLUMN_MAJOR:
            numbers = _reorder(numbers, shape, "F", "C")
        start = np.arange(shape[0] * shape[1], dtype=np.int64) * plane // max(bound, 1) * bound
        start = start.reshape(*shape[:2], *[1] * (len(shape) - 2))
        for part in range(max(1, plane // max(bound, 1))):
            yield named, np.where(named, start + part * bound + numbers, 0)

    def before_planes(self, shape: tuple[int, ...]) -> np.ndarray:
        """For each plane (N x C), the number of the coordinates (-1, ..., -1), which some kernels start their scan with.

        In 2-D it is ``base - W - 1``: negative in the first plane, otherwise the number of a cell of an earlier plane.
        """
        spatial = list(shape[2:])
        if self.storage_order is StorageOrder.COLUMN_MAJOR:
            spatial.reverse()
        offset = 0
        for size in spatial:
            offset = offset * size - 1
        batch, channel = np.indices(shape[:2], np.int64)
        if self.layout is Layout.CHANNELS_FIRST:
            numbers = (batch * shape[1] + channel) * _plane(shape) + offset
        else:
            numbers = (batch * _plane(shape) + offset) * shape[1] + channel
        # The remainder of C: negative numbers stay negative.
        return np.fmod(numbers, max(self.bound(shape), 1)) if self.axis else numbers


def of_whole_tensor(numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of the whole tensor of a shape from numbers that begin at 0 in each plane, N x C x D1 x ... x Dn."""
    planes = np.arange(math.prod(numbers.shape[:2]), dtype=numbers.dtype) * _plane(shape)
    return numbers + planes.reshape(*numbers.shape[:2], *[1] * (numbers.ndim - 2))


def _plane(shape: tuple[int, ...]) -> int:
    return math.prod(shape[2:])


def _reorder(values: np.ndarray, shape: tuple[int, ...], before: str, after: str) -> np.ndarray:
    spatial = shape[2:]
    plane = _plane(shape)
    origin, offset = np.divmod(values, max(plane, 1))
    coordinates = np.unravel_index(offset, spatial, order=before)  # type: ignore[call-overload]
    return origin * plane + np.ravel_multi_index(coordinates, spatial, order=after)  # type: ignore[call-overload]
