"""The order of the axes of a document's tensors.

The reference computes on N x C x D1 x ... x Dn, the core's layout; tensors of other layouts are rearranged before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
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
