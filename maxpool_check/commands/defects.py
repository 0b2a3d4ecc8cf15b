"""``maxpool-check defects``: list, check, accept, lint."""

import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import gate, options
from maxpool_check.files import BUNDLE_SUFFIX, RECORD_SUFFIXES
from maxpool_check.words import plural, some

if TYPE_CHECKING:
    from maxpool_check.comparing.accepting import Candidate
    from maxpool_check.comparing.defects import TargetStatus
    from maxpool_check.comparing.fixes import FixStatus
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.corpus.conditions import CasesOfEffects
    from maxpool_check.corpus.defect_versions import DefectVersions
    from maxpool_check.judging.defects import Defect
    from maxpool_check.results.record import Execution, ExitCode, Record, TargetDescription
    from maxpool_check.targets.name import TargetName


_MOST_TRIED = 40
"""The most executions that show a defect with which its remedies are tried."""


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


_TEXT = options.Value("TEXT", _text)
_folder = click.option(
    "-p", "--path", type=options.PATH, metavar="PATH",
    help="The corpus.  [default: cases, or the corpus that comes with the tool]",
)  # fmt: skip
_ids = click.argument("names", nargs=-1, type=options.DEFECT, metavar="[ID|RUNTIME]...")
_records = click.option(
    "--record", "records", multiple=True, type=options.FILE, metavar="RECORD.jsonl",
    help="Look at what this record shows. Repeatable.",
)  # fmt: skip


@click.group("defects", cls=options.Group)
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
@_folder
def check(
    names: tuple[str, ...], targets: "tuple[TargetName, ...]", records: tuple[Path, ...], path: Path | None,
) -> int:  # fmt: skip
    """Run the cases of the defects of targets: is everything as described? With an ID: does the target still show this defect?

    Without an ID, the remedies of the defects that a target with -t shows are tried, too. Exits with 0 if each target shows what
    is expected of its version and nothing else. With IDs alone, exits with 0 if nothing shows these defects and nothing else is
    wrong in their cases that was not before; -v lists all executions, and tries the remedies. Otherwise exits with 1.

    \b
    Examples:
      maxpool-check defects check -t onnxruntime==1.32.0
      maxpool-check defects check ORT-PAD-FOLDED -t 'onnxruntime?python=VENV/bin/python'
    """
    from maxpool_check.commands import case_files, executing
    from maxpool_check.comparing.defects import statuses
    from maxpool_check.comparing.fixes import fix_status
    from maxpool_check.corpus.collection import NAME, default_path
    from maxpool_check.corpus.conditions import CasesOfEffects

    given = [] if path is None else [str(path)]
    if path is None and names and not {*names} & {each.id for each in case_files.all_defects(default_path())[0]}:
        path = Path(NAME)
    path = path or default_path()
    if bool(targets) == bool(records):
        raise click.UsageError("name a target with -t, or a record with --record")
    corpus = executing.read_valid(case_files.CaseFiles([path]))
    known, versions, _ = case_files.all_defects(path)
    ids = {defect.id for defect in _chosen(known, names)}
    asks_for_fixes = {*names} == ids
    cases = CasesOfEffects(known, corpus.cases)
    shown = [options.read_record(each) for each in records]
    shown += [_run(corpus, cases, target, [each for each in known if each.id in ids]) for target in targets]
    are_expected, missing = True, {*ids}
    for record in shown:
        for status in statuses(record, known, cases):
            # Of others, the cases of those that were chosen show a part.
            status = replace(status, defects=tuple(each for each in status.defects if each.defect.id in ids))
            remedies = _remedies(corpus, cases, status, targets)
            if asks_for_fixes:
                found = (fix_status(status, each.defect, cases) for each in status.defects)
                fixes = [each for each in found if each.left or each.gone]
                steps = [f"Next: {_next_step(each.defect, versions, status.target.name, given)}" for each in fixes[:1]]
                tried = remedies if options.setting("verbose") else ()
                lines = chain(tried, _fix_lines(record, status.target, fixes), steps)
                are_expected &= all(each.is_fixed for each in fixes)
                missing -= {each.defect.id for each in fixes}
            else:
                lines = chain(_lines(status), remedies)
                are_expected &= status.is_as_expected
                missing = set() if any(each.executed for each in status.defects) else missing
            for line in lines:
                options.echo(line)
    words = ", ".join(sorted(missing)) if asks_for_fixes else "these defects"
    return _exit_code(shown, is_expected=are_expected, missing=words if missing else "")


