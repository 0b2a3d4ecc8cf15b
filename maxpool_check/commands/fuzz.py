"""``maxpool-check fuzz``."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import asking, options
from maxpool_check.commands import seeds as of_seeds

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.fuzzing.search import Finding, Search, Tally
    from maxpool_check.fuzzing.seeds import Plan, Prior, Searched
    from maxpool_check.judging.known import KnownDivergence
    from maxpool_check.results.record import TargetDescription
    from maxpool_check.running.executors import Pool

DEFAULT_CASES = 1000


@click.command("fuzz")
@click.option(
    "-t", "--target", "names", multiple=True, metavar="TARGET", default=("onnxruntime",),
    help="Whom to ask, as onnxruntime==1.23.2. Repeatable.  [default: onnxruntime, the installed one]",
)  # fmt: skip
@options.document_or_default
@click.option(
    "--max-cases", type=click.IntRange(min=1), metavar="N",
    help=f"How many cases to draw of each seed.  [default: {DEFAULT_CASES}, or as many as --max-time allows]",
)  # fmt: skip
@click.option(
    "--max-time", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="How long to go on drawing of each seed.",
)  # fmt: skip
@of_seeds.option("What to draw from: a seed, or a range of them, each a search of its own.  [default: 0]")
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
    seeds: int | range,
    jobs: int,
    dask: str | None,
    invalid: bool,
    folder: Path,
    known_files: tuple[Path, ...],
    no_known: bool,
    timeout: float,
    quiet: bool,
) -> int:
    """Draw cases at random, ask targets, and keep what is new.

    A divergence is new if its variant was not seen to show exactly its kinds on its target: not by an earlier case of
    this search, not by a case in DIR (these are asked first), and not by a known divergence. A known divergence is
    bound to cases, which drawn ones are not: here an entry that covers the target stands for all cases that show the
    same kinds under the variants it names.

    What is new is made small and written to DIR as a case file, with its origin. The same seed draws the same cases.

    A range of seeds is searched in other processes, -j of them at a time. Each seed is one search, with targets, a
    --max-cases and a --max-time of its own. Its findings come when it and all seeds before it are done; what those have
    shown is not new any more. So the output is the same for every -j, unless --max-time ends a search.

    Exit codes: 0 nothing new, 1 something new, 2 usage, 3 could not complete, 4 nothing was compared, 130 interrupted.
    """
    from maxpool_check.fuzzing.seeds import Plan

    if known_files and no_known:
        raise click.UsageError("--known and --no-known contradict each other")
    of_seeds.check_divisible(seeds, jobs, dask)
    parsed = asking.parsed(names)
    known = _known(folder, known_files, no_known)
    earlier = _earlier(folder)
    limit = max_cases or (DEFAULT_CASES if max_time is None else sys.maxsize)
    plan = Plan(tuple(parsed), timeout, spec, invalid, limit, max_time)
    if isinstance(seeds, int):
        return _here(plan, seeds, known, earlier, folder, quiet)
    with of_seeds.pool(jobs, dask) as pool:
        return _elsewhere(pool, plan, seeds, known, earlier, folder, quiet)


def _here(
    plan: Plan, seed: int, known: Sequence[KnownDivergence], earlier: Sequence[Case], folder: Path, quiet: bool
) -> int:
    """Search from one seed, in this process, and show what is found as it is."""
    from maxpool_check.fuzzing.search import GivenUp, Search
    from maxpool_check.running.inquiry import Inquirer
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    searches: list[Search] = []
    new, code = 0, 0
    with contextlib.ExitStack() as stack:
        try:
            for name in plan.targets:
                inquirer = stack.enter_context(contextlib.closing(Inquirer(Target(name, plan.timeout))))
                searches.append(Search.of(inquirer, known))
                searches[-1].explain(earlier)
            show = stack.enter_context(_progress(quiet, "cases", plan.most))
            for number, case in enumerate(plan.drawn(seed), 1):
                for search in searches:
                    for finding in search.take(case):
                        said = search.inquirer.target.description
                        _say(finding, _write(finding, said, folder, plan.how(seed, number)))
                        new += 1
                show(number)
        except KeyboardInterrupt:
            code = 130
        except (CannotStart, GivenUp) as error:
            click.echo(f"error: {error}", err=True)
            code = 3
    tallies = {str(search.inquirer.target.name): search.tally for search in searches}
    cases = max((tally.asked for tally in tallies.values()), default=0)
    return _come_to(tallies, cases, new, code, f"{plan.spec}, seed {seed}")


def _elsewhere(
    pool: Pool,
    plan: Plan,
    seeds: range,
    known: Sequence[KnownDivergence],
    earlier: Sequence[Case],
    folder: Path,
    quiet: bool,
) -> int:
    """Search from each seed in some process of a pool, and show what is new in the order of the seeds."""
    from maxpool_check.fuzzing.seeds import prepare, search
    from maxpool_check.running.executors import Lost
    from maxpool_check.targets.process import CannotStart

    taker = _Taker(plan, folder)
    code = 0
    try:
        (priors,) = pool.results(prepare, [(pool.run, plan, known, [replace(case) for case in earlier])])
        taker.begin(priors)
        results = pool.results(search, ((pool.run, plan, priors, seed) for seed in seeds))
        with _progress(quiet, "seeds", len(seeds)) as show:
            try:
                for searched in results:
                    taker.take(searched)
                    show(len(taker.done))
            except (Lost, KeyboardInterrupt):
                # What has been found until here is kept.
                for searched in results.stopped():
                    taker.take(searched)
                raise
    except KeyboardInterrupt:
        code = 130
    except (Lost, CannotStart) as error:
        click.echo(f"error: {error}", err=True)
        code = 3
    missing = of_seeds.without(seeds, taker.done)
    if missing:
        click.echo(f"not searched to the end: {missing}", err=True)
    drawn = f"{plan.spec}, {of_seeds.words(seeds)}"
    return _come_to(taker.tallies, taker.cases, taker.new, code or taker.code, drawn)


class _Taker:
    """Takes searches in the order of their seeds, and shows what is new of them."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.tallies: dict[str, Tally] = {}
        self.done: set[int] = set()
        self.cases = self.new = self.code = 0
        self._plan, self._folder = plan, folder

    def begin(self, priors: Sequence[Prior]) -> None:
        """What is known of the targets before the first."""
        from maxpool_check.fuzzing.search import Tally
        from maxpool_check.fuzzing.seeds import News

        self._descriptions = {prior.description.name: prior.description for prior in priors}
        self.tallies = {name: Tally() for name in self._descriptions}
        self._news = News(priors)

    def take(self, searched: Searched) -> None:
        """The next one."""
        # One that was stopped early may not have begun.
        for tally, other in zip(self.tallies.values(), searched.tallies, strict=False):
            tally.add(other)
        self.cases += max((tally.asked for tally in searched.tallies), default=0)
        for number, finding in self._news.of(searched):
            how = self._plan.how(searched.seed, number)
            _say(finding, _write(finding, self._descriptions[finding.target], self._folder, how))
            self.new += 1
        if searched.error is not None:
            click.echo(f"error: seed {searched.seed}: {searched.error}", err=True)
            self.code = 3
        if searched.whole:
            self.done.add(searched.seed)


