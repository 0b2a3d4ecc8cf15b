"""The cells of a pooling's windows, for all output cells at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.pooling import Pooling


def holds(cells: np.ndarray, pooling: Pooling) -> np.ndarray:
    """For each output cell, whether its window holds one of the marked cells of X (boolean, of its shape)."""
    if not cells.any():
        return np.zeros((*cells.shape[:2], *pooling.output_sizes), bool)
    return evaluate(cells.astype(np.uint8), replace(pooling, indices=False, activation=None)).maxima == 1


def in_window(cells: np.ndarray, shape: tuple[int, ...], geometry: Geometry) -> np.ndarray:
    """For each output cell, whether a row-major position in ``[0, X.size)`` is one of its window's.

    ``cells`` has the shape of the output, ``shape`` is that of X.
    """
    coordinates: tuple[np.ndarray, ...] = np.unravel_index(cells, shape)
    batch, channel, *spatial = coordinates
    outputs: tuple[np.ndarray, ...] = np.indices(cells.shape, sparse=True)
    inside = (batch == outputs[0]) & (channel == outputs[1])
    for axis, position, i in zip(geometry, spatial, outputs[2:], strict=True):
        distance = position - (i * axis.stride - axis.begin)
        inside &= (distance % axis.dilation == 0) & (distance >= 0) & (distance // axis.dilation < axis.kernel)
    return inside


def reaches_padding(geometry: Geometry) -> np.ndarray:
    """For each window, whether some of its taps lie outside X (boolean, of the spatial shape of the output)."""
    reaches = np.zeros(tuple(axis.output for axis in geometry), bool)
    for dimension, axis in enumerate(geometry):
        _, count = axis.taps()
        reaches |= (count < axis.kernel).reshape(-1, *[1] * (reaches.ndim - 1 - dimension))
    return reaches
