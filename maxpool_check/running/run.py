"""A whole run: starts targets, executes cases, and writes every line of the record."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from maxpool_check.corpus.attribution import shown_by
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.conditions import Features, resolved
from maxpool_check.judging.defects import Defect, ExpectedDivergence, is_glob
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.ledger import Ledger
from maxpool_check.judging.naming import Contradictions, Observations, contradictions
from maxpool_check.judging.oracle import Oracle
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    REPORTED,
    Execution,
    KnownEntry,
    KnownStatus,
    Line,
    RunFooter,
    TargetDescription,
)
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variant_named
from maxpool_check.running.case_run import executions, not_run
from maxpool_check.running.executors import (
    CaseResults,
    ExecutionConfig,
    Executor,
    FailureBudget,
    LocalExecutor,
    RemoteExecutor,
)
from maxpool_check.running.pool import PoolLost, pool_of
from maxpool_check.running.run_header import header, now
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.transcript import Transcript


@dataclass(frozen=True)
class RunPlan:
    """The cases of a corpus to run, the targets, and their known defects.

    ``seconds`` is the time limit of one execution, ``memory`` limits a worker, in bytes. ``jobs`` is the number of
    processes on this machine; ``dask`` is the address of a scheduler whose workers are used instead. ``exit_first`` ends
    the run at the first unexpected verdict; ``strict`` counts differences that a document allows as unexpected.
    ``tracebacks``: those of exceptions in the tool itself are recorded. ``versions`` says which versions show a known defect,
    by its id. ``catalogue`` are known defects that explain what none of ``known`` expects, and excuse nothing. ``transcript`` gets the conversations with the targets, which then run in this process. ``command`` are the
    words of the command line to record; those of the process if there are none. ``gives_up``: a target that dies too often
    is given up.
    """

    corpus: Corpus
    cases: Sequence[Case]
    targets: Sequence[TargetName]
    known: Sequence[Defect] = ()
    known_files: Sequence[Path] = ()
    seconds: float = 10.0
    memory: int | None = None
    jobs: int = 1
    exit_first: bool = False
    strict: bool = False
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None
    tracebacks: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    catalogue: Sequence[Defect] = ()
    transcript: Transcript | None = None
    command: Sequence[str] = ()
    gives_up: bool = True


def run(
    plan: RunPlan,
    write: Callable[[Line], None],
    progress: Callable[[int], None] = lambda _: None,
    executor: Executor | None = None,
) -> None:
    """Run the plan and pass each line of its record to ``write``.

    ``progress`` gets the number of finished cases. ``executor`` was started early for this plan. A target that cannot be
    started is an error in the footer. An interruption ends every worker and leaves no footer. Raises :class:`PoolLost`
    before the first line if there are no processes to run in.
    """
    # Without cases no target is started.
    targets = tuple(plan.targets) if plan.cases else ()
    config = ExecutionConfig(targets, plan.seconds, plan.memory, frozenset(plan.variants), plan.transcript)
    with contextlib.ExitStack() as stack:
        running: Executor
        if (executor is None or not plan.cases) and (plan.dask is not None or plan.jobs > 1):
            running = RemoteExecutor(config, stack.enter_context(pool_of(plan.jobs, plan.dask)))
        else:
            running = executor if executor is not None and plan.cases else LocalExecutor(config)
        stack.callback(running.close)
        descriptions = running.descriptions
        write(header(plan.cases, descriptions, plan.known_files, plan.command, plan.corpus))
        decisions = Decisions(plan, descriptions)
        summary, errors, ended_early = RunSummary(), list(running.errors), False
        observations: dict[str, Observations] = defaultdict(Observations)
        results = running.results(plan.cases, decisions.given_up)
        try:
            for number, (case, case_results) in enumerate(zip(plan.cases, results, strict=True), 1):
                for execution in decisions.take(case, case_results):
                    observations[execution.target].add(number - 1, execution)
                    summary.add(execution)
                    write(execution)
                    ended_early = plan.exit_first and execution.unexpected
                    if ended_early:
                        break
                if ended_early:
                    break
                progress(number)
        except PoolLost as lost:
            ended_early = True
            errors.append(str(lost))
    known = decisions.known_entries(ended_early=ended_early)
    errors += [f"{name} was given up: {why}" for name, why in decisions.given_up.items()]
    write(
        RunFooter(
            finished=now(),
            executions=summary.executions,
            summary={target: dict(counts) for target, counts in summary.verdicts.items()},
            known=tuple(known),
            errors=tuple(errors),
            exit_code=summary.exit_code(known, errors, strict=plan.strict),
            contradicted=_contradicted(observations, plan.cases),
        )
    )


def _contradicted(observations: Mapping[str, Observations], cases: Sequence[Case]) -> dict[str, Contradictions]:
    """The candidates for causes that executions contradict, by target."""
    ids = [case.id for case in cases]

    @lru_cache(1)
    def oracle(number: int) -> Oracle | None:
        judge = cases[number].oracle()
        return judge if isinstance(judge, Oracle) else None

    return {target: contradictions(observed, ids, oracle) for target, observed in observations.items()}


class Decisions:
    """Applies known defects to the executions of a run, and gives up targets that die too often."""

    def __init__(self, plan: RunPlan, targets: Sequence[TargetDescription]) -> None:
        self.given_up: dict[str, str] = {}
        """Why targets are given up, by name."""
        self._variants = plan.variants
        self._tracebacks, self._versions = plan.tracebacks, plan.versions
        self._targets, self._catalogue = {target.name: target for target in targets}, plan.catalogue
        self._explaining: dict[tuple[str, str], Defect] = {}
        self._is_complete = completeness(plan.corpus.cases, plan.cases, plan.corpus.whole)
        self._gives_up = plan.gives_up
        self._budgets = {target.name: FailureBudget() for target in targets}
        self._defects = {defect.id: defect for defect in plan.known}
        self._is_whole = plan.corpus.whole
        # Those of other targets need no cases.
        about = [
            defect
            for defect in plan.known
            if any(covers(each, target) for each in defect.expected for target in targets)
        ]
        expected, today = resolved(about, plan.corpus.cases), date.today()
        self._ledgers = {
            target.name: Ledger([entry for entry in expected if covers(entry, target)], today) for target in targets
        }

    def take(self, case: Case, results: CaseResults) -> Iterator[Execution]:
        """The executions of the next case with their status; errors for a target that is given up."""
        for name, ledger in self._ledgers.items():
            budget, lost = self._budgets[name], results[name].lost
            lines: Sequence[Execution] = results[name].executions
            if budget.given_up is not None:
                applicable = case.variants(self._variants)
                lines = executions(not_run(case, name, applicable, budget.given_up))
            for execution in lines:
                shown = execution if self._tracebacks else msgspec.structs.replace(execution, traceback="")
                yield self._explained(case, apply_known(shown, ledger))
                if self._gives_up:
                    budget.count(execution, lost)
            if budget.given_up is not None:
                self.given_up[name] = budget.given_up

    def _explained(self, case: Case, execution: Execution) -> Execution:
        """The execution with the defect of the catalogue that explains it, if no known defect expects it."""
        if not self._catalogue or execution.known is not None or execution.verdict not in REPORTED:
            return execution
        target, variant = self._targets[execution.target], variant_named(execution.variant)
        defect = shown_by(self._catalogue, target, _features(case), variant, execution.kinds, execution.opset)
        if defect is None:
            return execution
        self._explaining[execution.target, defect.id] = defect
        return msgspec.structs.replace(execution, known=defect.id)

    def known_entries(self, *, ended_early: bool) -> list[KnownEntry]:
        """The status of each known defect, by target; none is stale if the run ended early."""
        entries = [
            known_entry(
                defect, target, defect.expected, KnownStatus.NOT_EXPECTED, "expected by no file of this run",
                self._versions.get(defect.id, ""),
            )
            for (target, _), defect in self._explaining.items()
        ]  # fmt: skip
        for target, ledger in self._ledgers.items():
            is_over = not ended_early and target not in self.given_up
            for name, (status, why) in ledger.audit(partial(self._complete, is_over=is_over)).items():
                entries.append(
                    known_entry(self._defects[name], target, ledger.entries, status, why, self._versions.get(name, ""))
                )
        return entries

    def _complete(self, entry: ExpectedDivergence, *, is_over: bool) -> dict[str, bool]:
        """For each pattern of an entry, whether all its cases were executed."""
        is_over = is_over and (self._is_whole or not entry.by_conditions)
        return {pattern: is_over and self._is_complete(pattern) for pattern in entry.cases}


@lru_cache(1)
def _features(case: Case) -> Features:
    """The features of a case, whose variants follow each other."""
    return Features(case)


def known_entry(
    defect: Defect, target: str, expected: Iterable[ExpectedDivergence], status: KnownStatus, why: str, versions: str
) -> KnownEntry:
    """What a record says of a defect that was expected of a target; ``versions`` as of :class:`KnownEntry`."""
    expected = [entry for entry in expected if entry.defect == defect.id]
    kinds = {kind.value for entry in expected for kind in entry.kinds}
    dates = sorted(entry.expires for entry in expected if entry.expires is not None)
    upstream = defect.upstream
    return KnownEntry(
        id=defect.id,
        target=target,
        status=status,
        kinds=tuple(sorted(kinds)),
        reason=defect.mechanism,
        title="" if defect.title == defect.mechanism else defect.title,
        severity=defect.severity.value,
        example=defect.example,
        issue=upstream.issue if upstream is not None else None,
        message=why,
        versions=versions,
        expires=dates[0].isoformat() if dates else "",
    )


def apply_known(execution: Execution, ledger: Ledger) -> Execution:
    """An execution with its status by the known defects."""
    variant = variant_named(execution.variant)
    if execution.verdict in COMPARED:
        ledger.compared(execution.case, variant)
    if execution.verdict not in REPORTED:
        return execution
    known = ledger.known(execution.case, variant, map(DivergenceKind, execution.kinds))
    status = "changed" if ledger.others(execution.case, variant) else "new"
    status = "expected" if known else status if execution.verdict in FAULTS else "inconsistent"
    return msgspec.structs.replace(execution, known=known.defect if known else None, status=status)


def covers(entry: ExpectedDivergence, target: TargetDescription) -> bool:
    """Whether an entry is about a target."""
    return entry.when.covers(target.distribution, target.version, target.provider, target.name)


def completeness(cases: Sequence[Case], selected: Sequence[Case], is_whole: bool) -> Callable[[str], bool]:
    """Whether a run of ``selected`` contains every case that a pattern can name.

    It must contain at least one, and all of ``cases`` that match; no other file may hold more: all files were read
    (``is_whole``), or the pattern names one file.
    """
    selected_ids = {case.id for case in selected}
    ids = {case.id for case in cases}

    def is_complete(pattern: str) -> bool:
        if is_glob(pattern):
            matching = [case.id for case in cases if fnmatchcase(case.id, pattern)]
        else:
            matching = [pattern] if pattern in ids else []
        names_one_file = not is_glob(pattern.partition(":")[0])
        return bool(matching) and (is_whole or names_one_file) and selected_ids.issuperset(matching)

    return is_complete
