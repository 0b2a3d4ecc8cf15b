"""``maxpool-check defects``: list, check, accept, lint."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.comparing.defects import TargetStatus
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.corpus.conditions import CasesOfEffects
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
@options.jobs
@_folder
def check(
    names: tuple[str, ...], targets: "tuple[TargetName, ...]", records: tuple[Path, ...], jobs: int, path: Path | None,
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
    from maxpool_check.comparing.defects import statuses
    from maxpool_check.corpus.collection import NAME, default_path
    from maxpool_check.corpus.conditions import CasesOfEffects

    if path is None and names and not {*names} & {each.id for each in case_files.all_defects(default_path())[0]}:
        path = Path(NAME)
    path = path or default_path()
    if bool(targets) == bool(records):
        raise click.UsageError("name a target with -t, or a record with --record")
    corpus = executing.read_valid(case_files.CaseFiles([path]))
    known, _, _ = case_files.all_defects(path)
    ids = {defect.id for defect in _chosen(known, names)}
    cases = CasesOfEffects(known, corpus.cases)
    shown = [options.read_record(each) for each in records]
    shown += [_run(corpus, cases, target, [each for each in known if each.id in ids], jobs) for target in targets]
    are_expected, is_executed = True, False
    for record in shown:
        for status in statuses(record, known, cases):
            # Of others, the cases of those that were chosen show a part.
            status = replace(status, defects=tuple(each for each in status.defects if each.defect.id in ids))
            options.echo("\n".join(_lines(status)))
            for line in _remedies(corpus, cases, status, targets):
                options.echo(line)
            are_expected &= status.is_as_expected
            is_executed |= any(each.executed for each in status.defects)
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


def _run(
    corpus: "Corpus", about: "CasesOfEffects", target: "TargetName", defects: "Sequence[Defect]", jobs: int
) -> "Record":
    """Run the cases that the defects of a target are expected of, in whatever version, in all variants that they name."""
    from maxpool_check.commands import executing
    from maxpool_check.results.variants import DEFAULT_VARIANTS

    distribution = target.distribution if target.is_released else str(target).partition(":")[0]
    effects = [
        effect
        for defect in defects
        for effect in defect.effects
        if any(effect.when.is_about(distribution, provider, str(target)) for provider in target.providers)
    ]
    ids = {case for effect in effects for case in about.ids(effect)}
    cases = [case for case in corpus.cases if case.id in ids]
    if not cases:
        raise click.UsageError(f"there is no defect of {target}")
    variants = {*DEFAULT_VARIANTS, *(variant for effect in effects for variant in effect.variants or ())}
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
    yield from (f"    {line}" for line in _groups(status.unexpected))
    yield "  as expected" if status.is_as_expected else "  NOT as expected"


def _groups(executions: "Iterable[Execution]") -> Iterator[str]:
    """Executions by their kinds and variants, the largest groups first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for execution in executions:
        groups.setdefault((", ".join(execution.kinds), execution.variant), []).append(execution.case)
    for (kinds, variant), cases in sorted(groups.items(), key=lambda each: -len(each[1])):
        yield f"{len(cases)} x {kinds} ({variant}), such as {cases[0]}"


def _remedies(
    corpus: "Corpus", about: "CasesOfEffects", status: "TargetStatus", targets: "Sequence[TargetName]"
) -> Iterator[str]:
    """What the remedies of the defects that a target shows do on their cases."""
    from maxpool_check.models.repair import try_remedies

    for target in (each for each in targets if str(each) == status.target.name):
        for each in status.defects:
            if not (each.shown and each.defect.remedy(status.target.version)):
                continue
            effects = [effect for effect in each.defect.effects if effect.covers(status.target)]
            ids = {case for effect in effects for case in about.ids(effect)}
            cases = [case for case in corpus.cases if case.id in ids]
            limits = options.setting("timeout", 60.0), options.memory_in_bytes()
            trial = try_remedies(each.defect, cases, target, _MOST_TRIED, *limits)
            shown = {name for names in (*trial.repaired.values(), trial.left) for name in names}
            for remedy, repaired in trial.repaired.items():
                yield f"  {each.defect.id}: {remedy.words}: right in {len(repaired)} of {plural(len(shown), 'execution')}"
            if trial.left:
                yield f"  {each.defect.id}: {plural(len(trial.left), 'execution')} left, such as {trial.left[0]}"


