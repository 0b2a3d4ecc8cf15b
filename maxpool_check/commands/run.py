"""``maxpool-check run``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.judging.known import KnownDivergence
    from maxpool_check.running.record import Execution, Line, Record
    from maxpool_check.targets.name import TargetName

FORMATS = ("text", "markdown", "json")


class _Report(click.ParamType):  # type: ignore[type-arg]
    name = "FORMAT=PATH"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """A format and a file."""
        kind, _, path = value.partition("=")
        if kind not in FORMATS or not path:
            self.fail(f"'{value}' is not FORMAT=PATH with FORMAT one of {', '.join(FORMATS)}", param, ctx)
        return kind, Path(path)


class _Seconds(click.ParamType):  # type: ignore[type-arg]
    name = "SECONDS"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A time that ends."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= 10**6:
            self.fail(f"'{value}' is not a number of seconds above 0", param, ctx)
        return seconds


@click.command("run")
@options.paths
@click.option(
    "-t", "--target", "names", multiple=True, metavar="TARGET", default=("onnxruntime",),
    help="Whom to ask, as onnxruntime==1.23.2. Repeatable.  [default: onnxruntime, the installed one]",
)  # fmt: skip
@options.selection
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Workers for each target.  [default: 1]"
)
@click.option(
    "--timeout", type=_Seconds(), default=10.0, metavar="SECONDS",
    help="The time for one question.  [default: 10]",
)  # fmt: skip
@click.option(
    "--known", "known_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Known divergences.  [default: known-divergences.yaml at the corpus root]",
)  # fmt: skip
@click.option("--no-known", is_flag=True, help="Expect no divergence.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RECORD.jsonl", help="Write the record here.")
@click.option(
    "--report", "reports", multiple=True, type=_Report(), metavar="FORMAT=PATH",
    help=f"Write a report: {', '.join(FORMATS)}. Repeatable.",
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
    jobs: int,
    timeout: float,
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
    from maxpool_check.corpus.collection import select
    from maxpool_check.running.frame import ExitCode
    from maxpool_check.running.record import gather
    from maxpool_check.running.session import Plan, perform

    if known_files and no_known:
        raise click.UsageError("--known and --no-known contradict each other")
    written = [*reports, *([("record", output)] if output else [])]
    for _, path in written:
        _hold_writable(path)
    corpus = options.collect(paths, max_cells)
    known, files = _known(corpus, known_files, no_known)
    _hold_to_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        click.echo(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}", err=True)
    plan = Plan(corpus, cases, _parsed(names), known, files, timeout, jobs, exit_first, strict)
    lines: list[Line] = []
    try:
        with _recorder(output, lines) as take:
            perform(plan, take, _watcher(quiet))
    except KeyboardInterrupt:
        _interrupted(lines, form, output)
        return ExitCode.INTERRUPTED
    record = gather(lines)
    assert record.footer is not None
    code = record.footer.exit_code
    code = ExitCode.AS_EXPECTED if exit_zero and code == ExitCode.UNEXPECTED else code
    for error_text in record.footer.errors:
        click.echo(f"error: {error_text}", err=True)
    if form == "json" or not quiet:
        click.echo(_rendered(record, form, code, color=color, verbose=verbose > 0), nl=form == "json", color=True)
    for kind, path in reports:
        path.write_text(_rendered(record, kind, code, color="never", verbose=True), encoding="utf-8")
    if not quiet:
        for kind, path in written:
            click.echo(f"{kind}: {path}", err=True)
    return code


def _known(corpus: Corpus, given: Sequence[Path], none: bool) -> tuple[list[KnownDivergence], list[Path]]:
    from maxpool_check.corpus.known_file import read_all_known
    from maxpool_check.corpus.problems import CorpusError

    files = [] if none else list(given) or corpus.known_files
    try:
        return read_all_known(files), files
    except CorpusError as error:
        raise options.Mistakes(error.problems) from error


def _hold_to_reference(cases: Sequence[Case]) -> None:
    """Refuse to judge by a reference that a case contradicts."""
    from maxpool_check.corpus.expectations import contradictions

    problems = [problem for case in cases for problem in contradictions(case)]
    if problems:
        raise options.Mistakes(problems)


def _parsed(names: Sequence[str]) -> list[TargetName]:
    from maxpool_check.targets.name import BadTarget, parse

    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise click.UsageError(f"the target '{repeated.pop()}' is given twice")
    try:
        return [parse(name) for name in names]
    except BadTarget as error:
        raise click.UsageError(str(error)) from error


@contextlib.contextmanager
def _recorder(path: Path | None, lines: list[Line]) -> Iterator[Callable[[Line], None]]:
    """Where the lines of the record go: into a list, and into a file as they come."""
    from maxpool_check.running.record import Writer

    if path is None:
        yield lines.append
        return
    with contextlib.ExitStack() as stack:
        writer: Writer | None = None

        def take(line: Line) -> None:
            # Opened for its first line: an interruption before it leaves what was there.
            nonlocal writer
            if writer is None:
                writer = Writer(stack.enter_context(path.open("wb")))
            lines.append(line)
            writer.write(line)

        yield take


def _hold_writable(path: Path) -> None:
    """Refuse an output that cannot be written before anything is asked, not after."""
    new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if new:
            path.unlink()
    except OSError as error:
        raise click.UsageError(f"cannot write to {path}: {error.strerror}") from error


def _rendered(record: Record, form: str, code: int, *, color: str, verbose: bool) -> str:
    from maxpool_check.reporting import json, markdown, text

    if form == "json":
        return json.render(record, code)
    if form == "markdown":
        return markdown.render(record, code)
    return text.render(record, code, width=options.width(), color=options.is_colored(color), verbose=verbose)


def _watcher(quiet: bool) -> Callable[[Iterator[Execution], int], Iterator[Execution]]:
    """A progress bar on a terminal; nothing elsewhere."""

    def watch(executions: Iterator[Execution], total: int) -> Iterator[Execution]:
        if quiet or not sys.stderr.isatty():
            yield from executions
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("cases", total=total)
            last = None
            for execution in executions:
                if (execution.case, execution.target) != last:
                    last = (execution.case, execution.target)
                    bar.advance(task)
                yield execution

    return watch


def _interrupted(lines: Sequence[Line], form: str, output: Path | None) -> None:
    from maxpool_check.reporting import json
    from maxpool_check.running.record import gather

    if not lines:
        click.echo("interrupted before anything was asked", err=True)
        if form == "json":
            click.echo(json.failure(130, [{"message": "interrupted"}]))
        return
    record = gather(lines)
    where = f"; they are in {output}" if output else ""
    click.echo(f"interrupted after {len(record.executions)} executions{where}", err=True)
    if form == "json":
        click.echo(json.render(record, 130))
