"""``maxpool-check fuzz``."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check import __version__
from maxpool_check.commands import options
from maxpool_check.words import plural, some

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.fuzzing.search import Baseline, Discovery, FuzzPlan, SearchCounts, SeedResult
    from maxpool_check.judging.defects import Defect
    from maxpool_check.results.record import ExitCode
    from maxpool_check.targets.name import TargetName

DEFAULT_CASES = 1000


def _seeds(text: str) -> range:
    match = re.fullmatch(r"([0-9]+)(?:\.\.([0-9]+))?", text)
    seeds = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
    if not seeds:
        raise ValueError(f"'{text}' is neither a seed, such as 7, nor an inclusive range of seeds, such as 0..7")
    return seeds


@options.command("fuzz")
@options.targets("onnxruntime")
@click.option(
    "--spec", type=options.DOCUMENT, default="onnx-22", metavar="NAME",
    help="The document to draw cases of; kernels of yours claim it.  [default: onnx-22]",
)  # fmt: skip
@click.option(
    "--max-cases", "cases", type=options.COUNT, metavar="N",
    help=f"How many cases to draw from each seed.  [default: {DEFAULT_CASES}, or as many as --max-time allows]",
)  # fmt: skip
@click.option(
    "--max-time", "seconds", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="How long to draw cases from each seed.",
)  # fmt: skip
@click.option(
    "--seed", "seeds", type=options.Value("N|A..B", _seeds), default="0", metavar="N|A..B",
    help="A seed, or a range of seeds, each with a search of its own.  [default: 0]",
)  # fmt: skip
@click.option(
    "-j", "--jobs", type=options.JOBS, default=1, metavar="N",
    help="Processes for a range of seeds; each works on one seed at a time.  [default: 1]",
)  # fmt: skip
@click.option(
    "--only", type=click.Choice(["invalid", "contexts"]),
    help="Draw only graphs that the document excludes, which must be refused; or only graphs with other nodes around MaxPool, in "
    "operator sets 8 to 26.  [default: one case of four has other nodes]",
)  # fmt: skip
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), default="cases/found",
    metavar="DIR", help="Where to write new cases, and to look for earlier ones.  [default: cases/found]",
)  # fmt: skip
@options.known
def command(
    targets: "tuple[TargetName, ...]", spec: str, cases: int | None, seconds: float | None, seeds: range, jobs: int,
    only: str | None, folder: Path, known: tuple[Path, ...],
) -> int:  # fmt: skip
    """Draw random cases, run them on targets, and keep those that show something new.

    A divergence is new if exactly its kinds have not been seen on its target and variant before: neither in an earlier
    case of this search, nor in a case in DIR (these run first), nor in a known defect. Known defects name cases,
    and drawn cases have no names: here an entry for the target stands for all cases with the same kinds and variants.

    One case of four is a graph with up to three other nodes around MaxPool, which have exact results for it; some have a
    second branch that meets the first behind MaxPool. Those of onnx-N are in any operator set, and each is judged by the
    version of the operator in its set.

    New cases are reduced and written to DIR as case files, with their origin. The same seed draws the same cases.

    Each seed is a search of its own, with its own --max-cases and --max-time, in one of -j processes. Its discoveries are shown
    when it and all seeds before it are done, without those that an earlier seed has made. So the output does not depend
    on -j, unless --max-time ends a search.

    Exit codes: 0 nothing new, 1 something new, 2 usage, 3 could not complete, 4 nothing was compared, 130 interrupted.

    \b
    Examples:
      maxpool-check fuzz -o found -t onnxruntime==1.32.0 --max-cases 500
      maxpool-check fuzz -o found --seed 1..8 -j 2 --max-time 60
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.executing import read_known
    from maxpool_check.corpus.collection import defect_files, root_of, shipped_root
    from maxpool_check.fuzzing.search import FuzzPlan
    from maxpool_check.running.pool import PoolLost

    most = DEFAULT_CASES if cases is None and seconds is None else cases
    names = tuple(target.claiming([spec]) for target in targets)
    plan = FuzzPlan(names, options.setting("timeout"), spec, only == "invalid", most, seconds, only == "contexts")
    if plan.contexts and not plan.may_have_graphs:
        raise click.UsageError(f"{spec} is not a document of ONNX graphs; --only contexts needs onnx-N or sonnx")
    root = root_of(folder if folder.is_dir() else folder / "case.yaml")
    defects, _ = read_known(known, defect_files(root) or defect_files(shipped_root()))
    earlier = CaseFiles([folder]).read().cases if folder.is_dir() and any(folder.rglob("*.yaml")) else ()
    with options.raising(incomplete=PoolLost):
        return _search(_Report(plan, folder, defects), seeds, earlier, jobs)


