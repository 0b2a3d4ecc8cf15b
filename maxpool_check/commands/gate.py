"""``maxpool-check gate`` and ``gate accept``: two targets or two records."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import options
from maxpool_check.files import RECORD_SUFFIXES
from maxpool_check.words import plural

if TYPE_CHECKING:
    from datetime import date

    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.comparing.gate import GatePolicy, TargetComparison
    from maxpool_check.reporting.changes import ComparisonReport
    from maxpool_check.results.record import Conclusion, Record
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName

FORMATS = options.formats_with_checks("changes:write_json")
"""The formats of the report of a comparison."""

_BLOCKING = "regressed,newly-refused,crash-new"


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

    observable = tuple(change for change in Change if change not in UNOBSERVABLE)
    changes = {**{change.value: (change,) for change in observable}, "any": observable}
    known = [*changes, *Severity]
    try:
        names = [options.one_of(name.strip(), known, "change or severity") for name in fail_on.split(",")]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--fail-on'") from error
    chosen = tuple(change for name in names for change in changes.get(name, ())) or BLOCKING
    severities = tuple(Severity(name) for name in names if name not in changes) or None
    with mistakes():
        accepted = [entry for file in accepted_files for entry in read_accepted(file)]
    return GatePolicy(chosen, severities, accepted, date.today())


_fail_on_option = click.option(
    "--fail-on", type=options.Value("CHANGE,...", str, "changes", ","), default=_BLOCKING, metavar="CHANGE,...",
    help="The changes that block, or 'any'; with severities, such as wrong-on-finite, only where the new result is of one of them."
    f"  [default: {_BLOCKING}]",
)  # fmt: skip


@click.command("gate")
@click.option(
    "--base", multiple=True, type=options.TARGET, metavar="TARGET", help="The runtime in use. Repeatable."
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
    paths: tuple[Path, ...], base: "tuple[TargetName, ...]", head: "tuple[TargetName, ...]",
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
    3 could not complete, 4 nothing was compared. -q prints one line if it fails, and else nothing.

    \b
    Examples:
      maxpool-check gate --base onnxruntime==1.31.1 --head onnxruntime==1.32.0
      maxpool-check gate old.jsonl new.jsonl --fail-on any --report markdown
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.reporting.changes import ComparisonReport

    policy = _policy(fail_on, accept)
    shown = Output(reports, output, options.setting("quiet"))
    if len(paths) == 2 and all(str(path).endswith(RECORD_SUFFIXES) for path in paths):
        _refuse("is for a run; --report FORMAT=FILE writes what differs", "selected", "variants", "jobs", "output")
        shown.check_writable([*paths, *accept])
        old, new = map(options.read_record, paths)
        # A configured base is for runs.
        names = [str(each[0]) if options.is_given(name) else None for name, each in (("base", base), ("head", head))]
        cases = _selected((old, new), spec)
        compared = _compared(old, new, (names[0], names[1]), policy, intersection=intersection, cases=cases)
        # In one record, the base is a target of it.
        before = compared[0].old.name if paths[0] == paths[1] and compared else paths[0]
        # No file accepts nodes of models for a gate.
        accepting = [] if _is_of_models(old) or _is_of_models(new) else [str(paths[1]), "--base", str(before)]
        return _show(ComparisonReport("gate", compared, record=accepting), shown, verbose)
    _refuse("is for two records", "intersection")
    if missing := [name for name, values in (("--base", base), ("--head", head)) if not values]:
        raise click.UsageError(f"Missing option '{missing[0]}'; or name two records, OLD.jsonl NEW.jsonl")
    for each in (*base, *head):
        if (*base, *head).count(each) > 1:
            raise click.UsageError(f"the base and the head are the same, {each}")
    files = CaseFiles(paths, selected, spec)
    return _run(files, base, head, policy, shown, inputs=accept, verbose=verbose, variants=variants, jobs=jobs)


def _refuse(why: str, *names: str) -> None:
    """Refuse options that were given and have no effect. Raises ``click.UsageError``."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and options.is_given(parameter.name):
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


def _selected(records: "Sequence[Record]", specs: Sequence[str]) -> set[str] | None:
    """The cases of records to compare: those of some documents or families, of models those that count there; None: all."""
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.models.cases import is_special
    from maxpool_check.specifications import documents

    chosen = {document for name in specs if ALL not in specs for document in documents(name)}
    leaves_special = any(_is_of_models(each) and not each.header.effective_settings.strict for each in records)
    if not chosen and not leaves_special:
        return None
    return {
        each.case
        for record in records
        for each in record.executions
        if (not chosen or each.spec in chosen) and not (leaves_special and is_special(each.case))
    }


def _is_of_models(record: "Record") -> bool:
    return any(each.origin.rsplit(":", 2)[0].endswith(".onnx") for each in islice(record.executions, 1))


def _compared(
    old: "Record", new: "Record", names: tuple[str | None, str | None], policy: "GatePolicy", **others: Any
) -> "list[TargetComparison]":
    """The comparisons of the targets of two records. Raises ``click.UsageError``."""
    from maxpool_check.comparing.gate import compare_targets
    from maxpool_check.comparing.transitions import Incomparable, paired

    try:
        return [compare_targets(old, new, pair, policy, **others) for pair in paired(old, new, names)]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error


