"""``maxpool-check reference``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.reference.pooling import Pooled, Pooling

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
    from maxpool_check.reference import definition
    from maxpool_check.reference.evaluator import evaluate
    from maxpool_check.reference.pooling import Pooling

    found = options.find(case, path, max_cells)
    meaning = found.meaning
    if not isinstance(meaning, Pooling):
        if form == "json":
            refused = {"reason": meaning.reason.value, "clause": meaning.clause, "message": str(meaning)}
            click.echo(json.dumps({"schema": "maxpool-check/reference/1", "case": found.id, "refused": refused}))
        else:
            click.echo(
                f"{found.id}  {found.title}\n{found.specification.title} excludes it ({meaning.reason.value}): {meaning}"
            )
        return 0
    pooled = evaluate(found.X, meaning)
    if form == "json":
        click.echo(_json(found, pooled))
        return 0
    _text(found, meaning, pooled, everything)
    if pooled.Y.size == 0:
        click.echo("no windows")
    elif pooled.Y.size <= MOST_WINDOWS or everything:
        click.echo("windows (positions on X; padding is not in them)")
        from maxpool_check.reporting.tensors import coordinates, window_text

        for at in map(tuple, _cells(pooled)):
            window = [axis.window(i) for axis, i in zip(meaning.geometry, at[2:], strict=True)]
            inside = definition.cells(at, meaning.geometry)
            values = " ".join(str(found.X[cell]) for cell in inside) or "no cell of X"
            click.echo(f"  {coordinates(at)}  {window_text(window)}: {values}")
    else:
        click.echo(f"{pooled.Y.size} windows; --all shows them")
    return 0


def _cells(pooled: Pooled) -> list[list[int]]:
    import numpy as np

    return [[int(i) for i in at] for at in np.ndindex(pooled.Y.shape)]


def _text(case: Case, pooling: Pooling, pooled: Pooled, everything: bool) -> None:
    click.echo(f"{case.id}  {case.title}")
    click.echo(
        f"{case.specification.title}, "
        + ", ".join(f"{point}: {reading}" for point, reading in case.policies.names().items())
    )
    click.echo(", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes")
    for number, axis in enumerate(pooling.geometry, 1):
        click.echo(
            f"  D{number}: size {axis.size}, kernel {axis.kernel}, stride {axis.stride}, dilation {axis.dilation}, "
            f"pads {axis.begin} and {axis.end}, output {axis.output}"
        )
    if case.erratum:
        click.echo(f"Erratum: {case.erratum.strip()}")
    _show("X", case.X, everything)
    _show("Y", pooled.Y, everything)
    if pooled.Indices is not None:
        _show("Indices", pooled.Indices, everything)
    if pooled.empty.any():
        click.echo(f"empty windows, where Y and Indices mean nothing: {int(pooled.empty.sum())} of {pooled.empty.size}")


def _show(name: str, tensor: object, everything: bool) -> None:
    import numpy as np

    from maxpool_check.reporting.tensors import planes

    array = np.asarray(tensor)
    click.echo(f"{name} {array.dtype.name}{list(array.shape)}")
    if array.size > MOST_CELLS and not everything:
        click.echo(f"  {array.size} cells; --all shows them")
        return
    for line in planes([str(value) for value in array.reshape(-1)], array.shape):
        click.echo(f"  {line}")


def _json(case: Case, pooled: Pooled) -> str:
    import numpy as np

    def nested(array: np.ndarray) -> object:
        # Values as text: JSON has no infinities, no NaN and no -0.
        return np.array([str(value) for value in array.reshape(-1)], object).reshape(array.shape).tolist()

    return json.dumps(
        {
            "schema": "maxpool-check/reference/1",
            "case": case.id,
            "spec": case.spec,
            "policies": case.policies.names(),
            "dtype": case.X.dtype.name,
            "shape": list(pooled.Y.shape),
            "Y": nested(pooled.Y),
            "Indices": None if pooled.Indices is None else pooled.Indices.tolist(),
            "empty": pooled.empty.tolist(),
        },
        indent=1,
    )
