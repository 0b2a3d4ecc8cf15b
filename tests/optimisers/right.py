"""Optimisers that are right."""

from tests.optimisers.editing import (
    MAX_POOL,
    around,
    attribute,
    chains,
    drop,
    fold,
    nodes_of,
    pad_value,
    pads_of,
    set_attribute,
    spatial,
)


def nothing(model):
    """The model stays as it is."""


def remove_identities(model):
    """An Identity or Dropout is removed, unless it makes an output of the graph."""
    outputs = {output.name for output in model.graph.output}
    for node in [*nodes_of(model, "Identity"), *nodes_of(model, "Dropout")]:
        if node.output[0] in outputs:
            continue
        for other in model.graph.node:
            other.input[:] = [node.input[0] if name == node.output[0] else name for name in other.input]
        model.graph.node.remove(node)


def fold_neg_inf(model):
    """A Pad of -inf, smaller than the kernel, becomes pads of a MaxPool without Indices."""
    for pad, pool in chains(model, "Pad", MAX_POOL):
        amounts = pads_of(model, pad)
        if amounts is None or pad_value(model, pad) != float("-inf") or len(pool.output) > 1:
            continue
        rank, pads = len(amounts) // 2, spatial(amounts)
        limits = attribute(pool, "kernel_shape") * 2
        is_small = all(0 <= amount < limit for amount, limit in zip(pads, limits, strict=True))
        if is_small and not any(amounts[:2] + amounts[rank : rank + 2]) and attribute(pool, "pads") is None:
            set_attribute(pool, "pads", pads)
            drop(model, pad)


def fold_transposes(model):
    """Transposes of planes around a MaxPool without Indices are removed, and its attributes permuted."""
    for first, pool, last in around(model):
        is_output = any(output.name == first.output[0] for output in model.graph.output)
        if attribute(first, "perm")[:2] == [0, 1] and len(pool.output) == 1 and not is_output:
            fold(model, first, pool, last)


RIGHT = (nothing, remove_identities, fold_neg_inf, fold_transposes)
