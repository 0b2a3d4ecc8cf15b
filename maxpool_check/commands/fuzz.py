"""``maxpool-check fuzz``."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from maxpool_check import __version__
from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands import seeds as seed_options
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.clauses import with_clauses
from maxpool_check.corpus.collection import defect_files, root_of
from maxpool_check.corpus.writing import case_file
from maxpool_check.files import named
from maxpool_check.fuzzing import search as searching
from maxpool_check.fuzzing.search import Discovery, SearchCounts
from maxpool_check.judging.defects import Defect
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.results.record import ExitCode
from maxpool_check.running.pool import PoolLost
from maxpool_check.specifications import DEFAULT
from maxpool_check.targets.process import CannotStart
from maxpool_check.words import plural

DEFAULT_CASES = 1000


class _Report:
    """Prints and writes what is new, and sums up the counts."""

    def __init__(self, plan: searching.FuzzPlan, folder: Path) -> None:
        self.plan = plan
        self.baselines: Sequence[searching.Baseline] = ()
        self._folder = folder
        self._counts: dict[str, SearchCounts] = {}
        self._cases = self._new = 0
        self._incomplete = False

    def start(self, baselines: Sequence[searching.Baseline]) -> None:
        """Take what is known of the targets before the first case."""
        self.baselines = baselines
        self._descriptions = {baseline.description.name: baseline.description for baseline in baselines}
        self._counts = {name: SearchCounts() for name in self._descriptions}
        self._known = {baseline.description.name: set(baseline.known) for baseline in baselines}

    def count(self, result: searching.SeedResult) -> None:
        """Add the counts of a seed; a search that was stopped early may have none."""
        for total, counts in zip(self._counts.values(), result.counts, strict=False):
            total.update(counts)
        self._cases += max((counts["cases"] for counts in result.counts), default=0)
        self._incomplete |= result.error is not None

    def show(self, seed: int, number: int, discovery: Discovery) -> None:
        """Write and print a discovery, if it is new."""
        if discovery.signature in self._known[discovery.target]:
            return
        self._known[discovery.target].add(discovery.signature)
        self._new += 1
        path = self._write(discovery, self.plan.origin(seed, number))
        case = discovery.case
        kinds = ", ".join(kind.value for kind in discovery.kinds)
        attributes = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
        options.echo(f"NEW  {kinds} on {discovery.target} ({discovery.variant.name})")
        options.echo(f"  {case.X.dtype.name} X{coordinates(case.X.shape)}  {attributes}")
        if not case.context.is_alone:
            options.echo(f"  operator set {case.context.opset}: {' > '.join(case.context.lines())}")
        options.echo(f"  {path}")

    def end(self, code: ExitCode, seeds: str) -> ExitCode:
        """Print the summary; the exit code."""
        if code is ExitCode.AS_EXPECTED and self._incomplete:
            code = ExitCode.INCOMPLETE
        for name, counts in self._counts.items():
            nothing = "" if counts["compared"] else "; nothing was compared"
            options.echo(f"{name}: {counts['diverged']} of {counts['cases']} cases diverge{nothing}")
        state = f"{code.name} " if code else ""
        new = f"{self._new} new" if self._new else "nothing new"
        options.echo(f"{state}{new} in {plural(self._cases, 'case')} of {self.plan.spec}, {seeds}")
        if code:
            return code
        if not all(counts["compared"] for counts in self._counts.values()):
            return ExitCode.NOTHING_COMPARED
        return ExitCode.UNEXPECTED if self._new else ExitCode.AS_EXPECTED

    def _write(self, discovery: Discovery, origin: str) -> Path:
        target = self._descriptions[discovery.target]
        kinds = ", ".join(kind.value for kind in discovery.kinds)
        about = (
            f"Found by maxpool-check {__version__} fuzz {origin}, on {discovery.target} "
            f"({target.software(numpy=True)}): {kinds}, in the variant {discovery.variant.name}."
        )
        runtime = f"{target.distribution}-{target.version}".rstrip("-")
        name = f"{'+'.join(kind.value for kind in discovery.kinds)}-{discovery.variant.name}"
        stem = re.sub(r"[^A-Za-z0-9.+_-]+", "-", f"{name}-{runtime}")[:180]
        found = with_clauses(discovery.case)
        self._folder.mkdir(parents=True, exist_ok=True)
        path, other = self._folder / f"{stem}.yaml", 2
        while path.exists():
            path, other = self._folder / f"{stem}-{other}.yaml", other + 1
        title = f"{kinds} on {target.release or target.name}"
        case = replace(found, id=f"{path.stem}:{name}", title=title)
        partial = path.with_suffix(".partial")
        with named(partial):
            partial.write_text(case_file(case, about), encoding="utf-8")
        partial.replace(path)
        return path


@click.command("fuzz")
@options.targets("onnxruntime")
@click.option(
    "--spec", type=options.DOCUMENT, default=DEFAULT,
    help=f"The document to draw cases of; kernels of yours claim it.  [default: {DEFAULT}]",
)  # fmt: skip
@click.option(
    "--max-cases", "cases", type=options.COUNT, metavar="N",
    help=f"How many cases to draw from each seed.  [default: {DEFAULT_CASES}, or as many as --max-time allows]",
)  # fmt: skip
@click.option(
    "--max-time", "seconds", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="How long to draw cases from each seed.",
)  # fmt: skip
@seed_options.option("A seed, or a range of seeds, each with a search of its own.  [default: 0]")
@click.option("--invalid", is_flag=True, help="Draw graphs that the document excludes, which must be refused.")
@click.option(
    "--contexts", is_flag=True,
    help="Draw only graphs with other nodes around MaxPool, in operator sets 8 to 26.  [default: one case of four]",
)  # fmt: skip
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), default="cases/found",
    metavar="DIR", help="Where to write new cases, and to look for earlier ones.  [default: cases/found]",
)  # fmt: skip
@options.known_files
@options.no_known
@options.timeout
@options.quiet
@options.bundled(plan=searching.FuzzPlan, known=executing.KnownOptions)
def command(
    plan: searching.FuzzPlan, seeds: int | range, jobs: int, dask: str | None, folder: Path,
    known: executing.KnownOptions, quiet: bool,
) -> int:  # fmt: skip
    """Draw random cases, run them on targets, and keep those that show something new.

    A divergence is new if exactly its kinds have not been seen on its target and variant before: neither in an earlier
    case of this search, nor in a case in DIR (these run first), nor in a known defect. Known defects name cases,
    and drawn cases have no names: here an entry for the target stands for all cases with the same kinds and variants.

    One case of four is a graph with up to three other nodes around MaxPool, which have exact results for it. Those of
    onnx-N are in any operator set, and each is judged by the version of the operator in its set.

    New cases are reduced and written to DIR as case files, with their origin. The same seed draws the same cases.

    A range of seeds runs in -j processes. Each seed is a search of its own, with its own --max-cases and --max-time. Its
    discoveries are shown when it and all seeds before it are done, without those that an earlier seed has made. So the
    output does not depend on -j, unless --max-time ends a search.

    Exit codes: 0 nothing new, 1 something new, 2 usage, 3 could not complete, 4 nothing was compared, 130 interrupted.

    \b
    Examples:
      maxpool-check fuzz -o found -t onnxruntime==1.31.1 --max-cases 500
      maxpool-check fuzz -o found --seed 1..8 -j 2 --max-time 60
    """
    seed_options.check_divisible(seeds, jobs, dask)
    if plan.contexts and plan.invalid:
        raise click.UsageError("--contexts and --invalid contradict each other: nodes have no result without MaxPool's")
    if plan.contexts and not plan.may_have_graphs:
        raise click.UsageError(f"{plan.spec} is not a document of ONNX graphs; --contexts needs onnx-N or sonnx")
    plan = replace(plan, targets=tuple(target.claiming([plan.spec]) for target in plan.targets))
    entries, _ = known.read(defect_files(root_of(folder if folder.is_dir() else folder / "case.yaml")))
    has_cases = folder.is_dir() and any(folder.rglob("*.yaml"))
    earlier = case_files.CaseFiles([folder]).read().cases if has_cases else ()
    if plan.cases is None and plan.seconds is None:
        plan = replace(plan, cases=DEFAULT_CASES)
    report = _Report(plan, folder)
    if isinstance(seeds, int):
        return _search_here(report, seeds, entries, earlier, quiet)
    return _search_in_pool(report, seeds, entries, earlier, quiet, jobs, dask)


def _search_here(report: _Report, seed: int, known: Sequence[Defect], earlier: Sequence[Case], quiet: bool) -> int:
    """Search from one seed in this process, and print discoveries as they are made."""
    result, code = searching.SeedResult(seed), ExitCode.AS_EXPECTED
    with (
        contextlib.closing(searching.Searcher(report.plan)) as searcher,
        executing.progress_bar("cases", report.plan.cases, quiet=quiet) as progress,
    ):

        def show(number: int, discoveries: Sequence[Discovery]) -> None:
            for discovery in discoveries:
                report.show(seed, number, discovery)
            progress(number)

        try:
            report.start(searcher.baselines(known, earlier))
            searcher.search(report.baselines, result, show)
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
        except CannotStart as error:
            result.error = str(error)
    report.count(result)
    if result.error is not None:
        options.echo(f"error: {result.error}", err=True)
    return report.end(code, f"seed {seed}")


def _search_in_pool(
    report: _Report, seeds: range, known: Sequence[Defect], earlier: Sequence[Case], quiet: bool, jobs: int,
    dask: str | None,
) -> int:  # fmt: skip
    """Search from each seed in some process of a pool, and print what is new in the order of the seeds."""
    code, plan = ExitCode.AS_EXPECTED, report.plan
    done: list[int] = []

    def take(result: searching.SeedResult) -> None:
        report.count(result)
        for number, discovery in result.discoveries:
            report.show(result.seed, number, discovery)
        if result.error is not None:
            options.echo(f"error: seed {result.seed}: {result.error}", err=True)
        if result.complete:
            done.append(result.seed)

    with (
        seed_options.pool(partial(searching.Searcher, plan), jobs, dask) as pool,
        executing.progress_bar("seeds", len(seeds), quiet=quiet) as progress,
    ):
        try:
            (baselines,) = pool.results(searching.Searcher.baselines, [(known, list(earlier))])
            report.start(baselines)
            for result in pool.results(searching.Searcher.result, ((baselines, seed) for seed in seeds)):
                take(result)
                progress(len(done))
        except (PoolLost, CannotStart, KeyboardInterrupt) as error:
            # The results until here are kept.
            for result in pool.stop() if report.baselines else ():
                take(result)
            code = ExitCode.INTERRUPTED if isinstance(error, KeyboardInterrupt) else ExitCode.INCOMPLETE
            if code is ExitCode.INCOMPLETE:
                options.echo(f"error: {error}", err=True)
    missing = seed_options.remaining(seeds, done)
    if missing:
        options.echo(f"not searched to the end: {missing}", err=True)
    return report.end(code, seed_options.words(seeds))
