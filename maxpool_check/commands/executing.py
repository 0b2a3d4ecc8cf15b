"""What commands that execute cases on targets have in common."""

import contextlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from maxpool_check.commands import case_files
from maxpool_check.commands.configuration import command_line
from maxpool_check.commands.options import Incomplete
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.case import Case, contradictions
from maxpool_check.corpus.collection import Corpus, defect_files, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.judging.defects import Defect
from maxpool_check.results.details import ReferenceAgreement
from maxpool_check.results.record import Line, Record
from maxpool_check.results.storage import Recorder
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.outputs import read_results
from maxpool_check.running.pool import PoolLost
from maxpool_check.running.run import run
from maxpool_check.targets.name import TargetName

_FEW = 5  # In a message.


@dataclass(frozen=True)
class KnownOptions:
    """Which defects are expected."""

    known_files: Sequence[Path]
    no_known: bool

    def read(self, default: Sequence[Path], lock: Path | None = None) -> tuple[list[Defect], list[Path]]:
        """The defects and their files; ``lock`` is that of the corpus. Raises ``click.ClickException``."""
        if self.known_files and self.no_known:
            raise click.UsageError("--known and --no-known contradict each other")
        if self.known_files and lock is not None:
            raise click.UsageError(
                f"--known names files that the lock does not cover; put them into defects/ of the corpus, and make {lock} again"
            )
        files = [] if self.no_known else list(self.known_files or default)
        with case_files.mistakes():
            return read_all_defects(files), files


def run_cases(
    corpus: Corpus,
    cases: Sequence[Case],
    targets: Sequence[TargetName],
    *,
    timeout: float,
    jobs: int = 1,
    output: Path | None = None,
    quiet: bool = True,
    variants: Collection[Variant] = DEFAULT_VARIANTS,
    known: Sequence[Defect] = (),
) -> Record:
    """Run cases of a corpus on targets; the record, in memory. Known defects name what executions show."""
    with Recorder(output) as recorder:
        record = record_cases(
            recorder, corpus, cases, targets, timeout=timeout, jobs=jobs, quiet=quiet, variants=variants, known=known
        )
        return replace(record, executions=tuple(record.executions))


def record_cases(
    recorder: Recorder,
    corpus: Corpus,
    cases: Sequence[Case],
    targets: Sequence[TargetName],
    *,
    timeout: float,
    jobs: int = 1,
    quiet: bool = True,
    variants: Collection[Variant] = DEFAULT_VARIANTS,
    known: Sequence[Defect] = (),
    catalogue: Sequence[Defect] = (),
    dask: str | None = None,
    memory: int | None = None,
) -> Record:
    """Run cases as :func:`run_cases` does; the record, which can be read until the recorder is closed."""
    plan = RunPlan(
        corpus, cases, targets, known, seconds=timeout, memory=memory, jobs=jobs, variants=variants, dask=dask,
        versions=versions_of(corpus, known, catalogue), catalogue=catalogue, command=command_line(),
    )  # fmt: skip
    write_run(plan, recorder.write, quiet=quiet)
    assert recorder.record is not None
    return recorder.record


def write_run(plan: RunPlan, write: Callable[[Line], None], *, quiet: bool) -> None:
    """Run a plan, and show its progress. Raises :class:`Incomplete`."""
    with progress_bar("cases", len(plan.cases), quiet=quiet) as progress:
        try:
            run(plan, write, progress)
        except PoolLost as lost:
            raise Incomplete(str(lost)) from lost


def catalogue_for(corpus: Corpus) -> list[Defect]:
    """The known defects that come with the tool, for a corpus that does not have them. Raises :class:`Mistakes`."""
    shipped = shipped_root()
    if shipped.resolve() in {root.resolve() for root in corpus.roots}:
        return []
    with case_files.mistakes():
        return read_all_defects(defect_files(shipped))


def defects_of(corpus: Corpus) -> list[Defect]:
    """The defects in the files of a corpus. Raises :class:`Mistakes`."""
    return KnownOptions((), False).read(corpus.known_files)[0]


def versions_of(corpus: Corpus, known: Iterable[Defect], catalogue: Iterable[Defect] = ()) -> dict[str, str]:
    """The versions that show each defect, in words, as far as the corpus says; of the ``catalogue``, as far as the tool says.

    Raises :class:`Mistakes`.
    """
    with case_files.mistakes():
        own, shipped = [read_versions(root) for root in corpus.roots], read_versions(shipped_root())
    # Where no tested version shows a defect, nobody may have looked for it.
    spans = {defect.id: shipped.span(defect) for defect in catalogue if shipped.showing(defect)}
    return spans | {
        defect.id: versions.span(defect) for defect in known for versions in own if versions.showing(defect)
    }


def read_valid(files: case_files.CaseFiles) -> Corpus:
    """Read case files. Raises :class:`Mistakes`, also for a case that contradicts the reference."""
    corpus = files.read()
    validate_against_reference(corpus.cases)
    return corpus


def check_outputs(targets: Iterable[TargetName], read: Sequence[Case], selected: Iterable[Case]) -> None:
    """Check the files of outputs among the targets, whose cases were ``read``. Raises ``click.ClickException``."""
    for target in targets:
        if target.outputs is None:
            continue
        try:
            with case_files.mistakes():
                results = read_results(Path(target.outputs))
                results.check(read)
        except OSError as error:
            raise click.UsageError(f"cannot read {target.outputs}: {error.strerror}") from error
        if left_out := len(results.by_case.keys() - {case.id for case in selected}):
            click.echo(f"left out: {left_out} cases with a result, which -k and --spec do not select", err=True)


def validate_against_reference(cases: Iterable[Case]) -> None:
    """Refuse to judge by a reference that a case contradicts."""
    problems = [problem for case in cases for problem in contradictions(case)]
    if problems:
        raise Mistakes(problems)


def compare_references(cases: Sequence[Case], consequence: str = "nothing was run") -> ReferenceAgreement:
    """Compute cases by both references, which must agree in every bit. Raises :class:`Incomplete`."""
    from maxpool_check.evidence.references import references

    log = references(cases)
    if log.differing:
        few = ", ".join(log.differing[:_FEW]) + (" ..." if len(log.differing) > _FEW else "")
        raise Incomplete(
            f"{consequence}: the definition and the evaluator, the two references of this tool, differ in {few}; "
            "this is a mistake of the tool, please report it"
        )
    return log.agreement


def variants_named(case: Case, name: str | None) -> list[Variant]:
    """The variant of this name that a case is executed in by default, or all of them. Raises ``click.UsageError``."""
    variants = list(case.variants())
    if selected := [variant for variant in variants if name in (None, variant.name)]:
        return selected
    raise click.UsageError(f"{case.id} has no variant '{name}'; it has {', '.join(each.name for each in variants)}")


@contextlib.contextmanager
def progress_bar(unit: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with the number that is done; a bar shows it on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    # It is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda completed: bar.update(task, completed=completed)
