"""Which cells the windows of a pooling hold, for all output cells at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import Axis, Geometry
from maxpool_check.reference.pooling import Pooling


def holds(cells: np.ndarray, pooling: Pooling) -> np.ndarray:
    """For each output cell, whether its window holds one of the marked cells of X (boolean, of its shape)."""
    if not cells.any():
        return np.zeros((*cells.shape[:2], *pooling.output_sizes), bool)
    return evaluate(cells.astype(np.uint8), replace(pooling, indices=False)).maxima == 1


def in_window(cells: np.ndarray, shape: tuple[int, ...], geometry: Geometry) -> np.ndarray:
    """For each output cell, whether a row-major position in ``[0, X.size)`` is one of its window's.

    ``cells`` has the shape of the output, ``shape`` is that of X.
    """
    coordinates: tuple[np.ndarray, ...] = np.unravel_index(cells, shape)
    batch, channel, *spatial = coordinates
    outputs: tuple[np.ndarray, ...] = np.indices(cells.shape, sparse=True)
    inside = (batch == outputs[0]) & (channel == outputs[1])
    for axis, position, i in zip(geometry, spatial, outputs[2:], strict=True):
        inside &= _is_tap(axis, position, i)
    return inside


def _is_tap(axis: Axis, position: np.ndarray, i: np.ndarray) -> np.ndarray:
    distance = position - (i * axis.stride - axis.begin)
    return (distance % axis.dilation == 0) & (distance >= 0) & (distance // axis.dilation < axis.kernel)
