"""Asking targets: what the commands that do it have in common."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.results.record import Execution, Line, Record
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName

_Command = TypeVar("_Command", bound=Callable[..., Any])


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


class _Variants(click.ParamType):  # type: ignore[type-arg]
    name = "VARIANTS"

    def convert(
        self, value: str | frozenset[Variant], param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[Variant]:
        """The variants of a list."""
        from maxpool_check.results.variants import parse_variants

        try:
            return parse_variants(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def variants(command: _Command) -> _Command:
    """``--variants``."""
    return click.option(
        "--variants",
        type=_Variants(),
        default="default",
        metavar="VARIANTS",
        help="How to ask: default (with Indices, and for Y alone), all, or a list of optimization-off, oldest-opset, "
        "default-threads, twice, batch-split, channels-permuted.",
    )(command)


def jobs(command: _Command) -> _Command:
    """``-j``."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Processes that ask, each with a worker of every target.  [default: 1]",
    )(command)


def dask(command: _Command) -> _Command:
    """``--dask``."""
    return click.option(
        "--dask",
        metavar="SCHEDULER",
        help="Use the workers of a dask cluster instead, by its scheduler's address, tcp://HOST:8786.",
    )(command)


def check_exclusive(jobs: int, scheduler: str | None) -> None:
    """Refuse processes of this machine and a cluster's together."""
    if scheduler is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers are asked")


def timeout(command: _Command) -> _Command:
    """``--timeout``."""
    return click.option(
        "--timeout", type=_Seconds(), default=10.0, metavar="SECONDS", help="The time for one variant.  [default: 10]"
    )(command)


def ask(
    paths: Sequence[Path],
    selected: Sequence[str],
    names: Sequence[str],
    cells: int,
    *,
    jobs: int,
    timeout: float,
    output: Path | None = None,
    quiet: bool = False,
) -> Record:
    """Ask targets every case of the paths that is selected, expecting nothing."""
    from maxpool_check.corpus.collection import select
    from maxpool_check.results.storage import Recorder, record_of
    from maxpool_check.running.session import Plan, perform

    targets = parsed(names)
    corpus = options.collect(paths, cells)
    validate_against_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        click.echo(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}", err=True)
    lines: list[Line] = []
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(Recorder(output)) if output is not None else None

        def take(line: Line) -> None:
            lines.append(line)
            if recorder is not None:
                recorder.write(line)

        perform(Plan(corpus, cases, targets, seconds=timeout, jobs=jobs), take, watcher(quiet))
    return record_of(lines)


class CannotAsk(click.ClickException):
    """Nobody can be asked: exit code 3."""

    exit_code = 3


def of_version(
    corpus: Corpus, cases: Sequence[Case], runtime: TargetName, version: str, *, timeout: float, jobs: int = 1
) -> Record:
    """Ask one release of a runtime some cases, expecting nothing."""
    from maxpool_check.results.storage import record_of
    from maxpool_check.running.session import Plan, perform

    lines: list[Line] = []
    perform(Plan(corpus, cases, [runtime.at(version)], seconds=timeout, jobs=jobs), lines.append)
    return record_of(lines)


def could_not(form: str, command: str, errors: Sequence[str], code: int) -> int:
    """Say that there is nothing to show, and why; the exit code."""
    if form == "json":
        told = [{"message": one} for one in errors]
        click.echo(json.dumps({"schema": f"maxpool-check/{command}/1", "exit_code": code, "errors": told}))
    else:
        why = "; ".join(error.splitlines()[0] for error in errors)
        click.echo(f"{'INCOMPLETE' if code == 3 else 'NOTHING COMPARED'} {why}")
    return code


def validate_against_reference(cases: Sequence[Case]) -> None:
    """Refuse to judge by a reference that a case contradicts."""
    from maxpool_check.corpus.expectations import contradictions

    problems = [problem for case in cases for problem in contradictions(case)]
    if problems:
        raise options.Mistakes(problems)


def parsed(names: Sequence[str]) -> list[TargetName]:
    """The targets of these names, each given once."""
    from maxpool_check.targets.name import BadTarget
    from maxpool_check.targets.name import parse as parse_target

    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise click.UsageError(f"the target '{repeated.pop()}' is given twice")
    try:
        return [parse_target(name) for name in names]
    except BadTarget as error:
        raise click.UsageError(str(error)) from error


def watcher(quiet: bool) -> Callable[[Iterator[Execution], int], Iterator[Execution]]:
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
