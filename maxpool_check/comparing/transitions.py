"""What became of every execution from one record to another: a closed list, decided in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from maxpool_check.results.record import Execution, Record, RunHeader


class Change(str, Enum):
    """What became of one execution. In the order reports show them, the worst first."""

    REGRESSED = "regressed"
    """It was right, refused, or died of the variant, and is wrong."""
    NEWLY_REFUSED = "newly-refused"
    """It was answered and is refused, though the document allows the graph."""
    CRASH_NEW = "crash-new"
    """The process dies, or does not answer in time; it did answer or refuse."""
    CHANGED = "changed"
    """Wrong before and after, in other kinds or with other values."""
    MISSING = "missing"
    """It was asked, and is not any more."""
    CRASH_GONE = "crash-gone"
    """The process died, or did not answer in time; now it answers or refuses."""
    FIXED = "fixed"
    """It was wrong and is right."""
    NEWLY_ACCEPTED = "newly-accepted"
    """It was refused and is answered rightly."""
    CONFORMING_BUT_DIFFERENT = "conforming-but-different"
    """Right before and after, with other bits: the document leaves the point open, and production sees it."""
    ADDED = "added"
    """It was not asked, and is now."""
    SAME = "same"
    """The same verdict, the same kinds, the same bits."""
    NOT_COMPARED = "not-compared"
    """Neither was held to its document: there is nothing to compare."""


class Incomparable(ValueError):
    """Two records that do not answer the same variants."""


@dataclass(frozen=True)
class Transition:
    """One execution in both records; None where a record does not have it."""

    change: Change
    old: Execution | None
    new: Execution | None

    @property
    def execution(self) -> Execution:
        """The newer of the two that is there."""
        one = self.new or self.old
        assert one is not None
        return one

    @property
    def kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kinds before and after."""
        return (self.old.kinds if self.old else (), self.new.kinds if self.new else ())


def transitions(
    old: Record, new: Record, old_target: str, new_target: str, *, intersection: bool = False
) -> list[Transition]:
    """Every execution of either target, in the order of the records.

    Raises :class:`Incomparable` where cases of one id are not the same variant, or documents are not read alike;
    ``intersection`` leaves those out: see :func:`left_out`.
    """
    before, after = _of(old, old_target), _of(new, new_target)
    differing = _differences(old.header, new.header, before, after)
    if differing and not intersection:
        reasons = list(dict.fromkeys(differing.values()))
        raise Incomparable("; ".join([*reasons[:3], *([f"{len(reasons) - 3} more"] if len(reasons) > 3 else [])]))
    keys = [key for key in dict.fromkeys([*before, *after]) if key not in differing]
    return [Transition(change(before.get(key), after.get(key)), before.get(key), after.get(key)) for key in keys]


def left_out(old: Record, new: Record, old_target: str, new_target: str) -> list[str]:
    """The cases that are not the same variant in both records, or not read alike."""
    differing = _differences(old.header, new.header, _of(old, old_target), _of(new, new_target))
    return list(dict.fromkeys(case for case, _ in differing))


def _of(record: Record, target: str) -> dict[tuple[str, str], Execution]:
    return {_key(one): one for one in record.executions if one.target == target}


def change(old: Execution | None, new: Execution | None) -> Change:
    """What became of one execution."""
    was, now = _state(old), _state(new)
    if was is None or now is None:
        if was is None and now is None:
            return Change.NOT_COMPARED
        return Change.ADDED if was is None else Change.MISSING
    assert old is not None
    assert new is not None
    if was == now:
        return _alike(was, old, new)
    if now == "died":
        return Change.CRASH_NEW
    if was == "died":
        return Change.CRASH_GONE if now != "wrong" or "accepts-invalid" in new.kinds else Change.REGRESSED
    if now == "wrong":
        return Change.REGRESSED
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
    """Died, refused, wrong or right; None for what was not held to its document."""
    if execution is None or execution.verdict in ("not-expressible", "error"):
        return None
    if execution.verdict in ("crashes", "times-out"):
        return "died"
    if execution.verdict in ("diverges", "unstable"):
        return "wrong"
    return "right" if execution.digests else "refused"


def _key(execution: Execution) -> tuple[str, str]:
    return execution.case, execution.variant


_Executions = Mapping[tuple[str, str], Execution]


def _differences(old: RunHeader, new: RunHeader, before: _Executions, after: _Executions) -> dict[tuple[str, str], str]:
    """The executions that cannot be compared, and why."""
    found = {}
    for key, one in after.items():
        other = before.get(key)
        if other is None:
            continue
        if one.case_sha256 != other.case_sha256:
            found[key] = f"{one.case} is not the same case in both"
        elif old.profile.get(one.spec) != new.profile.get(one.spec):
            found[key] = (
                f"{one.spec} is not read alike in both: {old.profile.get(one.spec)}, {new.profile.get(one.spec)}"
            )
    return found


def paired(old: Record, new: Record, names: tuple[str | None, str | None] = (None, None)) -> list[tuple[str, str]]:
    """The targets to compare: those named, or the only one of each record, or those of the same name in both.

    Raises :class:`Incomparable` if there are none.
    """
    targets = [[target.name for target in record.header.targets] for record in (old, new)]
    for name, there in zip(names, targets, strict=True):
        if name is not None and name not in there:
            raise Incomparable(f"there is no target '{name}' in a record of {', '.join(there) or 'none'}")
    chosen = [[name] if name is not None else there for name, there in zip(names, targets, strict=True)]
    if len(chosen[0]) == len(chosen[1]) == 1:
        return [(chosen[0][0], chosen[1][0])]
    common = [name for name in chosen[0] if name in chosen[1]]
    if not common:
        raise Incomparable(f"which to compare? {', '.join(targets[0])} and {', '.join(targets[1])}: name two of them")
    return [(name, name) for name in common]


@dataclass(frozen=True)
class Group:
    """Transitions of one change between the same kinds, the smallest case first."""

    change: Change
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    transitions: tuple[Transition, ...]

    @property
    def smallest(self) -> Transition:
        """The one to look at."""
        return self.transitions[0]

    @property
    def cases(self) -> list[str]:
        """The cases, each once."""
        return list(dict.fromkeys(one.execution.case for one in self.transitions))


def groups(found: Iterable[Transition]) -> list[Group]:
    """What has changed, grouped by how and by kinds: the worst first, then those that touch most cases."""
    together: dict[tuple[Change, tuple[tuple[str, ...], tuple[str, ...]]], list[Transition]] = {}
    for one in found:
        if one.change not in (Change.SAME, Change.NOT_COMPARED):
            together.setdefault((one.change, one.kinds), []).append(one)
    result = [
        Group(change, kinds, tuple(sorted(ones, key=lambda one: (one.execution.size, one.execution.case))))
        for (change, kinds), ones in together.items()
    ]
    order = list(Change)
    return sorted(result, key=lambda group: (order.index(group.change), -len(group.cases), group.kinds))


def counts(found: Sequence[Transition]) -> dict[str, int]:
    """How many executions changed in each way, every way named."""
    return {change.value: sum(one.change is change for one in found) for change in Change}
