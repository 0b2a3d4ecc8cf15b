"""What a record found, grouped by what is wrong rather than by case."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from maxpool_check.judging.kinds import DESCRIPTIONS, MIXED, DivergenceKind
from maxpool_check.results.record import Cause, Execution, Record, Verdict

_OF_CELLS = frozenset(kind.value for kind in DivergenceKind if kind.value.startswith(("y-", "indices-")))
FAULTS = ("diverges", "refuses", "crashes", "times-out", "unstable")
VERDICTS = tuple(verdict.value for verdict in Verdict)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a report of many executions must know of one that is wrong; the rest of it stays in the record."""

    at: int
    """Its place among the executions of the record."""
    case: str
    variant: str
    kinds: tuple[str, ...]
    causes: tuple[Cause, ...]
    status: str
    known: str | None
    limit: bool
    size: tuple[bool, int]
    """The smallest is shown first."""

    @property
    def has_cells(self) -> bool:
        """Whether the record shows wrong cells of it."""
        return not self.size[0]


@dataclass(frozen=True, eq=False)
class Finding:
    """Executions of one target that are wrong for the same cause, the smallest case first.

    ``kinds`` are all that they show; one that shows fewer of them is here as well: without Indices there is nothing wrong
    with those. ``known`` are the entries that expect them.
    """

    record: Record
    target: str
    kinds: tuple[str, ...]
    status: str
    known: tuple[str, ...]
    faults: tuple[Fault, ...]

    def execution(self, fault: Fault) -> Execution:
        """One of them as the record has it: there may be more than there is room for."""
        return next(itertools.islice(self.record.executions, fault.at, None))

    @cached_property
    def smallest(self) -> Execution:
        """The one to look at."""
        return self.execution(self.faults[0])

    @cached_property
    def cases(self) -> list[str]:
        """The cases, each once."""
        return list(dict.fromkeys(fault.case for fault in self.faults))

    @property
    def limit(self) -> bool:
        """Whether all of them are refusals that the runtime declares as its limits."""
        return all(fault.limit for fault in self.faults)

    @property
    def explained(self) -> str | None:
        """The mistake that gives whole answers, and how many, if there is one."""
        for kind in self.kinds:
            count = sum(any(cause.kind == kind for cause in one.causes) for one in self.faults)
            if count:
                of = f"{count} of {len(self.faults)} answers" if count < len(self.faults) else "every answer"
                return f"{of} equal{'' if count > 1 and count < len(self.faults) else 's'} {hypothesis(kind)}"
        return None


def findings(record: Record) -> list[Finding]:
    """The faults of a record: unexpected ones first, then those that touch most cases."""
    of_target: dict[str, list[Fault]] = {target.name: [] for target in record.header.targets}
    for target, fault in _faults(record):
        # Of a target that the header does not have, there is nothing else to show.
        if target in of_target:
            of_target[target].append(fault)
    found = []
    for target, faults in of_target.items():
        likely = Counter(cause.kind for one in faults for cause in one.causes)
        groups: dict[tuple[str, bool], dict[frozenset[str], list[Fault]]] = {}
        for one in faults:
            of_status = groups.setdefault((one.status, one.limit), defaultdict(list))
            of_status[_kinds(one, likely)].append(one)
        found += [
            Finding(record, target, tuple(sorted(kinds)), status, _known(group), tuple(sorted(group, key=_order)))
            for (status, _), of_status in groups.items()
            for kinds, group in _merged(of_status).items()
        ]
    targets = list(of_target)
    return sorted(
        found, key=lambda one: (targets.index(one.target), one.status == "expected", -len(one.cases), one.kinds)
    )


def _faults(record: Record) -> Iterator[tuple[str, Fault]]:
    """Every fault with its target, in the order of the record."""
    # What is read from a file comes as a new object each time; the same few kinds and causes need not be kept so often.
    shared: dict[Any, Any] = {}
    for at, one in enumerate(record.executions):
        if one.verdict not in FAULTS:
            continue
        case, kinds, causes = (shared.setdefault(value, value) for value in (one.case, one.kinds, one.causes))
        yield one.target, Fault(at, case, one.variant, kinds, causes, one.status, one.known, one.limit, _size(one))


def _size(execution: Execution) -> tuple[bool, int]:
    # A case with cells to show says more than one without, and the variant with Indices more than the one without.
    return not execution.cells, math.prod(execution.input.shape) if execution.input else 0


def _order(fault: Fault) -> tuple[tuple[bool, int], str]:
    return fault.size, fault.case


def _kinds(fault: Fault, likely: Mapping[str, int]) -> frozenset[str]:
    """What a fault is about: where several mistakes explain it, one that explains far more of what the target did."""
    kinds = set(fault.kinds)
    for output in {cause.output for cause in fault.causes}:
        fitting = [cause.kind for cause in fault.causes if cause.output == output]
        kinds -= set(fitting)
        other = max(fitting, key=lambda kind: likely[kind])
        kinds.add(other if likely[other] >= 2 * likely[fitting[0]] else fitting[0])
    # That a wrong Y depends on something is no defect of its own.
    own = {kind for kind in kinds if "-depends-on-" not in kind and "-depend-on-" not in kind}
    return frozenset(own or kinds)


