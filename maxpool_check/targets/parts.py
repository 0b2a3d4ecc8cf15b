"""The cases that a variation executes in place of a case, and their outputs as outputs of the case."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, Variation
from maxpool_check.specifications.roles import NotExpressible


def cases(case: Case, variation: Variation | None) -> list[Case]:
    """The cases to execute: the images one by one, the case with its channels in reverse order, or the case itself.

    Raises :class:`NotExpressible` where there is nothing to split or to reorder.
    """
    if variation not in (BATCH_SPLIT, CHANNELS_PERMUTED):
        return [case]
    if not case.context.is_alone:
        raise NotExpressible("a graph of several nodes is executed as it is")
    if not isinstance(case.resolved, Pooling):
        raise NotExpressible("its document excludes the graph: there are no outputs to compare")
    layout = case.specification.layout
    batch, channels = layout.sizes(case.X.shape)[:2]
    if variation == CHANNELS_PERMUTED:
        if channels < 2:
            raise NotExpressible("there are no two channels to exchange")
        return [replace(case, X=Recipe.of(np.ascontiguousarray(np.flip(case.X.tensor(), _channel_axis(layout)))))]
    if batch < 2 or layout is Layout.IMAGE:
        raise NotExpressible(f"a batch of {batch} cannot be split")
    return [replace(case, X=Recipe.of(np.ascontiguousarray(case.X.tensor()[n : n + 1]))) for n in range(batch)]


def whole(
    case: Case, variation: Variation | None, outputs: Sequence[Mapping[str, np.ndarray]]
) -> Mapping[str, np.ndarray]:
    """The outputs of the parts of a case as outputs of the case: Indices number the cells of its X again."""
    if variation not in (BATCH_SPLIT, CHANNELS_PERMUTED):
        return outputs[0]
    names = [name for name in outputs[0] if all(name in part for part in outputs)]
    return {name: _joined(case, variation, name, [part[name] for part in outputs]) for name in names}


def _joined(case: Case, variation: Variation | None, name: str, tensors: Sequence[np.ndarray]) -> np.ndarray:
    pooling = case.resolved
    assert isinstance(pooling, Pooling)
    layout, numbering = pooling.layout, pooling.numbering
    counts = name == "Indices" and tensors[0].dtype.kind == "i"
    channels, *spatial = layout.sizes(case.X.shape)[1:]
    if any(tensor.ndim != case.X.ndim for tensor in tensors):
        # No output of this case; the judge tells it by its shape.
        return tensors[0]
    if variation == CHANNELS_PERMUTED:
        axis = _channel_axis(layout)
        tensor = np.ascontiguousarray(np.flip(tensors[0], axis))
        step = prod(spatial) if numbering.layout is Layout.CHANNELS_FIRST else 1
        if counts and numbering.axis < 2 and tensor.shape[axis] == channels:
            # Channel C - 1 - c of the request is channel c of the case.
            shift = (2 * np.arange(channels) - (channels - 1)) * step
            tensor = tensor + np.moveaxis(shift.reshape(-1, *[1] * (tensor.ndim - 1)), 0, axis).astype(tensor.dtype)
        return tensor
    if len({(tensor.shape[1:], tensor.dtype) for tensor in tensors}) > 1:
        return tensors[0]
    image = channels * prod(spatial) if counts and numbering.axis == 0 else 0
    moved = [tensor + np.int64(n * image) for n, tensor in enumerate(tensors)] if image else list(tensors)
    return np.concatenate(moved).astype(tensors[0].dtype)


def _channel_axis(layout: Layout) -> int:
    return 1 if layout is Layout.CHANNELS_FIRST else -1
