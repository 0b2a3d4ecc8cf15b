"""``maxpool-check history``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from packaging.version import Version

from maxpool_check.commands import executing, options, rendering
from maxpool_check.commands.bisect import isolated, releases
from maxpool_check.comparing.timeline import Release, steps
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, select
from maxpool_check.reporting.history import FORMATS, HistoryReport
from maxpool_check.targets.name import TargetName


@click.command("history")
@options.paths
@click.option("-t", "--target", default="onnxruntime", metavar="TARGET", help="The runtime.  [default: onnxruntime]")
@click.option(
    "--versions", default="..", metavar="A..B[,every=minor]",
    help="The releases, both ends included; every=minor: the newest of each minor version.  [default: all]",
)  # fmt: skip
@options.selection
@click.option("--pre", is_flag=True, help="Test pre-releases too.")
@executing.jobs
@executing.timeout
@options.form(FORMATS)
@options.reports(FORMATS)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@options.max_cells
def command(
    paths: tuple[Path, ...],
    target: str,
    versions: str,
    selected: tuple[str, ...],
    pre: bool,
    jobs: int,
    timeout: float,
    form: str,
    reports: tuple[tuple[str, Path], ...],
    quiet: bool,
    max_cells: int,
) -> int:
    """Run the cases of PATH... on many releases of a runtime: which kinds each of them shows, and what changed.

    Exits with 0, or with 3 if a release could not be tested.
    """
    options.check_writable([path for _, path in reports])
    corpus = options.collect(paths, max_cells)
    executing.validate_against_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        raise click.UsageError(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}")
    runtime = isolated(target)
    tested: list[Release] = []
    for version in _versions(runtime, versions, pre):
        release = _release(corpus, cases, runtime, str(version), timeout, jobs)
        tested.append(release)
        if not quiet:
            numbers = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(release.verdicts.items()))
            click.echo(f"{version}: {release.skipped or numbers}", err=True)
    report = HistoryReport(target, tested, steps(tested), options.width())
    rendering.publish(FORMATS, form, report, reports)
    return report.exit_code


def _versions(runtime: TargetName, versions: str, pre: bool) -> list[Version]:
    span, _, every = versions.partition(",")
    first, dots, last = span.partition("..")
    if not dots or every not in ("", "every=minor"):
        raise click.UsageError(f"--versions '{versions}' is not A..B or A..B,every=minor; either end may be left out")
    available = releases(runtime, first or None, last or None, pre)
    return list({version.release[:2]: version for version in available}.values()) if every else available


def _release(
    corpus: Corpus, cases: Sequence[Case], runtime: TargetName, version: str, timeout: float, jobs: int
) -> Release:
    record = executing.run_release(corpus, cases, runtime, version, timeout=timeout, jobs=jobs)
    assert record.footer is not None
    if record.footer.errors:
        return Release(version, None, " ".join(record.footer.errors[0].split()))
    return Release(version, record)
