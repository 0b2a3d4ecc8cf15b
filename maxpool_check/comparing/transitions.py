"""The change of every execution from one record to another, decided in one place."""

import sys
from collections import Counter
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass

import numpy as np

from maxpool_check.comparing.acceptance import AcceptedChange
from maxpool_check.comparing.changes import Change
from maxpool_check.results.outputs import unpacked
from maxpool_check.results.record import NOT_EXECUTED, Execution, Record, Verdict

_SORTS = ("finite", "special")
"""The sorts of wrong cells, the worse first."""

_Key = tuple[str, str]
"""A case and a variant of it."""


class Incomparable(ValueError):
    """Two records that do not hold the same cases."""


@dataclass(frozen=True)
class Transition:
    """One execution in both records; None where a record does not have it.

    ``blocks``: it blocks an upgrade. ``accepted`` is what the user has accepted, so that it does not.
    """

    change: Change
    old: Execution | None
    new: Execution | None
    blocks: bool = False
    accepted: AcceptedChange | None = None

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


class _Side:
    """The executions of one target of a record, read again at each iteration, and what tells whether they can be compared."""

    def __init__(self, record: Record, target: str, cases: Container[str] | None) -> None:
        self._record, self._target, self._cases = record, target, cases
        self.identities: dict[_Key, tuple[str, str]] = {}
        """The digest of the case and its document, by case and variant."""
        self.failed = False
        """Whether an execution failed in a way that says nothing about the target."""
        # Variants, digests and documents are few, and a case has several variants: each text is kept once.
        one = sys.intern
        for execution in self:
            key = one(execution.case), one(execution.variant)
            self.identities.setdefault(key, (one(execution.case_sha256), one(execution.spec)))
            self.failed |= execution.verdict == Verdict.ERROR

    def __iter__(self) -> Iterator[Execution]:
        for execution in self._record.executions:
            if execution.target == self._target and (self._cases is None or execution.case in self._cases):
                yield execution


class Transitions(Collection[Transition]):
    """The transitions from a target of one record to one of another; the executions are never all in memory.

    Each iteration reads both records again. The variants of a case follow each other, in the order of the old record; cases
    wait in memory only where the new record has them in another order. Of an execution that a record holds twice, the first counts.
    """

    def __init__(self, old: _Side, new: _Side, excluded: Collection[str]) -> None:
        self._old, self._new, self._excluded = old, new, frozenset(excluded)

    @property
    def failed(self) -> tuple[bool, bool]:
        """Whether executions of the old and of the new target failed in a way that says nothing about it."""
        return self._old.failed, self._new.failed

    @property
    def left_out(self) -> list[str]:
        """The cases that cannot be compared, in the order of the new record."""
        return list(dict.fromkeys(case for case, _ in self._new.identities if case in self._excluded))

    def __len__(self) -> int:
        return len(self._keys(self._old) | self._keys(self._new))

    def __contains__(self, transition: object) -> bool:
        return any(transition == each for each in self)

    def __iter__(self) -> Iterator[Transition]:
        awaited = [self._keys(side) for side in (self._old, self._new)]
        numbers = [Counter(case for case, _ in keys) for keys in awaited]
        waiting: dict[str, dict[str, list[Execution | None]]] = {}

        def add(side: int, execution: Execution) -> Iterator[Transition]:
            """The transitions of the case, if this was its last execution."""
            case, key = execution.case, (execution.case, execution.variant)
            if key not in awaited[side]:
                return
            awaited[side].remove(key)
            numbers[side][case] -= 1
            waiting.setdefault(case, {}).setdefault(execution.variant, [None, None])[side] = execution
            if not numbers[0][case] and not numbers[1][case]:
                for before, after in waiting.pop(case).values():
                    yield Transition(change(before, after), before, after)

        later = iter(self._new)
        for execution in self._old:
            yield from add(0, execution)
            while numbers[1][execution.case] and not numbers[0][execution.case] and (other := next(later, None)):
                yield from add(1, other)
        for execution in later:
            yield from add(1, execution)

    def _keys(self, side: _Side) -> set[_Key]:
        return {key for key in side.identities if key[0] not in self._excluded}


def transitions(
    old: Record,
    new: Record,
    old_target: str,
    new_target: str,
    *,
    intersection: bool = False,
    cases: Container[str] | None = None,
) -> Transitions:
    """Every execution of either target, or of some cases on them.

    Raises :class:`Incomparable` if a case differs between the records or its document is interpreted differently;
    ``intersection`` leaves out such cases.
    """
    sides = _Side(old, old_target, cases), _Side(new, new_target, cases)
    reasons: dict[str, str] = {}
    for key, after in sides[1].identities.items():
        before = sides[0].identities.get(key)
        if before is not None and (reason := _difference(old, new, key[0], before, after)):
            reasons[key[0]] = reason
    if reasons and not intersection:
        different = list(dict.fromkeys(reasons.values()))
        more = [f"{len(different) - 3} more"] if len(different) > 3 else []
        raise Incomparable("; ".join([*different[:3], *more]))
    return Transitions(*sides, reasons)


def _difference(old: Record, new: Record, case: str, before: tuple[str, str], after: tuple[str, str]) -> str:
    """Why two executions of a case cannot be compared, by its digests and documents; empty if they can."""
    if before[0] != after[0]:
        return f"{case} is not the same case in both"
    profiles = [record.header.profile.get(after[1]) for record in (old, new)]
    if profiles[0] != profiles[1]:
        return f"{after[1]} is interpreted differently: {profiles[0]}, {profiles[1]}"
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
        if was == "wrong":
            # A graph that the document excludes is rightly refused.
            return Change.FIXED if "accepts-invalid" in old.kinds else Change.WRONG_TO_REFUSED
        return Change.NEWLY_REFUSED
    return Change.NEWLY_ACCEPTED if was == "refused" else Change.FIXED


def _alike(state: str, old: Execution, new: Execution) -> Change:
    if state == "died":
        return Change.SAME if old.verdict == new.verdict else Change.CHANGED
    if state == "refused" or old.digests == new.digests:
        return Change.SAME if old.kinds == new.kinds else Change.CHANGED
    return _by_cells(old, new) if state == "wrong" else Change.CONFORMING_BUT_DIFFERENT


def _by_cells(old: Execution, new: Execution) -> Change:
    """The change of a wrong execution with other outputs: the worse of what became wrong and of what became right decides."""
    became_wrong, became_right = set[int](), set[int]()
    for output in old.wrong.keys() | new.wrong.keys() if old.wrong and new.wrong else ():
        was, now = ({sort: unpacked(text) for sort, text in each.wrong.get(output, {}).items()} for each in (old, new))
        sizes = {cells.size for cells in (*was.values(), *now.values())}
        if len(sizes) > 1:
            # Outputs of other shapes have no cells in common.
            return Change.CHANGED
        none = np.zeros(max(sizes), np.uint8)
        before, after = (np.array([each.get(sort, none) for sort in _SORTS]) for each in (was, now))
        became_wrong |= {number for number, cells in enumerate(after) if (cells > before.max(0)).any()}
        became_right |= {number for number, cells in enumerate(before) if (cells > after.max(0)).any()}
    if became_wrong and min(became_wrong) <= min(became_right, default=len(_SORTS)):
        return Change.REGRESSED
    return Change.IMPROVED if became_right else Change.CHANGED


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
