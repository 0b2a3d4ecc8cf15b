"""``maxpool-check list``."""

import sys
from collections.abc import Iterator, Sequence

import click
from rich.cells import cell_len, set_cell_size

from maxpool_check import inert
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import json_data
from maxpool_check.results.record import ExitCode

_ALIGNED = 120
"""The width by which columns are aligned where there is no terminal."""

_LEAST_TITLE = 40
"""A longer title has at least so many columns."""

_GAP = "  "
_ELLIPSIS = " ..."


def _input(case: Case) -> str:
    """The dtype and shape of X, and the operators that it flows through if there are others than MaxPool."""
    X = f"{case.X.dtype.name}{list(case.X.shape)}"
    return f"{X} {' > '.join(case.context.operators)}" if case.context and case.context.has_nodes else X


@click.command("list")
@options.form()
@case_files.selected
def command(files: case_files.CaseFiles, form: str) -> int:
    """List the cases, one line each: id, document, X and the operators that it flows through, title.

    On a terminal, lines are cut to its width, but never an id; a title for which there is no room has a line of its own.

    \b
    Examples:
      maxpool-check list corpus:onnx
      maxpool-check list cases/ -k tag:neg-inf
    """
    cases = files.select(files.read())
    if form == "json":
        entries = [
            {
                "id": case.id,
                "title": case.title,
                "spec": case.spec,
                "tags": list(case.tags),
                "covers": list(case.covers),
                "dtype": case.X.dtype.name,
                "shape": list(case.X.shape),
                "attributes": dict(case.attributes),
                **(json_data(case.context) if case.context else {}),
                "outputs": list(case.outputs),
                "origin": f"{case.origin.path}:{case.origin.line}",
                "sha256": case.sha256,
                "provenance": dict(case.provenance),
            }
            for case in cases
        ]
        options.echo(inert.dumps({"schema": "maxpool-check/list/1", "cases": entries}, indent=1))
        return ExitCode.AS_EXPECTED
    rows = [[inert.line(text) for text in (case.id, case.spec, _input(case), case.title)] for case in cases]
    width = options.width() if sys.stdout.isatty() else None
    for line in _lines(rows, width):
        options.echo(line)
    return ExitCode.AS_EXPECTED


def _lines(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """The rows in columns, each cut to the width of a terminal, but never its id; None: whole.

    A title for which there is no room has a line of its own.
    """
    total = width or _ALIGNED
    # A few long cells move the rest of their rows, not that of all others.
    most = (total * 2 // 5, total // 5, total // 5)
    widths = [min(limit, max((cell_len(row[column]) for row in rows), default=0)) for column, limit in enumerate(most)]
    for *cells, title in rows:
        start = "".join(text + " " * (least - cell_len(text)) + _GAP for text, least in zip(cells, widths, strict=True))
        if width is None:
            yield start + title
        elif width - cell_len(start) >= min(_LEAST_TITLE, cell_len(title)):
            yield _cut(start + title, width)
        else:
            head = start.rstrip() if cell_len(start.rstrip()) <= width else _GAP.join(cells)
            yield _cut(head, max(width, cell_len(cells[0]) + len(_ELLIPSIS)))
            yield _cut(_GAP + title, width)


def _cut(line: str, width: int) -> str:
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - len(_ELLIPSIS)).rstrip()}{_ELLIPSIS}"
