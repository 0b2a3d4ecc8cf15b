"""``maxpool-check run``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from maxpool_check.commands import executing, options, rendering
from maxpool_check.corpus.collection import Corpus, select
from maxpool_check.corpus.known_file import read_all_known
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.reporting import json
from maxpool_check.reporting.github import workflow_commands
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import Recorder
from maxpool_check.results.variants import Variant
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.pool import PoolLost
from maxpool_check.running.run import RunPlan, run


@click.command("run")
@options.paths
@click.option(
    "-t", "--target", "names", multiple=True, metavar="TARGET", default=("onnxruntime",),
    help="Whom to ask, as onnxruntime==1.23.2. Repeatable.  [default: onnxruntime, the installed one]",
)  # fmt: skip
@options.selection
@executing.variants
@executing.jobs
@executing.dask
@executing.timeout
@click.option(
    "--memory", type=click.IntRange(min=1), metavar="MB", help="What a target may allocate.  [default: no limit]"
)
@click.option(
    "--known", "known_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Known divergences.  [default: known-divergences.yaml at the corpus root]",
)  # fmt: skip
@click.option("--no-known", is_flag=True, help="Expect no divergence.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RECORD.jsonl", help="Write the record here.")
@click.option(
    "--report", "reports", multiple=True, type=options.Report(rendering.FORMATS), metavar="FORMAT=PATH",
    help=f"Write a report: {', '.join(rendering.FORMATS)}. Repeatable.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
@click.option("-x", "--exit-first", is_flag=True, help="Stop at the first unexpected verdict.")
@click.option("--strict", is_flag=True, help="Differences that a document allows count as failures.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 where it would be 1.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", count=True, help="Show known divergences in full; -vv tracebacks of internal errors.")
@options.max_cells
@options.color
def command(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    selected: tuple[str, ...],
    variants: frozenset[Variant],
    jobs: int,
    dask: str | None,
    timeout: float,
    memory: int | None,
    known_files: tuple[Path, ...],
    no_known: bool,
    output: Path | None,
    reports: tuple[tuple[str, Path], ...],
    form: str,
    exit_first: bool,
    strict: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: int,
    max_cells: int,
    color: str,
) -> int:
    """Ask targets every case of PATH..., judge, print, write reports.

    PATH is a case file or a folder of them. Exit codes: 0 as expected, 1 an unexpected verdict, 2 usage or a bad file,
    3 could not complete, 4 nothing was compared, 130 interrupted.
    """
    if known_files and no_known:
        raise click.UsageError("--known and --no-known contradict each other")
    executing.check_exclusive(jobs, dask)
    options.check_writable([*(path for _, path in reports), *([output] if output else [])])
    limit = memory * 2**20 if memory else None
    targets = executing.parse_targets(names)
    executor = None
    if jobs == 1 and dask is None and all(target.version is None for target in targets):
        # Installed targets start while the cases are read.
        executor = LocalExecutor(ExecutionConfig(tuple(targets), timeout, limit, variants))
        click.get_current_context().call_on_close(executor.close)
    corpus = options.collect(paths, max_cells)
    known, files = _known(corpus, known_files, no_known)
    executing.validate_against_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        click.echo(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}", err=True)
    plan = RunPlan(corpus, cases, targets, known, files, timeout, limit, jobs, exit_first, strict, variants, dask)
    with Recorder(output) as recorder:
        try:
            with executing.progress_bar("cases", len(cases), quiet=quiet) as progress:
                run(plan, recorder.write, progress, executor)
        except PoolLost as lost:
            raise executing.CannotExecute(str(lost)) from lost
        except KeyboardInterrupt:
            _interrupted(recorder.record, form, output)
            return ExitCode.INTERRUPTED
        record = recorder.record
        assert record is not None
        return _report(
            record, reports, form, output, exit_zero=exit_zero, quiet=quiet, verbose=verbose > 0, color=color
        )


def _report(
    record: Record,
    reports: Sequence[tuple[str, Path]],
    form: str,
    output: Path | None,
    *,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
) -> int:
    """Write and print the reports of a complete run; the exit code."""
    assert record.footer is not None
    exit_code = record.footer.exit_code
    shown_code = ExitCode.AS_EXPECTED if exit_zero and exit_code == ExitCode.UNEXPECTED else exit_code
    for message in record.footer.errors:
        click.echo(f"error: {message}", err=True)
    # Files first: one that cannot be written is an error, and then there is no other document on stdout.
    for kind, path in reports:
        # The exit code of the record, even where --exit-zero hides it.
        rendering.write(record, kind, exit_code, path)
    if form == "json" or not quiet:
        rendering.show(record, form, shown_code if form == "json" else exit_code, color=color, verbose=verbose)
    if form == "text" and any(kind == "github" for kind, _ in reports):
        _annotate(record)
    for kind, path in [] if quiet else [*reports, *([("record", output)] if output else [])]:
        click.echo(f"{kind}: {path}", err=True)
    return shown_code


def _annotate(record: Record) -> None:
    """In a step of a GitHub workflow, what its runner makes annotations of."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(record):
            click.echo(line)


def _known(corpus: Corpus, given: Sequence[Path], none: bool) -> tuple[list[KnownDivergence], list[Path]]:
    files = [] if none else list(given) or corpus.known_files
    if not files:
        return [], []

    try:
        return read_all_known(files), files
    except CorpusError as error:
        raise options.Mistakes(error.problems) from error


def _interrupted(record: Record | None, form: str, output: Path | None) -> None:

    if record is None:
        click.echo("interrupted before anything was asked", err=True)
        if form == "json":
            click.echo(json.failure(130, [{"message": "interrupted"}]))
        return
    where = f"; they are in {output}" if output else ""
    click.echo(f"interrupted after {len(record.executions)} executions{where}", err=True)
    if form == "json":
        rendering.show(record, form, 130, color="never", verbose=False)
