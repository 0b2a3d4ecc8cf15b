"""``maxpool-check evidence``: build, verify, sign, trace."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.words import plural, some

if TYPE_CHECKING:
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.evidence.bundling.record_check import Verification
    from maxpool_check.evidence.tracing.trace import TraceScope

_MOST = 20
"""How many problems are printed."""

TRACE_FORMATS = options.Formats(
    "evidence.tracing.view:document", {name: f"evidence.tracing.tools:write_{name}" for name in ("json", "csv")}
)
"""The formats of a trace."""

_bundle = click.argument("bundle", type=options.FILE, metavar="BUNDLE")


@click.group("evidence", cls=options.Group)
def command() -> None:
    """Build a bundle of evidence that verifies itself, sign it and verify it; trace clauses to cases and results.

    Bundles need more packages: pip install 'maxpool-check[evidence]'.

    \b
    Examples:
      maxpool-check evidence build record.jsonl -o evidence.tar
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519
    """


@command.command("build", short_help="Build a bundle from records.")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@click.option(
    "-o", "--output", required=True, type=options.FILE, metavar="FILE", help="The bundle, such as evidence.tar."
)
@click.option(
    "--cases", "paths", multiple=True, type=options.PATH, default=("corpus",), metavar="PATH",
    help="The case files of the runs, or folders of them. Repeatable.  [default: 'corpus', the one that comes with the tool]",
)  # fmt: skip
def build(records: tuple[Path, ...], output: Path, paths: tuple[Path, ...]) -> int:
    """Build a bundle of evidence from RECORD...: one file with the records, their cases, clauses, pages and digests.

    The same records, cases and tool make the same file.

    \b
    Examples:
      maxpool-check evidence build record.jsonl -o evidence.tar
      maxpool-check evidence build old.jsonl new.jsonl --cases cases/ -o evidence.tar
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.evidence.bundling.archive import BadArchive, packed
    from maxpool_check.evidence.bundling.build import build as members_of
    from maxpool_check.evidence.bundling.build import check_targets
    from maxpool_check.evidence.bundling.contents import BadBundle, IncompleteRecord
    from maxpool_check.files import STDOUT, named

    stored = [(path, options.read_record(path)) for path in records]
    with options.raising((BadBundle, BadArchive), IncompleteRecord):
        check_targets(stored)
        corpus = CaseFiles(paths).read()
        Output(reports=[("bundle", output)]).check_writable([*records, *corpus.files, *corpus.known_files])
        members = members_of(stored, corpus, options.setting("max_cells"))
        content = packed(members)
    if output == STDOUT:
        sys.stdout.buffer.write(content)
        return 0
    with named(output):
        output.write_bytes(content)
    options.echo(f"{output}: {plural(len(members), 'file')}, {len(content) / 2**20:.1f} MiB")
    return 0


@command.command("sign", short_help="Sign a bundle.")
@_bundle
@click.option(
    "--key", required=True, type=options.FILE, metavar="KEY",
    help="A private key of OpenSSH, such as ~/.ssh/id_ed25519, or a public one whose private key an agent has.",
)  # fmt: skip
def sign(bundle: Path, key: Path) -> int:
    """Add a signature of its manifest to BUNDLE, made by ssh-keygen.

    \b
    Examples:
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519.pub
    """
    from maxpool_check.evidence.bundling.archive import BadArchive, packed, unpacked
    from maxpool_check.evidence.bundling.contents import BadBundle
    from maxpool_check.evidence.bundling.signing import CannotSign, signed
    from maxpool_check.files import named

    with _readable(bundle), options.raising(CannotSign), options.raising((BadBundle, BadArchive), about=f"{bundle}: "):
        content = packed(signed(unpacked(bundle), key.expanduser()))
    # The bundle is there as a whole, with or without a signature.
    new = bundle.with_name(f".{bundle.name}.signed")
    with named(new):
        new.write_bytes(content)
        new.replace(bundle)
    options.echo(f"{bundle}: signed with {key}")
    return 0


@command.command("verify", short_help="Verify a bundle: every file, page and verdict.")
@_bundle
@click.option(
    "--key", type=options.FILE, metavar="PUBLIC_KEY",
    help="Who must have signed it: a public key of OpenSSH (.pub), or a file of allowed signers.",
)  # fmt: skip
@click.option("--run", is_flag=True, help="Run all cases on the same releases again, and compare what they return.")
@options.as_json
def verify(bundle: Path, key: Path | None, run: bool, as_json: bool) -> int:
    """Verify BUNDLE: its files by their digests, its pages and verdicts by making them again from the records.

    Exit codes: 0 verified, 1 something is altered, missing, added or does not follow, 2 usage, 3 not all could be checked.

    \b
    Examples:
      maxpool-check evidence verify evidence.tar
      maxpool-check evidence verify evidence.tar --key lab.pub --run
    """
    from maxpool_check.commands.output import progress_bar
    from maxpool_check.evidence.bundling.differences import rerun
    from maxpool_check.evidence.bundling.verification import verified

    with _readable(bundle, key), verified(bundle, key, options.setting("max_cells")) as (verification, contents):
        if run and contents is None:
            verification.unchecked.append("nothing was run again: the bundle cannot be read")
        elif run and contents is not None:
            # Each case is counted for every target.
            total = sum(each.header.cases * len(each.header.targets) for each in contents.records.values())
            with progress_bar("cases", total, quiet=as_json) as progress:
                rerun(contents, verification, options.setting("timeout"), progress)
    if not as_json:
        _print(bundle, verification, options.setting("verbose") > 0)
        return verification.exit_code
    document = {
        "bundle": str(bundle),
        "exit_code": int(verification.exit_code),
        "checks": verification.checks,
        "problems": [{"place": place, "message": message} for place, message in verification.problems],
        "unchecked": verification.unchecked,
        "undecided": [{"place": place, "verdict": verdict} for place, verdict in verification.undecided],
    }
    options.dump("verification", document)
    return verification.exit_code


