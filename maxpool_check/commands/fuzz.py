"""``maxpool-check fuzz``."""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import asking, options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.fuzzing.search import Finding, Search
    from maxpool_check.judging.known import KnownDivergence

DEFAULT_CASES = 1000


@click.command("fuzz")
@click.option(
    "-t", "--target", "names", multiple=True, metavar="TARGET", default=("onnxruntime",),
    help="Whom to ask, as onnxruntime==1.23.2. Repeatable.  [default: onnxruntime, the installed one]",
)  # fmt: skip
@click.option("--spec", default="onnx-22", metavar="NAME", help="The document to draw cases of.  [default: onnx-22]")
@click.option(
    "--max-cases", type=click.IntRange(min=1), metavar="N",
    help=f"How many cases to draw.  [default: {DEFAULT_CASES}, or as many as --max-time allows]",
)  # fmt: skip
@click.option(
    "--max-time", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="How long to go on drawing."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="What to draw from.  [default: 0]")
@click.option("--invalid", is_flag=True, help="Draw graphs that the document excludes, which must be refused.")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), default=Path("cases/found"),
    metavar="DIR", help="Where to write the cases found, and to look for earlier ones.  [default: cases/found]",
)  # fmt: skip
@click.option(
    "--known", "known_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Known divergences.  [default: known-divergences.yaml at the root of DIR's corpus]",
)  # fmt: skip
@click.option("--no-known", is_flag=True, help="Expect no divergence.")
@asking.timeout
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def command(
    names: tuple[str, ...],
    spec: str,
    max_cases: int | None,
    max_time: float | None,
    seed: int,
    invalid: bool,
    folder: Path,
    known_files: tuple[Path, ...],
    no_known: bool,
    timeout: float,
    quiet: bool,
) -> int:
    """Draw cases at random, ask targets, and keep what is new.

    A divergence is new if its question was not seen to show exactly its kinds on its target: not by an earlier case of
    this search, not by a case in DIR (these are asked first), and not by a known divergence. A known divergence is
    bound to cases, which drawn ones are not: here an entry that covers the target stands for all cases that show the
    same kinds under the questions it names.

    What is new is made small and written to DIR as a case file, with its origin. The same seed draws the same cases.

    Exit codes: 0 nothing new, 1 something new, 2 usage, 3 could not complete, 4 nothing was compared, 130 interrupted.
    """
    from maxpool_check.fuzzing.generation import generate
    from maxpool_check.fuzzing.search import GivenUp, Search
    from maxpool_check.running.inquiry import Inquirer
    from maxpool_check.specifications import specification
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    try:
        specification(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if known_files and no_known:
        raise click.UsageError("--known and --no-known contradict each other")
    parsed = asking.parsed(names)
    known = _known(folder, known_files, no_known)
    earlier = _earlier(folder)
    limit = max_cases or (DEFAULT_CASES if max_time is None else sys.maxsize)
    searches: list[Search] = []
    new, code = 0, 0
    with contextlib.ExitStack() as stack:
        try:
            for name in parsed:
                inquirer = stack.enter_context(contextlib.closing(Inquirer(Target(name, timeout))))
                searches.append(Search.of(inquirer, known))
                searches[-1].explain(earlier)
            show = stack.enter_context(_progress(quiet, limit))
            cases = _until(generate(spec, seed, invalid=invalid), limit, max_time)
            for number, case in enumerate(cases, 1):
                how = f"--spec {spec}{' --invalid' if invalid else ''} --seed {seed}, case {number}"
                for search in searches:
                    for finding in search.take(case):
                        _say(finding, _write(finding, search, folder, how))
                        new += 1
                show(number)
        except KeyboardInterrupt:
            code = 130
        except (CannotStart, GivenUp) as error:
            click.echo(f"error: {error}", err=True)
            code = 3
    return _come_to(searches, new, code, f"{spec}, seed {seed}")


def _until(cases: Iterator[Case], limit: int, seconds: float | None) -> Iterator[Case]:
    """The cases up to a number and a time."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for case in itertools.islice(cases, limit):
        if deadline is not None and time.monotonic() >= deadline:
            return
        yield case


def _come_to(searches: Sequence[Search], new: int, code: int, drawn: str) -> int:
    """Say what came of it; the exit code."""
    for search in searches:
        nothing = "" if search.compared else "; nothing was compared"
        click.echo(f"{search.inquirer.target.name}: {search.diverged} of {search.asked} cases diverge{nothing}")
    cases = max((search.asked for search in searches), default=0)
    stopped = {130: "INTERRUPTED ", 3: "INCOMPLETE "}.get(code, "")
    click.echo(f"{stopped}{f'{new} new' if new else 'nothing new'} in {cases} cases of {drawn}")
    if code:
        return code
    return 4 if not all(search.compared for search in searches) else int(new > 0)


def _known(folder: Path, given: Sequence[Path], none: bool) -> list[KnownDivergence]:
    from maxpool_check.corpus.collection import KNOWN_NAME, root_of
    from maxpool_check.corpus.known_file import read_all_known
    from maxpool_check.corpus.problems import CorpusError

    beside = root_of(folder if folder.is_dir() else folder / "case.yaml") / KNOWN_NAME
    files = [] if none else list(given) or ([beside] if beside.is_file() else [])
    try:
        return read_all_known(files)
    except CorpusError as error:
        raise options.Mistakes(error.problems) from error


def _earlier(folder: Path) -> Sequence[Case]:
    if not folder.is_dir() or not any(folder.rglob("*.yaml")):
        return ()
    return options.collect([folder], options.DEFAULT_CELLS).cases


@contextlib.contextmanager
def _progress(quiet: bool, limit: int) -> Iterator[Callable[[int], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.completed} cases"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cases", total=limit if limit < sys.maxsize else None)
        yield lambda drawn: bar.update(task, completed=drawn)


def _write(finding: Finding, search: Search, folder: Path, how: str) -> Path:
    from maxpool_check import __version__
    from maxpool_check.corpus.writing import case_file

    said = search.inquirer.target.description
    kinds = ", ".join(kind.value for kind in finding.kinds)
    about = (
        f"Found by maxpool-check {__version__} fuzz {how}, on {finding.target} ({said.distribution} {said.version}, "
        f"{said.provider}, Python {said.python}, numpy {said.numpy}): {kinds}, asked {finding.question.value}."
    )
    runtime = f"{said.distribution}-{said.version}"
    stem = re.sub(r"[^A-Za-z0-9.+_-]+", "-", f"{finding.name}-{runtime}")[:180]
    folder.mkdir(parents=True, exist_ok=True)
    path, other = folder / f"{stem}.yaml", 2
    while path.exists():
        path, other = folder / f"{stem}-{other}.yaml", other + 1
    title = f"{kinds} on {said.distribution} {said.version}"
    case = replace(finding.case, id=f"{path.stem}:{finding.name}", title=title)
    partial = path.with_suffix(".partial")
    partial.write_text(case_file(case, about), encoding="utf-8")
    partial.replace(path)
    return path


def _say(finding: Finding, path: Path) -> None:
    from maxpool_check.reporting.tensors import coordinates

    case = finding.case
    kinds = ", ".join(kind.value for kind in finding.kinds)
    attributes = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    click.echo(f"NEW  {kinds} on {finding.target} ({finding.question.value})")
    click.echo(f"  {case.X.dtype.name} X{coordinates(case.X.shape)}  {attributes}")
    click.echo(f"  {path}")
