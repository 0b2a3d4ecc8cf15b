"""What known defects make of the executions of a run: their status, and that of each defect."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, defect_files, files_naming, shipped_root
from maxpool_check.corpus.conditions import by_conditions, met_by, shown_by
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import VersionsShown, read_versions
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import WRONG, Defect, ExpectedDivergence, Severity, is_glob
from maxpool_check.judging.ledger import Ledger
from maxpool_check.results.details import ReferenceAgreement
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    REPORTED,
    Execution,
    KnownEntry,
    KnownStatus,
    TargetDescription,
)
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variant_named
from maxpool_check.running.executors import CaseResults
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.transcript import Transcript


@dataclass(frozen=True)
class RunPlan:
    """The cases of a corpus to run, the targets, and their known defects.

    ``seconds`` is the time limit of one execution, ``memory`` limits a worker, in bytes. ``jobs`` is the number of
    processes on this machine; ``dask`` is the address of a scheduler whose workers are used instead. ``exit_first`` ends
    the run at the first unexpected verdict; ``strict`` counts differences that a document allows as unexpected.
    ``tracebacks``: those of exceptions in the tool itself are recorded. ``versions`` says which versions show a known
    defect, by its id. ``explains``: the defects that come with the tool explain what none of ``known`` expects, and excuse nothing.
    ``transcript`` gets the conversations with the targets, which then run in this process. ``command`` are the words of
    the command line to record; those of the process if there are none. ``references`` is the result of the comparison
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
    exit_first: bool = False
    strict: bool = False
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None
    tracebacks: bool = False
    versions: Mapping[str, VersionsShown] = field(default_factory=dict)
    explains: bool = False
    transcript: Transcript | None = None
    command: Sequence[str] = ()
    references: ReferenceAgreement | None = None


class Decisions:
    """Applies known defects to the executions of a run."""

    def __init__(self, plan: RunPlan, targets: Sequence[TargetDescription], today: date) -> None:
        """``today`` decides which defects are expired."""
        self._tracebacks, self._versions, self._explains = plan.tracebacks, dict(plan.versions), plan.explains
        self._targets = {target.name: target for target in targets}
        self._explaining: dict[tuple[str, str], Defect] = {}
        self._corpus, self._cases = plan.corpus, plan.cases
        self._defects = {defect.id: defect for defect in plan.known}
        # Those of other targets expect nothing here.
        about = [
            defect
            for defect in plan.known
            if any(each.covers(target) for each in defect.expected for target in targets)
        ]
        expected = [entry for defect in about for entry in defect.expected]
        self._conditional = by_conditions(about)
        self._ledgers = {
            target.name: Ledger(
                [entry for entry in expected if entry.covers(target)],
                today,
                target.version,
                target.architecture,
                self._count,
            )
            for target in targets
        }

    def take(self, case: Case, results: CaseResults) -> Iterator[Execution]:
        """The executions of a case with their status."""
        met = met_by(_features(case), self._conditional) if self._conditional else ()
        for name, ledger in self._ledgers.items():
            ledger.meets(case.id, met)
            for execution in results[name].executions:
                shown = execution if self._tracebacks else msgspec.structs.replace(execution, traceback="")
                yield self._reviewed(self._explained(case, apply_known(shown, ledger)))

    @cached_property
    def _catalogue(self) -> Sequence[Defect]:
        """The defects that come with the tool, which are read when one may explain something."""
        names = frozenset[str]().union(*(parse(name).selected_by for name in self._targets))
        files = files_naming(defect_files(shipped_root()), names)
        defects, shipped = read_all_defects(files), read_versions(shipped_root())
        spans = {defect.id: shipped.summary(defect) for defect in defects if shipped.showing(defect)}
        self._versions = {**spans, **self._versions}
        return defects

    def _explained(self, case: Case, execution: Execution) -> Execution:
        """The execution with the defect of the catalogue that explains it, if no known defect expects it."""
        if not self._explains or execution.known is not None or execution.verdict not in REPORTED:
            return execution
        target, variant = self._targets[execution.target], variant_named(execution.variant)
        defect = shown_by(self._catalogue, target, _features(case), variant, execution)
        if defect is None:
            return execution
        self._explaining[execution.target, defect.id] = defect
        return msgspec.structs.replace(execution, known=defect.id)

    def _reviewed(self, execution: Execution) -> Execution:
        """The execution with the severity of its known defect, which was reviewed; the windows tell how wrong outputs are."""
        defect = self._defects.get(execution.known or "") or self._explaining.get(
            (execution.target, execution.known or "")
        )
        if defect is None or {Severity(execution.severity), defect.severity} <= WRONG:
            return execution
        return msgspec.structs.replace(execution, severity=defect.severity.value)

    def known_entries(self, given_up: Collection[str], *, ended_early: bool) -> list[KnownEntry]:
        """The status of each known defect, by target; none is stale if the run ended early, or the target was given up."""
        entries = [
            known_entry(
                defect, self._targets[target], defect.expected, KnownStatus.NOT_EXPECTED, "expected by no file of this run",
                self._versions.get(defect.id, VersionsShown()),
            )
            for (target, _), defect in self._explaining.items()
        ]  # fmt: skip
        for target, ledger in self._ledgers.items():
            is_over = not ended_early and target not in given_up
            audit = ledger.audit(self._is_complete if is_over else lambda *_: False)
            for name, (status, why) in audit.items():
                versions = self._versions.get(name, VersionsShown())
                described = self._targets[target]
                entries.append(known_entry(self._defects[name], described, ledger.entries, status, why, versions))
        return entries

    def _is_complete(self, entry: ExpectedDivergence, pattern: str) -> bool:
        """Whether the run has all cases that a pattern of an entry, or its conditions, can mean.

        No other file may hold more: all files were read, or the pattern names one file.
        """
        names_one_file = bool(pattern) and not is_glob(pattern.partition(":")[0])
        if self._cases is self._corpus.cases or not (self._corpus.whole or names_one_file):
            return self._corpus.whole or names_one_file
        defect = self._defects[entry.defect]
        others = (case for case in self._corpus.cases if case.id not in self._executed)
        return not any(
            fnmatchcase(case.id, pattern)
            if pattern
            else any(each is entry for each in met_by(Features(case), [defect]))
            for case in others
        )

    def _count(self, entry: ExpectedDivergence) -> int:
        """The number of cases of an entry."""
        return self._counts[id(entry)] if entry.by_conditions else len(entry.cases)

    @cached_property
    def _counts(self) -> Counter[int]:
        return Counter(id(each) for case in self._corpus.cases for each in met_by(Features(case), self._conditional))

    @cached_property
    def _executed(self) -> frozenset[str]:
        return frozenset(case.id for case in self._cases)


