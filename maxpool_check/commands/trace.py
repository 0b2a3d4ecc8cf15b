"""``maxpool-check trace``."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.selection import ALL
from maxpool_check.evidence.kills import Kills, kills_by_clause
from maxpool_check.evidence.tracing import tools, view
from maxpool_check.evidence.tracing.trace import ExecutedTwice, Trace, TraceScope, trace
from maxpool_check.evidence.tracing.view import TraceReport, result
from maxpool_check.files import STDOUT, open_text
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications import SPECIFICATIONS, documents
from maxpool_check.specifications.clauses import clauses

FORMATS: options.Formats[TraceReport] = {
    "text": view.write_text,
    "json": tools.write_json,
    "markdown": view.write_markdown,
    "html": view.write_html,
    "csv": tools.write_csv,
    "sdoc": tools.write_sdoc,
    "needs": tools.write_needs,
}
"""The formats of a trace."""

_CLAUSE = "clause:"


@click.command("trace")
@click.option(
    "--record", "records", multiple=True, type=options.FILE, metavar="RECORD.jsonl",
    help="Count the executions of this record. Repeatable.",
)  # fmt: skip
@click.option(
    "--spec", "specs", multiple=True, type=options.DOCUMENTS, callback=options.joined, metavar="NAME,...",
    help="Only these documents or families, such as sonnx or onnx. Repeatable.  [default: those of the cases]",
)  # fmt: skip
@options.form(FORMATS, "The format of the trace.")
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write to a file, not to stdout.")
@click.option(
    "--mutants", is_flag=True,
    help="Run the wrong kernels that violate each testable clause on its cases, up to three cases that notice each.",
)  # fmt: skip
@click.option(
    "--fail-uncovered", is_flag=True,
    help="Exit with 1 if a testable clause has no case; with --mutants, also if its cases notice no wrong kernel. Not for "
    "clauses that no target of the records compared, which are named.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show statements and places, every case, and its clauses.")
@options.color
@case_files.by_expression
@options.bundled(output=Output)
def command(
    files: case_files.CaseFiles, records: tuple[Path, ...], mutants: bool, fail_uncovered: bool, output: Output
) -> int:  # fmt: skip
    """Trace each clause of the documents to its cases and their results, and each case to its clauses.

    \b
    Examples:
      maxpool-check trace --spec sonnx
      maxpool-check trace cases/ --record record.jsonl --format html -o trace.html
    """
    if files.selected and fail_uncovered:
        raise click.UsageError("--fail-uncovered looks at all cases; -k leaves some out")
    stored = {str(path): options.read_record(path) for path in records}
    corpus = files.read()
    path = output.output
    output.check_writable([*records, *corpus.files])
    try:
        scope = _scope(files, corpus)
        kills = _kills(scope) if mutants else None
        traced = trace(scope, stored, kills)
    except ExecutedTwice as error:
        raise click.UsageError(str(error)) from error
    colored = path is None and output.colored
    with open_text(path or STDOUT) as file:
        FORMATS[output.form](TraceReport(traced, options.width(), colored, output.verbose > 0), file)
    if path not in (None, STDOUT):
        word, sentence = result(traced)
        options.echo(f"{word}  {sentence}\ntrace: {path}", err=True)
    return _exit_code(traced, fail_uncovered=fail_uncovered)


def _scope(files: case_files.CaseFiles, corpus: Corpus) -> TraceScope:
    """What the user wants to see; without ``--spec``, the documents of the cases, and with ``-k``, the clauses of these alone."""
    named = [document for name in files.specs if name != ALL for document in documents(name)]
    everywhere = SPECIFICATIONS if ALL in files.specs else named
    globs = [each.removeprefix(_CLAUSE) for each in files.selected if each.startswith(_CLAUSE)]
    matching = {glob: [name for name in clauses() if fnmatchcase(name, glob)] for glob in globs}
    only = bool(globs) and len(globs) == len(files.selected) and all(matching.values())
    wanted = frozenset(name for names in matching.values() for name in names) if only else None
    cases = corpus.cases
    if wanted is not None:
        # A clause without a case is to be shown, too.
        cases = tuple(case for case in cases if wanted.intersection(case.covers))
        used = everywhere or _documents_of(wanted, {case.spec for case in corpus.cases})
    else:
        cases = files.select(corpus) if files.selected else cases
        used = everywhere or {case.spec for case in cases}
    # A document may have no case.
    cases = tuple(case for case in cases if case.spec in used)
    chosen = {case.id for case in cases}
    others = [case.id for case in corpus.cases if case.id not in chosen]
    scope = TraceScope(cases, used, others, whole=wanted is not None or not files.selected, clauses=wanted)
    if wanted is not None and not any(scope.lists(clauses()[name]) for name in wanted):
        raise click.UsageError(f"no clause of {' '.join(files.selected)} holds in {', '.join(used)}; leave out --spec")
    return scope


def _documents_of(names: Collection[str], present: Collection[str]) -> set[str]:
    """The documents in which clauses hold: those that have cases, or else all."""
    found: set[str] = set()
    for name in names:
        holds = clauses()[name].documents
        found.update([each for each in holds if each in present] or holds)
    return found


def _kills(scope: TraceScope) -> Kills:
    """The wrong kernels that violate each clause of the scope, and the cases that notice them."""
    listed = [clause for clause in clauses().values() if scope.lists(clause)]
    return kills_by_clause(scope.cases, listed)


def _exit_code(traced: Trace, *, fail_uncovered: bool) -> ExitCode:
    if any(not record.complete for record in traced.records):
        return ExitCode.INCOMPLETE
    if traced.cases and traced.records and not any(record.counted for record in traced.records):
        return ExitCode.NOTHING_COMPARED
    gaps = any(clause.gap is not None for clause in traced.clauses)
    return ExitCode.UNEXPECTED if gaps and fail_uncovered else ExitCode.AS_EXPECTED
