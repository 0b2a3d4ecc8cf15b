"""``maxpool-check run``."""

import os
import sys
from dataclasses import replace

import click

from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.configuration import command_line
from maxpool_check.commands.old_output import Output
from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting import json
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import Recorder
from maxpool_check.results.variants import Variant
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.pool import PoolLost
from maxpool_check.running.run import run
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.transcript import transcribing
from maxpool_check.words import plural


@click.command("run")
@options.targets("onnxruntime")
@options.variants
@options.jobs
@options.dask
@click.option(
    "--reuse-sessions", is_flag=True,
    help="Use a session of ONNX Runtime again for models of the same bytes, but for none that does not conform: faster, less isolated.",
)  # fmt: skip
@options.timeout
@options.memory
@options.known_files
@options.no_known
@options.record
@options.transcript
@options.reports(FORMATS)
@options.form()
@click.option("-x", "--exit-first", is_flag=True, help="Stop at the first unexpected verdict.")
@click.option(
    "--strict", is_flag=True,
    help="Also fail on differences that a document leaves open, and on inconsistencies; known defects still pass (see --no-known).",
)  # fmt: skip
@click.option(
    "--check-references", is_flag=True,
    help="First compute every case by both references, and record that they agree. Execute nothing if they differ.",
)  # fmt: skip
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.verbose("Show known defects in full")
@options.color
@options.bundled(output=Output, known=executing.KnownOptions)
@case_files.corpus_lock
@case_files.selected
def command(
    files: case_files.CaseFiles, targets: tuple[TargetName, ...],
    variants: frozenset[Variant], jobs: int, dask: str | None, timeout: float, memory: int | None, known: executing.KnownOptions, output: Output,
    reuse_sessions: bool, exit_first: bool, strict: bool, check_references: bool, exit_zero: bool,
) -> int:  # fmt: skip
    """Run all cases of PATH... on targets, judge the results, print and write reports.

    PATH is a case file or a folder of case files. Exit codes: 0 as expected, 1 an unexpected verdict, 2 usage or a bad
    file, 3 could not complete, 4 nothing was compared, 130 interrupted.

    Of a target outputs:FILE, the outputs were made elsewhere, such as on a board: 'maxpool-check docs kernel' shows the file.

    \b
    Examples:
      maxpool-check run cases/ -t onnxruntime==1.31.1
      maxpool-check run -k 'edge/*' --report html=report.html
    """
    options.check_exclusive(jobs, dask)
    targets = files.claimed_by(targets)
    if reuse_sessions:
        targets = options.reusing_sessions(targets)
    limit = options.in_bytes(memory)
    if output.transcript is not None and (jobs > 1 or dask is not None):
        raise click.UsageError("--transcript is of one conversation with each target; use it without -j and --dask")
    executor = None
    is_plain = jobs == 1 and dask is None and output.transcript is None and not any(each.outputs for each in targets)
    if is_plain and all(target.version is None for target in targets) and files.exist:
        # Installed targets start while the cases are read.
        executor = LocalExecutor(ExecutionConfig(targets, timeout, limit, variants))
        click.get_current_context().call_on_close(executor.close)
    corpus = executing.read_valid(files)
    entries, known_files = known.read(corpus.known_files, files.lock)
    output.check_writable([*corpus.files, *corpus.known_files, *known_files, *options.kernels(targets)])
    cases = files.select(corpus)
    executing.check_outputs(targets, corpus.cases, cases)
    catalogue = [] if known.no_known else executing.catalogue_for(corpus)
    plan = RunPlan(
        corpus, cases, targets, entries, known_files, timeout, limit, jobs, exit_first, strict, variants, dask,
        output.verbose > 1, executing.versions_of(corpus, entries, catalogue), catalogue, command=command_line(),
        references=executing.compare_references(cases) if check_references else None,
    )  # fmt: skip
    with transcribing(output.transcript) as transcript, Recorder(output.output) as recorder:
        plan = replace(plan, transcript=transcript)
        try:
            with executing.progress_bar("cases", len(cases), quiet=output.quiet) as progress:
                run(plan, recorder.write, progress, executor)
        except PoolLost as lost:
            raise options.Incomplete(str(lost)) from lost
        except KeyboardInterrupt:
            if recorder.record is None:
                raise
            where = f"; they are in {output.output}" if output.output else ""
            options.echo(f"interrupted after {plural(len(recorder.record.executions), 'execution')}{where}", err=True)
            if output.form == "json":
                json.write(RunReport(recorder.record, ExitCode.INTERRUPTED), sys.stdout)
            return ExitCode.INTERRUPTED
        assert recorder.record is not None
        return publish(recorder.record, output, exit_zero=exit_zero)


def publish(record: Record, output: Output, *, exit_zero: bool) -> int:
    """Write and print the reports of a complete run; the exit code."""
    assert record.footer is not None
    exit_code = record.footer.exit_code
    final_code = ExitCode.AS_EXPECTED if exit_zero and exit_code == ExitCode.UNEXPECTED else exit_code
    if output.quiet or output.form != "text":
        # The text has them, too.
        for message in record.footer.errors:
            options.echo(f"error: {message}", err=True)
    # --exit-zero hides the exit code of the record on stdout, and never in a file.
    code = final_code if output.form == "json" else exit_code
    report = RunReport(record, code, options.width(), output.colored, output.verbose > 0)
    plain = RunReport(record, exit_code, options.width(), verbose=True)
    output.publish(FORMATS, report, plain, silent=output.quiet)
    in_workflow = os.environ.get("GITHUB_ACTIONS") == "true"
    if in_workflow and output.form == "text" and any(kind == "github" for kind, _ in output.reports):
        from maxpool_check.reporting.github import workflow_commands

        for line in workflow_commands(record):
            click.echo(line)
    return final_code
