"""What commands that execute cases on targets have in common: options, targets, progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from maxpool_check.commands import options
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, select
from maxpool_check.corpus.expectations import contradictions
from maxpool_check.results.record import ExitCode, Line, Record
from maxpool_check.results.storage import Recorder, record_of
from maxpool_check.results.variants import DEFAULT_VARIANTS, VARIATIONS, Variant, parse_variants
from maxpool_check.running.run import RunPlan, run
from maxpool_check.targets.name import BadTarget, TargetName
from maxpool_check.targets.name import parse as parse_target

_Command = TypeVar("_Command", bound=Callable[..., Any])


class CannotExecute(click.ClickException):
    """No target could be started, or the processes to run in are lost."""

    exit_code = ExitCode.INCOMPLETE


class _Seconds(click.ParamType):  # type: ignore[type-arg]
    name = "SECONDS"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A positive, finite number of seconds."""
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
        help="How to execute each case: default (with Indices, and Y alone), all, or a list of "
        f"{', '.join(variation.name for variation in VARIATIONS)}.",
    )(command)


def jobs(command: _Command) -> _Command:
    """``-j``."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Processes to run in, each with a worker of every target.  [default: 1]",
    )(command)


def dask(command: _Command) -> _Command:
    """``--dask``."""
    return click.option(
        "--dask",
        metavar="SCHEDULER",
        help="Run on the workers of a dask cluster instead; its scheduler's address, such as tcp://HOST:8786.",
    )(command)


def check_exclusive(jobs: int, scheduler: str | None) -> None:
    """Refuse ``-j`` together with ``--dask``."""
    if scheduler is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers run the cases")


def timeout(command: _Command) -> _Command:
    """``--timeout``."""
    return click.option(
        "--timeout",
        type=_Seconds(),
        default=10.0,
        metavar="SECONDS",
        help="The time limit of one execution.  [default: 10]",
    )(command)


def run_cases(
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
    """Run the selected cases of the paths on targets, without known divergences; the record, in memory."""
    targets = parse_targets(names)
    corpus = options.collect(paths, cells)
    validate_against_reference(corpus.cases)
    cases = select(corpus.cases, selected)
    if not cases:
        click.echo(f"none of the {len(corpus.cases)} cases is selected by {' '.join(selected)}", err=True)
    lines: list[Line] = []
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(Recorder(output)) if output is not None else None

        def write(line: Line) -> None:
            lines.append(line)
            if recorder is not None:
                recorder.write(line)

        progress = stack.enter_context(progress_bar("cases", len(cases), quiet=quiet))
        run(RunPlan(corpus, cases, targets, seconds=timeout, jobs=jobs), write, progress)
    return record_of(lines)


def run_release(
    corpus: Corpus, cases: Sequence[Case], runtime: TargetName, version: str, *, timeout: float, jobs: int = 1
) -> Record:
    """Run cases on one release of a runtime, without known divergences; the record, in memory."""
    lines: list[Line] = []
    run(RunPlan(corpus, cases, [runtime.at(version)], seconds=timeout, jobs=jobs), lines.append)
    return record_of(lines)


def validate_against_reference(cases: Sequence[Case]) -> None:
    """Refuse to judge by a reference that a case contradicts."""
    problems = [problem for case in cases for problem in contradictions(case)]
    if problems:
        raise options.Mistakes(problems)


def parse_targets(names: Sequence[str]) -> list[TargetName]:
    """The targets with these names, each of which may be given once."""
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise click.UsageError(f"the target '{repeated.pop()}' is given twice")
    try:
        return [parse_target(name) for name in names]
    except BadTarget as error:
        raise click.UsageError(str(error)) from error


def variant_of(case: Case, name: str | None) -> Variant:
    """The variant of this name that a case is executed in by default, or the first of all.

    Raises ``click.UsageError``.
    """
    from maxpool_check.results.variants import variants_of

    names = {
        variant.name: variant for variant in variants_of(case.outputs, case.specification.domain, DEFAULT_VARIANTS)
    }
    if name is not None and name not in names:
        raise click.UsageError(f"{case.id} has no variant '{name}'; it has {', '.join(names)}")
    return names[name] if name is not None else next(iter(names.values()))


@contextlib.contextmanager
def progress_bar(unit: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function that is told how much is done, and shows it on a terminal; nothing is shown elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda completed: bar.update(task, completed=completed)