@lru_cache(1)
def _features(case: Case) -> Features:
    """The features of a case, whose variants follow each other."""
    return Features(case)


def known_entry(
    defect: Defect,
    target: TargetDescription,
    expected: Iterable[ExpectedDivergence],
    status: KnownStatus,
    why: str,
    versions: VersionsShown,
) -> KnownEntry:
    """What a record says of a defect that was expected of a target."""
    expected = [entry for entry in expected if entry.defect == defect.id]
    kinds = {kind.value for entry in expected for kind in entry.kinds}
    dates = sorted(entry.expires for entry in expected if entry.expires is not None)
    upstream = defect.upstream
    return KnownEntry(
        id=defect.id,
        target=target.name,
        status=status,
        kinds=tuple(sorted(kinds)),
        reason=defect.mechanism,
        title="" if defect.title == defect.mechanism else defect.title,
        severity=defect.severity.value,
        example=defect.example,
        issue=upstream.issue if upstream is not None else None,
        message=why,
        versions=versions.span,
        fixed=versions.fixed,
        remedy=defect.remedy(target.version),
        expires=dates[0].isoformat() if dates else "",
        reviewer=defect.reviewer,
        reviewed=defect.reviewed.isoformat() if defect.reviewed is not None else "",
    )


def apply_known(execution: Execution, ledger: Ledger) -> Execution:
    """An execution with its status by the known defects."""
    variant = variant_named(execution.variant)
    if execution.verdict in COMPARED:
        ledger.compared(execution.case, variant)
    if execution.verdict not in REPORTED:
        return execution
    explanation = ledger.known(execution)
    if explanation.expected is not None:
        return msgspec.structs.replace(execution, known=explanation.expected.defect, status="expected")
    if execution.verdict not in FAULTS:
        return msgspec.structs.replace(execution, status="inconsistent")
    if explanation.parts:
        cells = [cell for cell in execution.cells if cell.kind in explanation.kinds]
        return msgspec.structs.replace(
            execution,
            status="new",
            explained_by=tuple(dict.fromkeys(part.defect for part in explanation.parts)),
            unexplained=tuple(sorted(explanation.kinds)),
            message=str(cells[0]) if cells else execution.message,
        )
    return msgspec.structs.replace(execution, status="changed" if ledger.others(execution.case, variant) else "new")
