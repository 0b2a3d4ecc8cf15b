"""The outputs that a document accepts for a variant, cell by cell, in the layout of the runtime."""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.graphs.context import BEHIND, name_before
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.acceptance import AcceptedOutput, OpenValue, accepted_result
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.variants import Y_ONLY, Variant


@dataclass(frozen=True, eq=False)
class AcceptedCells:
    """One output: its dtype, its shape, and the values that are right in each cell, row by row; none: any value is."""

    dtype: str
    shape: tuple[int, ...]
    cells: tuple[tuple[np.generic, ...], ...]


def accepted(oracle: Oracle, variant: Variant, layout: Layout) -> list[dict[str, AcceptedCells]]:
    """The outputs that are right, for each interpretation of the document; ``layout`` is the layout of the outputs."""
    results = []
    for meaning in oracle.alternatives:
        outputs = accepted_result(meaning).outputs
        own = meaning.pooling.layout
        results.append({name: _arranged(outputs[name], own, layout, name) for name in variant.outputs})
    return results


def _arranged(output: AcceptedOutput, own: Layout, layout: Layout, name: str) -> AcceptedCells:
    """An output from its own layout in another; Indices are int64."""
    tensor = output.tensor.astype(np.int64) if name == "Indices" else output.tensor
    cells = np.empty(tensor.size, object)
    for at, value in enumerate(tensor.reshape(-1)):
        others = output.others.get(at, ())
        # A script lists the cells of a window of NaN alone, not the numbers of none.
        listed = [tensor.dtype.type(other) for other in others if not isinstance(other, OpenValue)]
        cells[at] = () if OpenValue.ANY in others else (value, *listed)
    arranged = layout.from_core(own.to_core(cells.reshape(tensor.shape)))
    return AcceptedCells(tensor.dtype.name, arranged.shape, tuple(arranged.reshape(-1)))


def accepted_of_graph(oracle: GraphOracle, variant: Variant) -> list[dict[str, AcceptedCells]]:
    """The outputs of a graph that are right, those with a second consumer too, for each interpretation of the document.

    They are those of its MaxPool, moved as the nodes behind it move its cells. An interpretation for whose outputs these
    nodes have no result is left out.
    """
    policies = [meaning.pooling.policies for meaning in oracle.alternatives]
    decided = [oracle]
    if len(policies) > 1:
        decided = []
        for each in policies:
            with suppress(Inexact):
                other = GraphOracle.of(replace(oracle.graph, policies=each))
                other.check_exact()
                decided.append(other)
    return [_accepted_as_decided(each, variant) for each in decided]


def _accepted_as_decided(oracle: GraphOracle, variant: Variant) -> dict[str, AcceptedCells]:
    of_maxpool = accepted(oracle, variant, Layout.CHANNELS_FIRST)[0]
    outputs = dict(of_maxpool)
    if "Y" in variant.outputs:
        Y, cells = oracle.output, of_maxpool["Y"].cells
        moved = tuple(
            cells[source] if source >= 0 else (Y.reshape(-1)[at],)
            for at, source in enumerate(oracle.sources.reshape(-1))
        )
        outputs["Y"] = AcceptedCells(Y.dtype.name, Y.shape, moved)
    plain = Oracle(oracle.X, oracle.graph.pooling)
    for name, number in oracle.graph.context.side_outputs.items():
        if number is None:
            outputs[name] = accepted(plain, Y_ONLY, Layout.CHANNELS_FIRST)[0]["Y"]
        else:
            tensor = oracle.graph.flow[number]
            outputs[name] = AcceptedCells(
                tensor.dtype.name, tensor.shape, tuple((value,) for value in tensor.reshape(-1))
            )
    return outputs


def expected(oracle: GraphOracle, variant: Variant, layout: Layout) -> dict[str, np.ndarray]:
    """The outputs of the reference, in a layout, and those of a graph with a second consumer; Indices are int64."""
    Y, Indices = oracle.pooled.Y, oracle.pooled.Indices
    outputs = {"Y": Y} if Indices is None else {"Y": Y, "Indices": Indices.astype(np.int64)}
    if oracle.graph.context.is_alone:
        return {name: layout.from_core(value) for name, value in outputs.items() if name in variant.outputs}
    graph = oracle.graph
    others = {name_before(number): tensor for number, tensor in enumerate(graph.flow)}
    outputs |= {**others, BEHIND: oracle.pooled.maxima, "Y": oracle.output}
    return {name: outputs[name] for name in (*variant.outputs, *graph.context.side_outputs)}
