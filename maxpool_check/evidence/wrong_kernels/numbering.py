"""What Indices count, and in what."""

from math import prod

import numpy as np
from scan import axes_of, check, scan, whole_tensor


def _numbered(X, attributes, of):
    return scan(X, attributes, number=lambda offsets, planes, shape, attributes: of(offsets, planes, shape))


def in_the_plane(X, attributes):
    """Counts in each plane. Seen: PyTorch, tract before sonos/tract#2860."""
    return scan(X, attributes, number=lambda offsets, planes, *rest: whole_tensor(offsets, planes * 0, *rest))


def without_the_batch(X, attributes):
    """Counts in each batch. Seen: tensorflow/tensorflow#2821."""
    return scan(
        X, attributes,
        number=lambda offsets, planes, shape, rest: whole_tensor(offsets, planes % max(shape[1], 1), shape, rest),
    )  # fmt: skip


def without_the_channel(X, attributes):
    """Leaves the channel out. Seen: onnx ReferenceEvaluator."""

    def number(offsets, planes, shape, rest):
        return whole_tensor(offsets, planes // max(shape[1], 1) * shape[1], shape, rest)

    return scan(X, attributes, number=number)


def batch_and_channel_exchanged(X, attributes):
    """Counts C x N planes instead of N x C. Plausible: a stride of the wrong axis."""

    def number(offsets, planes, shape, rest):
        n, c = planes // max(shape[1], 1), planes % max(shape[1], 1)
        return whole_tensor(offsets, c * shape[0] + n, shape, rest)

    return scan(X, attributes, number=number)


def channels_last(X, attributes):
    """Counts in N x D1 x ... x Dn x C. Seen: onnx/onnx-tensorflow#719."""

    def of(offsets, planes, shape):
        n, c = planes // max(shape[1], 1), planes % max(shape[1], 1)
        return (n * prod(shape[2:]) + offsets) * shape[1] + c

    return _numbered(X, attributes, of)


def from_one(X, attributes):
    """Counts from 1. Plausible: a language whose arrays start there."""
    Y, Indices = scan(X, attributes)
    return Y, Indices + 1


def of_the_padded_tensor(X, attributes):
    """Counts in the padded plane. Plausible: a padded copy of X."""
    check(X, attributes)
    axes = axes_of(X.shape, attributes)

    def of(offsets, planes, shape):
        sizes = tuple(axis.size + axis.begin + axis.end for axis in axes)
        if not offsets.size:
            return offsets
        at = [position + axis.begin for position, axis in zip(np.unravel_index(offsets, shape[2:]), axes, strict=True)]
        return np.ravel_multi_index(at, sizes, mode="clip") + planes * prod(sizes)

    return _numbered(X, attributes, of) if any(axis.begin for axis in axes) else scan(X, attributes)


def in_16_bits(X, attributes):
    """Counts in 16 bits. Plausible: indices of small planes, as tenstorrent's UINT16."""
    Y, Indices = scan(X, attributes)
    return Y, Indices & 0xFFFF


def in_float16(X, attributes):
    """Holds the index in float16. Plausible: one type for all tensors."""
    Y, Indices = scan(X, attributes)
    with np.errstate(all="ignore"):
        return Y, np.nan_to_num(Indices.astype(np.float16)).astype(np.int64)


def as_int32(X, attributes):
    """Gives Indices as int32. Plausible: the index type of most libraries."""
    Y, Indices = scan(X, attributes)
    return Y, Indices.astype(np.int32)
