"""The change of every execution from one record to another: a closed list, decided in one place."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from maxpool_check.results.record import NOT_EXECUTED, Execution, Record, Verdict


class Change(str, Enum):
    """The change of one execution, in the order of reports: the worst first."""

    REGRESSED = "regressed"
    """It was right, was refused or crashed, and is wrong."""
    NEWLY_REFUSED = "newly-refused"
    """It returned outputs and is refused, though the document allows the graph."""
    CRASH_NEW = "crash-new"
    """The process crashes or times out; before, it returned outputs or refused."""
    CHANGED = "changed"
    """Wrong before and after, in other kinds or with other values."""
    NEWLY_INCONSISTENT = "newly-inconsistent"
    """The document allows its outputs, but they now differ from those of another variant, which it allows as well."""
    MISSING = "missing"
    """It was executed and is no longer."""
    CRASH_GONE = "crash-gone"
    """The process crashed or timed out; now it returns outputs or refuses."""
    FIXED = "fixed"
    """It was wrong or inconsistent and is right."""
    NEWLY_ACCEPTED = "newly-accepted"
    """It was refused and is right."""
    CONFORMING_BUT_DIFFERENT = "conforming-but-different"
    """Right before and after, with different bits: the document leaves the point open, and production sees it."""
    ADDED = "added"
    """It was not executed and is now."""
    SAME = "same"
    """The same verdict, the same kinds, the same bits."""
    NOT_COMPARED = "not-compared"
    """Neither was judged: there is nothing to compare."""


class Incomparable(ValueError):
    """Two records that do not hold the same cases."""


@dataclass(frozen=True)
class Transition:
    """One execution in both records; None where a record does not have it."""

    change: Change
    old: Execution | None
    new: Execution | None

    @property
    def execution(self) -> Execution:
        """The newer of the two that is there."""
        execution = self.new or self.old
        assert execution is not None
        return execution

    @property
    def kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kinds before and after."""
        return (self.old.kinds if self.old else (), self.new.kinds if self.new else ())


def transitions(
    old: Record, new: Record, old_target: str, new_target: str, *, intersection: bool = False
) -> list[Transition]:
    """Every execution of either target, in the order of the records.

    Raises :class:`Incomparable` if a case differs between the records or its document is interpreted differently;
    ``intersection`` leaves out such executions.
    """
    before, after = (
        {(execution.case, execution.variant): execution for execution in record.executions if execution.target == name}
        for record, name in ((old, old_target), (new, new_target))
    )
    reasons: dict[str, None] = {}
    result = []
    for key in dict.fromkeys([*before, *after]):
        pair = before.get(key), after.get(key)
        if reason := _difference(old, new, *pair):
            reasons[reason] = None
        else:
            result.append(Transition(change(*pair), *pair))
    if reasons and not intersection:
        more = [f"{len(reasons) - 3} more"] if len(reasons) > 3 else []
        raise Incomparable("; ".join([*list(reasons)[:3], *more]))
    return result


def _difference(old: Record, new: Record, before: Execution | None, after: Execution | None) -> str:
    """Why two executions cannot be compared; empty if they can."""
    if before is None or after is None:
        return ""
    if before.case_sha256 != after.case_sha256:
        return f"{after.case} is not the same case in both"
    profiles = [record.header.profile.get(after.spec) for record in (old, new)]
    if profiles[0] != profiles[1]:
        return f"{after.spec} is interpreted differently: {profiles[0]}, {profiles[1]}"
    return ""


def change(old: Execution | None, new: Execution | None) -> Change:
    """The change of one execution."""
    was, now = _state(old), _state(new)
    if old is None or new is None or was is None or now is None:
        return Change.NOT_COMPARED if was == now else Change.ADDED if was is None else Change.MISSING
    if was == now:
        return _alike(was, old, new)
    if now == "died":
        return Change.CRASH_NEW
    if was == "died":
        return Change.CRASH_GONE if now != "wrong" or "accepts-invalid" in new.kinds else Change.REGRESSED
    if now == "wrong":
        return Change.REGRESSED
    if now == "inconsistent":
        return Change.NEWLY_INCONSISTENT
    if now == "refused":
        # A graph that the document excludes is rightly refused.
        return Change.FIXED if "accepts-invalid" in old.kinds else Change.NEWLY_REFUSED
    return Change.NEWLY_ACCEPTED if was == "refused" else Change.FIXED


