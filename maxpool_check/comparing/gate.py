"""Whether an upgrade may pass: which changes block it, what they have in common, and SAFE, REVIEW or BLOCK."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from maxpool_check.comparing.transitions import Transition, Transitions
from maxpool_check.judging.accepted import Acceptance
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.defects import worst as worst_severity
from maxpool_check.judging.faults import Fault
from maxpool_check.results.changes import BLOCKING, ONE_SIDED, UNOBSERVABLE, Change
from maxpool_check.results.record import (
    FAULTS,
    Conclusion,
    ExitCode,
    KnownEntry,
    Record,
    RunHeader,
    TargetDescription,
    target_of,
)
from maxpool_check.words import Term, plural


@dataclass(frozen=True)
class Assessed(Transition):
    """A transition with whether it blocks an upgrade; ``accepted`` is the entry by which a user accepts it, so that it does not."""

    blocks: bool = False
    accepted: Acceptance | None = None


@dataclass(frozen=True)
class GatePolicy:
    """What blocks: ``changes``, where the new result is none or of one of ``severities`` (None: any), unless ``accepted``.

    ``today`` is the date by which what is accepted expires.
    """

    changes: Collection[Change] = BLOCKING
    severities: Collection[Severity] | None = None
    accepted: Sequence[Acceptance] = ()
    today: date = date.min

    def assess(self, transition: Transition, head: TargetDescription) -> Assessed:
        """The transition to a target with whether it blocks, and by which entry a user accepts it."""
        change, new, accepted, blocks = transition.change, transition.new, None, False
        is_severe = (
            self.severities is None
            or new is None
            or new.verdict not in FAULTS
            or worst_severity([new]) in self.severities
        )
        if change in self.changes and is_severe:
            kinds = new.kinds if new is not None else ()
            accepting = (
                entry for entry in self.accepted if entry.excuses(change, transition.execution, kinds, head, self.today)
            )
            accepted = next(accepting, None)
            blocks = accepted is None
        return Assessed(change, transition.old, new, transition.faults, blocks, accepted)


@dataclass
class TransitionGroup:
    """Transitions of one change from a fault to a fault; None where there is no fault. Of all but one, the name of the case.

    All of them block, or none; all are accepted by the same author for the same reason, or none. ``sizes`` has the size of each
    case, ``rank`` that of the worst severity.
    """

    smallest: Assessed
    change: Change
    blocks: bool
    accepted: Acceptance | None
    faults: tuple[Fault | None, Fault | None]
    sizes: dict[str, int] = field(default_factory=dict)
    rank: int = len(Severity)

    def add(self, transition: Assessed) -> None:
        """Count a transition like the others."""
        execution, smallest = transition.execution, self.smallest.execution
        if (execution.size, execution.case) < (smallest.size, smallest.case):
            self.smallest = transition
        self.sizes[execution.case] = min(execution.size, self.sizes.get(execution.case, execution.size))
        worst = transition.new if transition.new is not None and transition.new.kinds else transition.old
        if worst is not None and worst.kinds:
            self.rank = min(self.rank, worst_severity([worst]).rank)

    @property
    def kinds(self) -> tuple[tuple[str, ...], ...]:
        """The kinds of the faults before and after."""
        return tuple(() if fault is None else fault.kinds for fault in self.faults)

    @property
    def defects(self) -> tuple[str | None, ...]:
        """The ids of the known defects that name the faults before and after."""
        return tuple(None if fault is None or fault.defect is None else fault.defect.id for fault in self.faults)

    @property
    def cases(self) -> list[str]:
        """The cases, once each, the smallest first."""
        return sorted(self.sizes, key=lambda case: (self.sizes[case], case))


class Decision(Term):
    """The decision of a gate, or on an upgrade of a model."""

    SAFE = "SAFE", "no observable change: the same verdicts, the same bits"
    REVIEW = "REVIEW", "changes that do not block, such as `fixed`: your product may rely on the wrong value"
    BLOCK = "BLOCK", "something that was right is wrong, refused, or crashes"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a command that ends with it."""
        return ExitCode.UNEXPECTED if self is Decision.BLOCK else ExitCode.AS_EXPECTED


