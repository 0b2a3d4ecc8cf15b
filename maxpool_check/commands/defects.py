"""``maxpool-check defects``."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from maxpool_check import inert
from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.comparing.defects import TargetStatus, completeness, statuses
from maxpool_check.corpus.collection import Corpus, default_path, defect_files, is_shipped, root_of
from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions, write_versions
from maxpool_check.explaining import defects as catalogue
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName
from maxpool_check.words import plural

_folder = click.option(
    "-p", "--path", type=case_files.PATH, default=default_path, metavar="PATH",
    help="The corpus.  [default: cases, or the corpus that comes with the tool]",
)  # fmt: skip


class _Commands(click.Group):
    """``check``, and without it ``show``, which takes the id or the runtime."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group("defects", cls=_Commands)
def command() -> None:
    """List the known defects of runtimes, show one, or check which of them a target shows.

    maxpool-check defects [RUNTIME | ID] [--live] [--format json] lists them, the live ones and the worst first; with an ID
    it shows that defect. maxpool-check defects check -t TARGET runs the cases of the target's defects.

    \b
    Examples:
      maxpool-check defects onnxruntime --live
      maxpool-check defects ORT-PAD-FOLDED
    """


@command.command("show", hidden=True)
@click.argument("subject", required=False)
@click.option("--live", is_flag=True, help="Only those of the newest release that was reviewed.")
@options.form()
@options.color
@_folder
def show(subject: str | None, live: bool, form: str, color: str, path: Path) -> int:
    """List the defects of all runtimes or of RUNTIME, or show the defect with that ID.

    \b
    Examples:
      maxpool-check defects show onnxruntime --live
      maxpool-check defects show ORT-PAD-FOLDED
    """
    defects = _read(path)
    versions = _versions(path)
    chosen = _chosen(defects, subject)
    if live:
        chosen = [defect for defect in chosen if versions.is_live(defect)]
    chosen = catalogue.in_order(chosen, versions)
    if form == "json":
        entries = [catalogue.data(defect, versions) for defect in chosen]
        options.echo(inert.dumps({"schema": "maxpool-check/defects/1", "defects": entries}, indent=1))
    elif subject is not None and [defect.id for defect in chosen] == [subject]:
        options.echo(catalogue.page(chosen[0], versions, min(options.width(), 100)), nl=False)
    else:
        colored = Output(color=color).colored
        catalogue.write_list(chosen, versions, options.width(), sys.stdout, color=colored)
    return ExitCode.AS_EXPECTED


@command.command("check", short_help="Check which of them a target shows.")
@click.argument("names", nargs=-1, metavar="[ID]...")
@options.targets()
@click.option(
    "--record", "record_files", multiple=True, type=options.FILE, metavar="RECORD",
    help="Check the targets of a record instead of running one. Repeatable.",
)  # fmt: skip
@click.option("--write", is_flag=True, help="Write down which versions were tested, and which defects they show.")
@options.jobs
@options.timeout
@options.quiet
@_folder
def check(
    names: tuple[str, ...], targets: tuple[TargetName, ...], record_files: tuple[Path, ...], write: bool, jobs: int,
    timeout: float, quiet: bool, path: Path,
) -> int:  # fmt: skip
    """Run the cases of the defects of targets, or of those with an ID: which defects they show, and what else.

    Exits with 0 if each target shows what is expected of its version and nothing else, with 1 if not.

    \b
    Examples:
      maxpool-check defects check -t onnxruntime==1.31.1
      maxpool-check defects check ORT-PAD-FOLDED -t onnxruntime
    """
    if write and is_shipped(path):
        raise click.UsageError(
            "--write changes the corpus; make one of your own with 'maxpool-check corpus copy DIR', and pass it with -p DIR"
        )
    if bool(targets) == bool(record_files):
        raise click.UsageError("name a target with -t, or a record with --record")
    corpus = executing.read_valid(case_files.CaseFiles([path]))
    known = _read(path)
    ids = {defect.id for name in names for defect in _chosen(known, name)} or {defect.id for defect in known}
    defects = with_cases(known, corpus.cases)
    chosen = [defect for defect in defects if defect.id in ids]
    found: list[TargetStatus] = []
    all_ids = [case.id for case in corpus.cases]
    for file in record_files:
        record = options.read_record(file)
        found += statuses(record, defects, completeness(record, all_ids))
    for target in targets:
        record = _run(corpus, target, chosen, jobs, timeout, quiet=quiet)
        found += statuses(record, defects, completeness(record, all_ids))
    # Of others, the cases of those that were chosen show a part.
    found = [
        replace(each, defects=tuple(status for status in each.defects if status.defect.id in ids)) for each in found
    ]
    versions = _versions(path)
    for status in found:
        _print(status)
        by_runtime = {each.defect.id: _runtime_of(each.defect, status) for each in status.defects}
        for runtime in dict.fromkeys(by_runtime.values()):
            of_runtime = [each for each in status.defects if by_runtime[each.defect.id] == runtime]
            others = [defect.id for defect in known if defect.id not in ids]
            shown = [each.defect.id for each in of_runtime if each.shown]
            undecided = [each.defect.id for each in of_runtime if not each.complete]
            if write and not status.target.version:
                raise click.UsageError(f"{status.target.name} names no version, so that none can be written down")
            if len(undecided) < len(of_runtime):
                versions = versions.with_test(runtime, status.target.version, shown, [*undecided, *others])
    if write:
        options.echo(f"written to {write_versions(root_of(path), versions)}")
    return ExitCode.AS_EXPECTED if all(status.is_as_expected for status in found) else ExitCode.UNEXPECTED


