"""``maxpool-check gate``: two targets or two records."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import options
from maxpool_check.commands.registry import imported
from maxpool_check.files import BUNDLE_SUFFIX, RECORD_SUFFIXES
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.comparing.gate import GatePolicy, TargetComparison
    from maxpool_check.reporting.changes import ComparisonReport
    from maxpool_check.results.record import Conclusion, Record
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName

FORMATS = options.Formats(
    "reporting.changes_view:document", {"json": "reporting.changes_json:write"}, "reporting.changes_items:checks"
)
"""The formats of the report of a comparison."""

_BLOCKING = "regressed,newly-refused,crash-new"


def policy_of(known: Sequence[Path], fail_on: str = _BLOCKING) -> "GatePolicy":
    """What blocks: changes and severities, in one text, and what files accept.

    ``any`` stands for all observable changes; severities alone are of the changes that block by default.
    Raises ``click.ClickException``.
    """
    from datetime import date

    from maxpool_check.commands.executing import read_accepted
    from maxpool_check.comparing.gate import GatePolicy
    from maxpool_check.judging.defects import Severity
    from maxpool_check.results.changes import BLOCKING, UNOBSERVABLE, Change

    observable = tuple(change for change in Change if change not in UNOBSERVABLE)
    changes = {**{change.value: (change,) for change in observable}, "any": observable}
    every = [*changes, *Severity]
    try:
        names = [options.one_of(name.strip(), every, "change or severity") for name in fail_on.split(",")]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--fail-on'") from error
    chosen = tuple(change for name in names for change in changes.get(name, ())) or BLOCKING
    severities = tuple(Severity(name) for name in names if name not in changes) or None
    return GatePolicy(chosen, severities, read_accepted(known), date.today())


def _changes() -> list[str]:
    return ["any", *(change.value for change in imported("results.changes:Change"))]


fail_on_option = click.option(
    "--fail-on", type=options.Value("CHANGE,...", str, _changes, ","), default=_BLOCKING, metavar="CHANGE,...",
    help="The changes that block, or 'any'; with severities, such as wrong-on-finite, only where the new result is of one of them."
    f"  [default: {_BLOCKING}]",
)  # fmt: skip


class _Command(options.Command):
    """Says what replaces the words that gate has taken."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        if words[:1] == ["accept"] and not Path("accept").exists():
            instead = "maxpool-check defects accept RECORD -o FILE --author NAME --reason TEXT"
            raise click.UsageError(f"there is no 'gate accept': '{instead}' accepts the changes that block", ctx)
        if any(word.partition("=")[0] == "--accept" for word in words):
            raise click.UsageError("there is no --accept: name the file of accepted changes with --known", ctx)
        return super().parse_args(ctx, args)


@click.command("gate", cls=_Command)
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
@fail_on_option
@options.known
@click.option("--intersection", is_flag=True, help="Of two records, leave out cases that differ.")
@options.record
@options.reports()
@options.paths
def command(
    paths: tuple[Path, ...], base: "tuple[TargetName, ...]", head: "tuple[TargetName, ...]",
    selected: tuple[str, ...], spec: tuple[str, ...], variants: "frozenset[Variant]", jobs: int, fail_on: str,
    known: tuple[Path, ...], intersection: bool, output: Path | None, reports: tuple[tuple[str, Path], ...],
) -> int:  # fmt: skip
    """Run the cases of PATH... on two targets, and decide whether the head may replace the base.

    Or compare two records, gate OLD.jsonl NEW.jsonl, or those in two bundles of evidence, gate OLD.tar NEW.tar, which are not
    verified. Where they have several targets, --base and --head name those to compare.

    Cases of documents that no target claims to implement are left out, unless --spec names them: --spec all runs all.

    Ends with SAFE (no observable change), REVIEW (fixed, changed where the documents leave a point open, newly accepted:
    production may rely on the old behaviour) or BLOCK (regressed, newly refused, a new crash). Known defects explain a change
    and excuse none; 'defects accept' writes a file for --known that does. Exits with 0, or with 1 on BLOCK; 2 usage, a bad file, or records of different cases,
    3 could not complete, 4 nothing was compared. -q prints one line if it fails, and else nothing.

    \b
    Examples:
      maxpool-check gate --base onnxruntime==1.31.1 --head onnxruntime==1.32.0
      maxpool-check gate old.jsonl new.jsonl --fail-on any --report markdown
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.reporting.changes import ComparisonReport

    policy = policy_of(known, fail_on)
    named = ["--fail-on", fail_on] if fail_on != _BLOCKING else []
    shown = Output(reports, output, options.setting("quiet"))
    if len(paths) == 2 and all(str(path).endswith((*RECORD_SUFFIXES, BUNDLE_SUFFIX)) for path in paths):
        _refuse("is for a run; --report FORMAT=FILE writes what differs", "selected", "variants", "jobs", "output")
        shown.check_writable([*paths, *known])
        # A configured base is for runs.
        names = [str(each[0]) if options.is_given(name) else None for name, each in (("base", base), ("head", head))]
        old, new = map(read_side, paths, names)
        cases = counted_cases((old, new), spec)
        comparisons = compare_records(old, new, (names[0], names[1]), policy, intersection=intersection, cases=cases)
        # In one record, the base is a target of it.
        before = comparisons[0].old.name if paths[0] == paths[1] and comparisons else paths[0]
        accepting = [str(paths[1]), "--base", str(before), *named]
        return _show(ComparisonReport("gate", comparisons, record=accepting), shown)
    _refuse("is for two records", "intersection")
    if missing := [name for name, values in (("--base", base), ("--head", head)) if not values]:
        raise click.UsageError(f"Missing option '{missing[0]}'; or name two records, OLD.jsonl NEW.jsonl")
    for each in (*base, *head):
        if (*base, *head).count(each) > 1:
            raise click.UsageError(f"the base and the head are the same, {each}")
    files = CaseFiles(paths, selected, spec)
    return _run(files, base, head, policy, shown, known=known, named=named, variants=variants, jobs=jobs)


def read_side(path: Path, target: str | None = None) -> "Record":
    """The record of a file, or the record of a bundle that has the target. Raises ``click.ClickException``."""
    if path.suffix != BUNDLE_SUFFIX:
        return options.read_record(path)
    from maxpool_check.evidence.bundling.archive import BadArchive, unpacked
    from maxpool_check.evidence.bundling.contents import BadBundle, records_in
    from maxpool_check.files import not_found
    from maxpool_check.results.storage import BadRecord

    try:
        with options.raising((BadArchive, BadBundle, BadRecord), about=f"cannot read the bundle {path}: "):
            records = records_in(unpacked(path))
    except FileNotFoundError as error:
        raise click.UsageError(
            f"{not_found(path, is_file=True)}; 'maxpool-check evidence build' writes a bundle"
        ) from error
    except OSError as error:
        raise click.UsageError(f"cannot read the bundle {path}: {error.strerror}") from error
    named = {each.name: record for record in records.values() for each in record.header.targets}
    if target in named:
        return named[target]
    if len(records) > 1:
        raise click.UsageError(
            f"{path} has {len(records)} records, of {', '.join(named)}; name the targets to compare with --base and --head"
        )
    return next(iter(records.values()))


def _refuse(why: str, *names: str) -> None:
    """Refuse options that were given and have no effect. Raises ``click.UsageError``."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and options.is_given(parameter.name):
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