@command.command("accept", short_help="Write down what a record shows of defects, and entries for other faults.")
@click.argument("record", type=options.FILE, metavar="RECORD")
@click.option(
    "--reason",
    type=_TEXT,
    metavar="TEXT",
    help="Why the runtime does what no defect explains, or why you accept it; entries with it are written.",
)
@click.option("--issue", type=_ADDRESS, metavar="URL", help="The address of an issue upstream, https://...")
@click.option("--reviewer", type=_TEXT, metavar="NAME", help="Who has reviewed it today.")
@click.option("--expires", type=options.DATE, metavar="DATE", help="The last day on which it is expected, YYYY-MM-DD.")
@click.option(
    "--kind",
    type=options.KIND,
    metavar="KIND",
    help="Only entries of executions that show it.  [default: all that no defect explains]",
)
@click.option(
    "-o", "--output", "file", type=options.FILE, metavar="FILE",
    help="Where to write entries.  [default: known-divergences.yaml at the root of the record's cases]",
)  # fmt: skip
def accept(
    record: Path, reason: str | None, issue: str | None, reviewer: str | None, expires: date | None, kind: str | None,
    file: Path | None,
) -> int:  # fmt: skip
    """Write down in which cases and versions RECORD shows the defects of its corpus, and entries for the faults that none explains.

    What the mechanism of a defect explains becomes an observation, in defects/observed/; so does a case that no longer shows
    it. Nothing is written of a mechanism: what no defect explains stays new until you describe the defect, or give a --reason.
    An entry with a reason lists exact cases, exact kinds, the variants that show them, and the version that was tested; or the
    kernel, as -t names it. Of models, these are the results that failed. Read the difference before you commit it. Exits with 1
    if faults are left.

    \b
    Examples:
      maxpool-check defects accept record.jsonl
      maxpool-check defects accept record.jsonl --reason 'as documented' --kind refuses-valid
    """
    from maxpool_check.commands import case_files
    from maxpool_check.comparing.defects import faults_without
    from maxpool_check.corpus.collection import KNOWN_NAME, defect_files, with_observed
    from maxpool_check.corpus.conditions import CasesOfEffects
    from maxpool_check.corpus.defect_file import read_all_defects

    stored = options.read_record(record)
    if stored.mistakes:
        options.refuse_incomplete(record, stored)
    root = None if file is not None else _root(next(iter(stored.executions), None))
    files = [each for each in [file] if each is not None and each.exists()] if root is None else defect_files(root)
    with case_files.mistakes():
        known = read_all_defects(with_observed(files))
    cases = CasesOfEffects(known, _cases(stored.executions).values())
    faults = faults_without(stored, known, cases)
    if root is not None and known:
        options.refuse_incomplete(record, stored)
        # Of cases that are gone, or have changed, nothing can be observed.
        faults = [*_observe(stored, root, cases), *(each for each in faults if not cases.holds(each))]
    if not faults:
        options.refuse_incomplete(record, stored)
        options.echo("no unexpected divergences")
        return 0
    if reason is None:
        return _left(faults)
    entries = _Entries(reason, issue, reviewer, expires, kind)
    return _add(stored, faults, known, entries, file or (root or Path()) / KNOWN_NAME)


@dataclass(frozen=True)
class _Entries:
    """What the entries of an acceptance say."""

    reason: str
    issue: str | None
    reviewer: str | None
    expires: date | None
    kind: str | None


def _observe(stored: "Record", root: Path, cases: "CasesOfEffects") -> "list[Execution]":
    """Write what a record shows of the defects of a corpus; the faults that none of them explains."""
    from maxpool_check.commands import case_files
    from maxpool_check.comparing.defects import statuses
    from maxpool_check.comparing.observing import observed, with_tests
    from maxpool_check.corpus.collection import DEFECTS, defect_files
    from maxpool_check.corpus.conditions import CasesOfEffects
    from maxpool_check.corpus.defect_file import read_all_defects, read_defects
    from maxpool_check.corpus.defect_versions import read_versions, write_versions
    from maxpool_check.corpus.observed import is_observed_file, observed_file, read_observations, write_observations

    with case_files.mistakes():
        files = [each for each in defect_files(root) if not is_observed_file(each)]
        described = {defect.id: (defect, observed_file(each)) for each in files for defect in read_defects(each)}
        places = {name: place for name, (_, place) in described.items()}
        before = [line for each in {*places.values()} if each.is_file() for line in read_observations(each)]
        versions = read_versions(root)
    after = observed(stored, [defect for defect, _ in described.values()], before, cases, versions)
    for each in sorted({*places.values()}):
        lines = [line for line in after.observations if places[line.defect] == each]
        if {*map(repr, lines)} != {repr(line) for line in before if places[line.defect] == each}:
            write_observations(each, lines)
            options.echo(f"written: {each}")
    changes = {
        "added": after.added,
        "no longer shown": after.removed,
        "with outputs that are reviewed now": after.outputs,
    }
    for verb, by_defect in changes.items():
        for name, executions in sorted(by_defect.items()):
            options.echo(f"{name}: {plural(len(executions), 'execution')} {verb}, such as {executions[0]}")
    now = versions
    with case_files.mistakes():
        known = read_all_defects(defect_files(root))
    for status in statuses(stored, known, CasesOfEffects.of(known, cases)) if (root / DEFECTS).is_dir() else ():
        now, assumed = with_tests(now, status)
        if assumed:
            options.echo(
                f"{status.target.name}: not executed, and taken as in the version before: {', '.join(assumed)}"
            )
    if now != versions:
        options.echo(f"written: {write_versions(root, now)}")
    return after.unexplained