@dataclass(frozen=True)
class ChangeSummary:
    """The number of executions by change, every change included; the observable changes in groups, the worst first; the decision.

    ``blocking`` and ``accepted`` count those that block, and those that the user has accepted. ``wrong_in_both`` counts the
    executions that are the same on both targets, and wrong; ``unchanged`` are these in groups. ``used`` are the entries that
    accept any.
    """

    counts: Mapping[Change, int]
    blocking: Mapping[Change, int]
    accepted: Mapping[Change, int]
    wrong_in_both: int
    groups: Sequence[TransitionGroup]
    unchanged: Sequence[TransitionGroup]
    used: Collection[Acceptance]

    @property
    def compared(self) -> int:
        """The number of executions on both sides: what only one side executed is no comparison."""
        return sum(self.counts.values()) - sum(self.counts[change] for change in ONE_SIDED)

    @property
    def decision(self) -> Decision:
        """The decision on transitions that were assessed."""
        is_changed = any(self.counts[change] for change in Change if change not in UNOBSERVABLE)
        return Decision.BLOCK if self.blocking else Decision.REVIEW if is_changed else Decision.SAFE

    @property
    def reason(self) -> str:
        """The numbers of the changes that can be observed, those that block first."""
        observed = [change for change in Change if self.counts[change] and change not in UNOBSERVABLE]
        if not observed:
            return f"no observable change in {plural(self.compared, 'execution')}"
        parts = []
        for change in sorted(observed, key=lambda change: not self.blocking.get(change)):
            count, accepted = self.counts[change], self.accepted.get(change, 0)
            note = " (accepted)" if accepted == count else f" ({accepted} accepted)" if accepted else ""
            parts.append(f"{count} {change.value}{note}")
        total = sum(self.counts.values()) - self.counts[Change.NOT_COMPARED]
        return f"{', '.join(parts)} of {plural(total, 'execution')}"

    def __str__(self) -> str:
        return f"{self.decision.value} {self.reason}"


def summarize(changes: Iterable[Assessed]) -> ChangeSummary:
    """Count and group transitions.

    Groups that block come first; of those of a change, those of the worst results, then those of most cases.
    """
    counts, blocking, accepted = (Counter[Change]() for _ in range(3))
    used: dict[Acceptance, None] = {}
    alike: dict[tuple[Any, ...], TransitionGroup] = {}
    wrong_in_both = 0
    for each in changes:
        counts[each.change] += 1
        blocking[each.change] += each.blocks
        if each.accepted is not None:
            accepted[each.change] += 1
            used[each.accepted] = None
        is_wrong_in_both = each.change is Change.SAME and each.execution.verdict in FAULTS
        wrong_in_both += is_wrong_in_both
        if each.change not in UNOBSERVABLE or is_wrong_in_both:
            key = (each.change, each.blocks, str(each.accepted or ""), *each.faults)
            alike.setdefault(key, TransitionGroup(each, each.change, each.blocks, each.accepted, each.faults)).add(each)
    order = list(Change)
    groups = sorted(
        alike.values(),
        key=lambda group: (not group.blocks, order.index(group.change), group.rank, -len(group.sizes), group.kinds),
    )
    changed = [group for group in groups if group.change is not Change.SAME]
    all_counts = {change: counts[change] for change in Change}
    return ChangeSummary(all_counts, +blocking, accepted, wrong_in_both, changed, groups[len(changed) :], used)


