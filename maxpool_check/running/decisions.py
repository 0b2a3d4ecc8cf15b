"""Decisions during a run, in the order of the cases: which divergences are known, and which targets are given up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, Ledger, is_glob
from maxpool_check.results.record import COMPARED, FAULTS, Execution, KnownEntry, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variant_named, variants_of
from maxpool_check.running.case_run import executions, not_run
from maxpool_check.running.executors import CaseResults, FailureBudget


class Decisions:
    """Applies known divergences to the executions of a run, and gives up targets that die too often.

    ``is_complete``: whether the run contains every case that a pattern of a known divergence can name.
    """

    def __init__(
        self,
        targets: Sequence[TargetDescription],
        known: Sequence[KnownDivergence],
        is_complete: Callable[[str], bool],
        variants: Collection[Variant] = DEFAULT_VARIANTS,
        today: date | None = None,
    ) -> None:
        self.given_up: dict[str, str] = {}
        """Why targets are given up, by name."""
        self._variants, self._is_complete = variants, is_complete
        self._budgets = {target.name: FailureBudget() for target in targets}
        day = today or date.today()
        self._ledgers = {
            target.name: Ledger([entry for entry in known if covers(entry, target)], day) for target in targets
        }

    def take(self, case: Case, results: CaseResults) -> Iterator[Execution]:
        """The executions of the next case with their status; errors for a target that is given up."""
        for name, ledger in self._ledgers.items():
            budget, lost = self._budgets[name], results[name].lost
            lines: Sequence[Execution] = results[name].executions
            if budget.given_up is not None:
                applicable = variants_of(case.outputs, case.specification.domain, self._variants)
                lines = executions(not_run(case, name, applicable, budget.given_up))
            for execution in lines:
                yield apply_known(execution, ledger)
                budget.count(execution, lost)
            if budget.given_up is not None:
                self.given_up[name] = budget.given_up

    def known_entries(self, *, ended_early: bool) -> list[KnownEntry]:
        """The status of each known divergence, by target; none is stale if the run ended early."""
        entries = []
        for target, ledger in self._ledgers.items():
            complete = {
                pattern: not ended_early and self._is_complete(pattern) and target not in self.given_up
                for entry in ledger.entries
                for pattern in entry.cases
            }
            for entry, status, why in ledger.audit(complete):
                entries.append(
                    KnownEntry(
                        id=entry.id,
                        target=target,
                        status=status,
                        kinds=tuple(sorted(kind.value for kind in entry.kinds)),
                        reason=entry.reason,
                        issue=entry.issue,
                        message=why,
                    )
                )
        return entries


def apply_known(execution: Execution, ledger: Ledger) -> Execution:
    """An execution with its status by the known divergences."""
    variant = variant_named(execution.variant)
    if execution.verdict in COMPARED:
        ledger.compared(execution.case, variant)
    if execution.verdict not in FAULTS:
        return execution
    known = ledger.known(execution.case, variant, map(DivergenceKind, execution.kinds))
    status = "expected" if known else "changed" if ledger.others(execution.case, variant) else "new"
    return msgspec.structs.replace(execution, known=known.id if known else None, status=status)


def covers(entry: KnownDivergence, target: TargetDescription) -> bool:
    """Whether an entry is about a target."""
    return entry.when.covers(target.distribution, target.version, target.provider)


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
