"""The same variant in parts or in another order, and the answer put back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import CHANNELS_PERMUTED, Variation
from maxpool_check.specifications.inverse import NotExpressible


def parts(case: Case, variation: Variation) -> list[Case]:
    """What to ask instead of a case: its images one by one, or itself with its channels in reverse order.

    Raises :class:`NotExpressible` where there is nothing to split or to reorder.
    """
    if not isinstance(case.resolved, Pooling):
        raise NotExpressible("its document excludes the graph: there is no answer to hold others to")
    layout = case.specification.layout
    batch, channels = layout.sizes(case.X.shape)[:2]
    if variation is CHANNELS_PERMUTED:
        if channels < 2:
            raise NotExpressible("there are no two channels to exchange")
        return [replace(case, X=np.ascontiguousarray(np.flip(case.X, _channel_axis(layout))))]
    if batch < 2 or layout is Layout.IMAGE:
        raise NotExpressible(f"a batch of {batch} cannot be split")
    return [replace(case, X=np.ascontiguousarray(case.X[n : n + 1])) for n in range(batch)]


def whole(case: Case, variation: Variation, answers: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The answers to the parts of a case as one answer to it: Indices count in its X again."""
    names = [name for name in answers[0] if all(name in answer for answer in answers)]
    return {name: _put_back(case, variation, name, [answer[name] for answer in answers]) for name in names}


def _put_back(case: Case, variation: Variation, name: str, tensors: Sequence[np.ndarray]) -> np.ndarray:
    pooling = case.resolved
    assert isinstance(pooling, Pooling)
    layout, numbering = pooling.layout, pooling.numbering
    counts = name == "Indices" and tensors[0].dtype.kind == "i"
    channels, *spatial = layout.sizes(case.X.shape)[1:]
    if any(tensor.ndim != case.X.ndim for tensor in tensors):
        # No answer to this case at all; it is told apart by its shape.
        return tensors[0]
    if variation is CHANNELS_PERMUTED:
        axis = _channel_axis(layout)
        tensor = np.ascontiguousarray(np.flip(tensors[0], axis))
        step = prod(spatial) if numbering.layout is Layout.CHANNELS_FIRST else 1
        if counts and numbering.axis < 2 and tensor.shape[axis] == channels:
            # What was asked as channel C - 1 - c is channel c.
            shift = (2 * np.arange(channels) - (channels - 1)) * step
            tensor = tensor + np.moveaxis(shift.reshape(-1, *[1] * (tensor.ndim - 1)), 0, axis).astype(tensor.dtype)
        return tensor
    image = channels * prod(spatial)
    moved = [tensor + n * image for n, tensor in enumerate(tensors)] if counts and numbering.axis == 0 else tensors
    if len({tensor.shape[1:] for tensor in moved}) > 1:
        return tensors[0]
    return np.concatenate(list(moved)).astype(tensors[0].dtype)


def _channel_axis(layout: Layout) -> int:
    return 1 if layout is Layout.CHANNELS_FIRST else -1
