"""``maxpool-check coverage``."""

import sys
from pathlib import Path

import click

from maxpool_check.commands import case_files, executing, options
from maxpool_check.commands.offline import offline
from maxpool_check.explaining.coverage import FORMATS, CoverageReport, context_coverage, coverage_of, executed_bins
from maxpool_check.results.record import Record, TargetDescription
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.words import plural


@click.command("coverage")
@click.option(
    "-t", "--target", type=options.TARGET, metavar="TARGET",
    help="Runtime to test, or the target of the record to count.  [default: onnxruntime, as installed]",
)  # fmt: skip
@offline
@click.option(
    "--record", "path", type=options.FILE, metavar="RECORD.jsonl",
    help="Count the executions of this record; execute nothing.",
)  # fmt: skip
@click.option(
    "--spec", type=options.DOCUMENT, help="Only the cases of this document, in full; a kernel of yours claims it."
)
@click.option("--contexts", is_flag=True, help="Only the graphs of MaxPool and other nodes, of all documents, in full.")
@click.option(
    "--strength", type=click.IntRange(1, 2), default=2, metavar="N",
    help="Count bins (1), or pairs of bins as well (2).  [default: 2]",
)  # fmt: skip
@options.jobs
@options.timeout
@options.form(FORMATS)
@case_files.by_expression
def command(
    files: case_files.CaseFiles, target: TargetName | None, path: Path | None, spec: str | None, contexts: bool, strength: int,
    jobs: int, timeout: float, form: str,
) -> int:  # fmt: skip
    """Count what the cases of PATH... really execute on a target.

    A case counts if the target returned outputs that were compared; a refusal covers nothing. Its rank,
    sizes, attributes, element type and values are put in bins. What the document excludes does not count as possible. Exit
    codes: 0, 3 if the run is not complete, 4 if nothing was executed.

    \b
    Examples:
      maxpool-check coverage corpus:edge
      maxpool-check coverage cases/ --record record.jsonl
    """
    if contexts and spec is not None:
        raise click.UsageError("give either --spec NAME or --contexts")
    corpus = executing.read_valid(files) if path is None else files.read()
    cases = files.select(corpus)
    if path is None:
        targets = [(target or parse("onnxruntime")).claiming([spec] if spec else [])]
        record = executing.run_cases(corpus, cases, targets, jobs=jobs, timeout=timeout, quiet=False)
    else:
        record = options.read_record(path)
    errors = record.footer.errors if record.footer else ("the record is incomplete: its run did not end",)
    description = _target(record, str(target) if target else None, path)
    executed, changed = executed_bins(record.executions, cases, description.name if description else "")
    if changed:
        count = plural(len(changed), "changed case is", "changed cases are")
        options.echo(f"{count} not counted, the first is {changed[0]}", err=True)
    used = {spec} if spec else {case.spec for case in cases}
    documents = [coverage_of(name, executed, strength) for name in SPECIFICATIONS if name in used and not contexts]
    if contexts or (spec is None and any(not case.context.is_alone for case, _ in executed)):
        documents.append(context_coverage(executed, strength))
    report = CoverageReport(description, documents, strength, errors, options.width())
    for error in errors if form == "text" else ():
        options.echo(f"error: {error}", err=True)
    FORMATS[form](report, sys.stdout)
    return report.exit_code


def _target(record: Record, name: str | None, path: Path | None) -> TargetDescription | None:
    """The target to count; None if none could be started."""
    targets = [target for target in record.header.targets if name in (None, target.name)]
    names = ", ".join(target.name for target in record.header.targets)
    if path is not None and name is not None and not targets:
        raise click.UsageError(f"{path} has no target '{name}'; it has {names or 'none'}")
    if path is not None and len(targets) > 1:
        raise click.UsageError(f"{path} has several targets; choose one with -t: {names}")
    return targets[0] if targets else None