def _alike(state: str, old: Execution, new: Execution) -> Change:
    if state == "died":
        return Change.SAME if old.verdict == new.verdict else Change.CHANGED
    if state == "refused" or old.digests == new.digests:
        return Change.SAME if old.kinds == new.kinds else Change.CHANGED
    return Change.CHANGED if state == "wrong" else Change.CONFORMING_BUT_DIFFERENT


def _state(execution: Execution | None) -> str | None:
    """Died, refused, wrong, inconsistent or right; None for what was not judged."""
    if execution is None or execution.verdict in (*NOT_EXECUTED, Verdict.ERROR):
        return None
    if execution.verdict in (Verdict.CRASHES, Verdict.TIMES_OUT):
        return "died"
    if execution.verdict in (Verdict.DIVERGES, Verdict.UNSTABLE):
        return "wrong"
    if execution.verdict == Verdict.INCONSISTENT:
        return "inconsistent"
    return "right" if execution.digests else "refused"


def paired(old: Record, new: Record, names: tuple[str | None, str | None] = (None, None)) -> list[tuple[str, str]]:
    """The targets to compare: those named, or the only one of each record, or those of the same name in both.

    Raises :class:`Incomparable` if there are none.
    """
    targets = [[target.name for target in record.header.targets] for record in (old, new)]
    for name, known in zip(names, targets, strict=True):
        if name is not None and name not in known:
            raise Incomparable(f"no target '{name}' in a record of {', '.join(known) or 'no target'}")
    chosen = [[name] if name is not None else known for name, known in zip(names, targets, strict=True)]
    if len(chosen[0]) == len(chosen[1]) == 1:
        return [(chosen[0][0], chosen[1][0])]
    common = [name for name in chosen[0] if name in chosen[1]]
    if not common:
        raise Incomparable(f"name the targets to compare: {', '.join(targets[0])}; {', '.join(targets[1])}")
    return [(name, name) for name in common]


@dataclass(frozen=True)
class TransitionGroup:
    """Transitions of one change between the same known defects, or between the same kinds, the smallest case first.

    ``defects`` are the ids before and after; None where no known defect expects the executions.
    """

    change: Change
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    transitions: Sequence[Transition]
    defects: tuple[str | None, str | None] = (None, None)

    @property
    def smallest(self) -> Transition:
        """The transition to look at."""
        return self.transitions[0]

    @property
    def cases(self) -> list[str]:
        """The cases, without repetition."""
        return list(dict.fromkeys(transition.execution.case for transition in self.transitions))


_Cause = str | tuple[str, ...]
"""The id of a known defect, or kinds."""


def groups(changes: Iterable[Transition], severities: Mapping[str, int] | None = None) -> list[TransitionGroup]:
    """The observable changes, grouped by defects, or by kinds where there are none: the worst first.

    ``severities`` has the rank of each known defect, 0 for the worst; then those of most cases come first.
    """
    by_cause: dict[tuple[Change, _Cause, _Cause], list[Transition]] = {}
    for transition in sorted(changes, key=lambda each: (each.execution.size, each.execution.case)):
        if transition.change not in (Change.SAME, Change.NOT_COMPARED):
            before, after = _cause(transition.old), _cause(transition.new)
            by_cause.setdefault((transition.change, before, after), []).append(transition)
    order, ranks = list(Change), severities or {}

    def rank(group: TransitionGroup) -> tuple[Any, ...]:
        worst = min((ranks.get(name, 0) for name in group.defects if name is not None), default=0)
        return order.index(group.change), worst, -len(group.cases), group.kinds

    return sorted((_group(*cause, alike) for cause, alike in by_cause.items()), key=rank)


def _cause(execution: Execution | None) -> _Cause:
    """The known defect that expects an execution, or its kinds."""
    return (execution.known or execution.kinds) if execution is not None else ()


def _group(change: Change, before: _Cause, after: _Cause, alike: Sequence[Transition]) -> TransitionGroup:
    old, new = (tuple(dict.fromkeys(kind for each in alike for kind in each.kinds[side])) for side in (0, 1))
    defects = [side if isinstance(side, str) else None for side in (before, after)]
    return TransitionGroup(change, (old, new), alike, (defects[0], defects[1]))


def counts(changes: Iterable[Transition]) -> dict[str, int]:
    """The number of executions by change, every change included."""
    numbers = Counter(transition.change for transition in changes)
    return {change.value: numbers[change] for change in Change}
