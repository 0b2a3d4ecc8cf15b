"""``maxpool-check gate`` and ``gate accept``: two targets or two records."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from maxpool_check.commands import options
from maxpool_check.files import RECORD_SUFFIXES
from maxpool_check.words import plural

if TYPE_CHECKING:
    from datetime import date

    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.comparing.gate import GatePolicy, TargetComparison
    from maxpool_check.corpus.case import Case
    from maxpool_check.results.record import Record
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName

FORMATS = options.formats("changes:write_json")
"""The formats of the report of a comparison."""

_BLOCKING = "regressed,newly-refused,crash-new"


class StoredBase(NamedTuple):
    """The record of a base, and which of its targets it is; '' for the only one."""

    path: Path
    target: str

    def read(self) -> "tuple[Record, str]":
        """The record, and the name of its target. Raises ``click.UsageError``."""
        from maxpool_check.specifications.specification import nearest

        record = options.read_record(self.path)
        names = [target.name for target in record.header.targets]
        if not self.target and len(names) != 1:
            raise click.UsageError(
                f"{self.path} has {plural(len(names), 'target')}; choose one as {self.path}:TARGET: {', '.join(names)}"
            )
        if self.target and self.target not in names:
            hint = nearest(self.target, names)
            raise click.UsageError(f"{self.path} has no target '{self.target}'{hint}; it has {', '.join(names)}")
        return record, self.target or names[0]


def _base(text: str) -> Any:
    match = re.fullmatch(r"(.*\.jsonl(?:\.gz|\.xz)?)(?::(.+))?", text)
    return StoredBase(Path(match[1]), match[2] or "") if match else options.TARGET.convert(text, None, None)


def _policy(fail_on: str, accepted_files: Sequence[Path] = ()) -> "GatePolicy":
    """What blocks: a list of changes and severities; ``any`` are all observable changes, severities alone are of the usual ones.

    Raises ``click.ClickException``.
    """
    from datetime import date

    from maxpool_check.commands.case_files import mistakes
    from maxpool_check.comparing.acceptance import read_accepted
    from maxpool_check.comparing.gate import GatePolicy
    from maxpool_check.comparing.transitions import BLOCKING, UNOBSERVABLE, Change
    from maxpool_check.judging.defects import Severity
    from maxpool_check.specifications.specification import nearest

    observable = tuple(change for change in Change if change not in UNOBSERVABLE)
    changes = {**{change.value: (change,) for change in observable}, "any": observable}
    severities = {severity.value: severity for severity in Severity}
    names = [name.strip() for name in fail_on.split(",")]
    for name in names:
        if name not in (*changes, *severities):
            known = f"{', '.join(changes)}; or, of severities, {', '.join(severities)}"
            hint = nearest(name, [*changes, *severities])
            message = f"unknown change '{name}'{hint}; known: {known}"
            raise click.BadParameter(message, param_hint="'--fail-on'")
    chosen = tuple(change for name in names for change in changes.get(name, ())) or BLOCKING
    with mistakes():
        accepted = [entry for file in accepted_files for entry in read_accepted(file)]
    return GatePolicy(
        chosen, tuple(severities[each] for each in names if each in severities) or None, accepted, date.today()
    )


BASE = options.Value("TARGET|RECORD.jsonl", _base, "targets files", names_files=True)
_fail_on_option = click.option(
    "--fail-on", type=options.Value("CHANGE,...", str, "changes", ","), default=_BLOCKING, metavar="CHANGE,...",
    help="The changes that block, or 'any'; with severities, such as wrong-on-finite, only where the new result is of one of them."
    f"  [default: {_BLOCKING}]",
)  # fmt: skip


@click.command("gate")
@click.option(
    "--base", multiple=True, type=BASE, metavar=BASE.name,
    help="The runtime in use: a target, or a record of it, RECORD.jsonl:TARGET where it has several. Repeatable.",
)  # fmt: skip
@click.option(
    "--head", multiple=True, type=options.TARGET, metavar="TARGET",
    help="The runtime to upgrade to. Repeatable: each is compared with each base.",
)  # fmt: skip
@options.selected
@options.spec
@options.variants
@options.jobs
@options.setting_option("timeout")
@options.setting_option("corpus_lock")
@_fail_on_option
@click.option(
    "--accept", multiple=True, type=options.FILE, metavar="FILE",
    help="Files of changes that you have accepted, which do not block: see 'gate accept'. Repeatable.",
)  # fmt: skip
@click.option("--intersection", is_flag=True, help="Of two records, leave out cases that differ.")
@options.record
@options.reports()
@options.verbose("Show every change in full, with all its cases")
@options.paths
def command(
    paths: tuple[Path, ...], base: "tuple[TargetName | StoredBase, ...]", head: "tuple[TargetName, ...]",
    selected: tuple[str, ...], spec: tuple[str, ...], variants: "frozenset[Variant]", jobs: int, fail_on: str,
    accept: tuple[Path, ...], intersection: bool, output: Path | None, reports: tuple[tuple[str, Path], ...], verbose: int,
    **settings: Any,
) -> int:  # fmt: skip
    """Run the cases of PATH... on two targets, and decide whether the head may replace the base.

    Or compare two records: gate OLD.jsonl NEW.jsonl. Where they have several targets, --base and --head name those to compare.

    Cases of documents that no target claims to implement are left out, unless --spec names them: --spec all runs all.

    Ends with SAFE (no observable change), REVIEW (fixed, changed where the documents leave a point open, newly accepted:
    production may rely on the old behaviour) or BLOCK (regressed, newly refused, a new crash). Known defects explain a change
    and excuse none; --accept does. Exits with 0, or with 1 on BLOCK; 2 usage, a bad file, or records of different cases,
    3 could not complete, 4 nothing was compared.

    \b
    Examples:
      maxpool-check gate --base onnxruntime==1.23.2 --head onnxruntime==1.31.1
      maxpool-check gate old.jsonl new.jsonl --fail-on any --report markdown
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output

    policy = _policy(fail_on, accept)
    shown = Output(reports, output, options.setting("quiet"))
    if len(paths) == 2 and all(str(path).endswith(RECORD_SUFFIXES) for path in paths):
        _refuse("is for a run, and these are two records", "selected", "variants", "jobs", "output", "corpus_lock")
        shown.check_writable([*paths, *accept])
        return _show(_of_records(paths, base, head, spec, policy, intersection=intersection), shown, verbose)
    _refuse("is for two records", "intersection")
    for name, values in (("--base", base), ("--head", head)):
        if not values:
            raise click.UsageError(f"Missing option '{name}'; or name two records, OLD.jsonl NEW.jsonl")
    for each in (*base, *head):
        if each in base and each in head:
            raise click.UsageError(f"the base and the head are the same, {each}")
        if (*base, *head).count(each) > 1:
            raise click.UsageError(f"'{each}' occurs twice")
    files = CaseFiles(paths, selected, spec, locked=True)
    return _run(files, base, head, policy, shown, inputs=accept, verbose=verbose, variants=variants, jobs=jobs)


