"""``maxpool-check history``."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from maxpool_check.commands import bisect, options

if TYPE_CHECKING:
    from maxpool_check.targets.name import TargetName

FORMATS = options.Formats("reporting.history:document", {"json": "reporting.history:write_json"})
"""The formats of the report of a history."""

SIDE_BY_SIDE = 4
"""So many releases are tested at the same time: each case is planned, computed and judged once for them."""


@options.command("history")
@options.target()
@click.option(
    "--versions", default="..", metavar="A..B[,every=minor][,pre]",
    help="The releases, both ends included, 1.31 with 1.31.1; every=minor: the newest of each minor version; pre: pre-releases "
    "too.  [default: all]",
)  # fmt: skip
@options.selected
@options.jobs
@options.reports()
@options.paths
def command(
    paths: tuple[Path, ...], target: "TargetName", versions: str, selected: tuple[str, ...],
    jobs: int, reports: tuple[tuple[str, Path], ...],
) -> int:  # fmt: skip
    """Run the cases of PATH... on many releases of a runtime: which defects and kinds each of them shows, and what changed.

    Name the runtime, the releases or the cases: all of them take hours. A release that cannot be installed or started is
    listed with the reason. Exits with 0, or with 3 if there is one. With -q, nothing is printed, or one line on a failure.

    \b
    Examples:
      maxpool-check history --versions 1.24..1.32,every=minor
      maxpool-check history cases/ -t 'openvino?opset=14' --report html=history.html
    """
    from maxpool_check.commands import executing
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.reporting.history import HistoryReport, Release
    from maxpool_check.results.storage import Recorder
    from maxpool_check.running.pool import PoolLost
    from maxpool_check.running.run import TargetRecorders, run

    source = click.get_current_context().get_parameter_source
    if {source(name) for name in ("paths", "target", "versions", "selected")} == {ParameterSource.DEFAULT}:
        raise click.UsageError("name the runtime with -t, the releases with --versions A..B, or the cases as PATH")
    bisect.check_unversioned(target)
    files, output = CaseFiles(paths, selected), Output(reports, quiet=options.setting("quiet"))
    corpus = executing.read_valid(files)
    output.check_writable([*corpus.files, *corpus.known_files])
    cases = files.select(corpus)
    span, *words = versions.split(",")
    first, dots, last = span.partition("..")
    if not dots or {*words} - {"every=minor", "pre"}:
        raise click.UsageError(f"--versions '{versions}' is not A..B or A..B,every=minor; either end may be left out")
    chosen = list(
        map(
            str, bisect.releases(target, first or None, last or None, pre="pre" in words, minors="every=minor" in words)
        )
    )
    tested, interrupted = list[Release](), False
    # The records of many releases are not held in memory.
    with ExitStack() as recorders:
        try:
            for start in range(0, len(chosen), SIDE_BY_SIDE):
                names = {version: target.at(version) for version in chosen[start : start + SIDE_BY_SIDE]}
                plan = executing.plan_of(corpus, cases, list(names.values()), jobs=jobs)
                own = {str(name): recorders.enter_context(Recorder(None)) for name in names.values()}
                why = ""
                try:
                    run(plan, TargetRecorders({name: each.write for name, each in own.items()}).write)
                except PoolLost as lost:
                    # The next releases may need less memory.
                    why = " ".join(str(lost).split())
                for version, name in names.items():
                    record = own[str(name)].record
                    skipped = why if record is None or record.footer is None else bisect.why_untested(record.footer)
                    tested.append(Release(version, None if skipped else record, skipped))
                    counts = (f"{count} {verdict}" for verdict, count in sorted(tested[-1].verdicts.items()))
                    if not output.quiet:
                        options.echo(f"{version}: {skipped or ', '.join(counts)}", err=True)
        except KeyboardInterrupt:
            if not tested:
                raise
            # What was tested until now may have taken hours.
            interrupted = True
            tested += [Release(version, None, "interrupted") for version in chosen[len(tested) :]]
        report = HistoryReport(str(target), tested, interrupted)
        output.publish(FORMATS, report, report.exit_code)
    return report.exit_code
