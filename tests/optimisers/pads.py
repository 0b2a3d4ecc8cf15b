"""Optimisers that are wrong about a Pad, a Slice or a Concat before MaxPool."""

import numpy as np

from tests.optimisers.editing import (
    MAX_POOL,
    attribute,
    constant,
    drop,
    exchange,
    named,
    nodes_of,
    pad_value,
    pads_of,
    pairs,
    set_attribute,
    set_constant,
    spatial,
)


def _folded(model, choose, merge):
    """Fold the Pads that are chosen; ``merge`` makes pads of MaxPool's own and of the spatial amounts."""
    for pad, pool in pairs(model, ["Pad"], [MAX_POOL]):
        amounts = pads_of(model, pad)
        if amounts is None or not choose(model, pad, amounts):
            continue
        own = attribute(pool, "pads", [0] * (len(amounts) - 4))
        set_attribute(pool, "pads", merge(list(own), spatial(amounts)))
        drop(model, pad)
    return model


def _sum(own, amounts):
    return [a + b for a, b in zip(own, amounts, strict=True)]


def _mode(pad):
    return attribute(pad, "mode", b"constant")


@named("pad-folded-into-pads")
def fold_zeros(model):
    """A Pad of zeros becomes pads."""
    return _folded(model, lambda model, pad, _: _mode(pad) == b"constant" and pad_value(model, pad) == 0, _sum)


@named("pad-folded-into-pads")
def fold_any_value(model):
    """A Pad becomes pads, whatever number it adds."""
    return _folded(model, lambda model, pad, _: _mode(pad) == b"constant" and pad_value(model, pad) != 0, _sum)


@named("pad-folded-into-pads")
def fold_other_modes(model):
    """A Pad that copies cells becomes pads."""
    return _folded(model, lambda _model, pad, _amounts: _mode(pad) != b"constant", _sum)


@named("pad-folded-into-pads")
def fold_batch_and_channels(model):
    """A Pad of batch or channels becomes pads of the spatial axes alone."""

    def is_beyond_planes(_model, _pad, amounts):
        return any(amounts[:2] + amounts[len(amounts) // 2 :][:2])

    return _folded(model, is_beyond_planes, _sum)


def fold_begin_alone(model):
    """Of a Pad, the cells at the begin become pads, and those at the end are lost."""

    def merged(own, amounts):
        return _sum(own, amounts[: len(amounts) // 2] + [0] * (len(amounts) // 2))

    return _folded(model, lambda *_: True, merged)


def fold_exchanged_axes(model):
    """A Pad becomes pads with the axes exchanged."""

    def merged(own, amounts):
        half = len(amounts) // 2
        return _sum(own, amounts[:half][::-1] + amounts[half:][::-1])

    return _folded(model, lambda *_: True, merged)


def fold_over_own_pads(model):
    """A Pad becomes pads, and those that MaxPool had are lost."""
    return _folded(model, lambda *_: True, lambda _own, amounts: amounts)


def forget_value(model):
    """A Pad adds zeros, whatever its value."""
    for pad in nodes_of(model, "Pad"):
        if len(pad.input) == 3:
            del pad.input[2]
    return model


def clamp_negative_amounts(model):
    """A Pad that should remove cells removes none."""
    for pad in nodes_of(model, "Pad"):
        amounts = pads_of(model, pad)
        if amounts is not None and len(pad.input) > 1:
            set_constant(model, pad.input[1], np.maximum(np.array(amounts), 0))
    return model


@named("node-dropped")
def drop_slice(model):
    """A Slice before MaxPool is removed."""
    for node, _ in pairs(model, ["Slice"], [MAX_POOL]):
        drop(model, node)
    return model


def slice_as_pads(model):
    """A Slice of the first cells before MaxPool becomes pads that would be negative, and are made 0."""
    for node, pool in pairs(model, ["Slice"], [MAX_POOL]):
        starts = constant(model, node.input[1]) if len(node.input) > 1 else attribute(node, "starts")
        if starts is not None and min(starts) > 0:
            set_attribute(pool, "pads", [0] * 2 * len(attribute(pool, "kernel_shape")))
            drop(model, node)
    return model


def move_slice_behind(model):
    """A Slice before MaxPool moves behind it."""
    for node, pool in list(pairs(model, ["Slice"], [MAX_POOL])):
        exchange(model, node, pool)
    return model


def exchange_concat(model):
    """The inputs of a Concat change places."""
    for node in nodes_of(model, "Concat"):
        node.input[:] = node.input[::-1]
    return model


def first_output_of_split(model):
    """The first output of a Split is taken for the others."""
    for node in nodes_of(model, "Split"):
        names = list(node.output)
        taken = next(name for name in names if any(name in other.input for other in model.graph.node) or name == "Y")
        node.output[:] = [taken, *[f"left_{number}" for number in range(1, len(names))]]
    return model


def move_pad_before_function(model):
    """A Pad moves before the Neg, Abs or Relu that it follows, which then applies to the value of Pad, too."""
    for node, pad in list(pairs(model, ["Neg", "Abs", "Relu"], ["Pad"])):
        exchange(model, node, pad)
    return model
