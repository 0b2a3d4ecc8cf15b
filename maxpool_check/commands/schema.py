"""``maxpool-check schema``."""

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.comparing.acceptance_file import accepted_file_schema
from maxpool_check.configuration.schema import configuration_schema
from maxpool_check.corpus.defect_schema import defect_file_schema
from maxpool_check.corpus.schema import case_file_schema
from maxpool_check.corpus.vectors import vector_file_schema
from maxpool_check.evidence.tracing.trace import trace_schema
from maxpool_check.results.record import ExitCode
from maxpool_check.results.storage import schema
from maxpool_check.running.results_form import results_schema

_SCHEMAS = {
    "accepted": accepted_file_schema, "case": case_file_schema, "config": configuration_schema,
    "defects": defect_file_schema, "known": defect_file_schema, "record": schema,
    "results": results_schema, "trace": trace_schema, "vectors": vector_file_schema,
}  # fmt: skip


@click.command("schema")
@click.argument("name", type=options.NearestChoice(_SCHEMAS))
def command(name: str) -> int:
    """Print the JSON Schema of a file format.

    Case files, defects, accepted changes, a configuration, a line of a record or of results, a trace, exported vectors.

    \b
    Examples:
      maxpool-check schema case > case.schema.json
      maxpool-check schema record
    """
    options.echo(inert.dumps(_SCHEMAS[name](), indent=2))
    return ExitCode.AS_EXPECTED
