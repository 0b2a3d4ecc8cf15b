"""``maxpool-check known``."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.comparing.defects import defects_for, never_matching
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import KNOWN_NAME, collect, defect_files, is_shipped, root_of
from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.defect_file import read_defects, unmatched
from maxpool_check.corpus.editing import add as add_defects
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.defects import Upstream
from maxpool_check.results.record import Execution, ExitCode, KnownStatus
from maxpool_check.words import plural


@click.group("known")
def command() -> None:
    """Add known defects from a record, and check the existing ones.

    \b
    Examples:
      maxpool-check known add record.jsonl --reason 'reviewed: as documented'
      maxpool-check known check cases/
    """


@command.command("add", short_help="Write entries for the faults of a record.")
@click.argument("record", type=options.FILE)
@click.option("--reason", required=True, metavar="TEXT", help="Why the runtime diverges, or why you accept it.")
@click.option("--title", metavar="TEXT", help="What is wrong, in a sentence.  [default: the reason]")
@click.option("--issue", metavar="URL", help="The address of an issue upstream, https://...")
@click.option("--reviewer", metavar="NAME", help="Who has reviewed it today.")
@click.option("--expires", type=options.DATE, metavar="DATE", help="The last day on which it is expected, YYYY-MM-DD.")
@options.kind("Only executions that show this kind.  [default: all that are unexpected]")
@click.option(
    "--known", "file", type=options.FILE, metavar="FILE",
    help="Where to write.  [default: known-divergences.yaml at the root of the record's cases]",
)  # fmt: skip
def add(
    record: Path, reason: str, title: str | None, issue: str | None, reviewer: str | None, expires: date | None, kind: str | None,
    file: Path | None,
) -> int:  # fmt: skip
    """Write the narrowest entries for the faults of RECORD that no defect of its corpus expects.

    What fits a known defect, of the same kinds and with its conditions, is added to it; otherwise a new one is written. An
    entry binds exact cases, exact kinds, the variants that show them, and the version that was tested; or the kernel, as -t
    names it. Of models, these are the results that failed. Widen 'versions' by hand once you know which releases are
    concerned: bisect finds them.

    \b
    Examples:
      maxpool-check known add record.jsonl --reason 'reviewed: as documented'
      maxpool-check known add record.jsonl --reason 'as documented' --kind refuses-valid
    """
    if not reason.strip():
        raise click.UsageError("--reason is empty")
    if reviewer is not None and not reviewer.strip():
        raise click.UsageError("--reviewer is empty; leave it out if nobody has reviewed it")
    if issue is not None and not re.fullmatch(r"https://\S+", issue):
        raise click.UsageError(f"--issue '{issue}' is no address, https://...")
    stored = options.read_record(record)
    path = file or _default_file(next(iter(stored.executions), None))
    with case_files.mistakes():
        files = dict.fromkeys((path, *_others(stored.executions, file)))
        by_file = {each: read_defects(each) if each.exists() else [] for each in files}
    known = [defect for defects in by_file.values() for defect in defects]
    cases = _cases(stored.executions) if known else {}
    try:
        added = defects_for(stored, with_cases(known, tuple(cases.values())), reason, kind, cases)
    except ValueError as error:
        raise click.UsageError(f"nothing can be written for {record}: {error}") from error
    if not added:
        options.echo("no unexpected divergences")
        return ExitCode.AS_EXPECTED
    upstream = Upstream("open", date.today(), issue) if issue is not None else None
    added = [
        replace(
            defect, title=title or defect.title, upstream=upstream, reviewer=reviewer or "",
            reviewed=date.today() if reviewer is not None else None,
            expected=tuple(replace(each, expires=expires) for each in defect.expected),
        )
        for defect in added
    ]  # fmt: skip
    ids = {defect.id: each for each, defects in by_file.items() for defect in defects}
    with case_files.mistakes():
        for each in by_file:
            if mine := [defect for defect in added if ids.get(defect.id, path) == each]:
                add_defects(each, mine)
    for defect in added:
        (expected,) = defect.expected
        kinds = ", ".join(sorted(each.value for each in expected.kinds))
        fits = " (fits its conditions: review)" if defect.id in ids else ""
        options.echo(f"{defect.id}: {kinds} of {plural(len(expected.cases), 'case')}, {expected.when}{fits}")
    written = ", ".join(dict.fromkeys(str(ids.get(defect.id, path)) for defect in added))
    options.echo(f"{plural(len(added), 'entry', 'entries')} added to {written}; review before you commit")
    return ExitCode.AS_EXPECTED


@command.command("check", short_help="List stale entries.")
@click.option(
    "--record", "record_files", multiple=True, type=options.FILE, metavar="RECORD",
    help="Also list the entries that no execution of these records shows. Repeatable.",
)  # fmt: skip
@case_files.every
def check(files: case_files.CaseFiles, record_files: tuple[Path, ...]) -> int:
    """List the entries that are expired, that match no case, or that no execution shows.

    Exits with 1 if there are any.

    \b
    Examples:
      maxpool-check known check cases/
      maxpool-check known check cases/ --record record.jsonl
    """
    corpus = files.read()
    stored = [options.read_record(path) for path in record_files]
    problems, count = [], 0
    for file in corpus.known_files:
        with case_files.mistakes():
            defects = read_defects(file)
        count += len(defects)
        problems += [
            f"{file}: {defect.id} expired on {entry.expires}"
            for defect in defects
            for entry in defect.expected
            if entry.expired(date.today())
        ]
        if corpus.whole:
            problems += [f"{problem}: orphaned" for problem in unmatched(file, [case.id for case in corpus.cases])]
        expected = with_cases(defects, corpus.cases)
        problems += [f"{file}: no record shows {defect.id}" for defect in never_matching(expected, stored)]
        ids = {defect.id for defect in defects}
        problems += [
            f"{file}: {entry.id} is stale on {entry.target}: {' '.join(entry.message.split())}"
            for record in stored
            for entry in (record.footer.known if record.footer is not None else ())
            if entry.id in ids and entry.status is KnownStatus.STALE
        ]
    for line in problems:
        options.echo(line)
    options.echo(f"{plural(count, 'entry', 'entries')}, {plural(len(problems), 'problem')}")
    return ExitCode.UNEXPECTED if problems else ExitCode.AS_EXPECTED


def _others(executions: Iterable[Execution], file: Path | None) -> list[Path]:
    """The files of defects of the record's corpus, if no file was named and the corpus is here."""
    first = next(iter(executions), None)
    path = Path(first.origin.rpartition(":")[0]) if first is not None else Path()
    return defect_files(_root(path, first.case)) if file is None and first is not None and path.is_file() else []


def _cases(executions: Iterable[Execution]) -> dict[str, Case]:
    """The cases of a record by id, as far as their files are still there."""
    files = sorted({Path(execution.origin.rpartition(":")[0]) for execution in executions})
    try:
        return {case.id: case for case in collect([file for file in files if is_shipped(file) or file.is_file()]).cases}
    except CorpusError:
        return {}


def _default_file(execution: Execution | None) -> Path:
    """The file of known defects of the corpus that a case comes from."""
    path = Path(execution.origin.rpartition(":")[0] if execution is not None else "")
    if is_shipped(path):
        raise click.UsageError("the record's cases come with the tool; pass the file to write with --known")
    if not path.is_file():
        raise click.UsageError(f"the record's cases are not here ({path}); pass the file to write with --known")
    assert execution is not None
    return _root(path, execution.case) / KNOWN_NAME


def _root(path: Path, case: str) -> Path:
    """The folder that the id of a case in a file is relative to: the next run reads the files of defects there."""
    inside = Path(case.rpartition(":")[0])
    return path.parents[len(inside.parts) - 1] if path.with_suffix("").match(str(inside)) else root_of(path)
