"""``maxpool-check run``."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options
from maxpool_check.commands.report import FORMATS

if TYPE_CHECKING:
    from maxpool_check.commands.output import Output
    from maxpool_check.corpus.case import Case
    from maxpool_check.results.record import Record
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName
    from maxpool_check.targets.starting import StartingTarget


@options.command("run")
@options.targets("onnxruntime")
@options.selected
@options.spec
@options.variants
@options.jobs
@click.option(
    "--dask", metavar="SCHEDULER",
    help="Run on the workers of a dask cluster instead; its scheduler's address, such as tcp://HOST:8786.",
)  # fmt: skip
@options.known
@options.record
@options.transcript
@options.reports()
@click.option(
    "--strict", is_flag=True,
    help="Also fail on differences that a document leaves open, and on inconsistencies; known defects still pass (see --known none).",
)  # fmt: skip
@click.option(
    "-x", "--exitfirst", "stops", is_flag=True, help="Stop after the first case that shows a fault or an error."
)
@options.paths
def command(
    paths: tuple[Path, ...], targets: "tuple[TargetName, ...]", selected: tuple[str, ...], spec: tuple[str, ...],
    variants: "frozenset[Variant]", jobs: int, dask: str | None, known: tuple[Path, ...], output: Path | None,
    transcript: Path | None, reports: tuple[tuple[str, Path], ...], strict: bool, stops: bool,
) -> int:  # fmt: skip
    """Run all cases of PATH... on targets, judge the results, print and write reports.

    PATH is a case file, a folder of case files, or a part of the corpus that comes with the tool, such as corpus:edge, which
    'maxpool-check cases list' names; without it, the whole corpus. Exit codes: 0 as expected, 1 an unexpected verdict, 2 usage or a bad
    file, 3 could not complete, 4 nothing was compared, 130 interrupted.

    Of a target outputs:FILE, the outputs were made elsewhere, such as on a board: 'maxpool-check docs kernel' shows the file.

    \b
    Examples:
      maxpool-check run cases/ -t onnxruntime==1.32.0
      maxpool-check run -k 'edge/*' --report html=report.html
    """
    if dask is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers run the cases")
    # First of all: they start while the rest is imported and the cases are read.
    starting = _starting(targets) if jobs == 1 and dask is None and transcript is None else []

    from maxpool_check.commands import executing
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.running.run import run
    from maxpool_check.running.runner import ExecutionConfig, LocalRunner
    from maxpool_check.targets.transcript import transcribing

    files = CaseFiles(paths, selected, spec)
    targets = files.claimed_by(targets)
    shown = Output(reports, output, options.setting("quiet"), transcript)
    if transcript is not None and (jobs > 1 or dask is not None):
        raise click.UsageError("--transcript is of one conversation with each target; use it without -j and --dask")
    config = ExecutionConfig(targets, options.setting("timeout"), options.memory_in_bytes(), variants)
    runner = LocalRunner(config, starting=starting) if starting else None
    corpus = executing.read_valid(files)
    defects, known_files = executing.read_known(known, corpus.known_files)
    shown.check_writable([*corpus.files, *corpus.known_files, *known_files, *options.kernels(targets)])
    cases = files.select(corpus)
    executing.check_outputs(targets, corpus.cases, cases)
    with transcribing(transcript) as conversation:
        plan = executing.plan_of(
            corpus, cases, targets, defects, explains=executing.NO_DEFECTS not in known, known_files=known_files, jobs=jobs,
            dask=dask, strict=strict, stops=stops, variants=variants, tracebacks=options.setting("verbose") > 1, transcript=conversation,
        )  # fmt: skip

        def interrupted(record: "Record") -> None:
            from maxpool_check.reporting import json
            from maxpool_check.reporting.run_report import RunReport
            from maxpool_check.results.record import ExitCode

            if shown.prints_json:
                json.write(RunReport(record, ExitCode.INTERRUPTED), sys.stdout)

        with executing.recorded(
            lambda write, progress: run(plan, write, progress, runner), shown, len(cases), interrupted
        ) as record:
            return _publish(record, shown, paths, cases)


def _starting(targets: "Iterable[TargetName]") -> "list[StartingTarget]":
    """The targets, which start now and end with the command; none if an environment may have to be made, or one is the user's."""
    from maxpool_check.targets.session import TargetSession
    from maxpool_check.targets.starting import StartingTarget
    from maxpool_check.targets.target import Target

    if any(not target.is_released or target.version is not None or target.tool is not None for target in targets):
        return []
    limits = options.setting("timeout"), options.memory_in_bytes()

    def start(name: "TargetName") -> StartingTarget:
        target = StartingTarget(lambda: TargetSession(Target(name, *limits)))
        click.get_current_context().call_on_close(target.close)
        return target

    return [start(name) for name in targets]


def _publish(record: "Record", output: "Output", paths: Sequence[Path], cases: "Iterable[Case]") -> int:
    """Write and print the reports of a complete run; the exit code."""
    assert record.footer is not None
    code = record.footer.exit_code
    if output.quiet and not code and not output.reports:
        return code
    from maxpool_check.exporting.kit_summary import noticed
    from maxpool_check.reporting.run_items import annotations
    from maxpool_check.reporting.run_report import RunReport
    from maxpool_check.running.tested import tested_parts

    # The text has them, too.
    for message in record.footer.errors if not output.prints_text and not output.quiet else ():
        options.echo(f"error: {message}", err=True)
    report = RunReport(record, code, noticed(paths, record.executions), tested_parts(record, cases))
    output.publish(FORMATS, report, code, annotations)
    return code
