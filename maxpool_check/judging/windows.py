"""Which cells the windows of a pooling hold, for all output cells at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import Axis, Geometry, effective_kernel
from maxpool_check.reference.numbering import Numbering
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
        inside &= _is_tap(axis, position, i)
    return inside


def reaches_padding(geometry: Geometry) -> np.ndarray:
    """For each window, whether some of its taps lie outside X (boolean, of the spatial shape of the output)."""
    found = np.zeros(tuple(axis.output for axis in geometry), bool)
    for dimension, axis in enumerate(geometry):
        _, count = axis.taps()
        found |= (count < axis.kernel).reshape(-1, *[1] * (found.ndim - 1 - dimension))
    return found


def chosen_last(X: np.ndarray, pooling: Pooling, *, columns: bool = False) -> np.ndarray:
    """The row-major positions (int64) of the maxima, N x C x D1 x ... x Dn: of several, the last; -1 in empty windows.

    ``columns``: the first in column-major order instead.
    """
    whole = replace(pooling, indices=True, numbering=Numbering(), activation=None)
    positions = np.arange(X.size, dtype=np.int64).reshape(X.shape)
    spatial = tuple(range(2, X.ndim))
    if columns:
        # The axes in reverse order: what runs fastest then is what ran slowest.
        order = (0, 1, *reversed(spatial))
        turned, where = (np.ascontiguousarray(tensor.transpose(order)) for tensor in (X, positions))
        geometry = tuple(reversed(pooling.geometry))
    else:
        turned, where = (np.ascontiguousarray(np.flip(tensor, spatial)) for tensor in (X, positions))
        geometry = tuple(map(_mirrored, pooling.geometry))
    found = evaluate(turned, replace(whole, geometry=geometry))
    assert found.Indices is not None
    chosen = np.where(found.empty, -1, where.reshape(-1)[np.maximum(found.Indices, 0)] if X.size else -1)
    return chosen.transpose(order) if columns else np.flip(chosen, spatial)


def _mirrored(axis: Axis) -> Axis:
    reach = effective_kernel(axis.kernel, axis.dilation)
    return replace(axis, begin=(axis.output - 1) * axis.stride + reach - axis.size - axis.begin, end=axis.begin)


def _is_tap(axis: Axis, position: np.ndarray, i: np.ndarray) -> np.ndarray:
    distance = position - (i * axis.stride - axis.begin)
    return (distance % axis.dilation == 0) & (distance >= 0) & (distance // axis.dilation < axis.kernel)