def counted_cases(records: "Sequence[Record]", specs: Sequence[str] = ()) -> set[str] | None:
    """The cases of records to compare: those of some documents or families, of models those that count there; None: all."""
    from maxpool_check.corpus.selection import ALL
    from maxpool_check.models.cases import is_special
    from maxpool_check.specifications import documents

    chosen = {document for name in specs if ALL not in specs for document in documents(name)}
    leaves_special = any(is_of_models(each) and not each.header.effective_settings.strict for each in records)
    if not chosen and not leaves_special:
        return None
    return {
        each.case
        for record in records
        for each in record.executions
        if (not chosen or each.spec in chosen) and not (leaves_special and is_special(each.case))
    }


def is_of_models(record: "Record") -> bool:
    """Whether a record is of nodes of models."""
    return any(each.origin.rsplit(":", 2)[0].endswith(".onnx") for each in islice(record.executions, 1))


def compare_records(
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
    shown: "Output", *, known: Sequence[Path], named: Sequence[str], variants: "frozenset[Variant]", jobs: int,
) -> int:  # fmt: skip
    """Run the cases on the targets, and show each head compared with each base.

    Files of ``known`` defects explain the changes; ``named`` are the words that accept what blocks besides those of the record.
    """
    from maxpool_check.commands import executing
    from maxpool_check.comparing.gate import compare_targets, worst
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
    defects, known_files = executing.read_known(known, corpus.known_files) if known else (None, [])
    shown.check_writable([*corpus.files, *corpus.known_files, *known_files, *options.kernels(targets)])
    plan = executing.plan_of(corpus, cases, targets, defects, known_files=known_files, jobs=jobs, variants=variants)
    reports: list[ComparisonReport] = []

    def conclude(record: "Record") -> "Conclusion":
        assert record.footer is not None
        tested = [target.name for target in record.header.targets]
        if missing := [f"{target} was not tested" for target in targets if str(target) not in tested]:
            problems = record.footer.errors or missing
            report = ComparisonReport("gate", [], problems=problems, undecided=ExitCode.INCOMPLETE)
        else:
            pairs = [(str(old), str(new)) for old in base for new in head]
            comparisons = [compare_targets(record, record, pair, policy) for pair in pairs]
            first = ["--base", worst(comparisons).old.name] if len(base) > 1 else []
            accepting = [str(shown.output or "RECORD"), *first, *named]
            report = ComparisonReport("gate", comparisons, record=accepting)
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
        return _show(reports[0], shown)


def _show(report: "ComparisonReport", output: "Output") -> int:
    """Print what has changed, write the reports, and return the exit code."""
    from maxpool_check.reporting.changes_items import annotations

    output.publish(FORMATS, report, report.exit_code, annotations)
    return report.exit_code