def _exit_code(shown: "Iterable[Record]", *, is_expected: bool, missing: str) -> "ExitCode":
    """The exit code of a check of defects by records; what is not as expected needs no complete record."""
    from maxpool_check.results.record import ExitCode

    if not is_expected:
        return ExitCode.UNEXPECTED
    if any(record.exit_code == ExitCode.INCOMPLETE for record in shown):
        raise options.Incomplete("a record is not complete: what it does not hold was not checked")
    if missing:
        options.echo(f"NOTHING COMPARED  no case of {missing} was compared")
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


def _run(corpus: "Corpus", about: "CasesOfEffects", target: "TargetName", defects: "Sequence[Defect]") -> "Record":
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
    record = executing.run_cases(corpus, cases, [target], quiet=options.setting("quiet"), variants=variants)
    if record.footer is not None and record.footer.errors:
        raise options.Incomplete("; ".join(record.footer.errors))
    return record


def _lines(status: "TargetStatus") -> Iterator[str]:
    """What a target shows, in words."""
    target = status.target
    yield f"{target.name} ({target.version or 'no version'})"
    for each in sorted(status.defects, key=lambda each: (each.defect.severity.rank, each.defect.id)):
        count = plural(each.shown, "execution") if each.shown else "not shown"
        first, *rest = each.problem.splitlines() or [""]
        problem = first or ("" if each.expected else "not expected of this version and processor")
        if each.shown or problem:
            yield f"  {each.defect.id}  {each.defect.severity.value}  {count}{': ' if problem else ''}{problem}"
        yield from (f"    {line}" for line in rest if options.setting("verbose"))
    if status.unexpected:
        yield f"  {plural(len(status.unexpected), 'execution')} that no defect expects:"
    yield from (f"    {line}" for line in _groups(status.unexpected))
    yield "  as expected" if status.is_as_expected else "  NOT as expected"


def _fix_lines(record: "Record", target: "TargetDescription", fixes: "Iterable[FixStatus]") -> Iterator[str]:
    """Whether a target still shows defects, in three lines for each; with -v all executions, too."""
    from maxpool_check.results.record import ExitCode
    from maxpool_check.results.result import Result

    between, most = ("\n  ", sys.maxsize) if options.setting("verbose") else (" ", 1)
    for each in fixes:
        name, gone, total = each.defect.id, len(each.gone), len(each.left) + len(each.gone)
        left = [f"{execution.case} ({execution.variant})" for execution in each.left]
        others = [f"{at.case} ({at.variant}): {', '.join(at.kinds)}" for at in each.otherwise]
        verb = "still show" if not gone else "no longer show" if each.must else "do not show"
        rest = between.join(["; left:", *some(left, most)]) if gone and left else ""
        yield f"{gone or total} of {total} executions {verb} {name}{rest}"
        part = f"{each.compared} of " if each.compared < each.cases else ""
        same = f"nothing else changed in {part}its {plural(each.cases, 'case')}"
        wrong = f"{plural(len(others), 'execution')} wrong for another reason:"
        yield between.join([wrong, *some(others, most)]) if others else same
        if not each.is_fixed or record.exit_code != ExitCode.INCOMPLETE:
            result = Result.FIXED if each.is_fixed else Result.NOT_FIXED
            yield f"{result}  {name} on {target.name} ({target.version or 'no version'})"


def _next_step(defect: "Defect", versions: "DefectVersions", target: str, path: Sequence[str]) -> str:
    """The command that compares a build with a release that shows a defect, or that checks a build instead of this release."""
    from maxpool_check.explaining.defects import VENV, build_of, fix_check, target_of

    release = target_of(defect, versions)
    if target == release and (build := build_of(release)):
        return f"{fix_check(defect.id, build, path)} ({VENV})"
    base = release if "==" in release else "OLD"
    return shlex.join(["maxpool-check", "gate", *path, "--base", base, "--head", target])


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
            for remedy, repaired in trial.repaired.items() if shown else ():
                yield f"  {each.defect.id}: {remedy.words}: right in {len(repaired)} of {plural(len(shown), 'execution')}"
            if trial.left:
                yield f"  {each.defect.id}: {plural(len(trial.left), 'execution')} left, such as {trial.left[0]}"


