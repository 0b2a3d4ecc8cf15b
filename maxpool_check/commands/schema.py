"""``maxpool-check schema``."""

from __future__ import annotations

import json

import click


@click.command("schema")
@click.argument("what", type=click.Choice(["case", "known", "record"]))
def command(what: str) -> int:
    """Print the JSON Schema of case files, of known divergences, or of a line of a record."""
    from maxpool_check.corpus.schema import case_file_schema, known_file_schema
    from maxpool_check.results.storage import schema

    made = {"case": case_file_schema, "known": known_file_schema, "record": schema}[what]()
    click.echo(json.dumps(made, indent=2))
    return 0
