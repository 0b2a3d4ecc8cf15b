"""``maxpool-check history``."""

from contextlib import ExitStack

import click
from packaging.version import Version

from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.bisect import check_unversioned, releases, why_untested
from maxpool_check.commands.configuration import command_line
from maxpool_check.commands.old_output import Output
from maxpool_check.reporting import history_ci, history_json, history_markdown, history_text
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.html import history as history_html
from maxpool_check.results.record import Record
from maxpool_check.results.storage import Recorder
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.run import TargetRecorders
from maxpool_check.targets.name import TargetName

FORMATS: options.Formats[HistoryReport] = {
    "text": history_text.write,
    "markdown": history_markdown.write,
    "html": history_html.write,
    "json": history_json.write,
    "junit": history_ci.write_junit,
    "github": history_markdown.write_github,
    "sarif": history_ci.write_sarif,
}
"""The formats of the report of a history. A new one is its module and a line here."""

SIDE_BY_SIDE = 4
"""So many releases are tested at the same time: each case is planned, computed and judged once for them."""


@click.command("history")
@options.target()
@click.option(
    "--versions", default="..", metavar="A..B[,every=minor]",
    help="The releases, both ends included, 1.31 with 1.31.1; every=minor: the newest of each minor version.  [default: all]",
)  # fmt: skip
@click.option("--pre", is_flag=True, help="Test pre-releases too.")
@options.jobs
@options.timeout
@options.form(FORMATS)
@options.reports(FORMATS)
@options.quiet
@options.bundled(output=Output)
@case_files.corpus_lock
@case_files.selected
def command(
    files: case_files.CaseFiles, target: TargetName, versions: str, pre: bool, jobs: int, timeout: float,
    output: Output,
) -> int:  # fmt: skip
    """Run the cases of PATH... on many releases of a runtime: which defects and kinds each of them shows, and what changed.

    A release that cannot be installed or started is listed with the reason. Exits with 0, or with 3 if there is one.

    \b
    Examples:
      maxpool-check history --versions 1.24..1.31,every=minor
      maxpool-check history cases/ -t 'openvino?opset=14' --report html=history.html
    """
    check_unversioned(target)
    corpus = executing.read_valid(files)
    output.check_writable([*corpus.files, *corpus.known_files])
    cases = files.select(corpus)
    defects, catalogue = executing.defects_of(corpus), executing.catalogue_for(corpus)
    versions_of_defects = executing.versions_of(corpus, defects, catalogue)
    selected, tested, interrupted = list(map(str, _versions(target, versions, pre))), list[Release](), False
    # The records of many releases are not held in memory.
    with ExitStack() as recorders:
        try:
            for start in range(0, len(selected), SIDE_BY_SIDE):
                targets = {version: target.at(version) for version in selected[start : start + SIDE_BY_SIDE]}
                plan = RunPlan(
                    corpus, cases, list(targets.values()), defects, seconds=timeout, jobs=jobs, catalogue=catalogue,
                    versions=versions_of_defects, command=command_line(),
                )  # fmt: skip
                own = {str(name): recorders.enter_context(Recorder(None)) for name in targets.values()}
                why = ""
                try:
                    executing.write_run(plan, TargetRecorders(own).write, quiet=True)
                except options.Incomplete as error:
                    # Its processes were lost; the next releases may need less memory.
                    why = " ".join(error.format_message().split())
                for version, name in targets.items():
                    tested.append(_release(version, own[str(name)].record, why))
                    if not output.quiet:
                        options.echo(f"{version}: {_text(tested[-1])}", err=True)
        except KeyboardInterrupt:
            if not tested:
                raise
            # What was tested until now may have taken hours.
            interrupted = True
            tested += [Release(version, None, "interrupted") for version in selected[len(tested) :]]
        report = HistoryReport(str(target), tested, options.width(), interrupted)
        output.publish(FORMATS, report, report)
    return report.exit_code


def _release(version: str, record: Record | None, lost: str) -> Release:
    """What was recorded of a release; ``lost`` is why its processes were lost, if they were."""
    skipped = lost if record is None or record.footer is None else why_untested(record.footer)
    return Release(version, None if skipped else record, skipped)


def _text(release: Release) -> str:
    """What a release shows, on a line."""
    return release.skipped or ", ".join(f"{count} {verdict}" for verdict, count in sorted(release.verdicts.items()))


def _versions(runtime: TargetName, versions: str, pre: bool) -> list[Version]:
    span, _, every = versions.partition(",")
    first, dots, last = span.partition("..")
    if not dots or every not in ("", "every=minor"):
        raise click.UsageError(f"--versions '{versions}' is not A..B or A..B,every=minor; either end may be left out")
    return releases(runtime, first or None, last or None, pre, minors=bool(every))
