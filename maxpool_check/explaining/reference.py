"""The result of the reference for a case, as text and as JSON."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TextIO

import numpy as np

from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.explaining.drawing import MOST_ENTERING, flow
from maxpool_check.graphs.context import json_data
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import definition
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.tensors import coordinates, described, window_text
from maxpool_check.words import plural

MOST_WINDOWS, MOST_CELLS = 36, 1024
"""Larger results are shown only on request."""


def write_text(case: Case, file: TextIO, everything: bool = False) -> None:
    """Write the reference's outputs for a case, with its windows; ``everything``: all of them and every cell."""
    file.writelines(f"{inert.line(line)}\n" for line in _lines(case, everything))


def policies_in_which_differ(oracle: Oracle, oracles: Sequence[Oracle]) -> str:
    """The policies of an oracle for the points in which the oracles differ: ``nan: ignored, tie: first``."""
    every = [other.pooling.policies.names() for other in oracles]
    names = oracle.pooling.policies.names()
    return ", ".join(f"{point}: {names[point]}" for point in names if len({other[point] for other in every}) > 1)


def _lines(case: Case, everything: bool) -> Iterator[str]:
    yield f"{case.id}  {case.title}"
    if not isinstance(case.resolved, Pooling):
        yield f"{case.specification.title} excludes it ({case.resolved.reason.value}): {case.resolved}"
        return
    policies = ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
    yield f"{case.specification.title}, {policies or 'nothing left open'}"
    yield ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    if case.erratum:
        yield f"Erratum: {case.erratum.strip()}"
    first = case.oracle()
    assert isinstance(first, GraphOracle)
    tensor = partial(_tensor, layout=case.resolved.layout, everything=everything)
    yield from tensor("X", case.X.tensor())
    yield from flow(case)
    if case.context.before and case.entering.size > MOST_ENTERING:
        yield from tensor("The tensor that enters MaxPool:", case.entering)
    yield from _results(first.alternatives, tensor, everything)
    if first.moves:
        yield from tensor("the output of the graph", first.output)


def _results(oracles: Sequence[Oracle], tensor: Callable[..., list[str]], everything: bool) -> Iterator[str]:
    """Y, Indices and the windows of each alternative."""
    geometry = None
    for oracle in oracles:
        if len(oracles) > 1:
            yield f"interpretation {policies_in_which_differ(oracle, oracles)}:"
        pooled = oracle.pooled.arranged(oracle.pooling.layout)
        if oracle.pooling.geometry != geometry:
            geometry = oracle.pooling.geometry
            yield from (f"  D{number}: {axis}" for number, axis in enumerate(geometry, 1))
            yield from tensor("Y", pooled.Y, missing=pooled.undefined)
        if oracle.pooling.indices and pooled.Indices is not None:
            yield from tensor("Indices", pooled.Indices, missing=pooled.empty)
        size = pooled.empty.size
        if pooled.undefined.any():
            yield f"empty: {int(pooled.undefined.sum())} of {plural(size, 'window')}; Y and Indices are undefined there"
        if padding := int((pooled.empty & ~pooled.undefined).sum()):
            yield f"padding alone: {padding} of {plural(size, 'window')}; Y is its value, and there is no index"
    same = len({oracle.pooling.geometry for oracle in oracles}) == 1
    for oracle in oracles[:1] if same else oracles:
        yield from _windows(oracle, everything)


def _windows(oracle: Oracle, everything: bool) -> Iterator[str]:
    size, pooling = oracle.pooled.Y.size, oracle.pooling
    if size == 0:
        yield "no windows"
    elif size > MOST_WINDOWS and not everything:
        yield f"{size} windows; --all shows them"
    else:
        yield "windows (positions on X, without padding)"
        for index in np.ndindex(oracle.pooled.Y.shape):
            at = tuple(int(i) for i in index)
            window = [axis.window(i) for axis, i in zip(pooling.geometry, at[2:], strict=True)]
            values = " ".join(str(oracle.core[cell]) for cell in definition.cells(at, pooling.geometry))
            where = coordinates(pooling.layout.arranged(at))
            yield f"  {where}  {window_text(window)}: {values or 'no cell of X'}"


def _tensor(
    name: str, tensor: np.ndarray, layout: Layout, everything: bool, missing: np.ndarray | None = None
) -> list[str]:
    if tensor.size > MOST_CELLS and not everything:
        return [f"{name} {tensor.dtype.name}{list(tensor.shape)}", f"  {tensor.size} cells; --all shows them"]
    return described(name, tensor, layout, missing)


def write_json(case: Case, file: TextIO, _: bool = False) -> None:
    """Write one JSON document with every cell. Values are text: JSON has no infinities, no NaN and no -0.

    A cell without a value is null. Of a graph of several nodes, ``Y`` and ``Indices`` are those of its MaxPool.
    """
    document: dict[str, Any] = {"schema": "maxpool-check/reference/1", "case": case.id}
    if not isinstance(case.resolved, Pooling):
        refusal = case.resolved
        document["refused"] = {"reason": refusal.reason.value, "clause": refusal.clause, "message": str(refusal)}
    else:
        oracle = case.oracle()
        assert isinstance(oracle, Oracle)
        first, *others = oracle.alternatives
        document |= {
            "spec": case.spec,
            "dtype": case.X.dtype.name,
            **_outputs(first),
            **_graph(case),
            "policies": case.policies.names(),
            "index_dtype": case.resolved.numbering.dtype if case.resolved.indices else None,
            "alternatives": [_outputs(oracle) for oracle in others],
        }
    file.write(inert.dumps(document, indent=1) + "\n")


def _graph(case: Case) -> dict[str, Any]:
    """The graph of several nodes, the tensor that enters MaxPool, and the output of the graph."""
    oracle = case.oracle()
    if case.context.is_alone or not isinstance(oracle, GraphOracle):
        return {}
    tensors = {"entering": oracle.X, "output": oracle.output}
    return {
        **json_data(case.context),
        **{
            name: {"dtype": tensor.dtype.name, "shape": list(tensor.shape), "values": _values(tensor).tolist()}
            for name, tensor in tensors.items()
        },
    }


def _values(tensor: np.ndarray) -> np.ndarray:
    return np.array([str(value) for value in tensor.reshape(-1)], object).reshape(tensor.shape)


def _outputs(oracle: Oracle) -> dict[str, Any]:
    pooled = oracle.pooled.arranged(oracle.pooling.layout)
    Y = _values(pooled.Y)
    Y[pooled.undefined] = None
    indices = None
    if oracle.pooling.indices and pooled.Indices is not None:
        indices = pooled.Indices.astype(object)
        indices[pooled.empty] = None
    return {
        "policies": oracle.pooling.policies.names(),
        "shape": list(pooled.Y.shape),
        "Y": Y.tolist(),
        "Indices": None if indices is None else indices.tolist(),
        "empty": pooled.empty.tolist(),
    }


FORMATS = {"text": write_text, "json": write_json}
