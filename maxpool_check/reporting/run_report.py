"""What every report of a run has: its faults, its numbers by group and severity, its result in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from maxpool_check.comparing.gate import Decision
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault, by_size, faults
from maxpool_check.results.details import ExecutedPart, KitSummary
from maxpool_check.results.record import (
    COMPARED,
    GIVEN_UP,
    Execution,
    ExitCode,
    KnownEntry,
    KnownStatus,
    Record,
    Status,
    Verdict,
)
from maxpool_check.results.result import Result
from maxpool_check.words import plural

_OUTSIDE = (Verdict.UNDEFINED, Verdict.UNKNOWN, Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED)
"""The verdicts that compare nothing with a document."""


@dataclass(frozen=True)
class Failure:
    """Executions that failed on a target with the same message, which says nothing about its MaxPool: the smallest of them first."""

    message: str
    executions: Sequence[Execution]

    @property
    def example(self) -> Execution:
        """The one with the smallest input."""
        return self.executions[0]


@dataclass(frozen=True)
class RunReport:
    """A record, with the exit code of the run that wrote it.

    ``kits`` say which mistakes a run of a kit would have noticed on each target. ``parts`` are of the kernels that did not execute all
    cases.
    """

    record: Record
    exit_code: int
    kits: tuple[KitSummary, ...] = ()
    parts: tuple[ExecutedPart, ...] = ()

    @cached_property
    def faults(self) -> list[Fault]:
        """The faults, grouped by their cause."""
        return faults(self.record)

    @cached_property
    def failures(self) -> list[Failure]:
        """The executions that failed, the most frequent message of each target first; at last those that were not executed."""
        alike: dict[tuple[str, str], list[Execution]] = {}
        for each in self.record.executions:
            if each.verdict is Verdict.ERROR:
                alike.setdefault((each.target, each.message), []).append(each)
        found = [Failure(message, sorted(own, key=by_size)) for (_, message), own in alike.items()]
        return sorted(found, key=lambda each: (each.message.startswith(GIVEN_UP), -len(each.executions)))

    @property
    def unexpected(self) -> list[Fault]:
        """The faults that fail the run."""
        return [fault for fault in self.faults if fault.is_unexpected]

    @property
    def special(self) -> list[Fault]:
        """What only special values show in a user's model, where nobody has said that they reach it."""
        return [fault for fault in self.faults if fault.status == Status.SPECIAL]

    @property
    def outside(self) -> list[Fault]:
        """What a node of a user's model shows outside of it, and not in it."""
        return [fault for fault in self.faults if fault.status == Status.OUTSIDE]

    @cached_property
    def counts(self) -> Mapping[str, Mapping[Verdict, int]]:
        """The number of executions by target and verdict, every target of the header and every verdict included."""
        counts = {target.name: dict.fromkeys(Verdict, 0) for target in self.record.header.targets}
        for execution in self.record.executions:
            counts.setdefault(execution.target, dict.fromkeys(Verdict, 0))[execution.verdict] += 1
        return counts

    @cached_property
    def totals(self) -> dict[Verdict, int]:
        """The number of executions by verdict."""
        return {verdict: sum(counts[verdict] for counts in self.counts.values()) for verdict in Verdict}

    @property
    def compared(self) -> int:
        """The number of executions that were compared with a document."""
        return sum(count for verdict, count in self.totals.items() if verdict in COMPARED)

    @property
    def tested(self) -> str:
        """What was executed, in words: ``4 cases in 8 executions``, ``nothing of 4 cases``."""
        cases, executions = plural(self.record.header.cases, "case"), len(self.record.executions)
        if not executions:
            return f"nothing of {cases}"
        stopped = f"{plural(self.done, 'case')} of {self.record.header.cases}" if self.left else cases
        why = ", until the first that shows a fault or an error" if self.left else ""
        return f"{stopped} in {plural(executions, 'execution')}{why}"

    @cached_property
    def done(self) -> int:
        """The number of cases that were executed."""
        return len({each.case for each in self.record.executions})

    @property
    def left(self) -> int:
        """How many cases a run did not come to that stops at the first fault."""
        return self.record.header.cases - self.done if self.record.header.effective_settings.stops else 0

    @property
    def balance(self) -> str:
        """How many of the compared executions conform, in words."""
        conforming = self.totals[Verdict.CONFORMS]
        verb = "conforms" if conforming == 1 else "conform"
        return f"{conforming} of {plural(self.compared, 'comparison')} {verb}"

    @property
    def apart(self) -> list[str]:
        """How many limits the runtime has, and how many executions were not compared, in words."""
        limits = sum(fault.severity is Severity.LIMIT and not fault.is_unexpected for fault in self.faults)
        others = (verdict for verdict in _OUTSIDE if self.totals[verdict])
        numbers = [f"{self.totals[verdict]} {verdict.value.replace('-', ' ')}" for verdict in others]
        return [*([plural(limits, "limit")] if limits else []), *numbers]

    @property
    def accepted(self) -> list[Fault]:
        """The faults that do not fail the run, without limits: the worst first."""
        found = [each for each in self.faults if not each.is_unexpected and each.severity is not Severity.LIMIT]
        return sorted(found, key=lambda each: (each.severity.rank, -len(each.cases)))

    @property
    def repaired(self) -> str:
        """``2 of them repaired in 1.29.0: upgrade``: how many known defects newer releases do not have; empty if there are none."""
        known = [fault.defect for fault in self.accepted if fault.is_expected]
        fixed = [defect.fixed for defect in known if defect is not None and defect.fixed]
        when = f"in {fixed[0]}" if len(set(fixed)) == 1 else "since"
        return f"{len(fixed)} of them repaired {when}: upgrade" if fixed else ""

    @property
    def counted(self) -> list[str]:
        """What does not fail the run, in words: known defects, ``3 on special values alone``, ``2 inconsistencies``."""
        known = sum(fault.is_expected for fault in self.accepted)
        inconsistent = sum(each.is_inconsistency for each in self.accepted if not each.is_expected)
        words = [f"{known} known" if known else "", self.repaired]
        words += [f"{len(self.special)} on special values alone" if self.special else ""]
        words += [f"{len(self.outside)} outside the model alone" if self.outside else ""]
        words += [plural(inconsistent, "inconsistency", "inconsistencies") if inconsistent else ""]
        return list(filter(None, words))

    @property
    def known(self) -> tuple[KnownEntry, ...]:
        """The known defects of the run."""
        return self.record.footer.known if self.record.footer else ()

    @property
    def outdated(self) -> list[KnownEntry]:
        """The known defects that are stale or expired."""
        return [entry for entry in self.known if entry.status in (KnownStatus.STALE, KnownStatus.EXPIRED)]

    @property
    def seconds(self) -> float:
        """How long the run took, in whole seconds; 0 if it took less or did not end, or if its times are none."""
        header, footer = self.record.header, self.record.footer
        try:
            started, ended = map(
                datetime.fromisoformat, (header.started, footer.finished if footer else header.started)
            )
            return max(0.0, (ended - started).total_seconds())
        except (ValueError, TypeError):
            # Of two times, one has a zone.
            return 0.0

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the run itself."""
        return self.record.footer.errors if self.record.footer else ("the run did not end",)

    @property
    def passed(self) -> bool:
        """Whether the run ended without an unexpected result, whatever known defects it shows."""
        return self.record.footer is not None and self.exit_code == ExitCode.AS_EXPECTED

    @cached_property
    def result(self) -> tuple[str, str]:
        """The result of the run: one or two words, and a sentence without its full stop."""
        if self.record.footer is None:
            return Result.INCOMPLETE.value, "the run did not end"
        if conclusion := self.record.footer.conclusion:
            return conclusion.word, conclusion.reason
        if self.exit_code == ExitCode.NOTHING_COMPARED:
            return Result.NOTHING_COMPARED.value, self._nothing_compared
        if self.exit_code == ExitCode.INCOMPLETE:
            return Result.INCOMPLETE.value, next(iter(self.problems), self._failed).splitlines()[0]
        if self.exit_code == ExitCode.UNEXPECTED:
            return Result.UNEXPECTED.value, self._unexpected
        if self.totals[Verdict.CONFORMS] + self.totals[Verdict.INCONSISTENT] == self.compared:
            return Result.CONFORMS.value, ", ".join(self.counted) or self.balance
        # Wrong values are never a success without a word.
        if any(fault.is_expected for fault in self.faults):
            return Result.DEVIATES_AS_KNOWN.value, ", ".join(self.counted or self.apart[:1])
        label = Result.CONFORMS_ON_FINITE_VALUES if self.special else Result.CONFORMS
        return label.value, ", ".join(self.counted)

    @property
    def _failed(self) -> str:
        """How many executions failed, in words."""
        number = self.totals[Verdict.ERROR]
        return (
            f"{number} of {plural(len(self.record.executions), 'execution')} failed"
            if number
            else "some executions failed"
        )

    @property
    def _nothing_compared(self) -> str:
        """The targets of which it is true, and what the others show."""
        if not self.compared:
            return "no execution could be compared with a document"
        empty = [name for name, counts in self.counts.items() if not any(counts[verdict] for verdict in COMPARED)]
        others = self._unexpected if self.unexpected or self.outdated else self.balance
        return f"no execution on {', '.join(empty)} could be compared with a document; on the others: {others}"

    @property
    def _unexpected(self) -> str:
        """What fails the run, in words."""
        if self.unexpected:
            return f"{len(self.unexpected)} new"
        if self.outdated:
            return f"{plural(len(self.outdated), 'known defect')} to remove or review"
        # A strict run fails on what documents leave open.
        allowed = sum(bool(execution.information) for execution in self.record.executions)
        differences = [f"{plural(allowed, 'difference')} that the documents allow"] if allowed else []
        return ", ".join([*differences, *self.counted])

    @property
    def tone(self) -> str:
        """``good``, ``known`` or ``bad``, as the result is."""
        return "good" if self.result[0] in (Result.CONFORMS, Decision.SAFE) else "known" if self.passed else "bad"
