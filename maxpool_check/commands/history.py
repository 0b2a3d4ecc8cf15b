"""``maxpool-check history``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import executing, options
from maxpool_check.commands.bisect import isolated, releases

if TYPE_CHECKING:
    from packaging.version import Version

    from maxpool_check.comparing.timeline import Release
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.targets.name import TargetName

FORMATS = ("text", "markdown", "json")


@click.command("history")
@options.paths
@click.option("-t", "--target", default="onnxruntime", metavar="TARGET", help="The runtime.  [default: onnxruntime]")
@click.option(
    "--versions", "wanted", default="..", metavar="A..B[,every=minor]",
    help="The releases, both ends included; every=minor: the newest of each minor version.  [default: all]",
)  # fmt: skip
@options.selection
@click.option("--pre", is_flag=True, help="Ask pre-releases too.")
@executing.jobs
@executing.timeout
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="What to print.  [default: text]")
@click.option(
    "--report", "reports", multiple=True, type=options.Report(FORMATS), metavar="FORMAT=PATH",
    help=f"Write a report: {', '.join(FORMATS)}. Repeatable.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Do not name each release as it is asked.")
@options.max_cells
def command(
    paths: tuple[Path, ...],
    target: str,
    wanted: str,
    selected: tuple[str, ...],
    pre: bool,
    jobs: int,
    timeout: float,
    form: str,
    reports: tuple[tuple[str, Path], ...],
    quiet: bool,
    max_cells: int,
) -> int:
    """Ask many releases of a runtime every case of PATH...: which kinds each of them shows, and what changed with each.

    Exits with 0, with 3 if a release could not be asked.
    """
    from maxpool_check.comparing.timeline import steps
    from maxpool_check.corpus.collection import select
    from maxpool_check.reporting import history

    options.check_writable([path for _, path in reports])
    corpus = options.collect(paths, max_cells)
    executing.validate_against_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        raise click.UsageError(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}")
    runtime = isolated(target)
    found: list[Release] = []
    for version in _versions(runtime, wanted, pre):
        found.append(_asked(corpus, cases, runtime, str(version), timeout, jobs))
        if not quiet:
            click.echo(f"{version}: {found[-1].skipped or _counted(found[-1])}", err=True)
    changes = steps(found)
    # One that the index offers and that could not be asked leaves a hole.
    code = 3 if any(release.record is None for release in found) else 0

    def rendered(form: str) -> str:
        if form == "json":
            return history.as_json(target, found, changes, code) + "\n"
        if form == "markdown":
            return history.markdown(target, found, changes)
        return history.text(target, found, changes, width=options.width())

    for kind, path in reports:
        path.write_text(rendered(kind), encoding="utf-8")
    click.echo(rendered(form), nl=False)
    for kind, path in reports:
        click.echo(f"{kind}: {path}", err=True)
    return code


def _versions(runtime: TargetName, wanted: str, pre: bool) -> list[Version]:
    span, _, every = wanted.partition(",")
    first, dots, last = span.partition("..")
    if not dots or every not in ("", "every=minor"):
        raise click.UsageError(f"--versions '{wanted}' is not A..B or A..B,every=minor; either end may be left out")
    found = releases(runtime, first or None, last or None, pre)
    return list({version.release[:2]: version for version in found}.values()) if every else found


def _asked(
    corpus: Corpus, cases: Sequence[Case], runtime: TargetName, version: str, timeout: float, jobs: int
) -> Release:
    from maxpool_check.comparing.timeline import Release

    record = executing.run_release(corpus, cases, runtime, version, timeout=timeout, jobs=jobs)
    assert record.footer is not None
    if record.footer.errors:
        return Release(version, None, " ".join(record.footer.errors[0].split()))
    return Release(version, record)


def _counted(release: Release) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(release.verdicts.items()))
