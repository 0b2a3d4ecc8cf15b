"""Mistakes of what rewrites a graph: each as the graph that it makes, whose outputs are compared with the actual ones."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.graphs.context import MAX_POOL, Context, MaxPoolGraph
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.operators import is_elementwise
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.specifications.specification import Refused

_Rewritten = Iterator[tuple[DivergenceKind, MaxPoolGraph]]

_QUANTISATION = ("QuantizeLinear", "DequantizeLinear")

_BLOCKS = (4, 8, 16)
"""How many channels a block has in the layouts of runtimes."""


def rewrites_of(graph: MaxPoolGraph) -> _Rewritten:
    """The graphs that mistakes make of a graph, each with its kind, the more specific mistakes first."""
    yield from _pads_folded(graph)
    yield from _transposes_folded(graph)
    yield from _max_pools_merged(graph)
    yield from _nodes_moved(graph)
    yield from _nodes_dropped(graph)


def rewrite_kinds(
    oracle: GraphOracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]
) -> tuple[DivergenceKind, ...]:
    """The mistakes in rewriting a graph that give exactly these outputs of it, right and wrong cells alike."""
    kinds = []
    for kind, graph in rewrites_of(oracle.graph):
        with suppress(Refused, Inexact):
            if kind not in kinds and explains(GraphOracle.of(graph), outputs, names):
                kinds.append(kind)
    if "Y" in outputs and any(_is_blocked(oracle, outputs["Y"], block) for block in _BLOCKS):
        kinds.append(DivergenceKind.BLOCKED_LAYOUT)
    return tuple(kind for kind in kinds if kind is not DivergenceKind.NODE_DROPPED) or tuple(kinds)


def explains(oracle: GraphOracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]) -> bool:
    """Whether the outputs of a graph are those that an oracle accepts; one that leaves a cell open explains nothing."""
    if any(oracle.wrong_outputs(outputs, names)) or oracle.is_wrong_behind(outputs):
        return False
    comparison = compare(oracle, oracle.of_maxpool(outputs), names)
    return not comparison.wrong and not comparison.oracle.has_undefined


def _with(graph: MaxPoolGraph, attributes: Mapping[str, Any] | None = None, **changes: Any) -> MaxPoolGraph:
    """A graph with other nodes, and other attributes of its MaxPool."""
    context = replace(graph.context, **changes)
    return replace(graph, context=context, attributes=graph.attributes if attributes is None else attributes)


def _pads_folded(graph: MaxPoolGraph) -> _Rewritten:
    """A Pad, right before MaxPool or before functions of each value, becomes pads."""
    before = graph.context.before
    rank = graph.entering.ndim - 2
    for number, node in enumerate(before):
        if node.op != "Pad" or not all(is_elementwise(other) for other in before[number + 1 :]):
            continue
        pads = [int(pad) for pad in node.fields.get("pads", ())]
        own = [int(pad) for pad in graph.attributes.get("pads", [0] * 2 * rank)]
        if len(pads) != 2 * (rank + 2) or len(own) != 2 * rank:
            continue
        spatial = [*pads[2 : rank + 2], *pads[rank + 4 :]]
        merged = [a + b for a, b in zip(own, spatial, strict=True)]
        attributes = {**graph.attributes, "pads": merged}
        yield DivergenceKind.PAD_FOLDED_INTO_PADS, _with(graph, attributes, before=_without(before, number))


def _transposes_folded(graph: MaxPoolGraph) -> _Rewritten:
    """Transposes are removed: both, one, or exchanged with MaxPool, whose attributes stay as they are."""
    kind, before, after = DivergenceKind.TRANSPOSE_FOLDED_WRONGLY, graph.context.before, graph.context.after
    sides = (
        [nodes, *(_without(nodes, i) for i, node in enumerate(nodes) if node.op == "Transpose")]
        for nodes in (before, after)
    )
    for nodes, others in itertools.islice(itertools.product(*sides), 1, None):
        yield kind, _with(graph, before=nodes, after=others)
    if before and before[-1].op == "Transpose":
        yield kind, _with(graph, before=before[:-1], after=(before[-1], *after))
    if after and after[0].op == "Transpose":
        yield kind, _with(graph, before=(*before, after[0]), after=after[1:])


def _max_pools_merged(graph: MaxPoolGraph) -> _Rewritten:
    """A MaxPool beside the judged one is removed, and its window and stride are merged into those of the judged one."""
    ones = [1] * (graph.entering.ndim - 2)
    for side, number, node in _neighbours(graph):
        if node.op != MAX_POOL or len(node.fields["kernel_shape"]) != len(ones):
            continue
        first, second = (node.fields, graph.attributes) if side == "before" else (graph.attributes, node.fields)
        k1, k2 = first["kernel_shape"], second["kernel_shape"]
        s1, s2 = first.get("strides", ones), second.get("strides", ones)
        for reach in (s1, ones, k1):
            kernel = [a + (b - 1) * step for a, b, step in zip(k1, k2, reach, strict=True)]
            strides = [a * b for a, b in zip(s1, s2, strict=True)]
            merged = {**graph.attributes, "kernel_shape": kernel, "strides": strides}
            nodes = _without(getattr(graph.context, side), number)
            yield DivergenceKind.MAX_POOLS_MERGED, _with(graph, merged, **{side: nodes})


def _nodes_moved(graph: MaxPoolGraph) -> _Rewritten:
    """A node beside MaxPool, or two of them, are on its other side."""
    before, after = graph.context.before, graph.context.after
    for count in (1, 2):
        moved = before[-count:]
        if len(moved) == count and all(map(is_elementwise, moved)):
            yield _kind_of_move(before[-1]), _with(graph, before=before[:-count], after=(*moved, *after))
    for count in (1, 2):
        moved = after[:count]
        if len(moved) == count and all(map(is_elementwise, moved)):
            yield _kind_of_move(after[0]), _with(graph, before=(*before, *moved), after=after[count:])


def _kind_of_move(node: Node) -> DivergenceKind:
    if node.op in _QUANTISATION:
        return DivergenceKind.QUANTISATION_MOVED
    return DivergenceKind.CAST_MOVED if node.op == "Cast" else DivergenceKind.RELU_MOVED


def _nodes_dropped(graph: MaxPoolGraph) -> _Rewritten:
    context: Context = graph.context
    for side, number, _ in _neighbours(graph):
        yield DivergenceKind.NODE_DROPPED, _with(graph, None, **{side: _without(getattr(context, side), number)})
    # There and back: both casts, or both ends of a quantization.
    for ops in (("Cast",), _QUANTISATION):
        rest = [tuple(node for node in nodes if node.op not in ops) for nodes in (context.before, context.after)]
        if sum(map(len, rest)) < len(context.before) + len(context.after) - 1:
            yield DivergenceKind.NODE_DROPPED, _with(graph, before=rest[0], after=rest[1])


def _neighbours(graph: MaxPoolGraph) -> Iterator[tuple[str, int, Node]]:
    """The other nodes of a graph, each with its side of MaxPool and its number there."""
    for side in ("before", "after"):
        yield from ((side, number, node) for number, node in enumerate(getattr(graph.context, side)))


def _without(nodes: tuple[Node, ...], number: int) -> tuple[Node, ...]:
    return (*nodes[:number], *nodes[number + 1 :])


def _is_blocked(oracle: GraphOracle, Y: np.ndarray, block: int) -> bool:
    """Whether Y is the right one, in blocks of channels whose values are adjacent."""
    right = oracle.output
    if Y.shape != right.shape or Y.dtype != right.dtype or right.ndim < 3 or right.shape[1] % block:
        return False
    blocks = right.reshape(right.shape[0], right.shape[1] // block, block, -1).swapaxes(2, 3)
    blocked = blocks.reshape(right.shape)
    return not np.array_equal(blocked, right, equal_nan=False) and np.array_equal(blocked, Y)
