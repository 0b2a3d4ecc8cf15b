"""The outputs that a document accepts for a variant, cell by cell, in the layout of the runtime."""

import itertools
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.graphs.context import BEHIND, name_before
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import judge
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Y_ONLY, Variant


@dataclass(frozen=True, eq=False)
class Accepted:
    """One output: its dtype, its shape, and the values that are right in each cell, row by row; none: any value is."""

    dtype: str
    shape: tuple[int, ...]
    cells: tuple[tuple[np.generic, ...], ...]


def accepted(oracle: Oracle, variant: Variant, layout: Layout) -> list[dict[str, Accepted]]:
    """The outputs that are right, for each interpretation of the document; ``layout`` is the layout of the outputs."""
    results = []
    for meaning in oracle.alternatives:
        pooled, shape = meaning.pooled, meaning.pooled.Y.shape
        cells = [{} if pooled.undefined[at] else _cell(meaning, oracle, variant, at) for at in np.ndindex(shape)]
        ordered = layout.from_core(np.array(cells, object).reshape(shape)).reshape(-1)
        dtypes = {"Y": meaning.dtype("Y").name, "Indices": "int64"}
        results.append(
            {
                name: Accepted(dtypes[name], layout.arranged(shape), tuple(cell.get(name, ()) for cell in ordered))
                for name in variant.outputs
            }
        )
    return results


def accepted_of_graph(oracle: GraphOracle, variant: Variant) -> list[dict[str, Accepted]]:
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


def _accepted_as_decided(oracle: GraphOracle, variant: Variant) -> dict[str, Accepted]:
    of_maxpool = accepted(oracle, variant, Layout.CHANNELS_FIRST)[0]
    outputs = dict(of_maxpool)
    if "Y" in variant.outputs:
        Y, cells = oracle.output, of_maxpool["Y"].cells
        moved = tuple(
            cells[source] if source >= 0 else (Y.reshape(-1)[at],)
            for at, source in enumerate(oracle.sources.reshape(-1))
        )
        outputs["Y"] = Accepted(Y.dtype.name, Y.shape, moved)
    plain = Oracle(oracle.X, oracle.graph.pooling)
    for name, number in oracle.graph.context.side_outputs.items():
        if number is None:
            outputs[name] = accepted(plain, Y_ONLY, Layout.CHANNELS_FIRST)[0]["Y"]
        else:
            tensor = oracle.graph.flow[number]
            outputs[name] = Accepted(tensor.dtype.name, tensor.shape, tuple((value,) for value in tensor.reshape(-1)))
    return outputs


def expected(oracle: Oracle, variant: Variant, layout: Layout) -> dict[str, np.ndarray]:
    """The outputs of the reference, in a layout, and those of a graph with a second consumer; Indices are int64."""
    Y, Indices = oracle.pooled.Y, oracle.pooled.Indices
    outputs = {"Y": Y} if Indices is None else {"Y": Y, "Indices": Indices.astype(np.int64)}
    if not isinstance(oracle, GraphOracle):
        return {name: layout.from_core(value) for name, value in outputs.items() if name in variant.outputs}
    graph = oracle.graph
    others = {name_before(number): tensor for number, tensor in enumerate(graph.flow)}
    outputs |= {**others, BEHIND: oracle.pooled.maxima, "Y": oracle.output}
    return {name: outputs[name] for name in (*variant.outputs, *graph.context.side_outputs)}


def _cell(meaning: Oracle, oracle: Oracle, variant: Variant, at: tuple[int, ...]) -> dict[str, tuple[np.generic, ...]]:
    """The values that are right in one cell: the judge accepts them in the place of the reference's."""
    if meaning.pooled.empty[at]:
        # It has the value of the padding, and no index.
        return {"Y": (meaning.pooled.Y[at],)}
    candidates = _candidates(meaning, at)
    selected = [candidates[name] for name in variant.outputs]
    if all(len(values) == 1 for values in selected):
        return dict(zip(variant.outputs, map(tuple, selected), strict=True))
    pooled = {"Y": meaning.pooled.Y, "Indices": meaning.pooled.Indices}
    outputs = {name: value.copy() for name, value in pooled.items() if value is not None}
    right: dict[str, dict[int, np.generic]] = {name: {} for name in variant.outputs}
    for values in itertools.product(*selected):
        for name, value in zip(variant.outputs, values, strict=True):
            outputs[name][at] = value
        arranged = {name: meaning.pooling.layout.from_core(outputs[name]) for name in variant.outputs}
        judgement = judge(oracle, {variant: Returned(arranged)})[variant]
        if judgement.verdict in (Verdict.CONFORMS, Verdict.UNDEFINED):
            for name, value in zip(variant.outputs, values, strict=True):
                right[name].setdefault(_bits(value), value)
    return {name: tuple(values.values()) for name, values in right.items()}


def _candidates(meaning: Oracle, at: tuple[int, ...]) -> dict[str, list[np.generic]]:
    """The reference's value of each output first, then those that another interpretation may make of the window."""
    pooled, pooling = meaning.pooled, meaning.pooling
    cells = window_cells(at, pooling.geometry)
    values = np.array([meaning.core[cell] for cell in cells], meaning.X.dtype)
    has_nan = (values != values).any()
    selected = has_nan | (values == pooled.maxima[at])
    flat = np.array([np.ravel_multi_index(cell, meaning.core.shape) for cell in cells], np.int64)[selected]
    values = np.append(values[selected], np.array([-np.inf], values.dtype)) if has_nan else values[selected]
    if pooling.activation is not None:
        values = pooling.activation.of(values)
    candidates = {"Y": list({_bits(value): value for value in (pooled.Y[at], *values)}.values())}
    if pooled.Indices is not None:
        numbers = pooling.numbering.number(flat, meaning.core.shape)
        candidates["Indices"] = list({int(number): number for number in (pooled.Indices[at], *numbers)}.values())
    return candidates


def _bits(value: np.generic) -> int:
    # NaN is one value, whatever its payload.
    return -1 if value != value else int(bits(np.array([value]))[0])