class _Report:
    """Prints and writes what is new, and sums up the counts."""

    def __init__(self, plan: "FuzzPlan", folder: Path, defects: "Sequence[Defect]") -> None:
        self.plan = plan
        self.defects = defects
        self.baselines: Sequence[Baseline] = ()
        self._folder = folder
        self._counts: dict[str, SearchCounts] = {}
        self._cases = self._new = 0
        self._incomplete = False

    def start(self, baselines: "Sequence[Baseline]") -> None:
        """Take what is known of the targets before the first case."""
        from maxpool_check.fuzzing.search import SearchCounts
        from maxpool_check.running.labels import Labels

        self.baselines = baselines
        self._descriptions = {baseline.description.name: baseline.description for baseline in baselines}
        self._labels = Labels([*self._descriptions.values()], (), date.today(), lambda: self.defects)
        self._counts = {name: SearchCounts() for name in self._descriptions}
        self._known = {baseline.description.name: set(baseline.known) for baseline in baselines}

    def count(self, result: "SeedResult") -> None:
        """Add the counts of a seed; a search that was stopped early may have none."""
        for total, counts in zip(self._counts.values(), result.counts, strict=False):
            total.update(counts)
        self._cases += max((counts["cases"] for counts in result.counts), default=0)
        self._incomplete |= result.error is not None

    def show(self, seed: int, number: int, discovery: "Discovery") -> None:
        """Write and print a discovery, if it is new."""
        from maxpool_check.reporting.drawing import coordinates

        if discovery.signature in self._known[discovery.target]:
            return
        self._known[discovery.target].add(discovery.signature)
        self._new += 1
        path = self._write(discovery, self.plan.origin(seed, number))
        case = discovery.case
        kinds = ", ".join(kind.value for kind in discovery.kinds)
        attributes = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
        options.echo(f"NEW  {kinds} on {discovery.target} ({discovery.variant.name})")
        name = self._labels.label(discovery.drawn, discovery.execution).known
        if (defect := next((each for each in self.defects if each.id == name), None)) is not None:
            options.echo(f"  explained by {defect.id}: {defect.title}")
        options.echo(f"  {case.X.dtype.name} X{coordinates(case.X.shape)}  {attributes}")
        if not case.context.is_alone:
            options.echo(f"  operator set {case.context.opset}: {' > '.join(case.context.lines())}")
        options.echo(f"  {path}")

    def end(self, code: "ExitCode", seeds: range) -> int:
        """Print the summary; the exit code."""
        from maxpool_check.results.record import ExitCode

        if code is ExitCode.AS_EXPECTED and self._incomplete:
            code = ExitCode.INCOMPLETE
        for name, counts in self._counts.items():
            nothing = "" if counts["compared"] else "; nothing was compared"
            failed = f"; {plural(counts['failed'], 'case')} failed" if counts["failed"] else ""
            options.echo(f"{name}: {counts['diverged']} of {counts['cases']} cases diverge{failed}{nothing}")
        state = f"{code.name} " if code else ""
        words = f"seeds {seeds[0]}..{seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
        new = f"{self._new} new" if self._new else "nothing new"
        options.echo(f"{state}{new} in {plural(self._cases, 'case')} of {self.plan.spec}, {words}")
        if code:
            return code
        if self._new:
            return ExitCode.UNEXPECTED
        if any(counts["failed"] for counts in self._counts.values()):
            return ExitCode.INCOMPLETE
        is_compared = all(counts["compared"] for counts in self._counts.values())
        return ExitCode.AS_EXPECTED if is_compared else ExitCode.NOTHING_COMPARED

    def _write(self, discovery: "Discovery", origin: str) -> Path:
        from maxpool_check.corpus.clauses import with_clauses
        from maxpool_check.corpus.writing import case_file
        from maxpool_check.files import named

        target = self._descriptions[discovery.target]
        kinds = ", ".join(kind.value for kind in discovery.kinds)
        about = (
            f"Found by maxpool-check {__version__} fuzz {origin}, on {discovery.target} "
            f"({target.software(numpy=True)}): {kinds}, in the variant {discovery.variant.name}."
        )
        runtime = f"{target.distribution}-{target.version}".rstrip("-")
        name = f"{'+'.join(kind.value for kind in discovery.kinds)}-{discovery.variant.name}"
        stem = re.sub(r"[^A-Za-z0-9.+_-]+", "-", f"{name}-{runtime}")[:180]
        self._folder.mkdir(parents=True, exist_ok=True)
        path, other = self._folder / f"{stem}.yaml", 2
        while path.exists():
            path, other = self._folder / f"{stem}-{other}.yaml", other + 1
        title = f"{kinds} on {target.release or target.name}"
        case = replace(with_clauses(discovery.case), id=f"{path.stem}:{name}", title=title)
        partial = path.with_suffix(".partial")
        with named(partial):
            partial.write_text(case_file(case, about), encoding="utf-8")
        partial.replace(path)
        return path


def _search(report: _Report, seeds: range, earlier: "Collection[Case]", jobs: int) -> int:
    """Search from each seed in some process of a pool, and print what is new in the order of the seeds."""
    from maxpool_check.commands.output import progress_bar
    from maxpool_check.fuzzing.search import Searcher
    from maxpool_check.results.record import ExitCode
    from maxpool_check.running.pool import PoolLost, pool_of
    from maxpool_check.targets.process import CannotStart

    code, done = ExitCode.AS_EXPECTED, list[int]()

    def take(result: "SeedResult") -> None:
        report.count(result)
        for number, discovery in result.discoveries:
            report.show(result.seed, number, discovery)
        if result.error is not None:
            options.echo(f"error: seed {result.seed}: {result.error}", err=True)
        if result.complete:
            done.append(result.seed)

    with (
        pool_of(partial(Searcher, report.plan), jobs) as pool,
        progress_bar("seeds", len(seeds), quiet=options.setting("quiet")) as progress,
    ):
        try:
            (baselines,) = pool.results(Searcher.baselines, [(report.defects, list(earlier))])
            report.start(baselines)
            for result in pool.results(Searcher.result, ((baselines, seed) for seed in seeds)):
                take(result)
                progress(len(done))
        except (PoolLost, CannotStart, KeyboardInterrupt) as error:
            # The results until here are kept.
            for result in pool.stop() if report.baselines else ():
                take(result)
            code = ExitCode.INTERRUPTED if isinstance(error, KeyboardInterrupt) else ExitCode.INCOMPLETE
            if code is ExitCode.INCOMPLETE:
                options.echo(f"error: {error}", err=True)
    if missing := [str(seed) for seed in seeds if seed not in done]:
        options.echo(f"not searched to the end: {', '.join(some(missing, 10))}", err=True)
    return report.end(code, seeds)