def _come_to(tallies: Mapping[str, Tally], cases: int, new: int, code: int, drawn: str) -> int:
    """Say what came of it; the exit code."""
    for name, tally in tallies.items():
        nothing = "" if tally.compared else "; nothing was compared"
        click.echo(f"{name}: {tally.diverged} of {tally.asked} cases diverge{nothing}")
    stopped = {130: "INTERRUPTED ", 3: "INCOMPLETE "}.get(code, "")
    click.echo(f"{stopped}{f'{new} new' if new else 'nothing new'} in {cases} cases of {drawn}")
    if code:
        return code
    return 4 if not all(tally.compared for tally in tallies.values()) else int(new > 0)


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
def _progress(quiet: bool, what: str, limit: int) -> Iterator[Callable[[int], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(f"{{task.completed}} {what}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=limit if limit < sys.maxsize else None)
        yield lambda drawn: bar.update(task, completed=drawn)


def _write(finding: Finding, said: TargetDescription, folder: Path, how: str) -> Path:
    from maxpool_check import __version__
    from maxpool_check.corpus.writing import case_file

    kinds = ", ".join(kind.value for kind in finding.kinds)
    about = (
        f"Found by maxpool-check {__version__} fuzz {how}, on {finding.target} ({said.distribution} {said.version}, "
        f"{said.provider}, Python {said.python}, numpy {said.numpy}): {kinds}, asked {finding.variant.name}."
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
    click.echo(f"NEW  {kinds} on {finding.target} ({finding.variant.name})")
    click.echo(f"  {case.X.dtype.name} X{coordinates(case.X.shape)}  {attributes}")
    click.echo(f"  {path}")
