"""``maxpool-check reference``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from maxpool_check.corpus.case import Case
    from maxpool_check.judging.oracle import Oracle
    from maxpool_check.reference.layout import Layout

MOST_WINDOWS = 36
MOST_CELLS = 1024


@click.command("reference")
@click.argument("case")
@click.option(
    "-p", "--path", type=click.Path(path_type=Path), default=Path("cases"), metavar="PATH",
    help="Where to look for the case.  [default: cases]",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
@click.option("-a", "--all", "everything", is_flag=True, help="Every window and every cell, however many.")
@options.max_cells
def command(case: str, path: Path, form: str, everything: bool, max_cells: int) -> int:
    """Show the reference's answer for one case, with the windows it looked at.

    CASE is a full id, as sonnx/float:float-example-3, or FILE.yaml:ID.
    """
    from maxpool_check.judging.oracle import Oracle
    from maxpool_check.reference.pooling import Pooling

    found = options.find(case, path, max_cells)
    meaning = found.resolved
    if not isinstance(meaning, Pooling):
        if form == "json":
            refused = {"reason": meaning.reason.value, "clause": meaning.clause, "message": str(meaning)}
            click.echo(json.dumps({"schema": "maxpool-check/reference/1", "case": found.id, "refused": refused}))
        else:
            click.echo(
                f"{found.id}  {found.title}\n{found.specification.title} excludes it ({meaning.reason.value}): {meaning}"
            )
        return 0
    meanings = Oracle(found.X, meaning).meanings
    if form == "json":
        click.echo(_json(found, meanings))
        return 0
    _text(found, meanings, everything)
    for one in meanings:
        _windows(one, everything)
        if len({one.pooling.geometry for one in meanings}) == 1:
            break
    return 0


def _windows(expected: Oracle, everything: bool) -> None:
    from maxpool_check.reference import definition
    from maxpool_check.reporting.tensors import coordinates, window_text

    size, pooling = expected.pooled.Y.size, expected.pooling
    if size == 0:
        click.echo("no windows")
        return
    if size > MOST_WINDOWS and not everything:
        click.echo(f"{size} windows; --all shows them")
        return
    click.echo("windows (positions on X; padding is not in them)")
    for at in _cells(expected.pooled.Y.shape):
        window = [axis.window(i) for axis, i in zip(pooling.geometry, at[2:], strict=True)]
        inside = definition.cells(at, pooling.geometry)
        values = " ".join(str(expected.core[cell]) for cell in inside) or "no cell of X"
        click.echo(f"  {coordinates(pooling.layout.arranged(at))}  {window_text(window)}: {values}")


def _cells(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    import numpy as np

    return [tuple(int(i) for i in at) for at in np.ndindex(shape)]


def _text(case: Case, meanings: Sequence[Oracle], everything: bool) -> None:
    layout = meanings[0].pooling.layout
    click.echo(f"{case.id}  {case.title}")
    click.echo(
        f"{case.specification.title}, "
        + (
            ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
            or "nothing left open"
        )
    )
    click.echo(", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes")
    if case.erratum:
        click.echo(f"Erratum: {case.erratum.strip()}")
    _show("X", case.X, layout, everything)
    shown = None
    for one in meanings:
        if len(meanings) > 1:
            click.echo(f"read as {interpretation(one, meanings)}:")
        pooled = one.pooled.arranged(layout)
        if one.pooling.geometry != shown:
            shown = one.pooling.geometry
            for number, axis in enumerate(shown, 1):
                click.echo(f"  D{number}: {axis}")
            _show("Y", pooled.Y, layout, everything)
        if one.pooling.indices and pooled.Indices is not None:
            _show("Indices", pooled.Indices, layout, everything)
        if pooled.empty.any():
            of = f"{int(pooled.empty.sum())} of {pooled.empty.size}"
            click.echo(f"empty windows, where Y and Indices mean nothing: {of}")


def interpretation(one: Oracle, meanings: Sequence[Oracle]) -> str:
    """The points, and their interpretations, in which the meanings differ."""
    every = [meaning.pooling.policies.names() for meaning in meanings]
    names = one.pooling.policies.names()
    return ", ".join(f"{point}: {names[point]}" for point in names if len({other[point] for other in every}) > 1)


def _show(name: str, tensor: np.ndarray, layout: Layout, everything: bool) -> None:
    from maxpool_check.reporting.tensors import planes

    click.echo(f"{name} {tensor.dtype.name}{list(tensor.shape)}")
    if tensor.size > MOST_CELLS and not everything:
        click.echo(f"  {tensor.size} cells; --all shows them")
        return
    for line in planes([str(value) for value in tensor.reshape(-1)], tensor.shape, layout=layout):
        click.echo(f"  {line}")


def _json(case: Case, meanings: Sequence[Oracle]) -> str:
    import numpy as np

    def nested(array: np.ndarray) -> object:
        # Values as text: JSON has no infinities, no NaN and no -0.
        return np.array([str(value) for value in array.reshape(-1)], object).reshape(array.shape).tolist()

    def answer(one: Oracle) -> dict[str, object]:
        pooled = one.pooled.arranged(one.pooling.layout)
        has_indices = one.pooling.indices and pooled.Indices is not None
        return {
            "policies": one.pooling.policies.names(),
            "shape": list(pooled.Y.shape),
            "Y": nested(pooled.Y),
            "Indices": pooled.Indices.tolist() if has_indices and pooled.Indices is not None else None,
            "empty": pooled.empty.tolist(),
        }

    return json.dumps(
        {
            "schema": "maxpool-check/reference/1",
            "case": case.id,
            "spec": case.spec,
            "dtype": case.X.dtype.name,
            **answer(meanings[0]),
            "policies": case.policies.names(),
            "index_dtype": meanings[0].pooling.numbering.dtype if meanings[0].pooling.indices else None,
            "alternatives": [answer(other) for other in meanings[1:]],
        },
        indent=1,
    )
