"""A MaxPool made definite, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.policies import Policies


class StorageOrder(str, Enum):
    """How a cell of a plane is numbered in Indices. It never changes which cell is chosen."""

    ROW_MAJOR = "row-major"
    """The last spatial axis runs fastest (``storage_order=0``)."""
    COLUMN_MAJOR = "column-major"
    """The first spatial axis runs fastest (``storage_order=1``)."""


@dataclass(frozen=True)
class Pooling:
    """What a document makes of a set of attributes and an input shape: everything the reference needs.

    The tensor is N x C x D1 x ... x Dn and ``geometry`` holds the n spatial axes. ``indices`` says whether the document
    has a second output. ``refusable`` names the clause by which a runtime may as well refuse the graph, where the
    document forbids a combination that runtimes commonly accept. ``alternative`` is another geometry that its text can be
    read to mean, where it contradicts itself.
    """

    geometry: Geometry
    policies: Policies
    storage_order: StorageOrder = StorageOrder.ROW_MAJOR
    indices: bool = True
    refusable: str | None = None
    alternative: Geometry | None = None

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """The spatial shape of Y."""
        return tuple(axis.output for axis in self.geometry)

    @property
    def has_large_pads(self) -> bool:
        """Whether a padding is not smaller than its kernel, which most runtimes refuse."""
        return any(max(axis.begin, axis.end) >= axis.kernel for axis in self.geometry)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The answer of a MaxPool.

    ``Y`` has the dtype of X; ``Indices`` is int64 of the same shape, or None where the document has no such output;
    ``empty`` is boolean of the same shape and marks the windows that contain no cell of X. The documents give no result
    for those: there Y is 0 and the index -1, and neither means anything.
    """

    Y: np.ndarray
    Indices: np.ndarray | None
    empty: np.ndarray