@command.command("accept", short_help="Write down what a record shows of defects, or that you accept it.")
@click.argument("record", type=options.FILE, metavar="RECORD")
@click.option(
    "--base", type=options.Value("TARGET|RECORD", names_files=True), metavar="TARGET|RECORD",
    help="Accept changes, from this target of the record, or from the record of the old target."
    "  [default: of a gate or an upgrade, the first target]",
)  # fmt: skip
@click.option("--author", type=_TEXT, metavar="NAME", help="Who accepts it.")
@click.option("--reason", type=_TEXT, metavar="TEXT", help="Why it does no harm; entries with it are written.")
@click.option(
    "--expires", type=options.DATE, metavar="DATE",
    help="The last day on which it is accepted, YYYY-MM-DD.  [default: in a year]",
)  # fmt: skip
@click.option(
    "-k", "patterns", multiple=True, metavar="GLOB",
    help="Only these cases, by the id or its part after the colon. Repeatable.",
)  # fmt: skip
@click.option("--kind", type=options.KIND, metavar="KIND", help="Only results that show it.")
@gate.fail_on_option
@click.option(
    "-o", "--output", "file", type=options.FILE, metavar="FILE",
    help="Where to write entries; it is made if it is not there.  [default: of a run, known-divergences.yaml at the root of its cases]",
)  # fmt: skip
def accept(
    record: Path, base: str | None, author: str | None, reason: str | None, expires: date | None, patterns: tuple[str, ...],
    kind: str | None, fail_on: str, file: Path | None,
) -> int:  # fmt: skip
    """Accept what RECORD shows: the divergences of a run or of models, or the changes that block a gate or an upgrade.

    An entry names exact cases, variants and kinds, the version that was tested (or the kernel, as -t names it), and who accepts
    them, why, and until when. It excuses nothing else. 'run', 'gate' and 'model' take the file by --known; 'run' finds
    known-divergences.yaml by itself. Of a record of models, only what failed is accepted.

    In a corpus with defects of its own, what their mechanisms explain becomes an observation, in defects/observed/, and so does a
    case that no longer shows it. Nothing is written of a mechanism: what no defect explains stays new until you describe the
    defect, or accept it. Read the difference before you commit it. Exits with 1 if faults are left.

    \b
    Examples:
      maxpool-check defects accept record.jsonl --author "A. Author" --reason 'as documented' --kind refuses-valid
      maxpool-check defects accept gate.jsonl -o accepted.yaml --author "A. Author" --reason 'NaN never gets there'
    """
    stored = gate.read_side(record)
    if stored.mistakes:
        options.refuse_incomplete(record, stored)
    entries = _entries(author, reason, expires)
    if base is not None or _is_comparison(stored):
        if file is None or entries is None:
            missing = "'--reason'" if entries is None else "'-o'"
            raise click.UsageError(f"Missing option {missing}, which changes of a gate need")
        is_record = base is not None and base.endswith((*RECORD_SUFFIXES, BUNDLE_SUFFIX))
        old = gate.read_side(Path(base or "")) if is_record else stored
        return _accept_changes(
            record, (old, stored), base, _Wanted(patterns, kind, old, stored), fail_on, entries, file
        )
    if options.is_given("fail_on"):
        raise click.UsageError(
            f"--fail-on is of changes; {record} is of a run: name the record of the old target with --base"
        )
    return _accept_divergences(record, stored, _Wanted(patterns, kind, stored), entries, file)


@dataclass(frozen=True)
class _Entries:
    """What the entries of an acceptance say."""

    author: str
    reason: str
    until: date


