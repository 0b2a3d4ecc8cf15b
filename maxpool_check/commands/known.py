"""``maxpool-check known``."""

from datetime import date
from pathlib import Path

import click

from maxpool_check.commands import case_files, options
from maxpool_check.comparing.entries import entries_for, never_matching
from maxpool_check.corpus.collection import KNOWN_NAME, root_of
from maxpool_check.corpus.known_file import append, read_known, unmatched
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural


@click.group("known")
def command() -> None:
    """Add known divergences from a record, and check the existing ones."""


@command.command("add")
@click.argument("record", type=options.FILE)
@click.option("--reason", required=True, metavar="TEXT", help="Why the runtime diverges.")
@options.kind("Only executions that show this kind.  [default: all that are unexpected]")
@click.option(
    "--known", "file", type=options.FILE, metavar="FILE",
    help="Where to write.  [default: known-divergences.yaml at the root of the record's cases]",
)  # fmt: skip
def add(record: Path, reason: str, kind: str | None, file: Path | None) -> int:
    """Write the narrowest entries for the faults of RECORD that no entry expects.

    An entry binds exact cases, exact kinds, the variants that show them, and the version that was tested; or the kernel,
    as -t names it. Widen 'when' by hand, or with bisect --write-known, once you know which releases are concerned.
    """
    if not reason.strip():
        raise click.UsageError("--reason is empty")
    stored = options.read_record(record)
    path = file or _default_file(next((execution.origin for execution in stored.executions), ""))
    with case_files.mistakes():
        known = read_known(path) if path.exists() else []
    try:
        entries = entries_for(stored, known, reason, kind)
    except ValueError as error:
        raise click.UsageError(f"no entry can be written for {record}: {error}") from error
    if not entries:
        options.echo("no unexpected divergences")
        return ExitCode.AS_EXPECTED
    append(path, entries)
    for entry in entries:
        kinds = ", ".join(sorted(each.value for each in entry.kinds))
        options.echo(f"{entry.id}: {kinds} of {plural(len(entry.cases), 'case')}, {entry.when}")
    options.echo(f"{plural(len(entries), 'entry', 'entries')} added to {path}; review before you commit")
    return ExitCode.AS_EXPECTED


@command.command("check")
@click.option(
    "--record", "record_files", multiple=True, type=options.FILE, metavar="RECORD",
    help="Also list the entries that no execution of these records shows. Repeatable.",
)  # fmt: skip
@case_files.every
def check(files: case_files.CaseFiles, record_files: tuple[Path, ...]) -> int:
    """List the entries that are expired, that match no case, or that no execution shows.

    Exits with 1 if there are any.
    """
    corpus = files.read()
    stored = [options.read_record(path) for path in record_files]
    problems, count = [], 0
    for file in corpus.known_files:
        with case_files.mistakes():
            entries = read_known(file)
        count += len(entries)
        expired = [entry for entry in entries if entry.expired(date.today())]
        problems += [f"{file}: {entry.id} expired on {entry.expires}" for entry in expired]
        if corpus.whole:
            ids = [case.id for case in corpus.cases]
            problems += [f"{problem}: orphaned" for problem in unmatched(entries, ids, file)]
        problems += [f"{file}: no record shows {entry.id}" for entry in never_matching(entries, stored)]
    for line in problems:
        options.echo(line)
    options.echo(f"{plural(count, 'entry', 'entries')}, {plural(len(problems), 'problem')}")
    return ExitCode.UNEXPECTED if problems else ExitCode.AS_EXPECTED


def _default_file(origin: str) -> Path:
    """The file of known divergences of the corpus that a case comes from."""
    path = Path(origin.rpartition(":")[0])
    if not path.is_file():
        raise click.UsageError(f"the record's cases are not here ({path}); pass the file to write with --known")
    return root_of(path) / KNOWN_NAME
