"""``maxpool-check defects``: list, check, accept, lint."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.comparing.defects import DefectStatus, TargetStatus
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.corpus.defect_versions import DefectVersions
    from maxpool_check.judging.defects import Defect
    from maxpool_check.results.record import Execution, ExitCode, Record
    from maxpool_check.targets.name import TargetName


_MOST_TRIED = 40
"""The most executions that show a defect with which its remedies are tried."""


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


def _address(text: str) -> str:
    if not re.fullmatch(r"https://\S+", text):
        raise ValueError(f"'{text}' is no address, https://...")
    return text


_TEXT, _ADDRESS = options.Value("TEXT", _text), options.Value("URL", _address)
_folder = click.option(
    "-p", "--path", type=options.PATH, metavar="PATH",
    help="The corpus.  [default: cases, or the corpus that comes with the tool]",
)  # fmt: skip
_ids = click.argument("names", nargs=-1, type=options.DEFECT, metavar="[ID|RUNTIME]...")
_records = click.option(
    "--record", "records", multiple=True, type=options.FILE, metavar="RECORD.jsonl",
    help="Look at what this record shows. Repeatable.",
)  # fmt: skip


@click.group("defects")
def command() -> None:
    """List the known defects of runtimes, check which of them a target shows, and accept those of a record.

    'maxpool-check explain ID' shows one of them.

    \b
    Examples:
      maxpool-check defects list onnxruntime --live
      maxpool-check defects check -t onnxruntime==1.32.0
    """


@command.command("list", short_help="List them, the live ones and the worst first.")
@_ids
@click.option("--live", is_flag=True, help="Only those of the newest release that was reviewed.")
@options.as_json
@_folder
def list_(names: tuple[str, ...], live: bool, as_json: bool, path: Path | None) -> int:
    """List the defects of all runtimes, or those with an ID or of a RUNTIME; the live ones and the worst first.

    \b
    Examples:
      maxpool-check defects list onnxruntime --live
      maxpool-check defects list --json
    """
    from maxpool_check.commands.case_files import all_defects
    from maxpool_check.explaining import defects as catalogue

    known, versions, _ = all_defects(path)
    chosen = [defect for defect in _chosen(known, names) if versions.is_live(defect) or not live]
    chosen.sort(key=lambda each: (each.runtime, not versions.is_live(each), each.severity.rank, each.id))
    if as_json:
        options.dump("defects", {"defects": [catalogue.data(defect, versions) for defect in chosen]})
    else:
        options.show(catalogue.listed(chosen, versions))
    return 0


@command.command("check", short_help="Check which of them a target shows.")
@_ids
@options.targets()
@_records
@click.option("--write", is_flag=True, help="Write down which versions were tested, and which defects they show.")
@options.jobs
@_folder
def check(
    names: tuple[str, ...], targets: "tuple[TargetName, ...]", records: tuple[Path, ...], write: bool, jobs: int, path: Path | None,
) -> int:  # fmt: skip
    """Run the cases of the defects of targets, or of those with an ID: which defects they show, and what else.

    The remedies of those that a target with -t shows are tried on the same cases. Exits with 0 if each target shows what is
    expected of its version and nothing else, with 1 if not.

    \b
    Examples:
      maxpool-check defects check -t onnxruntime==1.32.0
      maxpool-check defects check ORT-PAD-FOLDED -t onnxruntime
    """
    from maxpool_check.commands import case_files, executing
    from maxpool_check.comparing.defects import completeness, statuses
    from maxpool_check.corpus.collection import NAME, default_path, is_shipped, root_of
    from maxpool_check.corpus.conditions import with_cases
    from maxpool_check.corpus.defect_versions import write_versions

    if path is None and names and not {*names} & {each.id for each in case_files.all_defects(default_path())[0]}:
        path = Path(NAME)
    path = path or default_path()
    if write and is_shipped(path):
        raise click.UsageError(
            "--write changes the corpus; make one of your own with 'maxpool-check cases copy DIR', and pass it with -p DIR"
        )
    if bool(targets) == bool(records):
        raise click.UsageError("name a target with -t, or a record with --record")
    corpus = executing.read_valid(case_files.CaseFiles([path]))
    known, versions, _ = case_files.all_defects(path)
    ids = {defect.id for defect in _chosen(known, names)}
    defects = with_cases(known, corpus.cases)
    shown = [options.read_record(each) for each in records]
    shown += [_run(corpus, target, [each for each in defects if each.id in ids], jobs) for target in targets]
    are_expected, is_executed = True, False
    for record in shown:
        for status in statuses(record, defects, completeness(record, [case.id for case in corpus.cases])):
            # Of others, the cases of those that were chosen show a part.
            status = replace(status, defects=tuple(each for each in status.defects if each.defect.id in ids))
            options.echo("\n".join(_lines(status)))
            for line in _remedies(corpus, status, targets):
                options.echo(line)
            are_expected &= status.is_as_expected
            is_executed |= any(each.executed for each in status.defects)
            if write:
                versions = _with_tests(versions, status, [defect.id for defect in known if defect.id not in ids])
    if write:
        options.echo(f"written to {write_versions(root_of(path), versions)}")
    return _exit_code(shown, is_expected=are_expected, is_executed=is_executed)


def _exit_code(shown: "Iterable[Record]", *, is_expected: bool, is_executed: bool) -> "ExitCode":
    """The exit code of a check of defects by records; what is not as expected needs no complete record."""
    from maxpool_check.results.record import ExitCode

    if not is_expected:
        return ExitCode.UNEXPECTED
    if any(record.exit_code == ExitCode.INCOMPLETE for record in shown):
        raise options.Incomplete("a record is not complete: what it does not hold was not checked")
    if not is_executed:
        options.echo("NOTHING COMPARED  no case of these defects was compared")
        return ExitCode.NOTHING_COMPARED
    return ExitCode.AS_EXPECTED


def _with_tests(versions: "DefectVersions", status: "TargetStatus", others: Sequence[str]) -> "DefectVersions":
    """What is known of the versions, with what a target shows; nothing is said of the ``others``."""
    from maxpool_check.judging.target_selector import TargetSelector

    target = status.target
    if not target.version:
        raise click.UsageError(f"{target.name} names no version, so that none can be written down")
    about = (target.distribution, target.provider, target.name)
    by_runtime: dict[str, list[DefectStatus]] = {}
    for each in status.defects:
        names = (name for name in each.defect.runtimes if TargetSelector.of(name).is_about(*about))
        by_runtime.setdefault(next(names, each.defect.runtime), []).append(each)
    for runtime, found in by_runtime.items():
        undecided = [each.defect.id for each in found if not each.complete]
        if len(undecided) < len(found):
            shown = [each.defect.id for each in found if each.shown]
            versions = versions.with_test(runtime, target.version, shown, [*undecided, *others])
    return versions


def _chosen(defects: "Sequence[Defect]", names: Collection[str]) -> "list[Defect]":
    """The defects with these ids or of these runtimes; all without names. Raises ``click.UsageError``."""
    if not defects:
        raise click.UsageError("there are no files of defects; pass the corpus with -p PATH")
    named = {
        each.id: {each.id, *each.runtimes, *(re.split("[@?]", name)[0] for name in each.runtimes)} for each in defects
    }
    with options.raising(ValueError):
        wanted = {options.one_of(name, sorted(set().union(*named.values())), "defect or runtime") for name in names}
    return [defect for defect in defects if not names or named[defect.id] & wanted]


def _run(corpus: "Corpus", target: "TargetName", defects: "Sequence[Defect]", jobs: int) -> "Record":
    """Run the cases that the defects of a target are expected of, in whatever version, in all variants that they name."""
    from maxpool_check.commands import executing
    from maxpool_check.results.variants import DEFAULT_VARIANTS

    distribution = target.distribution if target.is_released else str(target).partition(":")[0]
    entries = [
        each
        for defect in defects
        for each in defect.expected
        if any(each.when.is_about(distribution, provider, str(target)) for provider in target.providers)
    ]
    cases = [case for case in corpus.cases if any(entry.binds(case.id) for entry in entries)]
    if not cases:
        raise click.UsageError(f"there is no defect of {target}")
    variants = {*DEFAULT_VARIANTS, *(variant for entry in entries for variant in entry.variants or ())}
    record = executing.run_cases(corpus, cases, [target], jobs=jobs, quiet=options.setting("quiet"), variants=variants)
    if record.footer is not None and record.footer.errors:
        raise options.Incomplete("; ".join(record.footer.errors))
    return record


def _lines(status: "TargetStatus") -> Iterator[str]:
    """What a target shows, in words."""
    target = status.target
    yield f"{target.name} ({target.version or 'no version'})"
    for each in sorted(status.defects, key=lambda each: (each.defect.severity.rank, each.defect.id)):
        count = plural(each.shown, "execution") if each.shown else "not shown"
        problem = each.problem or ("" if each.expected else "not expected of this version and processor")
        if each.shown or problem:
            yield f"  {each.defect.id}  {each.defect.severity.value}  {count}{': ' if problem else ''}{problem}"
    if status.unexpected:
        yield f"  {plural(len(status.unexpected), 'execution')} that no defect expects:"
    groups: dict[tuple[str, str], list[str]] = {}
    for execution in status.unexpected:
        groups.setdefault((", ".join(execution.kinds), execution.variant), []).append(execution.case)
    for (kinds, variant), cases in sorted(groups.items(), key=lambda each: -len(each[1])):
        yield f"    {len(cases)} x {kinds} ({variant}), such as {cases[0]}"
    yield "  as expected" if status.is_as_expected else "  NOT as expected"


def _remedies(corpus: "Corpus", status: "TargetStatus", targets: "Sequence[TargetName]") -> Iterator[str]:
    """What the remedies of the defects that a target shows do on their cases."""
    from maxpool_check.models.repair import try_remedies

    for target in (each for each in targets if str(each) == status.target.name):
        for each in status.defects:
            if not (each.shown and each.defect.remedy(status.target.version)):
                continue
            entries = [entry for entry in each.defect.expected if entry.covers(status.target)]
            cases = [case for case in corpus.cases if any(entry.binds(case.id) for entry in entries)]
            limits = options.setting("timeout", 60.0), options.memory_in_bytes()
            trial = try_remedies(each.defect, cases, target, _MOST_TRIED, *limits)
            shown = {name for names in (*trial.repaired.values(), trial.left) for name in names}
            for remedy, repaired in trial.repaired.items():
                yield f"  {each.defect.id}: {remedy.words}: right in {len(repaired)} of {plural(len(shown), 'execution')}"
            if trial.left:
                yield f"  {each.defect.id}: {plural(len(trial.left), 'execution')} left, such as {trial.left[0]}"


@command.command("accept", short_help="Write entries for the faults of a record.")
@click.argument("record", type=options.FILE, metavar="RECORD")
@click.option(
    "--reason", required=True, type=_TEXT, metavar="TEXT", help="Why the runtime diverges, or why you accept it."
)
@click.option("--issue", type=_ADDRESS, metavar="URL", help="The address of an issue upstream, https://...")
@click.option("--reviewer", type=_TEXT, metavar="NAME", help="Who has reviewed it today.")
@click.option("--expires", type=options.DATE, metavar="DATE", help="The last day on which it is expected, YYYY-MM-DD.")
@click.option(
    "--kind",
    type=options.KIND,
    metavar="KIND",
    help="Only executions that show it.  [default: all that are unexpected]",
)
@click.option(
    "-o", "--output", "file", type=options.FILE, metavar="FILE",
    help="Where to write.  [default: known-divergences.yaml at the root of the record's cases]",
)  # fmt: skip
def accept(
    record: Path, reason: str, issue: str | None, reviewer: str | None, expires: date | None, kind: str | None,
    file: Path | None,
) -> int:  # fmt: skip
    """Write the narrowest entries for the faults of RECORD that no defect of its corpus expects.

    What fits a known defect, of the same kinds and with its conditions, is added to it; otherwise a new one is written. An
    entry binds exact cases, exact kinds, the variants that show them, and the version that was tested; or the kernel, as -t
    names it. Of models, these are the results that failed. Widen 'versions' by hand once you know which releases are
    concerned: bisect finds them.

    \b
    Examples:
      maxpool-check defects accept record.jsonl --reason 'reviewed: as documented'
      maxpool-check defects accept record.jsonl --reason 'as documented' --kind refuses-valid
    """
    from maxpool_check.commands import case_files
    from maxpool_check.comparing.defects import defects_for
    from maxpool_check.corpus.conditions import with_cases
    from maxpool_check.corpus.defect_file import read_defects
    from maxpool_check.corpus.editing import add
    from maxpool_check.judging.defects import Upstream

    stored = options.read_record(record)
    if stored.mistakes:
        options.refuse_incomplete(record, stored)
    files = [file] if file is not None else _files(next(iter(stored.executions), None))
    with case_files.mistakes():
        by_file = {each: read_defects(each) if each.exists() else [] for each in files}
    known = [defect for defects in by_file.values() for defect in defects]
    cases = _cases(stored.executions) if known else {}
    with options.raising(ValueError, about=f"nothing can be written for {record}: "):
        added = defects_for(stored, with_cases(known, tuple(cases.values())), reason, kind, cases)
    if not added:
        options.refuse_incomplete(record, stored)
        options.echo("no unexpected divergences")
        return 0
    upstream = Upstream("open", date.today(), issue) if issue is not None else None
    added = [
        replace(
            defect, upstream=upstream, reviewer=reviewer or "",
            reviewed=date.today() if reviewer is not None else None,
            expected=tuple(replace(each, expires=expires) for each in defect.expected),
        )
        for defect in added
    ]  # fmt: skip
    places = {defect.id: each for each, defects in by_file.items() for defect in defects}
    with case_files.mistakes():
        for each in by_file:
            if mine := [defect for defect in added if places.get(defect.id, files[0]) == each]:
                add(each, mine)
    for defect in added:
        (expected,) = defect.expected
        kinds = ", ".join(sorted(each.value for each in expected.kinds))
        fits = " (fits its conditions: review)" if defect.id in places else ""
        options.echo(f"{defect.id}: {kinds} of {plural(len(expected.cases), 'case')}, {expected.when}{fits}")
    written = ", ".join(dict.fromkeys(str(places.get(defect.id, files[0])) for defect in added))
    options.echo(f"{plural(len(added), 'entry', 'entries')} added to {written}; review before you commit")
    return 0


def _files(first: "Execution | None") -> list[Path]:
    """The files of defects that the next run of a record's cases reads, that to write new ones to before all others."""
    from maxpool_check.corpus.collection import KNOWN_NAME, defect_files, is_shipped, root_of

    origin = Path(first.origin.rpartition(":")[0] if first is not None else "")
    if is_shipped(origin):
        raise click.UsageError("the record's cases come with the tool; pass the file to write with -o")
    if first is None or not origin.is_file():
        raise click.UsageError(f"the record's cases are not here ({origin}); pass the file to write with -o")
    # The folder that the id of the case is relative to.
    inside = Path(first.case.rpartition(":")[0])
    is_inside = origin.with_suffix("").match(str(inside))
    root = origin.parents[len(inside.parts) - 1] if is_inside else root_of(origin)
    return [*dict.fromkeys((root / KNOWN_NAME, *defect_files(root)))]


