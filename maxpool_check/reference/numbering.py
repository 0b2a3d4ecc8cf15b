"""The order of the axes of a document's tensors, and how Indices number the cells of X.

The reference computes on N x C x D1 x ... x Dn, the core's layout; tensors of other layouts are rearranged before and after.

The number of a cell is its position in the whole unpadded tensor, flattened, N and C included:
``(n * C + c) * D1 * ... * Dn + offset``, with a row-major or column-major offset inside the plane. A document may flatten
the tensor with its channels last, and may restart counting from some axis on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np

_T = TypeVar("_T")


class Layout(str, Enum):
    """The order of the axes."""

    CHANNELS_FIRST = "channels-first"
    """N x C x D1 x ... x Dn, that of the core."""
    CHANNELS_LAST = "channels-last"
    """N x D1 x ... x Dn x C."""
    IMAGE = "image"
    """D1 x ... x Dn x C: one image, without a batch."""

    def arranged(self, core: Sequence[_T]) -> tuple[_T, ...]:
        """Values of the axes N, C, D1 ... Dn (sizes, coordinates) in the order of this layout."""
        batch, channel, *spatial = core
        if self is Layout.CHANNELS_FIRST:
            return tuple(core)
        return (batch, *spatial, channel) if self is Layout.CHANNELS_LAST else (*spatial, channel)

    def sizes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The inverse of :meth:`arranged` for a shape; one image is a batch of 1."""
        if self is Layout.CHANNELS_FIRST:
            return tuple(shape)
        batch, spatial = ((1,), shape[:-1]) if self is Layout.IMAGE else (shape[:1], shape[1:-1])
        return (*batch, shape[-1], *spatial)

    def to_core(self, tensor: np.ndarray) -> np.ndarray:
        """A tensor of this layout as N x C x D1 x ... x Dn; contiguous, of the same values."""
        if self is Layout.CHANNELS_FIRST:
            return tensor
        batched = tensor[np.newaxis] if self is Layout.IMAGE else tensor
        return np.ascontiguousarray(np.moveaxis(batched, -1, 1))

    def from_core(self, tensor: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`to_core`."""
        if self is Layout.CHANNELS_FIRST:
            return tensor
        arranged = np.ascontiguousarray(np.moveaxis(tensor, 1, -1))
        return arranged[0] if self is Layout.IMAGE else arranged


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
        if self.storage_order is StorageOrder.ROW_MAJOR and self.layout is Layout.CHANNELS_FIRST:
            return cells % self.bound(shape) if self.axis else cells
        return self.of_coordinates(coordinates(cells, shape), shape)

    def of_coordinates(self, coordinates: Sequence[np.ndarray | int], shape: tuple[int, ...]) -> np.ndarray:
        """The numbers (int64) of coordinates in N x C x D1 x ... x Dn; computed in the same way where they lie outside."""
        batch, channel, *position = coordinates
        axes = list(zip(position, shape[2:], strict=True))
        offset: np.ndarray | int = 0
        for coordinate, size in reversed(axes) if self.storage_order is StorageOrder.COLUMN_MAJOR else axes:
            offset = offset * size + coordinate
        if self.layout is Layout.CHANNELS_FIRST:
            numbers = (batch * shape[1] + channel) * _plane(shape) + offset
        else:
            numbers = (batch * _plane(shape) + offset) * shape[1] + channel
        return np.asarray(numbers % self.bound(shape) if self.axis else numbers)

    def cells(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The cells that numbers can mean: pairs of whether there is such a cell, and its row-major position, else 0.

        ``numbers`` has the shape of Y. A number that leaves batch and channel open means cells of its own. There are
        several pairs only where counting begins inside the plane.
        """
        bound, plane = self.bound(shape), _plane(shape)
        named = (numbers >= 0) & (numbers < bound)
        numbers = np.where(named, numbers, 0).astype(np.int64)
        if self.layout is not Layout.CHANNELS_FIRST:
            numbers = _swapped(numbers, (shape[0], plane, shape[1]))
        if self.storage_order is StorageOrder.COLUMN_MAJOR:
            origin, offset = np.divmod(numbers, max(plane, 1))
            reversed_position = coordinates(offset, shape[:1:-1])
            numbers = origin * plane + np.ravel_multi_index(reversed_position[::-1], shape[2:])
        start = np.arange(shape[0] * shape[1], dtype=np.int64) * plane // max(bound, 1) * bound
        start = start.reshape(*shape[:2], *[1] * (len(shape) - 2))
        for part in range(max(1, plane // max(bound, 1))):
            yield named, np.where(named, start + part * bound + numbers, 0)

    def before_planes(self, shape: tuple[int, ...]) -> np.ndarray:
        """For each plane (N x C), the number of the coordinates (-1, ..., -1), which some kernels start their scan with.

        In 2-D it is ``base - W - 1``: negative in the first plane, otherwise the number of a cell of an earlier plane.
        """
        batch, channel = np.indices(shape[:2], np.int64)
        numbers = replace(self, axis=0).of_coordinates((batch, channel, *[-1] * len(shape[2:])), shape)
        # The remainder of C: negative numbers stay negative.
        return np.fmod(numbers, max(self.bound(shape), 1)) if self.axis else numbers


def coordinates(cells: np.ndarray, shape: Sequence[int]) -> tuple[np.ndarray, ...]:
    """The coordinates of row-major positions in a shape; each has the shape of ``cells``."""
    # In one dimension: of more, numpy 2.3 and 2.4 return wrong ones behind the first 8,192 if the last axis has one cell
    # (https://github.com/numpy/numpy/issues/31980).
    return tuple(each.reshape(cells.shape) for each in np.unravel_index(cells.reshape(-1), shape))


def of_whole_tensor(numbers: np.ndarray, shape: tuple[int, ...], numbering: Numbering) -> np.ndarray:
    """Numbers of the whole tensor, channels first, from those of a numbering that counts row by row.

    ``numbers`` is N x C x D1 x ... x Dn, ``shape`` that of X. What names no cell of the whole tensor is not rearranged.
    """
    numbers = numbers + _firsts(numbers, shape, numbering)
    is_first = numbering.layout is Layout.CHANNELS_FIRST
    return numbers if is_first else _swapped(numbers, (shape[0], _plane(shape), shape[1]))


def from_whole_tensor(numbers: np.ndarray, shape: tuple[int, ...], numbering: Numbering) -> np.ndarray:
    """The inverse of :func:`of_whole_tensor`."""
    is_first = numbering.layout is Layout.CHANNELS_FIRST
    arranged = numbers if is_first else _swapped(numbers, (shape[0], shape[1], _plane(shape)))
    return arranged - _firsts(numbers, shape, numbering)


def _swapped(numbers: np.ndarray, sizes: tuple[int, int, int]) -> np.ndarray:
    """The numbers of the same cells where the second and the third of three axes are swapped; those of no cell as they are."""
    named = (numbers >= 0) & (numbers < math.prod(sizes))
    if not named.any():
        return numbers
    first, second, third = coordinates(np.where(named, numbers, 0), sizes)
    return np.where(named, ((first * sizes[2] + third) * sizes[1] + second).astype(numbers.dtype), numbers)


def _firsts(numbers: np.ndarray, shape: tuple[int, ...], numbering: Numbering) -> np.ndarray:
    """The number of the first cell that is counted in each plane, by the same numbering of the whole tensor."""
    batch, channel = np.indices(numbers.shape[:2], np.int64)
    origin = (batch * (numbering.axis > 0), channel * (numbering.axis > 1), *[0] * len(shape[2:]))
    firsts = replace(numbering, axis=0).of_coordinates(origin, shape)
    return firsts.astype(numbers.dtype).reshape(*numbers.shape[:2], *[1] * (numbers.ndim - 2))


NUMBERINGS: Mapping[str, Numbering] = {
    "whole": Numbering(),
    "plane": Numbering(axis=2),
    "whole-channels-last": Numbering(layout=Layout.CHANNELS_LAST),
    "image-channels-last": Numbering(layout=Layout.CHANNELS_LAST, axis=1),
}
"""How runtimes number the cells of X, by the names in their descriptions."""


def _plane(shape: tuple[int, ...]) -> int:
    return math.prod(shape[2:])
