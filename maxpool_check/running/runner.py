"""A run: what came of its cases, in their order, held to what is known; when a target is given up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, Ledger, is_glob
from maxpool_check.results import record
from maxpool_check.results.outcomes import Failed
from maxpool_check.results.record import COMPARED, FAULTS, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variant_named, variants_of
from maxpool_check.running.asker import Answer, Patience, judged, meaning_of
from maxpool_check.running.execution import Asked
from maxpool_check.targets.dialogue import Reply


class Run:
    """One run: its executions as they come, then how the known divergences fared and what went wrong.

    ``known`` are all entries; ``complete`` tells whether a pattern of theirs can be held to this run, that is, whether
    every case it could name is asked. ``wanted`` are the variants to ask of each case, as far as it has them.
    """

    def __init__(
        self,
        targets: Sequence[TargetDescription],
        known: Sequence[KnownDivergence],
        complete: Callable[[str], bool],
        today: date | None = None,
        wanted: Collection[Variant] = DEFAULT_VARIANTS,
    ) -> None:
        self.errors: list[str] = []
        self._wanted, self._complete = wanted, complete
        self._patience = {target.name: Patience() for target in targets}
        day = today or date.today()
        self._ledgers = {
            target.name: Ledger([entry for entry in known if covers(entry, target)], day) for target in targets
        }

    @property
    def given_up(self) -> frozenset[str]:
        """The targets that are not asked any more."""
        return frozenset(name for name, patience in self._patience.items() if patience.lost is not None)

    def executions(self, cases: Iterable[Case], answers: Iterable[Mapping[str, Answer]]) -> Iterator[record.Execution]:
        """The lines, case by case and target by target; ``answers`` are those to the cases, in their order.

        A target is given up by the order of the cases: what else was already asked of it does not change the result.
        """
        for case, answer in zip(cases, answers, strict=True):
            for name, ledger in self._ledgers.items():
                patience = self._patience[name]
                lines: Iterable[record.Execution] = answer[name].lines
                if patience.lost is not None:
                    lines = self._not_asked(case, name, patience.lost)
                for line in lines:
                    yield apply_known(line, ledger)
                    self._count(name, line, final=line.variant in answer[name].final)

    def known(self, ended_early: bool) -> list[record.KnownEntry]:
        """How each entry fared, by target; none can be called repaired if the run ended early."""
        entries = []
        for target, ledger in self._ledgers.items():
            whole = {
                pattern: not ended_early and self._complete(pattern) and target not in self.given_up
                for entry in ledger.entries
                for pattern in entry.cases
            }
            for entry, status, why in ledger.audit(whole):
                entries.append(
                    record.KnownEntry(
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

    def _not_asked(self, case: Case, name: str, lost: str) -> list[record.Execution]:
        why = Failed(f"not asked: the target was given up ({lost})")
        asked = variants_of(case.outputs, case.specification.domain, self._wanted)
        return judged(Asked(case, name, meaning_of(case), {variant: Reply(why) for variant in asked}))

    def _count(self, name: str, line: record.Execution, *, final: bool) -> None:
        patience = self._patience[name]
        if patience.lost is None:
            patience.count(line, final=final)
            if patience.lost is not None:
                self.errors.append(f"{name} was given up: {patience.lost}")


def apply_known(line: record.Execution, ledger: Ledger) -> record.Execution:
    """A line with what the known divergences say of it."""
    variant, verdict = variant_named(line.variant), Verdict(line.verdict)
    if verdict in COMPARED:
        ledger.compared(line.case, variant)
    if verdict not in FAULTS:
        return line
    known = ledger.known(line.case, variant, map(DivergenceKind, line.kinds))
    status = "expected" if known else "changed" if ledger.others(line.case, variant) else "new"
    return msgspec.structs.replace(line, known=known.id if known else None, status=status)


def covers(entry: KnownDivergence, target: TargetDescription) -> bool:
    """Whether an entry is about a target."""
    return entry.when.covers(target.distribution, target.version, target.provider)


def decidable(cases: Sequence[Case], asked: Sequence[Case], whole: bool) -> Callable[[str], bool]:
    """Whether a pattern of a known divergence can be held to a run over ``asked``, picked from ``cases``.

    It can if at least one of the cases it names is there, none was left out by a selection, and no other file could
    hold more: all were read, or the pattern itself names one file.
    """
    ids = {case.id for case in asked}
    known = {case.id for case in cases}

    def complete(pattern: str) -> bool:
        if is_glob(pattern):
            named = [case.id for case in cases if fnmatchcase(case.id, pattern)]
        else:
            named = [pattern] if pattern in known else []
        one_file = not is_glob(pattern.partition(":")[0])
        return bool(named) and (whole or one_file) and all(name in ids for name in named)

    return complete
