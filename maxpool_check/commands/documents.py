"""``maxpool-check documents``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maxpool_check.corpus.case import Case
    from maxpool_check.judging.oracle import Oracle
    from maxpool_check.reporting.documents import Answer, Erratum

TAG = "documents"
POINTS = {
    "nan": "nan",
    "tie": "tie",
    "valid-ceil": "valid_ceil",
    "same-stride": "same_clamp",
    "large-pads": "large_pads",
}
"""The open point that a variant is about."""


@click.command("documents")
@options.paths
@options.max_cells
def command(paths: tuple[Path, ...], max_cells: int) -> int:
    """Put the documents side by side, with their errata, as Markdown.

    Cases tagged documents that share an id ask every document the same; cases with an erratum show where a document is
    wrong. Nothing is run: the reference answers.
    """
    from maxpool_check.reporting.documents import render
    from maxpool_check.specifications import SPECIFICATIONS

    documents = list(SPECIFICATIONS)
    cases = sorted(options.collect(paths, max_cells).cases, key=lambda case: documents.index(case.spec))
    asked: dict[str, list[Case]] = {}
    for case in cases:
        if TAG in case.tags:
            asked.setdefault(case.id.rpartition(":")[2], []).append(case)
    if not asked:
        raise click.UsageError(f"none of the {len(cases)} cases has the tag {TAG}")
    variants = [(name, [row for case in of for row in _answers(case, name)]) for name, of in asked.items()]
    errata = [_erratum(case, case.erratum) for case in cases if case.erratum]
    click.echo(render(variants, errata), nl=False)
    return 0


def _answers(case: Case, name: str) -> Iterator[Answer]:
    """The answers of a document under every interpretation it allows, those that are the same in one row."""
    from maxpool_check.commands.reference import interpretation
    from maxpool_check.judging.oracle import Oracle
    from maxpool_check.reference.pooling import Pooling
    from maxpool_check.reporting.documents import Answer

    title, policies = case.specification.title, case.policies.names()
    point = POINTS.get(name, "")
    fixed = f"`{point}`: {policies[point]}" if point in policies else ""
    if not isinstance(case.resolved, Pooling):
        yield Answer(title, case.id, "", "", "", "", f"{case.resolved.reason.value}: {case.resolved}")
        return
    rows: dict[tuple[str, ...], list[str]] = {}
    meanings = Oracle(case.X, case.resolved).meanings
    for one in meanings:
        label = interpretation(one, meanings)
        for nan, cells in _by_nan(one):
            rows.setdefault(cells, []).append(nan or label)
    for (shape, Y, Indices), labels in rows.items():
        yield Answer(title, case.id, _grouped(labels) if len(rows) > 1 else fixed, shape, Y, Indices, "")


def _grouped(labels: Sequence[str]) -> str:
    """``nan: ignored`` and ``nan: as-neg-inf`` as one."""
    interpretations: dict[str, list[str]] = {}
    for label in labels:
        for part in filter(None, label.split(", ")):
            point, _, interpretation = part.partition(": ")
            of_point = interpretations.setdefault(point, [])
            if interpretation not in of_point:
                of_point.append(interpretation)
    return "; ".join(f"`{point}`: {', '.join(of_point)}" for point, of_point in interpretations.items())


def _by_nan(one: Oracle) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Shape, Y and Indices as text, once for every interpretation of NaN that there is a choice of."""
    import numpy as np

    from maxpool_check.judging.oracle import ALL_INTERPRETATIONS

    labels = [f"nan: {nan.value}" for nan in ALL_INTERPRETATIONS] if len(one.interpretations) > 1 else [""]
    layout = one.pooling.layout
    for label, pooled in zip(labels, one.interpretations, strict=True):
        arranged = pooled.arranged(layout)

        def text(values: np.ndarray | None, empty: np.ndarray = arranged.empty) -> str:
            pairs = [] if values is None else zip(values.reshape(-1), empty.reshape(-1), strict=True)
            return " ".join("-" if nothing else str(value) for value, nothing in pairs)

        Indices = arranged.Indices if one.pooling.indices else None
        yield label, (f"{list(one.shape)}", text(arranged.Y), text(Indices))


def _erratum(case: Case, text: str) -> Erratum:
    from maxpool_check.corpus.expectations import disagreements
    from maxpool_check.reference.pooling import Pooling
    from maxpool_check.reporting.documents import Erratum

    if isinstance(case.resolved, Pooling):
        computed = [f"D{number}: {axis}" for number, axis in enumerate(case.resolved.geometry, 1)]
    else:
        computed = [f"refused as {case.resolved.reason.value}: {case.resolved}"]
    return Erratum(case.specification.title, case.id, text, (*computed, *disagreements(case)))