def _is_given(name: str | None) -> bool:
    return click.get_current_context().get_parameter_source(name or "") is ParameterSource.COMMANDLINE


def _refuse(why: str, *names: str) -> None:
    """Refuse options that were given and have no effect. Raises ``click.UsageError``."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and _is_given(parameter.name):
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


def _of_records(
    paths: Sequence[Path], base: "Sequence[TargetName | StoredBase]", head: "Sequence[TargetName]", specs: Sequence[str],
    policy: "GatePolicy", *, intersection: bool,
) -> "list[TargetComparison]":  # fmt: skip
    """The comparisons of two records. Raises ``click.UsageError``."""
    from maxpool_check.comparing.gate import compare_targets
    from maxpool_check.comparing.transitions import Incomparable, paired
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.specifications import documents

    # A configured base is for runs.
    names = [str(each[0]) if each and _is_given(name) else None for name, each in (("base", base), ("head", head))]
    before, after = (options.read_record(path) for path in paths)
    chosen = {document for name in specs if name != ALL for document in documents(name)} if ALL not in specs else ()
    cases = (
        {each.case for record in (before, after) for each in record.executions if each.spec in chosen}
        if chosen
        else None
    )
    try:
        return [
            compare_targets(before, after, pair, policy, intersection=intersection, cases=cases)
            for pair in paired(before, after, (names[0], names[1]))
        ]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error


def _run(
    files: "CaseFiles", base: "Sequence[TargetName | StoredBase]", head: "Sequence[TargetName]", policy: "GatePolicy",
    shown: "Output", *, inputs: Sequence[Path], verbose: int, variants: "frozenset[Variant]", jobs: int,
) -> int:  # fmt: skip
    """Run the cases on the targets, and show each head compared with each base."""
    from maxpool_check.commands import executing
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.results.record import ExitCode
    from maxpool_check.running.run import run
    from maxpool_check.specifications.specification import nearest

    records = [each.path for each in base if isinstance(each, StoredBase)]
    if shown.output in records:
        raise click.UsageError(f"the record would overwrite the base, {shown.output}")
    stored = [each.read() for each in base if isinstance(each, StoredBase)]
    corpus = executing.read_valid(files)
    bases = [each for each in base if not isinstance(each, StoredBase)]
    targets = files.claimed_by([*bases, *head])
    # None if one of them does not say, so that all are compared.
    claims = [target.implements for target in targets]
    claimed = list(dict.fromkeys(name for names in claims for name in names)) if all(claims) else []
    cases = files.select(corpus, claimed)
    shown.check_writable([*corpus.files, *corpus.known_files, *records, *inputs, *options.kernels(targets)])
    ids = [case.id for case in corpus.cases]
    for pattern in dict.fromkeys(pattern for entry in policy.accepted for pattern in entry.cases):
        # Misspelt, or of another corpus.
        if not any(fnmatchcase(case, pattern) for case in ids):
            options.echo(f"accepted, but no case: '{pattern}'{nearest(pattern, ids)}", err=True)
    scheduler = options.cluster(jobs)
    plan = executing.plan_of(corpus, cases, targets, jobs=jobs, variants=variants, dask=scheduler)
    with executing.recorded(lambda write, progress: run(plan, write, progress), shown, len(cases)) as record:
        assert record.footer is not None
        for error in record.footer.errors:
            options.echo(f"error: {error}", err=True)
        tested = [target.name for target in record.header.targets]
        if missing := [f"{target} was not tested" for target in targets if str(target) not in tested]:
            problems = record.footer.errors or missing
            return _show([], shown, verbose, problems=problems, undecided=ExitCode.INCOMPLETE)
        if claimed and not files.specs and (others := len(files.select(corpus, [ALL])) - len(cases)):
            words = f"left out: {plural(others, 'case')} of documents that no target claims; they claim {', '.join(claimed)}"
            options.echo(f"{words}; --spec all runs all", err=True)
        compared = [*((record, str(each)) for each in bases), *stored]
        return _show(list(_comparisons(compared, record, head, policy, files, cases)), shown, verbose)


def _comparisons(
    bases: "Sequence[tuple[Record, str]]", record: "Record", heads: "Sequence[TargetName]", policy: "GatePolicy",
    files: "CaseFiles", cases: "Sequence[Case]",
) -> "Iterator[TargetComparison]":  # fmt: skip
    """Each head with each base. Raises ``click.UsageError`` for a base of other cases."""
    from maxpool_check.comparing.gate import compare_targets
    from maxpool_check.comparing.transitions import Incomparable

    for base, name in bases:
        ids: set[str] | None = None
        if base is not record:
            ids, specs = {case.id for case in cases}, {case.spec for case in cases}
            if not files.selected:
                # A whole corpus has lost those that only the base has, a selection has not.
                ids |= {execution.case for execution in base.executions if execution.spec in specs}
        for head in heads:
            try:
                yield compare_targets(base, record, (name, str(head)), policy, cases=ids)
            except Incomparable as error:
                message = f"{name} cannot be the base: {error}; record it again with these cases"
                raise click.UsageError(message) from error


def _show(comparisons: "Sequence[TargetComparison]", output: "Output", verbose: int, **undecided: Any) -> int:
    """Print what has changed, write the reports, and return the exit code."""
    from dataclasses import replace

    from maxpool_check.reporting.changes import ComparisonReport, workflow_commands

    report = ComparisonReport("gate", comparisons, options.width(), options.colored(), verbose > 0, **undecided)
    output.publish(FORMATS, report, replace(report, color=False), lambda: workflow_commands(report))
    return report.exit_code


@click.command("accept")
@click.argument("record", type=options.FILE, metavar="RECORD.jsonl")
@click.option(
    "-o", "--output", "file", type=options.FILE, required=True, metavar="FILE",
    help="The file to add to, in YAML; it is made if it is not there.",
)  # fmt: skip
@click.option("--author", required=True, metavar="NAME", help="Who accepts the changes.")
@click.option("--reason", required=True, metavar="TEXT", help="Why they do no harm.")
@click.option(
    "--expires", type=options.DATE, metavar="DATE",
    help="The last day on which they are accepted, YYYY-MM-DD.  [default: in a year]",
)  # fmt: skip
@click.option(
    "--base", type=BASE, metavar=BASE.name,
    help="The base of the gate: a target of the record, or a record.  [default: the first target of the record]",
)  # fmt: skip
@click.option(
    "-k", "patterns", multiple=True, type=options.SELECTION, metavar="GLOB",
    help="Only these cases, by the id or its part after the colon. Repeatable.",
)  # fmt: skip
@_fail_on_option
def accept(
    record: Path, file: Path, author: str, reason: str, expires: "date | None", base: "TargetName | StoredBase | None",
    patterns: tuple[str, ...], fail_on: str,
) -> int:  # fmt: skip
    """Accept the changes that block in the RECORD of a gate, which it wrote with -o.

    The entries are as narrow as can be: exact cases, kinds, variants, and the version of the new target. With the file as
    --accept of gate, these changes are to review and no longer block, until they expire; widen entries by hand.

    \b
    Examples:
      maxpool-check gate accept gate.jsonl -o accepted.yaml --author "A. Author" --reason "NaN never gets there"
      maxpool-check gate accept gate.jsonl --base old.jsonl -k 'edge/nan*' -o accepted.yaml --author A --reason NaN
    """
    from datetime import date, timedelta

    from maxpool_check.commands.case_files import mistakes
    from maxpool_check.comparing.acceptance import add_accepted, narrowest
    from maxpool_check.comparing.gate import compare_targets
    from maxpool_check.comparing.transitions import Incomparable
    from maxpool_check.specifications.specification import nearest

    for name, words in (("--author", author), ("--reason", reason)):
        if not words.strip():
            raise click.UsageError(f"{name} is empty")
    until = expires or date.today() + timedelta(days=365)
    if until < date.today():
        raise click.UsageError(f"--expires {until} has passed")
    stored = options.read_record(record)
    names = [target.name for target in stored.header.targets]
    old, old_name = (
        base.read() if isinstance(base, StoredBase) else (stored, str(base) if base is not None else names[0])
    )
    heads = [name for name in names if old is not stored or name != old_name]
    if not heads or (old is stored and old_name not in names):
        hint = nearest(old_name, names)
        raise click.UsageError(f"{record} has no base '{old_name}'{hint} and another target; it has {', '.join(names)}")
    chosen, added = _chosen(stored, patterns), 0
    policy = _policy(fail_on, [file] if file.exists() else [])
    for head in heads:
        try:
            comparison = compare_targets(old, stored, (old_name, head), policy)
        except Incomparable as error:
            raise click.UsageError(f"the records cannot be compared: {error}") from error
        changes = [
            (each.change, each.execution.case, each.execution.variant, each.new.kinds if each.new is not None else ())
            for each in comparison.transitions
            if each.blocks and each.execution.case in chosen
        ]
        if entries := narrowest(changes, comparison.new, author, reason, until):
            with mistakes("nothing was written"):
                add_accepted(file, entries)
        cases = len({case for _, case, *_ in changes})
        options.echo(f"{old_name} to {head}: {plural(len(changes), 'change')} of {plural(cases, 'case')} accepted")
        added += len(entries)
    if added:
        words = f"{plural(added, 'entry', 'entries')} added to {file}, until {until}; review them before you commit"
    else:
        words = "nothing blocks" + (f" in {plural(len(chosen), 'case')} that -k selects" if patterns else "")
    options.echo(words)
    return 0


def _chosen(record: "Record", patterns: Sequence[str]) -> set[str]:
    """The cases of a record that any pattern matches, by the id or its part after the colon. Raises ``click.UsageError``."""
    from maxpool_check.specifications.specification import nearest

    cases = {execution.case for execution in record.executions}
    matching = {
        pattern: {each for each in cases if fnmatchcase(each, pattern) or fnmatchcase(each.rpartition(":")[2], pattern)}
        for pattern in patterns
    }
    for pattern, found in matching.items():
        if not found:
            raise click.UsageError(f"-k: the record has no case '{pattern}'{nearest(pattern, cases)}")
    return set().union(*matching.values()) if patterns else cases
