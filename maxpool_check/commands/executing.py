"""What commands that execute cases on targets have in common."""

import contextlib
import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from maxpool_check.commands import options
from maxpool_check.commands.case_files import CaseFiles, mistakes
from maxpool_check.commands.configuration import command_line
from maxpool_check.commands.output import Mistakes, Output, progress_bar
from maxpool_check.corpus import defect_file
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, files_naming, shipped_root, with_observed
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.judging.accepted import Acceptance
from maxpool_check.judging.defects import Defect
from maxpool_check.results.record import Conclusion, ExitCode, Line, Record, RunFooter
from maxpool_check.results.storage import Recorder
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.header import CommandLine
from maxpool_check.running.outputs import read_results
from maxpool_check.running.pool import PoolLost
from maxpool_check.running.run import Progress, RunPlan, run
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS
from maxpool_check.words import plural

NO_DEFECTS = Path("none")
"""What ``--known`` names where nothing that the files of the corpus say is expected."""


def read_known(files: Sequence[Path], of_corpus: Sequence[Path]) -> tuple[list[Defect], list[Path]]:
    """What is expected in a run, and in which files: of the corpus, unless :data:`NO_DEFECTS` is named, and of the user's ``files``.

    Raises ``click.ClickException``.
    """
    own = [each for each in files if each != NO_DEFECTS]
    read_accepted(own)
    chosen = [*(of_corpus if NO_DEFECTS not in files else ()), *with_observed(own)]
    chosen = [*{each.resolve(): each for each in chosen}.values()]
    with mistakes():
        return read_all_defects(chosen), chosen


def read_accepted(files: Sequence[Path]) -> list[Acceptance]:
    """What the user has accepted in files. Raises ``click.ClickException``, also for a runtime that does not exist."""
    with mistakes():
        accepted = defect_file.read_accepted([each for each in files if each != NO_DEFECTS])
    names = {*RUNTIMES, *TOOLS, *(runtime.distribution for runtime in RUNTIMES.values()), "python", "command"}
    unknown = [
        f"{entry.place}: unknown runtime '{entry.when.runtime}'{nearest(entry.when.name, names)}"
        for entry in accepted
        if entry.when.exact is None and entry.when.name not in names
    ]
    if unknown:
        raise Mistakes(unknown)
    return accepted


def plan_of(
    corpus: Corpus, cases: Collection[Case], targets: Sequence[TargetName], known: Sequence[Defect] | None = None, *,
    explains: bool = True, **others: Any,
) -> RunPlan:  # fmt: skip
    """A plan with the settings of every run, and with the ``known`` defects; None: those of the corpus.

    ``explains``: the defects that come with the tool explain what none of them expects. Raises :class:`Mistakes`.
    """
    with mistakes():
        names = frozenset[str]().union(*(target.selected_by for target in targets))
        defects = read_all_defects(files_naming(corpus.known_files, names)) if known is None else known
        own = [read_versions(root) for root in corpus.roots]
    is_other = shipped_root().resolve() not in {root.resolve() for root in corpus.roots}
    # Where no tested version shows a defect, nobody may have looked for it.
    versions = {defect.id: each.summary(defect) for defect in defects for each in own if each.showing(defect)}
    return RunPlan(
        corpus, cases, targets, defects, seconds=options.setting("timeout"), memory=options.memory_in_bytes(),
        versions=versions, explains=explains and is_other, command=CommandLine(*command_line()), **others,
    )  # fmt: skip


@contextlib.contextmanager
def recorded(
    execute: Callable[[Callable[[Line], None], Progress], object], output: Output, total: int | None,
    interrupted: Callable[[Record], None] | None = None, conclude: Callable[[Record], Conclusion] | None = None,
) -> Iterator[Record]:  # fmt: skip
    """The record of what ``execute`` writes, which can be read meanwhile; an interruption ends the command.

    ``interrupted`` gets what there is of the record then; ``conclude`` decides on the complete record, before its last line is
    written with what it returns. Raises :class:`Incomplete`.
    """
    with Recorder(output.output) as recorder:

        def write(line: Line) -> None:
            if conclude is not None and isinstance(line, RunFooter) and recorder.record is not None:
                conclusion = conclude(replace(recorder.record, footer=line))
                line = msgspec.structs.replace(line, conclusion=conclusion)
            recorder.write(line)

        try:
            with progress_bar("cases", total, quiet=output.quiet) as progress:
                execute(write, progress)
        except PoolLost as lost:
            raise options.Incomplete(str(lost)) from lost
        except KeyboardInterrupt:
            if recorder.record is None:
                raise
            where = f"; they are in {output.output}" if output.output else ""
            options.echo(f"interrupted after {plural(len(recorder.record.executions), 'execution')}{where}", err=True)
            if interrupted is not None:
                interrupted(recorder.record)
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
        assert recorder.record is not None
        yield recorder.record


def run_cases(
    corpus: Corpus, cases: Collection[Case], targets: Sequence[TargetName], *, quiet: bool = True,
    variants: Collection[Variant] = DEFAULT_VARIANTS,
) -> Record:  # fmt: skip
    """Run cases of a corpus on targets, with no known defects; the record, in memory."""
    plan = plan_of(corpus, cases, targets, (), explains=False, variants=variants)
    with recorded(lambda write, progress: run(plan, write, progress), Output(quiet=quiet), len(cases)) as record:
        return replace(record, executions=tuple(record.executions))


def read_valid(files: CaseFiles) -> Corpus:
    """Read case files. Raises :class:`Mistakes`, also for a case that contradicts the reference."""
    # What was imported stays: to look through it again and again takes longer than a worker has requests for.
    gc.freeze()
    try:
        return files.read(check=True)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("before all cases were read; nothing was recorded") from error


def check_outputs(targets: Iterable[TargetName], read: Collection[Case], selected: Iterable[Case]) -> None:
    """Check the files of outputs among the targets, whose cases were ``read``. Raises ``click.ClickException``."""
    for target in targets:
        if target.outputs is None:
            continue
        try:
            with mistakes():
                results = read_results(Path(target.outputs))
                results.check(read)
        except OSError as error:
            raise click.UsageError(f"cannot read {target.outputs}: {error.strerror}") from error
        if left_out := len(results.by_case.keys() - {case.id for case in selected}):
            click.echo(f"left out: {left_out} cases with a result, which -k and --spec do not select", err=True)


def variants_named(case: Case, name: str | None) -> list[Variant]:
    """The variant of this name that a case is executed in by default, or all of them. Raises ``click.UsageError``."""
    variants = list(case.variants())
    if selected := [variant for variant in variants if name in (None, variant.name)]:
        return selected
    raise click.UsageError(f"{case.id} has no variant '{name}'; it has {', '.join(each.name for each in variants)}")