def _run(
    files: "CaseFiles", base: "Sequence[TargetName]", head: "Sequence[TargetName]", policy: "GatePolicy",
    shown: "Output", *, inputs: Sequence[Path], verbose: int, variants: "frozenset[Variant]", jobs: int,
) -> int:  # fmt: skip
    """Run the cases on the targets, and show each head compared with each base."""
    from maxpool_check.commands import executing
    from maxpool_check.comparing.gate import compare_targets
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.reporting.changes import ComparisonReport
    from maxpool_check.results.record import ExitCode
    from maxpool_check.running.run import run

    corpus = executing.read_valid(files)
    targets = files.claimed_by([*base, *head])
    # None if one of them does not say, so that all are compared.
    claims = [target.implements for target in targets]
    claimed = list(dict.fromkeys(name for names in claims for name in names)) if all(claims) else []
    cases = files.select(corpus, claimed)
    shown.check_writable([*corpus.files, *corpus.known_files, *inputs, *options.kernels(targets)])
    plan = executing.plan_of(corpus, cases, targets, jobs=jobs, variants=variants, dask=options.cluster(jobs))
    reports: list[ComparisonReport] = []

    def conclude(record: "Record") -> "Conclusion":
        assert record.footer is not None
        tested = [target.name for target in record.header.targets]
        if missing := [f"{target} was not tested" for target in targets if str(target) not in tested]:
            problems = record.footer.errors or missing
            report = ComparisonReport("gate", [], problems=problems, undecided=ExitCode.INCOMPLETE)
        else:
            pairs = [(str(old), str(new)) for old in base for new in head]
            compared = [compare_targets(record, record, pair, policy) for pair in pairs]
            report = ComparisonReport("gate", compared, record=[str(shown.output or "RECORD")])
        reports.append(report)
        return report.conclusion

    with executing.recorded(
        lambda write, progress: run(plan, write, progress), shown, len(cases), conclude=conclude
    ) as record:
        assert record.footer is not None
        for error in record.footer.errors if not shown.quiet else ():
            options.echo(f"error: {error}", err=True)
        is_whole = not claimed or bool(files.specs) or shown.quiet or not reports[0].comparisons
        if not is_whole and (others := len(files.select(corpus, [ALL])) - len(cases)):
            words = f"left out: {plural(others, 'case')} of documents that no target claims; they claim {', '.join(claimed)}"
            options.echo(f"{words}; --spec all runs all", err=True)
        return _show(reports[0], shown, verbose)


def _show(report: "ComparisonReport", output: "Output", verbose: int) -> int:
    """Print what has changed, write the reports, and return the exit code."""
    from maxpool_check.reporting.changes import workflow_commands

    plain = replace(report, width=options.width(), verbose=verbose > 0)
    output.publish(FORMATS, replace(plain, color=options.colored()), plain, lambda: workflow_commands(report))
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
    "--base", type=options.Value("TARGET|RECORD.jsonl", completed_by="targets files", names_files=True), metavar="TARGET|RECORD.jsonl",
    help="The base of the gate: a target of the record, or a record.  [default: the first target of the record]",
)  # fmt: skip
@click.option(
    "-k", "patterns", multiple=True, type=options.SELECTION, metavar="GLOB",
    help="Only these cases, by the id or its part after the colon. Repeatable.",
)  # fmt: skip
@_fail_on_option
def accept(
    record: Path, file: Path, author: str, reason: str, expires: "date | None", base: str | None,
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

    if empty := [name for name, words in (("--author", author), ("--reason", reason)) if not words.strip()]:
        raise click.UsageError(f"{empty[0]} is empty")
    until = expires or date.today() + timedelta(days=365)
    if until < date.today():
        raise click.UsageError(f"--expires {until} has passed")
    new = options.read_record(record)
    if _is_of_models(new):
        raise click.UsageError(
            f"{record} is of models, and a gate reads no file that accepts their nodes; "
            f"'maxpool-check defects accept {record} -o FILE' writes one, for --known of 'maxpool-check model'"
        )
    accepted = [file] if file.exists() else []
    policy, names = _policy(fail_on, accepted), [target.name for target in new.header.targets]
    if base is not None and base.endswith(RECORD_SUFFIXES):
        comparisons = _compared(options.read_record(Path(base)), new, (None, None), policy)
    else:
        first = base or names[0]
        comparisons = [each for name in names if name != first for each in _compared(new, new, (first, name), policy)]
    if not comparisons:
        raise click.UsageError(
            f"{record} has no other target than {base or names[0]}; name the record of the base with --base"
        )
    chosen, added = _chosen(new, patterns), 0
    for comparison in comparisons:
        changes = [
            (each.change, each.execution.case, each.execution.variant, each.new.kinds if each.new is not None else ())
            for each in comparison.transitions
            if each.blocks and each.execution.case in chosen
        ]
        if entries := narrowest(changes, comparison.new, author, reason, until):
            with mistakes("nothing was written"):
                add_accepted(file, entries)
        cases = plural(len({case for _, case, *_ in changes}), "case")
        options.echo(
            f"{comparison.old.name} to {comparison.new.name}: {plural(len(changes), 'change')} of {cases} accepted"
        )
        added += len(entries)
    written = f"{plural(added, 'entry', 'entries')} added to {file}, until {until}; review them before you commit"
    if not added:
        options.refuse_incomplete(record, new)
    nothing = "nothing blocks" + (" in the cases that -k selects" if patterns else "")
    options.echo(written if added else nothing + (f" that {file} does not accept already" if accepted else ""))
    return 0


def _chosen(record: "Record", patterns: Sequence[str]) -> set[str]:
    """The cases of a record that any pattern matches, by the id or its part after the colon. Raises ``click.UsageError``."""
    from fnmatch import fnmatchcase

    cases = {execution.case for execution in record.executions}
    chosen = set() if patterns else cases
    for pattern in patterns:
        found = {each for each in cases for name in (each, each.rpartition(":")[2]) if fnmatchcase(name, pattern)}
        if not found:
            raise click.UsageError(f"-k: the record has no case '{pattern}'")
        chosen |= found
    return chosen
