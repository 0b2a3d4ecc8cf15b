"""``maxpool-check history``."""

from contextlib import ExitStack

import click
from packaging.version import Version

from maxpool_check.commands import case_files, executing, options
from maxpool_check.commands.bisect import check_unversioned, releases
from maxpool_check.commands.output import Output
from maxpool_check.reporting import history_ci, history_json, history_markdown, history_text
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.html import history as history_html
from maxpool_check.results.storage import Recorder
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


@click.command("history")
@options.target()
@click.option(
    "--versions", default="..", metavar="A..B[,every=minor]",
    help="The releases, both ends included; every=minor: the newest of each minor version.  [default: all]",
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

    Exits with 0, or with 3 if a release could not be tested.

    \b
    Examples:
      maxpool-check history --versions 1.24..1.31,every=minor
      maxpool-check history cases/ -t openvino --report html=history.html
    """
    check_unversioned(target)
    corpus = executing.read_valid(files)
    output.check_writable([*corpus.files, *corpus.known_files])
    cases = files.select(corpus)
    defects, catalogue, tested = executing.defects_of(corpus), executing.catalogue_for(corpus), list[Release]()
    # The records of many releases are not held in memory.
    with ExitStack() as recorders:
        for version in _versions(target, versions, pre):
            record = executing.record_cases(
                recorders.enter_context(Recorder(None)), corpus, cases, [target.at(str(version))], timeout=timeout,
                jobs=jobs, known=defects, catalogue=catalogue,
            )  # fmt: skip
            assert record.footer is not None
            errors = record.footer.errors
            release = Release(str(version), None if errors else record, " ".join(errors[0].split()) if errors else "")
            tested.append(release)
            if not output.quiet:
                numbers = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(release.verdicts.items()))
                options.echo(f"{version}: {release.skipped or numbers}", err=True)
        report = HistoryReport(str(target), tested, options.width())
        output.publish(FORMATS, report, report)
    return report.exit_code


def _versions(runtime: TargetName, versions: str, pre: bool) -> list[Version]:
    span, _, every = versions.partition(",")
    first, dots, last = span.partition("..")
    if not dots or every not in ("", "every=minor"):
        raise click.UsageError(f"--versions '{versions}' is not A..B or A..B,every=minor; either end may be left out")
    available = releases(runtime, first or None, last or None, pre)
    return list({version.release[:2]: version for version in available}.values()) if every else available