def _runtime_of(defect: Defect, status: TargetStatus) -> str:
    """Which of the runtimes of a defect a target is."""
    target = status.target
    about = (target.distribution, target.provider, target.name)
    return next((name for name in defect.runtimes if TargetSelector.of(name).is_about(*about)), defect.runtime)


def _versions(path: Path) -> DefectVersions:
    with case_files.mistakes("nothing is shown"):
        return read_versions(root_of(path))


def _read(path: Path) -> list[Defect]:
    files = defect_files(root_of(path))
    if not files:
        raise click.UsageError(f"{path} has no files of defects; pass the corpus with -p PATH")
    with case_files.mistakes("nothing is shown"):
        return read_all_defects(files)


def _without_options(runtime: str) -> str:
    return runtime.partition("@")[0].partition("?")[0]


def _chosen(defects: Sequence[Defect], subject: str | None) -> list[Defect]:
    """The defect with an id, or those of a runtime, or all. Raises ``click.UsageError``."""
    runtimes = {
        name for defect in defects for runtime in defect.runtimes for name in (runtime, _without_options(runtime))
    }
    if subject is None:
        return list(defects)
    chosen = [defect for defect in defects if defect.id == subject]
    chosen = chosen or [
        defect
        for defect in defects
        if subject in runtimes
        and any(runtime == subject or runtime.startswith((f"{subject}@", f"{subject}?")) for runtime in defect.runtimes)
    ]
    if not chosen:
        names = [defect.id for defect in defects]
        hint = nearest(subject, [*names, *runtimes])
        raise click.UsageError(f"'{subject}' is neither a defect nor a runtime with defects{hint}")
    return chosen


def _run(
    corpus: Corpus, target: TargetName, defects: Sequence[Defect], jobs: int, timeout: float, *, quiet: bool
) -> Record:
    """Run the cases that the defects of a target are expected of, in whatever version, in all variants that they name."""
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
    record = executing.run_cases(corpus, cases, [target], jobs=jobs, quiet=quiet, variants=variants)
    if record.footer is not None and record.footer.errors:
        raise options.Incomplete("; ".join(record.footer.errors))
    return record


def _print(status: TargetStatus) -> None:
    target = status.target
    options.echo(f"{target.name} ({target.version or 'no version'})")
    for each in sorted(status.defects, key=lambda each: (each.defect.severity.rank, each.defect.id)):
        if each.shown or each.problem or not each.expected:
            count = plural(each.shown, "execution") if each.shown else "not shown"
            options.echo(f"  {each.defect.id}  {each.defect.severity.value}  {count}")
        if each.problem:
            options.echo(f"    {each.problem}")
        elif not each.expected:
            options.echo(f"    not expected of {target.version or target.name}")
    if status.unexpected:
        options.echo(f"  {plural(len(status.unexpected), 'execution')} that no defect expects:")
    groups = Counter((", ".join(each.kinds), each.variant) for each in status.unexpected)
    for (kinds, variant), times in groups.most_common():
        first = next(each for each in status.unexpected if (", ".join(each.kinds), each.variant) == (kinds, variant))
        options.echo(f"    {times} x {kinds} ({variant}), such as {first.case}")
    options.echo("  as expected" if status.is_as_expected else "  NOT as expected")