def _merged(groups: Mapping[frozenset[str], list[Fault]]) -> dict[frozenset[str], list[Fault]]:
    """Groups that show a part of what another shows, put to the largest such one."""
    parts = [kinds for kinds in groups if any(kinds < other and _OF_CELLS.issuperset(other) for other in groups)]
    whole = [kinds for kinds in groups if kinds not in parts]
    merged: dict[frozenset[str], list[Fault]] = {kinds: [] for kinds in whole}
    for kinds, group in groups.items():
        around = [other for other in whole if kinds == other or (kinds < other and _OF_CELLS.issuperset(other))]
        cases = {one.case for one in group}

        def shared(other: frozenset[str], cases: set[str] = cases) -> tuple[int, int, list[str]]:
            # Most likely it is the defect that shows in the same cases.
            near = [one for part, of_part in groups.items() if part <= other for one in of_part if one.case in cases]
            return len(near), len(groups[other]), sorted(other)

        merged[max(around, key=shared)] += group
    return merged


def _known(group: Iterable[Fault]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.known for one in group if one.known))


@dataclass(frozen=True)
class Interpretation:
    """How a target reads a point that documents leave open, asked in one way.

    ``names`` are the interpretations that all its answers agree with; where there is none, ``witnesses`` are two cases that agree
    with different ones, or one that agrees with none.
    """

    target: str
    point: str
    variant: str
    translated: bool
    names: tuple[str, ...]
    answers: int
    witnesses: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        if self.names:
            return " or ".join(self.names)
        shown = "; ".join(f"{interpretation} in {case}" for case, interpretation in self.witnesses)
        return f"no one interpretation: {shown}"


def interpretations(record: Record) -> list[Interpretation]:
    """What the answers of a record show, by target, point and variant."""
    groups: dict[tuple[str, str, str, bool], _Read] = {}
    for one in record.executions:
        for point, names in one.interpretations.items():
            key = (one.target, point, one.variant, bool(one.translation))
            groups.setdefault(key, _Read(one, names)).add(one, names)
    return [group.interpretation(*key) for key, group in sorted(groups.items(), key=lambda pair: pair[0])]


class _Read:
    """What has been seen of one point: only what its interpretation needs is kept."""

    def __init__(self, first: Execution, names: tuple[str, ...]) -> None:
        self._first = first, names
        self._common = set(names) - {MIXED}
        self._mixed: Execution | None = None
        self._apart: tuple[Execution, tuple[str, ...]] | None = None
        self._answers = 0

    def add(self, one: Execution, names: tuple[str, ...]) -> None:
        self._answers += 1
        self._common &= set(names)
        if names == (MIXED,) and (
            self._mixed is None or (_size(one), one.case) < (_size(self._mixed), self._mixed.case)
        ):
            self._mixed = one
        if self._apart is None and not set(names) & set(self._first[1]):
            self._apart = one, names

    def interpretation(self, target: str, point: str, variant: str, translated: bool) -> Interpretation:
        names = tuple(name for name in self._first[1] if name in self._common)
        witnesses: list[tuple[str, str]] = []
        if not names:
            mixed = (self._mixed, (MIXED,)) if self._mixed is not None else None
            shown = [mixed] if mixed else [self._first, *([self._apart] if self._apart else [])]
            witnesses = [
                (one.case, "it depends on the cell" if of == (MIXED,) else " or ".join(of)) for one, of in shown
            ]
        return Interpretation(target, point, variant, translated, names, self._answers, tuple(witnesses))


def explained(cause: Cause) -> str:
    """``The answer equals a SAME computed with k instead of K in 25 of 25 cells``."""
    return f"{cause.output or 'The answer'} equals {hypothesis(cause.kind)} in {cause.cells} of {cause.cells} cells"


def hypothesis(kind: str) -> str:
    """What an answer equals that has a mistake of a kind."""
    return (
        DESCRIPTIONS[DivergenceKind(kind)].hypothesis or "" if kind in {one.value for one in DivergenceKind} else kind
    )


def sentence(kind: str) -> str:
    """What a kind means; a record of another version may have one that is not known here."""
    try:
        return DESCRIPTIONS[DivergenceKind(kind)].sentence
    except ValueError:
        return "A kind that this version does not know."


def profiles(record: Record) -> list[tuple[list[str], dict[str, str]]]:
    """The policies that answers were judged by, each with the documents that have them."""
    found: list[tuple[list[str], dict[str, str]]] = []
    for spec, policies in record.header.profile.items():
        for specs, same in found:
            if same == policies:
                specs.append(spec)
                break
        else:
            found.append(([spec], policies))
    return found


def summary(executions: Iterable[Execution]) -> dict[str, dict[str, int]]:
    """The number of executions by target and verdict, every verdict named."""
    counts: dict[str, dict[str, int]] = {}
    for execution in executions:
        of_target = counts.setdefault(execution.target, dict.fromkeys(VERDICTS, 0))
        of_target[execution.verdict] += 1
    return counts
