"""From what a record shows to the narrowest entries of known divergences that expect it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import Kind
from maxpool_check.judging.known import KnownDivergence, shows
from maxpool_check.judging.when import DEFAULT_PROVIDERS, When
from maxpool_check.question import Question
from maxpool_check.running.record import Execution, Record, Target

_FAULTS = ("diverges", "refuses", "crashes", "times-out", "unstable")


@dataclass(frozen=True)
class _Case:
    """The faults of one case on one target, by question."""

    target: Target
    name: str
    kinds: dict[Question, frozenset[Kind]]


def entries_for(
    record: Record, known: Sequence[KnownDivergence], reason: str, kind: str | None = None
) -> list[KnownDivergence]:
    """An entry for every group of cases that diverge alike on a target, as far as no entry expects them already.

    Each binds exact cases, exact kinds, the questions that show them, and the one version that was asked. ``kind``: only
    those that show it.
    """
    groups: dict[tuple[str, frozenset[Kind], tuple[Question, ...]], list[str]] = {}
    targets = {target.name: target for target in record.header.targets}
    for one in _cases(record, known):
        for kinds, questions in _alike(one):
            if kind is None or Kind(kind) in kinds:
                groups.setdefault((one.target.name, kinds, questions), []).append(one.name)
    taken = {entry.id for entry in known}
    found: list[KnownDivergence] = []
    for (name, kinds, questions), cases in groups.items():
        when = _when(targets[name])
        base = "-".join([when.distribution, *sorted(one.value for one in kinds)])
        entry = KnownDivergence(
            id=_unused(base, taken), when=when, cases=tuple(cases), kinds=kinds, reason=reason,
            questions=frozenset(questions),
        )  # fmt: skip
        taken.add(entry.id)
        found.append(entry)
    return found


def never_matching(known: Sequence[KnownDivergence], records: Iterable[Record]) -> list[KnownDivergence]:
    """The entries about some target of the records that no execution of theirs shows."""
    about: dict[str, bool] = {}
    for record in records:
        for target in record.header.targets:
            executions = [one for one in record.executions if one.target == target.name and one.verdict in _FAULTS]
            for entry in known:
                if entry.when.covers(target.distribution, target.version, target.provider):
                    matched = any(_expects(entry, one) for one in executions)
                    about[entry.id] = about.get(entry.id, False) or matched
    return [entry for entry in known if about.get(entry.id) is False]


def _cases(record: Record, known: Sequence[KnownDivergence]) -> Iterable[_Case]:
    found: dict[tuple[str, str], _Case] = {}
    for target in record.header.targets:
        entries = [one for one in known if one.when.covers(target.distribution, target.version, target.provider)]
        for one in record.executions:
            if one.target != target.name or one.verdict not in _FAULTS or any(_expects(e, one) for e in entries):
                continue
            case = found.setdefault((target.name, one.case), _Case(target, one.case, {}))
            case.kinds[Question(one.question)] = frozenset(map(Kind, one.kinds))
    return found.values()


def _expects(entry: KnownDivergence, execution: Execution) -> bool:
    return entry.expects(execution.case, Question(execution.question), map(Kind, execution.kinds))


def _alike(case: _Case) -> Iterable[tuple[frozenset[Kind], tuple[Question, ...]]]:
    """The kinds and questions of one entry, if one can say it; else of one entry for each question."""
    union = frozenset(kind for kinds in case.kinds.values() for kind in kinds)
    if all(kinds == {kind for kind in union if shows(question, kind)} for question, kinds in case.kinds.items()):
        return [(union, tuple(case.kinds))]
    return [(kinds, (question,)) for question, kinds in case.kinds.items()]


def _when(target: Target) -> When:
    provider = "" if target.provider in DEFAULT_PROVIDERS else f" @{target.provider}"
    try:
        Version(target.version)
    except InvalidVersion:
        return When.parse(f"{canonicalize_name(target.distribution)}{provider}")
    return When.parse(f"{canonicalize_name(target.distribution)} =={target.version}{provider}")


def _unused(base: str, taken: set[str]) -> str:
    if base not in taken:
        return base
    return next(f"{base}-{number}" for number in range(2, len(taken) + 3) if f"{base}-{number}" not in taken)
