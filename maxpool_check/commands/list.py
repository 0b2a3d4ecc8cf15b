"""``maxpool-check list``."""

import click

from maxpool_check import inert
from maxpool_check.commands import case_files, options
from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import json_data
from maxpool_check.results.record import ExitCode


def _input(case: Case) -> str:
    """The dtype and shape of X, and the operators that it flows through if there are others than MaxPool."""
    X = f"{case.X.dtype.name}{list(case.X.shape)}"
    return f"{X} {' > '.join(case.context.operators)}" if case.context and case.context.has_nodes else X


@click.command("list")
@options.form()
@case_files.selected
def command(files: case_files.CaseFiles, form: str) -> int:
    """List the cases, one line each: id, document, X and the operators that it flows through, title."""
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
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        options.echo("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))
    return ExitCode.AS_EXPECTED