@dataclass(frozen=True)
class TargetComparison:
    """What has changed from one target to another.

    ``policy`` decides which of the ``unassessed`` transitions block. ``failures`` say why the comparison is incomplete;
    ``unfinished`` says what the runs did not execute, which makes it incomplete unless a change blocks. ``left_out`` names the
    cases that could not be compared. ``defects`` are the known defects of both targets by id, ``headers`` are the headers of both
    records.
    """

    old: TargetDescription
    new: TargetDescription
    headers: tuple[RunHeader, RunHeader]
    unassessed: Iterable[Transition]
    policy: GatePolicy = field(default_factory=GatePolicy)
    failures: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    left_out: Sequence[str] = ()
    defects: Mapping[str, KnownEntry] = field(default_factory=dict)

    @property
    def transitions(self) -> Iterator[Assessed]:
        """The transitions with whether they block."""
        return (self.policy.assess(each, self.new) for each in self.unassessed)

    @cached_property
    def summary(self) -> ChangeSummary:
        """The changes, counted and in groups."""
        return summarize(self.transitions)

    @cached_property
    def unused(self) -> list[str]:
        """What the user has accepted and is of no use: entries that have expired, or that nothing shows any more."""
        cases = {each.execution.case for each in self.unassessed} if self.policy.accepted else set[str]()
        messages = []
        for each in (entry for entry in self.policy.accepted if entry.is_about(self.new)):
            if each.change is None:
                continue
            what = f"{each.change.value} of {', '.join(each.cases[:3])}{', ...' if len(each.cases) > 3 else ''}"
            if each.expires < self.policy.today:
                messages.append(f"acceptance expired on {each.expires}: {what}: {each.reason} ({each.author})")
            elif each not in self.summary.used and not cases.isdisjoint(each.cases):
                messages.append(f"accepted, but no longer so; remove the entry: {what}: {each.reason} ({each.author})")
        return messages

    @property
    def tools(self) -> list[str]:
        """What to know if the records are of different versions of the tool."""
        old, new = (
            f"{header.tool} (SHA-256 {header.tool_files.sha256[:16]})" if header.tool_files else header.tool
            for header in self.headers
        )
        return [f"the records are of different versions of maxpool-check: {old} and {new}"] if old != new else []

    @property
    def move(self) -> str:
        """What moves to another processor, as :meth:`~TargetDescription.move_to` says it; empty for an upgrade."""
        return self.old.move_to(self.new)

    @property
    def labels(self) -> tuple[str, str]:
        """What the two targets are to each other: old and new, or those of a move."""
        return ("from", "to") if self.move else ("old", "new")

    @cached_property
    def errors(self) -> Sequence[str]:
        """Why the comparison is incomplete. A change that blocks needs no complete run."""
        blocks = self.summary.compared and self.summary.decision is Decision.BLOCK
        return self.failures or (() if blocks else self.unfinished)

    @property
    def decision(self) -> Decision | None:
        """The decision; None if the comparison is incomplete or empty."""
        return self.summary.decision if self.summary.compared and not self.errors else None

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of this comparison alone."""
        if self.errors:
            return ExitCode.INCOMPLETE
        if not self.summary.compared:
            return ExitCode.NOTHING_COMPARED
        return ExitCode.UNEXPECTED if self.summary.decision is Decision.BLOCK else ExitCode.AS_EXPECTED

    @property
    def conclusion(self) -> Conclusion:
        """The decision and its reason, or why there is none."""
        if self.errors:
            return Conclusion(self.exit_code, self.errors[0].splitlines()[0])
        if not self.summary.compared:
            return Conclusion(self.exit_code, "no execution was judged on both sides")
        moved = f"moving {self.move}: " if self.move else ""
        left_out = f"; {plural(len(self.left_out), 'case')} left out" if self.left_out else ""
        return Conclusion(self.exit_code, f"{moved}{self.summary.reason}{left_out}", self.summary.decision.value)

    def __str__(self) -> str:
        return str(self.conclusion)


_SEVERITY = (ExitCode.AS_EXPECTED, ExitCode.UNEXPECTED, ExitCode.NOTHING_COMPARED, ExitCode.INCOMPLETE)


def worst(comparisons: Sequence[TargetComparison]) -> TargetComparison:
    """The comparison that decides on all of them: incomplete, then empty, then by the decision."""
    decisions = list(Decision)
    return max(comparisons, key=lambda each: (_SEVERITY.index(each.exit_code), decisions.index(each.summary.decision)))


def _concerns(error: str, record: Record, name: str) -> bool:
    """Whether an error of a run concerns a target: not if it is about another one, or about one that did not start."""
    target = target_of(error, [each.name for each in record.header.targets])
    return target == name or (target is None and " cannot be started" not in error.partition("\n")[0])


def compare_targets(
    old: Record, new: Record, names: tuple[str, str], policy: GatePolicy | None = None, **others: Any
) -> TargetComparison:
    """Compare a target of one record with a target of another; ``others`` are of :class:`Transitions`.

    Raises :class:`Incomparable`.
    """
    transitions = Transitions(old, new, names, **others)
    failures: list[str] = []
    unfinished: list[str] = []
    entries: list[KnownEntry] = []
    sides = zip(("old", "new"), (old, new), names, transitions.failed, transitions.case_counts, strict=True)
    for label, record, name, failed, count in sides:
        entries += record.footer.known if record.footer is not None else ()
        if record.footer is None:
            failures.append(f"the {label} record is incomplete: its run did not end")
            continue
        if record.mistakes:
            failures.append(f"no run writes the {label} record: {record.mistakes[0]}")
        if failed:
            failures.append(f"some executions failed on {name}; the {label} record has the errors")
        unfinished += (error for error in record.footer.errors if _concerns(error, record, name))
        if record.footer.conclusion and record.footer.conclusion.exit_code is ExitCode.INCOMPLETE:
            unfinished.append(record.footer.conclusion.reason)
        if count < record.header.cases:
            unfinished.append(f"the {label} record has {count} of {plural(record.header.cases, 'case')} on {name}")
    before, after = (
        next(target for target in record.header.targets if target.name == name)
        for record, name in zip((old, new), names, strict=True)
    )
    return TargetComparison(
        before,
        after,
        headers=(old.header, new.header),
        unassessed=transitions,
        policy=policy or GatePolicy(),
        failures=failures,
        unfinished=list(dict.fromkeys(unfinished)),
        left_out=transitions.left_out,
        defects={entry.id: entry for entry in entries},
    )