def _cases(executions: "Iterable[Execution]") -> "dict[str, Case]":
    """The cases of a record by id, as far as their files are still there."""
    from maxpool_check.corpus.collection import collect, is_shipped
    from maxpool_check.corpus.problems import CorpusError

    files = sorted({Path(execution.origin.rpartition(":")[0]) for execution in executions})
    try:
        return {case.id: case for case in collect([file for file in files if is_shipped(file) or file.is_file()]).cases}
    except CorpusError:
        return {}


@command.command("lint", short_help="List entries that are expired, match no case, or are not shown.")
@_records
@options.paths
def lint(paths: Sequence[Path], records: tuple[Path, ...]) -> int:
    """List the entries that are expired, that match no case, or that no execution of a record shows.

    Exits with 1 if there are any.

    \b
    Examples:
      maxpool-check defects lint cases/
      maxpool-check defects lint cases/ --record record.jsonl
    """
    from maxpool_check.commands import case_files
    from maxpool_check.comparing.defects import never_matching
    from maxpool_check.corpus.conditions import with_cases
    from maxpool_check.corpus.defect_file import read_defects, unmatched
    from maxpool_check.results.record import KnownStatus

    corpus = case_files.CaseFiles(paths).read()
    stored = [options.read_record(path) for path in records]
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
    return 1 if problems else 0