def _entries(author: str | None, reason: str | None, expires: date | None) -> _Entries | None:
    """What entries say; None without a reason, where none are written. Raises ``click.UsageError``."""
    until = expires or date.today() + timedelta(days=365)
    if until < date.today():
        raise click.UsageError(f"--expires {until} has passed")
    if (reason is None) != (author is None):
        raise click.UsageError("--author and --reason belong together: an entry says who accepts a result, and why")
    return None if reason is None or author is None else _Entries(author, reason, until)


class _Wanted:
    """Which results of a record to accept: of cases that any pattern matches, by the id or its part after the colon, and of a kind."""

    def __init__(self, patterns: Sequence[str], kind: str | None, *records: "Record") -> None:
        """``records`` have the cases that a pattern may match. Raises ``click.UsageError`` for a pattern that matches none."""
        cases = {execution.case for record in records for execution in record.executions}
        self._cases, self._kind = set() if patterns else cases, kind
        self.is_all = not patterns and kind is None
        for pattern in patterns:
            found = {each for each in cases for name in (each, each.rpartition(":")[2]) if fnmatchcase(name, pattern)}
            if not found:
                raise click.UsageError(f"-k: the record has no case '{pattern}'")
            self._cases |= found

    def __contains__(self, shown: "Candidate") -> bool:
        return shown.execution.case in self._cases and (self._kind is None or self._kind in shown.kinds)


def _is_comparison(record: "Record") -> bool:
    """Whether a record is of a gate, or of an upgrade of models that was decided."""
    from maxpool_check.comparing.gate import Decision
    from maxpool_check.results.record import Conclusion

    conclusion = record.footer.conclusion if record.footer is not None else None
    # A gate that did not complete has no decision.
    return isinstance(conclusion, Conclusion) and conclusion.decision in {*Decision, ""}


def _accept_changes(
    record: Path, sides: "tuple[Record, Record]", base: str | None, wanted: _Wanted, fail_on: str, entries: _Entries, file: Path
) -> int:  # fmt: skip
    """Write entries for the changes that block, between two records or, of one record, from the base to every other target."""
    from maxpool_check.comparing.accepting import Candidate

    (old, new), cases = sides, gate.counted_cases(sides)
    policy, names = gate.policy_of([file] if file.exists() else [], fail_on), [each.name for each in new.header.targets]
    first = base or names[0]
    pairs = [(None, None)] if old is not new else [(first, name) for name in names if name != first]
    comparisons = [each for pair in pairs for each in gate.compare_records(old, new, pair, policy, cases=cases)]
    if not comparisons:
        raise click.UsageError(f"{record} has no other target than {first}; name the record of the base with --base")
    added = 0
    for comparison in comparisons:
        blocking = (each for each in comparison.transitions if each.blocks)
        shown = [Candidate(each.execution, each.new.kinds if each.new else (), each.change) for each in blocking]
        shown = [each for each in shown if each in wanted]
        added += _write(shown, comparison.new, entries, file)
        cases_of = plural(len({each.execution.case for each in shown}), "case")
        options.echo(
            f"{comparison.old.name} to {comparison.new.name}: {plural(len(shown), 'change')} of {cases_of} accepted"
        )
    if not added:
        options.refuse_incomplete(record, new)
        nothing = "nothing blocks" if wanted.is_all else "nothing blocks in what -k and --kind select"
        options.echo(nothing + (f" that {file} does not accept already" if policy.accepted else ""))
        return 0
    return _conclude(added, entries, file)


