"""How Indices number the cells of X.

The number of a cell is its position in the whole unpadded tensor, N and C included:
``(n * C + c) * D1 * ... * Dn + offset``, the offset inside the plane being row-major or column-major.
"""

from __future__ import annotations

import math

import numpy as np

from maxpool_check.reference.pooling import StorageOrder


def number(cells: np.ndarray, shape: tuple[int, ...], order: StorageOrder) -> np.ndarray:
    """Row-major positions in X (int64, any shape) as the numbers of ``order``; ``shape`` is that of X."""
    return cells if order is StorageOrder.ROW_MAJOR else _reorder(cells, shape, "C", "F")


def cell(numbers: np.ndarray, shape: tuple[int, ...], order: StorageOrder) -> np.ndarray:
    """The inverse of :func:`number`. The numbers must lie in ``[0, X.size)``."""
    return numbers if order is StorageOrder.ROW_MAJOR else _reorder(numbers, shape, "F", "C")


def _reorder(values: np.ndarray, shape: tuple[int, ...], before: str, after: str) -> np.ndarray:
    spatial = shape[2:]
    plane = math.prod(spatial)
    origin, offset = np.divmod(values, max(plane, 1))
    coordinates = np.unravel_index(offset, spatial, order=before)  # type: ignore[call-overload]
    return origin * plane + np.ravel_multi_index(coordinates, spatial, order=after)  # type: ignore[call-overload]
