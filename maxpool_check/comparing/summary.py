"""The changes between two targets in short: how many of each, and groups of those with one cause, made in one pass."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maxpool_check.comparing.acceptance import AcceptedChange
from maxpool_check.comparing.changes import UNOBSERVABLE, Change
from maxpool_check.comparing.transitions import Transition
from maxpool_check.judging.defects import Severity, worst
from maxpool_check.results.record import FAULTS, Execution


@dataclass(frozen=True)
class TransitionGroup:
    """Transitions of one change between the same known defects, or between the same kinds.

    ``smallest`` is the transition to look at; ``cases`` are named once each, the smallest first. ``defects`` are the ids before
    and after; None where no known defect expects the executions. ``rank`` is that of the worst severity, 0 for the worst. All of them block, or none; all are accepted by the
    same author for the same reason, or none.
    """

    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    smallest: Transition
    cases: Sequence[str]
    defects: tuple[str | None, str | None] = (None, None)
    rank: int = 0

    @property
    def change(self) -> Change:
        """The change of all of them."""
        return self.smallest.change

    @property
    def blocks(self) -> bool:
        """Whether they block."""
        return self.smallest.blocks

    @property
    def accepted(self) -> AcceptedChange | None:
        """What the user has accepted."""
        return self.smallest.accepted


@dataclass(frozen=True)
class ChangeSummary:
    """The number of executions by change, every change included, and the observable changes in groups, the worst first.

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
    used: Collection[AcceptedChange]


_Cause = str | tuple[str, ...]
"""The id of a known defect, or kinds."""


@dataclass
class _Alike:
    """What is kept of the transitions of a group: one of them, and the names and sizes of all cases."""

    smallest: Transition
    sizes: dict[str, int] = field(default_factory=dict)
    kinds: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    rank: int = len(Severity)

    def add(self, transition: Transition) -> None:
        execution = transition.execution
        if _order(transition) < _order(self.smallest):
            self.smallest = transition
        self.sizes[execution.case] = min(execution.size, self.sizes.get(execution.case, execution.size))
        shown = [each for each in (transition.new, transition.old) if each is not None and each.kinds]
        self.rank = min(self.rank, worst(shown[:1]).rank if shown else len(Severity))
        for kinds, more in zip(self.kinds, transition.kinds, strict=True):
            kinds.update(more)

    def group(self, causes: tuple[_Cause, _Cause]) -> TransitionGroup:
        cases = sorted(self.sizes, key=lambda case: (self.sizes[case], case))
        before, after = (tuple(sorted(kinds)) for kinds in self.kinds)
        old, new = (cause if isinstance(cause, str) else None for cause in causes)
        return TransitionGroup((before, after), self.smallest, cases, (old, new), self.rank)


def summarize(changes: Iterable[Transition]) -> ChangeSummary:
    """Count and group transitions.

    Groups that block come first; of those of a change, those of the worst results, then those of most cases.
    """
    counts, blocking, accepted = (Counter[Change]() for _ in range(3))
    used: dict[AcceptedChange, None] = {}
    wrong_in_both = 0
    by_cause: dict[tuple[Change, bool, str, _Cause, _Cause], _Alike] = {}
    for each in changes:
        counts[each.change] += 1
        blocking[each.change] += each.blocks
        if each.accepted is not None:
            accepted[each.change] += 1
            used[each.accepted] = None
        is_wrong_in_both = each.change is Change.SAME and each.execution.verdict in FAULTS
        wrong_in_both += is_wrong_in_both
        if each.change not in UNOBSERVABLE or is_wrong_in_both:
            cause = each.change, each.blocks, str(each.accepted or ""), _cause(each.old), _cause(each.new)
            by_cause.setdefault(cause, _Alike(each)).add(each)
    order = list(Change)

    def rank(group: TransitionGroup) -> tuple[Any, ...]:
        return not group.blocks, order.index(group.change), group.rank, -len(group.cases), group.kinds

    groups = sorted((alike.group((old, new)) for (*_, old, new), alike in by_cause.items()), key=rank)
    changed = [group for group in groups if group.change is not Change.SAME]
    return ChangeSummary(
        {change: counts[change] for change in Change}, +blocking, accepted, wrong_in_both, changed,
        groups[len(changed) :], used,
    )  # fmt: skip


def _order(transition: Transition) -> tuple[int, str]:
    return transition.execution.size, transition.execution.case


def _cause(execution: Execution | None) -> _Cause:
    """The known defect that expects an execution, or its kinds."""
    return (execution.known or execution.kinds) if execution is not None else ()
