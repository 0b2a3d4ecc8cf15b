"""``maxpool-check documents``."""

import sys

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.explaining.documents import TAG, write
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.words import plural


@click.command("documents")
@case_files.every
def command(files: case_files.CaseFiles) -> int:
    """Compare the documents with each other, with their errata, as Markdown.

    Cases with the tag 'documents' and the same id test the same point of every document; cases with an erratum show a
    mistake of a document. No target is executed: all results are the reference's.

    \b
    Examples:
      maxpool-check documents > documents.md
      maxpool-check documents cases/
    """
    documents = list(SPECIFICATIONS)
    cases = sorted(files.read().cases, key=lambda case: documents.index(case.spec))
    if not any(TAG in case.tags for case in cases):
        raise click.UsageError(f"none of {plural(len(cases), 'case')} has the tag {TAG}")
    write(cases, sys.stdout)
    return ExitCode.AS_EXPECTED
