"""The result of the reference for a case, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import definition
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.tensors import coordinates, described, window_text

MOST_WINDOWS, MOST_CELLS = 36, 1024
"""Larger results are shown only on request."""


@dataclass(frozen=True)
class ReferenceReport:
    """A case; ``everything``: every window and every cell, however many."""

    case: Case
    everything: bool = False

    @property
    def oracles(self) -> tuple[Oracle, ...]:
        """An oracle for each interpretation of the document; none if the document excludes the case."""
        pooling = self.case.resolved
        return Oracle(self.case.X, pooling).alternatives if isinstance(pooling, Pooling) else ()


def write_text(report: ReferenceReport, file: TextIO) -> None:
    """Write the reference's outputs for a case, with its windows."""
    file.writelines(f"{line}\n" for line in _lines(report))


def policies_in_which_differ(oracle: Oracle, oracles: Sequence[Oracle]) -> str:
    """The policies of an oracle for the points in which the oracles differ: ``nan: ignored, tie: first``."""
    every = [other.pooling.policies.names() for other in oracles]
    names = oracle.pooling.policies.names()
    return ", ".join(f"{point}: {names[point]}" for point in names if len({other[point] for other in every}) > 1)


def _lines(report: ReferenceReport) -> Iterator[str]:
    case, oracles = report.case, report.oracles
    yield f"{case.id}  {case.title}"
    if not isinstance(case.resolved, Pooling):
        yield f"{case.specification.title} excludes it ({case.resolved.reason.value}): {case.resolved}"
        return
    policies = ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
    yield f"{case.specification.title}, {policies or 'nothing left open'}"
    yield ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    if case.erratum:
        yield f"Erratum: {case.erratum.strip()}"
    geometry = None
    tensor = partial(_tensor, layout=case.resolved.layout, everything=report.everything)
    yield from tensor("X", case.X)
    for oracle in oracles:
        if len(oracles) > 1:
            yield f"interpretation {policies_in_which_differ(oracle, oracles)}:"
        pooled = oracle.pooled.arranged(case.resolved.layout)
        if oracle.pooling.geometry != geometry:
            geometry = oracle.pooling.geometry
            yield from (f"  D{number}: {axis}" for number, axis in enumerate(geometry, 1))
            yield from tensor("Y", pooled.Y)
        if oracle.pooling.indices and pooled.Indices is not None:
            yield from tensor("Indices", pooled.Indices)
        if pooled.empty.any():
            yield f"{int(pooled.empty.sum())} of {pooled.empty.size} windows are empty; Y and Indices are undefined there"
    same = len({oracle.pooling.geometry for oracle in oracles}) == 1
    for oracle in oracles[:1] if same else oracles:
        yield from _windows(oracle, report.everything)


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


def _tensor(name: str, tensor: np.ndarray, layout: Layout, everything: bool) -> list[str]:
    if tensor.size > MOST_CELLS and not everything:
        return [f"{name} {tensor.dtype.name}{list(tensor.shape)}", f"  {tensor.size} cells; --all shows them"]
    return described(name, tensor, layout)


def write_json(report: ReferenceReport, file: TextIO) -> None:
    """Write one JSON document. Values are text: JSON has no infinities, no NaN and no -0."""
    case, oracles = report.case, report.oracles
    document: dict[str, Any] = {"schema": "maxpool-check/reference/1", "case": case.id}
    if not isinstance(case.resolved, Pooling):
        refusal = case.resolved
        document["refused"] = {"reason": refusal.reason.value, "clause": refusal.clause, "message": str(refusal)}
    else:
        document |= {
            "spec": case.spec,
            "dtype": case.X.dtype.name,
            **_outputs(oracles[0]),
            "policies": case.policies.names(),
            "index_dtype": case.resolved.numbering.dtype if case.resolved.indices else None,
            "alternatives": [_outputs(oracle) for oracle in oracles[1:]],
        }
    file.write(json.dumps(document, indent=1) + "\n")


def _outputs(oracle: Oracle) -> dict[str, Any]:
    pooled = oracle.pooled.arranged(oracle.pooling.layout)
    cells = np.array([str(value) for value in pooled.Y.reshape(-1)], object)
    indices = pooled.Indices if oracle.pooling.indices else None
    return {
        "policies": oracle.pooling.policies.names(),
        "shape": list(pooled.Y.shape),
        "Y": cells.reshape(pooled.Y.shape).tolist(),
        "Indices": None if indices is None else indices.tolist(),
        "empty": pooled.empty.tolist(),
    }


FORMATS = {"text": write_text, "json": write_json}