def _accept_divergences(
    record: Path, stored: "Record", wanted: _Wanted, entries: _Entries | None, file: Path | None
) -> int:
    """Write what the mechanisms of defects explain as observations, and entries for the other faults."""
    from maxpool_check.commands.case_files import mistakes
    from maxpool_check.comparing.accepting import Candidate
    from maxpool_check.comparing.defects import faults_without
    from maxpool_check.corpus.collection import KNOWN_NAME, with_observed
    from maxpool_check.corpus.conditions import CasesOfEffects
    from maxpool_check.corpus.defect_file import read_all_defects

    root = None if file is not None else _root(next(iter(stored.executions), None))
    files = [*_of_corpus(stored), *([file] if file is not None and file.exists() else [])]
    with mistakes():
        known = read_all_defects([*{each.resolve(): each for each in with_observed(files)}.values()])
    cases = CasesOfEffects(known, _cases(stored.executions).values())
    faults = faults_without(stored, known, cases)
    accepted = [each for each in known if each.is_accepted]
    if root is not None and len(known) > len(accepted):
        options.refuse_incomplete(record, stored)
        # Of cases that are gone, or have changed, nothing can be observed.
        faults = [*_observe(stored, root, cases), *(each for each in faults if not cases.holds(each))]
        faults = faults_without(replace(stored, executions=faults), accepted, cases)
    shown = [each for each in (Candidate(fault, fault.kinds) for fault in faults) if each in wanted]
    if not shown:
        options.refuse_incomplete(record, stored)
        options.echo("no unexpected divergences")
        return 0
    if entries is None:
        return _left([each.execution for each in shown])
    path, added = file or (root or Path()) / KNOWN_NAME, 0
    for target in stored.header.targets:
        own = [each for each in shown if each.execution.target == target.name]
        added += _write(own, target, entries, path)
    return _conclude(added, entries, path)


def _of_corpus(record: "Record") -> "list[Path]":
    """The files that say what is expected in the corpus of a record; none of a record of models, or where the corpus is gone."""
    from maxpool_check.corpus.collection import defect_files, is_shipped, root_of, shipped_root

    origins = {Path(execution.origin.rpartition(":")[0]) for execution in record.executions}
    if gate.is_of_models(record):
        return []
    roots = {
        shipped_root() if is_shipped(each) else root_of(each) for each in origins if is_shipped(each) or each.is_file()
    }
    return [file for root in sorted(roots) for file in defect_files(root)]


def _write(shown: "Sequence[Candidate]", target: "TargetDescription", entries: _Entries, file: Path) -> int:
    """Add the entries that accept results on a target to a file, and say what each accepts; the number of entries."""
    from maxpool_check.commands.case_files import mistakes
    from maxpool_check.comparing.accepting import narrowest
    from maxpool_check.corpus.editing import add_accepted

    with options.raising(ValueError, about="nothing can be written: "):
        added = narrowest(shown, target, entries.author, entries.reason, entries.until)
    if added:
        with mistakes("nothing was written"):
            add_accepted(file, added)
    for each in added:
        what = ", ".join(sorted(kind.value for kind in each.kinds))
        what = f"{each.change.value}{' to ' if what else ''}{what}" if each.change is not None else what
        options.echo(f"{what} of {plural(len(each.cases), 'case')}, {each.when}")
    return len(added)


def _conclude(added: int, entries: _Entries, file: Path) -> int:
    """Say how many entries were written, and where."""
    options.echo(
        f"{plural(added, 'entry', 'entries')} added to {file}, until {entries.until}; review before you commit, and name the file "
        "with --known"
    )
    return 0


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
        known = [each for each in read_all_defects(defect_files(root)) if not each.is_accepted]
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
        "and accept the record again; or give an --author and a --reason, with which entries are written"
    )
    return 1


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
    from maxpool_check.corpus.defect_file import read_accepted, read_all_defects, unmatched
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
        with case_files.mistakes():
            changes = [each for each in read_accepted([file]) if each.change is not None]
        count += len(changes)
        problems += [
            f"{each.place}: the acceptance expired on {each.expires}" for each in changes if each.expires < date.today()
        ]
        for each in with_observed([file]) if corpus.whole else ():
            problems += [f"{problem}: orphaned" for problem in unmatched(each, [case.id for case in corpus.cases])]
        missing = never_matching(defects, stored, CasesOfEffects(defects, corpus.cases))
        problems += [f"{file}: no record shows {defect.id}" for defect in missing]
        ids = {defect.id for defect in defects}
        problems += [
            "\n".join([entry.problem, *(entry.message.splitlines()[1:] if options.setting("verbose") else ())])
            for record in stored
            for entry in (record.footer.known if record.footer is not None else ())
            if entry.id in ids and entry.status is KnownStatus.STALE
        ]
    for line in problems:
        options.echo(line)
    options.echo(f"{plural(count, 'entry', 'entries')}, {plural(len(problems), 'problem')}")
    return 1 if problems else 0
