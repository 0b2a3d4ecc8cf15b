"""A case explained: what it says, what the reference makes of it, its windows, and what is wrong with the outputs of a target."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.explaining.terms import policies_in_which_differ
from maxpool_check.graphs.context import json_data
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.blocks import Block, Bullets, Heading, Lines, Paragraph, Span
from maxpool_check.reporting.drawing import LEGEND, coordinates, core_coordinates, described, drawings, oracle_drawing
from maxpool_check.reporting.executions import ExecutionView, cell_line
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.running.case_run import JudgedRun

MOST_WINDOWS, MOST_CELLS = 3, 1024
"""More windows, and larger tensors, are shown only on request."""

_MOST_OF_SHAPES = 100
"""Larger tensors beside outputs of the wrong shape are not written."""

_TONES = {Verdict.CONFORMS: "good", Verdict.INCONSISTENT: "known"}


def heading(case: Case) -> Iterator[Block]:
    """The id and title of a case, its document and attributes, and the nodes of a graph of several."""
    policies = ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
    settings = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    yield Heading(2, f"{case.id}  {case.title}")
    yield Paragraph(f"{case.specification.title}, {policies or 'nothing left open'}")
    yield Paragraph(f"X {case.X.dtype.name}{list(case.X.shape)}, {settings}")
    if case.erratum:
        yield Paragraph(f"Erratum: {case.erratum.strip()}")
    if case.context.is_alone:
        return
    tensors = [*case.graph.flow, *(case.graph.following if isinstance(case.resolved, Pooling) else ())]
    shapes = [f" -> {tensor.dtype.name}{list(tensor.shape)}" for tensor in tensors]
    yield Paragraph(f"Graph in operator set {case.context.opset}:")
    yield Lines([f"{line}{shape}" for line, shape in zip_longest(case.context.lines(), shapes, fillvalue="")])
    if case.context.before:
        yield Paragraph("In drawings, X is the tensor that enters MaxPool, and Y the one behind it.")


def reference(case: Case, at: Sequence[int] | None = None, *, everything: bool = False) -> Iterator[Block]:
    """The outputs of the reference in each interpretation, and its windows: the one ``at`` a cell of Y, or the first, or all."""
    if not isinstance(case.resolved, Pooling):
        yield Paragraph(f"{case.specification.title} excludes it ({case.resolved.reason.value}): {case.resolved}")
        return
    oracle = case.oracle()
    assert isinstance(oracle, GraphOracle)
    if at is None:
        yield Lines(list(_results(case, oracle, everything)))
    every = list(np.ndindex(oracle.pooled.Y.shape))
    cells = every if everything else every[:MOST_WINDOWS]
    if at is not None:
        cells = [core_coordinates(at, oracle.pooling.layout)]
    yield Paragraph(LEGEND if cells else "Y has no cell", tone="dim")
    yield from (_window(oracle, cell) for cell in cells)
    if len(every) > len(cells) and at is None:
        more = f"{len(every) - len(cells)} more of {len(every)} windows"
        yield Paragraph(f"{more}; --at CELL draws one of them, -v all")


def _results(case: Case, first: GraphOracle, everything: bool) -> Iterator[str]:
    """The lines of X, of the tensors of a graph, and of Y and Indices in each interpretation."""
    tensor = partial(_tensor, layout=first.pooling.layout, most=sys.maxsize if everything else MOST_CELLS)
    yield from tensor("X", case.X.tensor())
    if case.context.before:
        yield from tensor("The tensor that enters MaxPool:", case.entering)
    geometry = None
    for oracle in first.alternatives:
        if len(first.alternatives) > 1:
            yield f"interpretation {policies_in_which_differ(oracle, first.alternatives)}:"
        pooled = oracle.pooled.arranged(oracle.pooling.layout)
        if oracle.pooling.geometry != geometry:
            geometry = oracle.pooling.geometry
            yield from (f"  D{number}: {axis}" for number, axis in enumerate(geometry, 1))
            yield from tensor("Y", pooled.Y, missing=pooled.undefined)
        if oracle.pooling.indices and pooled.Indices is not None:
            yield from tensor("Indices", pooled.Indices, missing=pooled.empty)
    if first.moves:
        yield from tensor("the output of the graph", first.output, layout=Layout.CHANNELS_FIRST)


def _window(oracle: GraphOracle, at: tuple[int, ...]) -> Lines:
    """The window of a cell of Y, drawn, and the result of the reference; ``at`` is N x C x D1 x ... x Dn."""
    pooling, pooled = oracle.pooling, oracle.pooled
    drawing = oracle_drawing(oracle, at)
    number = int(oracle.choices[0][at])
    if number >= 0:
        chosen = pooling.layout.arranged([int(i) for i in np.unravel_index(number, oracle.core.shape)])
        index = f", index {pooled.Indices[at]}" if pooling.indices and pooled.Indices is not None else ""
        made = "" if pooling.activation is None else f", made of the maximum {pooled.maxima[at]}"
        result = f"Y is {pooled.Y[at]}{made}, from X{coordinates(chosen)}{index}"
    elif pooled.undefined[at]:
        result = "no cell of X is in the window: the document gives no result"
    else:
        result = f"no cell of X is in the window: Y is {pooled.Y[at]}, the value of the padding, and there is no index"
    return Lines(["", f"Y{drawing.place}  {drawing.window}", *drawing.lines, result])


@dataclass(frozen=True)
class ExecutedCase:
    """A case that was executed on a target."""

    run: JudgedRun
    about: str
    """What the target is, in words."""
    executions: tuple[Execution, ...]
    """Those of the run, each with the defect that explains it."""
    defects: Mapping[str, Defect]
    """These defects by id."""


def results(executed: ExecutedCase) -> Iterator[Block]:
    """The verdict on each variant of a case that was executed, with its wrong cells in their windows, or its tensors."""
    case_run = executed.run
    for variant, execution in zip(case_run.judgements, executed.executions, strict=True):
        view, outcome, oracle = ExecutionView(execution), case_run.jobs[variant].outcome, case_run.oracle
        verdict = Span(execution.verdict.value, tone=_TONES.get(execution.verdict, "bad"))
        yield Paragraph([Span(f"{variant.name}: ", strong=True), verdict, f"  {', '.join(execution.kinds)}"])
        about = [view.translation] if view.translation else []
        about += [f"{kind}: {DESCRIPTIONS[DivergenceKind(kind)].sentence}" for kind in execution.kinds]
        if (defect := executed.defects.get(execution.known or "")) is not None:
            about.append(f"explained by {defect.id}: {defect.title}")
        about += [f"interpretation of {point}: {' or '.join(n)}" for point, n in execution.interpretations.items()]
        yield Bullets([*about, *view.reasons, *([" ".join(view.message.split())] if view.message else [])])
        if execution.cells:
            yield Paragraph(LEGEND, tone="dim")
        for drawing in drawings(execution):
            yield Lines(["", f"{drawing.place}  {drawing.window}", *(f"  {line}" for line in drawing.lines)])
            yield Bullets([cell_line(cell) for cell in drawing.cells])
        if view.unlisted:
            yield Paragraph(view.unlisted)
        if "Y" in execution.shapes and isinstance(oracle, GraphOracle) and isinstance(outcome, Returned):
            layout = oracle.pooling.layout
            # Of the cells of another output of a graph, not all are windows.
            missing = None if oracle.moves else oracle.pooled.arranged(layout).undefined
            yield Lines(_tensor("X", oracle.X, layout))
            yield Lines(_tensor("Y by the document", oracle.expected["Y"], layout, missing))
            yield Lines(_tensor("Y from the target", outcome.outputs["Y"], layout))


def _tensor(
    name: str, tensor: np.ndarray, layout: Layout, missing: np.ndarray | None = None, most: int = _MOST_OF_SHAPES
) -> list[str]:
    if tensor.size <= most:
        return described(name, tensor, layout, missing)
    return [f"{name} {tensor.dtype.name}{list(tensor.shape)}: {tensor.size} cells are not shown"]


def data(case: Case, runs: Sequence[ExecutedCase] = ()) -> dict[str, Any]:
    """A case as a JSON document, with every cell of the reference's outputs, and its executions.

    Values are text: JSON has no infinities, no NaN and no -0. A cell without a value is null. Of a graph of several nodes, ``Y`` and
    ``Indices`` are those of its MaxPool.
    """
    document: dict[str, Any] = {"schema": "maxpool-check/reference/1", "case": case.id}
    oracle = case.oracle()
    if isinstance(oracle, GraphOracle):
        first, *others = map(_outputs, oracle.alternatives)
        document |= {"spec": case.spec, "dtype": case.X.dtype.name, **first}
        if not case.context.is_alone:
            document |= json_data(case.context)
            for name, each in (("entering", oracle.X), ("output", oracle.output)):
                shape = list(each.shape)
                document[name] = {"dtype": each.dtype.name, "shape": shape, "values": _values(each).tolist()}
        document["policies"] = case.policies.names()
        document["index_dtype"] = oracle.pooling.numbering.dtype if oracle.pooling.indices else None
        document["alternatives"] = others
    else:
        document["refused"] = {"reason": oracle.reason.value, "clause": oracle.clause, "message": str(oracle)}
    if runs:
        document["executions"] = [msgspec.to_builtins(each) for run in runs for each in run.executions]
    return document


def _values(tensor: np.ndarray) -> np.ndarray:
    return np.array([str(value) for value in tensor.reshape(-1)], object).reshape(tensor.shape)


def _outputs(oracle: Oracle) -> dict[str, Any]:
    pooled = oracle.pooled.arranged(oracle.pooling.layout)
    Y, indices = _values(pooled.Y), None
    Y[pooled.undefined] = None
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