def _left(faults: "Sequence[Execution]") -> int:
    """Say which faults no defect explains."""
    for line in _groups(faults):
        options.echo(line)
    options.echo(
        f"{plural(len(faults), 'execution')} left that no defect explains: describe the defect ('maxpool-check docs defects'), "
        "and accept the record again; or give a --reason, with which entries are written"
    )
    return 1


def _add(
    stored: "Record", faults: "Sequence[Execution]", known: "Sequence[Defect]", entries: _Entries, file: Path
) -> int:
    """Write entries for faults to a file."""
    from maxpool_check.commands import case_files
    from maxpool_check.comparing.defects import defects_for
    from maxpool_check.corpus.editing import add
    from maxpool_check.judging.defects import Upstream

    with options.raising(ValueError, about="nothing can be written: "):
        added = defects_for(stored, faults, entries.reason, entries.kind, {defect.id for defect in known})
    upstream = Upstream("open", date.today(), entries.issue) if entries.issue is not None else None
    added = [
        replace(
            defect, upstream=upstream, reviewer=entries.reviewer or "",
            reviewed=date.today() if entries.reviewer is not None else None,
            effects=tuple(replace(each, expires=entries.expires) for each in defect.effects),
        )
        for defect in added
    ]  # fmt: skip
    if not added:
        options.echo("no unexpected divergences")
        return 0
    with case_files.mistakes():
        add(file, added)
    for defect in added:
        (effect,) = defect.effects
        kinds = ", ".join(sorted(each.value for each in effect.kinds))
        options.echo(f"{defect.id}: {kinds} of {plural(len(effect.cases), 'case')}, {effect.when}")
    options.echo(f"{plural(len(added), 'entry', 'entries')} added to {file}; review before you commit")
    return 0


def _root(first: "Execution | None") -> Path:
    """The root of the corpus of a record's cases."""
    from maxpool_check.corpus.collection import is_shipped, root_of

    origin = Path(first.origin.rpartition(":")[0] if first is not None else "")
    if is_shipped(origin):
        raise click.UsageError("the record's cases come with the tool; pass the file to write with -o")
    if first is None or not origin.is_file():
        raise click.UsageError(f"the record's cases are not here ({origin}); pass the file to write with -o")
    # The folder that the id of the case is relative to.
    inside = Path(first.case.rpartition(":")[0])
    is_inside = origin.with_suffix("").match(str(inside))
    return origin.parents[len(inside.parts) - 1] if is_inside else root_of(origin)


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
    from maxpool_check.corpus.collection import with_observed
    from maxpool_check.corpus.conditions import CasesOfEffects
    from maxpool_check.corpus.defect_file import read_all_defects, unmatched
    from maxpool_check.corpus.observed import is_observed_file
    from maxpool_check.results.record import KnownStatus

    corpus = case_files.CaseFiles(paths).read()
    stored = [options.read_record(path) for path in records]
    problems, count = [], 0
    for file in (each for each in corpus.known_files if not is_observed_file(each)):
        with case_files.mistakes():
            defects = read_all_defects(with_observed([file]))
        count += len(defects)
        problems += [
            f"{file}: {defect.id} expired on {effect.expires}"
            for defect in defects
            for effect in defect.effects
            if effect.expired(date.today())
        ]
        for each in with_observed([file]) if corpus.whole else ():
            problems += [f"{problem}: orphaned" for problem in unmatched(each, [case.id for case in corpus.cases])]
        missing = never_matching(defects, stored, CasesOfEffects(defects, corpus.cases))
        problems += [f"{file}: no record shows {defect.id}" for defect in missing]
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
