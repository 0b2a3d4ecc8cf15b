"""``maxpool-check judge``."""

from pathlib import Path

import click

from maxpool_check.commands import case_files, executing, options
from maxpool_check.commands.configured import command_line
from maxpool_check.commands.output import Output
from maxpool_check.commands.report import FORMATS
from maxpool_check.commands.run import publish
from maxpool_check.corpus.selection import ALL
from maxpool_check.results.storage import Recorder
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.given_results import read_results
from maxpool_check.running.results_executor import ResultsExecutor, profile_of
from maxpool_check.running.run import run


@click.command("judge")
@click.argument("results", type=options.FILE, metavar="RESULTS.jsonl")
@click.option("--partial", is_flag=True, help="Accept that cases have no result.")
@options.known_files
@options.no_known
@options.record
@options.reports(FORMATS)
@options.form()
@click.option("--strict", is_flag=True, help="Also fail on inconsistencies; known defects still pass (see --no-known).")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 instead of 1.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.verbose("Show known defects in full")
@options.color
@options.bundled(output=Output, known=executing.KnownOptions)
@case_files.corpus_lock
@case_files.selected
def command(
    results: Path, files: case_files.CaseFiles, partial: bool, known: executing.KnownOptions,
    output: Output, strict: bool, exit_zero: bool,
) -> int:  # fmt: skip
    """Judge results that were made elsewhere: on a board, in a simulator, or from a log.

    RESULTS.jsonl has a line for each case, with its id and its outputs: 'maxpool-check docs kernel' shows them, and
    'maxpool-check schema results' has the form. 'maxpool-check export json' writes the inputs. They are judged by the cases
    of PATH..., and recorded and reported as those of 'run' are; a case without a result is an error, and never conforms.
    Exit codes: 0 as expected, 1 an unexpected verdict, 2 usage or a bad file, 3 incomplete, 4 nothing was compared.

    \b
    Examples:
      maxpool-check judge board.jsonl corpus:edge -k 'edge/ties:*'
      maxpool-check judge board.jsonl corpus:onnx -o record.jsonl --report html=report.html
    """
    corpus = executing.read_valid(files)
    entries, known_files = known.read(corpus.known_files, files.lock)
    output.check_writable([*corpus.files, *corpus.known_files, *known_files, results])
    cases = files.select(corpus)
    try:
        with case_files.mistakes("nothing was judged"):
            given = read_results(results, {case.id: case for case in corpus.cases})
    except OSError as error:
        raise click.UsageError(f"cannot read {results}: {error.strerror}") from error
    executor = ResultsExecutor(
        given, profile_of(given, [name for name in files.specs if name != ALL]), cases, partial=partial
    )
    left_out = len(given.by_case.keys() - {case.id for case in cases})
    if left_out:
        options.echo(f"left out: {left_out} cases with a result, which -k and --spec do not select", err=True)
    plan = RunPlan(
        corpus, cases, (), entries, known_files, strict=strict, tracebacks=output.verbose > 1,
        versions=executing.versions_of(corpus, entries), command=command_line(), gives_up=False,
    )  # fmt: skip
    with Recorder(output.output) as recorder:
        with executing.progress_bar("cases", len(cases), quiet=output.quiet) as progress:
            run(plan, recorder.write, progress, executor)
        assert recorder.record is not None
        return publish(recorder.record, output, exit_zero=exit_zero)
