"""``maxpool-check schema``."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from maxpool_check import inert
from maxpool_check.commands import old_options as options
from maxpool_check.commands.configuration import schema as configuration_schema
from maxpool_check.comparing import acceptance
from maxpool_check.corpus import defect_file
from maxpool_check.corpus.schema import case_file_schema
from maxpool_check.evidence.tracing.trace import trace_schema
from maxpool_check.exporting.vectors import vector_file_schema
from maxpool_check.results.record import ExitCode
from maxpool_check.results.storage import schema
from maxpool_check.running import outputs

_SCHEMAS: Mapping[str, Callable[[], Any]] = {
    "accepted": lambda: acceptance.SCHEMA,
    "case": case_file_schema,
    "config": configuration_schema,
    "defects": lambda: defect_file.SCHEMA,
    "known": lambda: defect_file.SCHEMA,
    "outputs": lambda: outputs.SCHEMA,
    "record": schema,
    "trace": trace_schema,
    "vectors": vector_file_schema,
}


@click.command("schema")
@click.argument("name", type=options.NearestChoice(_SCHEMAS))
def command(name: str) -> int:
    """Print the JSON Schema of a file format.

    Case files, defects, accepted changes, a configuration, a line of outputs or of a record, a trace, exported vectors.

    \b
    Examples:
      maxpool-check schema case > case.schema.json
      maxpool-check schema record
    """
    options.echo(inert.dumps(_SCHEMAS[name](), indent=2))
    return ExitCode.AS_EXPECTED