@contextlib.contextmanager
def _readable(bundle: Path, key: Path | None = None) -> Iterator[None]:
    """Turn files that cannot be read into errors of usage."""
    from maxpool_check.files import not_found

    for path in (bundle, key):
        if path is not None and not path.exists():
            hint = "; 'maxpool-check evidence build' writes a bundle" if path is bundle else ""
            raise click.UsageError(f"{not_found(path, is_file=True)}{hint}")
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename or bundle}: {error.strerror}") from error


def _print(bundle: Path, verification: "Verification", verbose: bool) -> None:
    problems, undecided = verification.problems, verification.undecided
    lines = [f"ok  {sentence}" for sentence in verification.checks]
    lines += some([f"PROBLEM  {place}: {message}" for place, message in problems], len(problems) if verbose else _MOST)
    lines += [f"NOT CHECKED  {text}" for text in verification.unchecked]
    if undecided:
        lines.append(
            f"{plural(len(undecided), 'execution')}: an output is too large for the record, so that the verdict could not be made "
            "again; --run compares them."
        )
        lines += [f"  {place}: {verdict}" for place, verdict in undecided if verbose]
    endings = {
        0: f"VERIFIED  {bundle}",
        1: f"NOT VERIFIED  {bundle}: {plural(len(problems), 'problem')}",
        3: f"NOT COMPLETELY VERIFIED  {bundle}: no problem, but not all could be checked",
    }
    # A bundle must not write lines of its own.
    options.echo("\n".join(map(inert.line, [*lines, endings[verification.exit_code]])))


@command.command("trace", short_help="Trace clauses of the documents to cases and results, and back.")
@options.paths
@click.option(
    "--record", "records", multiple=True, type=options.FILE, metavar="RECORD.jsonl",
    help="Count the executions of this record. Repeatable.",
)  # fmt: skip
@options.spec
@options.selected
@options.reports(TRACE_FORMATS)
def trace(
    paths: Sequence[Path], records: tuple[Path, ...], spec: tuple[str, ...], selected: tuple[str, ...],
    reports: Sequence[tuple[str, Path]],
) -> int:  # fmt: skip
    """Trace each clause of the documents to its cases and their results, and each case to its clauses.

    Exit codes: 0 every testable clause has a case, 1 one has none (a clause that no target of the records compared is only named),
    2 usage, 3 a record is incomplete, 4 the records compared nothing.

    \b
    Examples:
      maxpool-check evidence trace --spec sonnx
      maxpool-check evidence trace cases/ --record record.jsonl --report html=trace.html
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.evidence.tracing.trace import ExecutedTwice
    from maxpool_check.evidence.tracing.trace import trace as trace_of
    from maxpool_check.results.record import ExitCode
    from maxpool_check.specifications.clauses import clauses

    named = [f"clause:{path}" for path in paths if str(path) in clauses()]
    if named:
        paths = [path for path in paths if str(path) not in clauses()] or [Path("corpus")]
        selected = (*selected, *named)
    stored = {str(path): options.read_record(path) for path in records}
    files = CaseFiles(paths, selected, spec)
    corpus = files.read()
    output = Output(reports=reports)
    output.check_writable([*records, *corpus.files])
    with options.raising(ExecutedTwice):
        scope = _scope(files, corpus)
        traced = trace_of(scope, stored)
    output.publish(TRACE_FORMATS, traced, ExitCode.AS_EXPECTED)
    if any(not record.complete for record in traced.records):
        return options.Incomplete.exit_code
    if traced.cases and traced.records and not any(record.counted for record in traced.records):
        return ExitCode.NOTHING_COMPARED
    return 1 if any(clause.gap is not None for clause in traced.clauses) else 0


def _scope(files: "CaseFiles", corpus: "Corpus") -> "TraceScope":
    """What is traced: without ``--spec``, the documents of the cases, and with ``-k clause:...``, these clauses alone."""
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.evidence.tracing.trace import TraceScope
    from maxpool_check.specifications import SPECIFICATIONS, documents
    from maxpool_check.specifications.clauses import clauses

    used = {name for each in files.specs for name in ([*SPECIFICATIONS] if each == ALL else documents(each))}
    globs = [each.removeprefix("clause:") for each in files.selected if each.startswith("clause:")]
    wanted = frozenset(name for name in clauses() for glob in globs if fnmatchcase(name, glob))
    is_clauses = bool(wanted) and len(globs) == len(files.selected)
    if is_clauses:
        # A clause without a case is to be shown, too: in the documents that have cases, or else in all where it holds.
        cases = [case for case in corpus.cases if wanted & {*case.covers}]
        present = {case.spec for case in corpus.cases}
        holds = [clauses()[name].documents for name in wanted]
        used = used or {each for names in holds for each in (present.intersection(names) or names)}
    else:
        cases = [*(files.select(corpus) if files.selected else corpus.cases)]
        used = used or {case.spec for case in cases}
    cases = [case for case in cases if case.spec in used]
    chosen = {case.id for case in cases}
    others = [case.id for case in corpus.cases if case.id not in chosen]
    whole = is_clauses or not files.selected
    scope = TraceScope(tuple(cases), used, others, whole=whole, clauses=wanted if is_clauses else None)
    if is_clauses and not any(scope.lists(clauses()[name]) for name in wanted):
        raise click.UsageError(f"no clause of {' '.join(files.selected)} holds in {', '.join(used)}; leave out --spec")
    return scope
