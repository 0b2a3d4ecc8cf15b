"""A whole run: starts targets, executes cases, and writes every line of the record."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, defect_files, shipped_root
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.defect_versions import VersionsShown
from maxpool_check.judging.defects import Defect, Effect, is_glob
from maxpool_check.judging.naming import Observations, contradictions
from maxpool_check.judging.target_selector import OUTPUTS
from maxpool_check.results.details import ReferenceAgreement, RunSettings
from maxpool_check.results.outputs import RecordedOutputs, StoredOutput
from maxpool_check.results.record import Execution, KnownEntry, Line, RunFooter, RunHeader, TargetDescription, target_of
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.running.header import OF_PROCESS, CommandLine, digest_of_files, header, now
from maxpool_check.running.labels import Catalogue, Labels
from maxpool_check.running.outputs import NO_RESULT, missing_results
from maxpool_check.running.pool import PoolLost, pool_of
from maxpool_check.running.runner import ExecutionConfig, LocalRunner, RemoteRunner, Runner
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.transcript import Transcript


@dataclass(frozen=True)
class RunPlan:
    """The cases of a corpus to run, the targets, and their known defects.

    ``seconds`` is the time limit of one execution, ``memory`` limits a worker, in bytes. ``jobs`` is the number of
    processes on this machine; ``dask`` is the address of a scheduler whose workers are used instead.
    ``strict`` counts differences that a document allows as unexpected.
    ``stops``: the run ends with the first case that shows a fault or an error.
    ``tracebacks``: those of exceptions in the tool itself are recorded. ``versions`` says which versions show a known
    defect, by its id. ``explains``: the defects that come with the tool explain what none of ``known`` expects, and excuse nothing.
    ``transcript`` gets the conversations with the targets, which then run in this process. ``command`` is
    the command line to record. ``references`` is the result of the comparison
    of both references on the cases, if there was one.
    """

    corpus: Corpus
    cases: Collection[Case]
    targets: Sequence[TargetName]
    known: Sequence[Defect] = ()
    known_files: Sequence[Path] = ()
    seconds: float = 10.0
    memory: int | None = None
    jobs: int = 1
    strict: bool = False
    stops: bool = False
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None
    tracebacks: bool = False
    versions: Mapping[str, VersionsShown] = field(default_factory=dict)
    explains: bool = False
    transcript: Transcript | None = None
    command: CommandLine = OF_PROCESS
    references: ReferenceAgreement | None = None


class Progress(Protocol):
    """Shows how many of a total are done, and what is being done."""

    def __call__(self, done: int, total: int | None = None, doing: str = "", /) -> None:
        """Show it; a total and what is being done stay until they are given again."""


def run(
    plan: RunPlan,
    write: Callable[[Line], None],
    progress: Callable[[int], None] = lambda _: None,
    runner: LocalRunner | None = None,
) -> None:
    """Run the plan and pass each line of its record to ``write``.

    ``progress`` gets the number of finished cases. ``runner`` was started early for this plan, and its workers are ended here;
    who started it closes it. A target that cannot be started is an error in the footer. An interruption ends every worker and
    leaves no footer. Raises :class:`PoolLost` before the first line if there are no processes to run in.
    """
    # Without cases no target is started.
    targets = tuple(plan.targets) if plan.cases else ()
    config = ExecutionConfig(targets, plan.seconds, plan.memory, frozenset(plan.variants), plan.transcript)
    with contextlib.ExitStack() as stack:
        running: Runner
        if (runner is None or not plan.cases) and (plan.dask is not None or plan.jobs > 1):
            pool = stack.enter_context(pool_of(partial(LocalRunner, config, inspects=False), plan.jobs, plan.dask))
            running = RemoteRunner(config, pool)
        else:
            running = runner if runner is not None and plan.cases else LocalRunner(config)
        stack.callback(running.close if runner is None or running is not runner else runner.end)
        settings = RunSettings(
            variants=tuple(variant.name for variant in sorted(plan.variants)),
            strict=plan.strict,
            stops=plan.stops,
            whole=plan.corpus.whole,
            catalogue_sha256=digest_of_files(defect_files(shipped_root())) if plan.explains else None,
        )
        # While the targets start.
        head = header(
            plan.cases, (), plan.known_files, plan.command, plan.corpus, references=plan.references, settings=settings
        )
        head = msgspec.structs.replace(head, targets=tuple(running.descriptions))
        write(head)
        runs = running.runs(plan.cases)
        write_results(plan, head, runs, lambda: running.given_up, write, running.errors, progress)


def write_results(
    plan: RunPlan,
    head: RunHeader,
    runs: Iterable[CaseRun],
    given_up: Callable[[], Mapping[str, str]],
    write: Callable[[Line], None],
    errors: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
    labels: "LabelsOfRun | None" = None,
    summary: RunSummary | None = None,
) -> None:
    """Pass each line of a record behind its header to ``write``, by the runs of each case, in order.

    ``errors`` say why targets did not start, ``given_up`` why others were given up so far, by name. ``labels`` says what is known of
    an execution; None: the defects of the plan say it. ``summary`` has what was written before.
    """
    today = datetime.fromisoformat(head.started).astimezone(timezone.utc).date()
    labels = labels_of(plan, head.targets, today) if labels is None else labels
    summary, ended_early, errors = RunSummary() if summary is None else summary, False, [*errors]
    observations: dict[str, Observations] = defaultdict(Observations)
    missing: dict[str, dict[str, None]] = defaultdict(dict)
    outputs = RecordedOutputs()
    try:
        for number, case_runs in enumerate(_by_case(runs, len(head.targets))):
            for output in chain.from_iterable(outputs.new(each.outputs) for each in case_runs):
                write(output)
            for execution in _labelled(labels, case_runs, keeps_tracebacks=plan.tracebacks):
                observations[execution.target].add(number, execution)
                summary.add(execution)
                if execution.target.startswith(OUTPUTS) and execution.message == NO_RESULT:
                    missing[execution.target][execution.case] = None
                write(execution)
            progress(number + 1)
            if plan.stops and summary.unexpected:
                ended_early = True
                break
    except PoolLost as lost:
        ended_early = True
        errors.append(str(lost))
    completeness = _Completeness(plan, frozenset(given_up()), ended_early)
    known = [*labels.entries(completeness.is_complete)]
    errors += missing_results(missing, len(plan.cases))
    errors += [f"{name} was given up: {why}" for name, why in given_up().items()]
    write(
        RunFooter(
            finished=now(),
            executions=summary.executions,
            summary={target: dict(counts) for target, counts in summary.verdicts.items()},
            known=tuple(known),
            errors=tuple(errors),
            exit_code=summary.exit_code(known, errors, strict=plan.strict),
            contradicted=contradictions(observations, ((case.id, case.oracle) for case in plan.cases)),
            outputs_left_out=len(outputs.left_out),
        )
    )


def _by_case(runs: Iterable[CaseRun], targets: int) -> Iterator[list[CaseRun]]:
    """The runs of one case after the other, each on as many targets."""
    left = iter(runs)
    while of_case := list(islice(left, targets)):
        yield of_case


class LabelsOfRun(Protocol):
    """What is known of the executions of a run, as :class:`Labels` has it."""

    def label(self, case: Case, execution: Execution) -> Execution | None:
        """The execution as its line says it; None: it has none."""

    def entries(self, is_complete: Callable[[str, Effect, str], bool]) -> Iterator[KnownEntry]:
        """What the footer says of defects."""


def labels_of(plan: RunPlan, targets: Sequence[TargetDescription], today: date) -> Labels:
    """The labels of a run, by the defects of its plan."""
    catalogue = Catalogue(targets)

    def versions(defect: Defect) -> VersionsShown:
        is_own = defect.id in plan.versions or not plan.explains
        return plan.versions.get(defect.id, VersionsShown()) if is_own else catalogue.versions.summary(defect)

    return Labels(targets, plan.known, today, lambda: catalogue.defects if plan.explains else (), versions)


def _labelled(labels: LabelsOfRun, runs: Iterable[CaseRun], *, keeps_tracebacks: bool) -> Iterator[Execution]:
    for case_run in runs:
        for execution in case_run.executions:
            plain = execution if keeps_tracebacks else msgspec.structs.replace(execution, traceback="")
            if (labelled := labels.label(case_run.case, plain)) is not None:
                yield labelled


class _Completeness:
    """Whether a run executed all cases of an effect; of a run that ended early, or of a target that was given up, none is known."""

    def __init__(self, plan: RunPlan, given_up: Collection[str], ended_early: bool) -> None:
        self._corpus, self._cases = plan.corpus, plan.cases
        self._defects = {defect.id: defect for defect in plan.known}
        self._given_up, self._ended_early = given_up, ended_early

    def is_complete(self, target: str, effect: Effect, pattern: str) -> bool:
        """Whether the run has all cases that a pattern of an effect, or its conditions, can mean.

        No other file may hold more: all files were read, or the pattern names one file.
        """
        if self._ended_early or target in self._given_up:
            return False
        names_one_file = bool(pattern) and not is_glob(pattern.partition(":")[0])
        if self._cases is self._corpus.cases or not (self._corpus.whole or names_one_file):
            return self._corpus.whole or names_one_file
        defect = self._defects[effect.defect]
        others = (case for case in self._corpus.cases if case.id not in self._executed)
        if pattern:
            return not any(fnmatchcase(case.id, pattern) for case in others)
        return not any(CaseFeatures(case).applies(defect, effect) for case in others)

    @cached_property
    def _executed(self) -> frozenset[str]:
        return frozenset(case.id for case in self._cases)


class TargetRecorders:
    """Writes the lines of a run to one record for each target, as if each target had a run of its own."""

    def __init__(self, recorders: Mapping[str, Callable[[Line], None]]) -> None:
        """``recorders`` are those of all targets, by name: each adds a line."""
        self._recorders = recorders
        self._outputs: dict[str, StoredOutput] = {}
        self._written = {name: set[str]() for name in recorders}

    def write(self, line: Line) -> None:
        """Add one line to the records that it concerns. Raises ``OSError``."""
        if isinstance(line, StoredOutput):
            self._outputs[line.sha256] = line
            return
        if isinstance(line, Execution):
            record, written = self._recorders[line.target], self._written[line.target]
            for sha256 in (self._outputs.keys() & line.digests.values()) - written:
                record(self._outputs[sha256])
                written.add(sha256)
            record(line)
            return
        for name, record in self._recorders.items():
            if isinstance(line, RunHeader):
                targets = tuple(target for target in line.targets if target.name == name)
                record(msgspec.structs.replace(line, targets=targets))
            else:
                record(self._footer(line, name))

    def _footer(self, footer: RunFooter, name: str) -> RunFooter:
        """The footer of a target; errors that name no target concern all. The exit code is that of the run."""
        counts = footer.summary.get(name)
        return msgspec.structs.replace(
            footer,
            executions=sum(counts.values()) if counts else 0,
            summary={name: counts} if counts else {},
            known=tuple(entry for entry in footer.known if entry.target == name),
            errors=tuple(error for error in footer.errors if target_of(error, self._recorders) in (None, name)),
            contradicted={name: footer.contradicted[name]} if name in footer.contradicted else {},
        )
